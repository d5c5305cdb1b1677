//! Text of others made harmless: of scenarios, results and files that may come from anybody.
//!
//! `unpause.plain` in Python has the same rule.

use std::borrow::Cow;

/// A text with U+FFFD for what a terminal obeys instead of showing it. Tabs and ends of lines stay.
pub fn clean(text: &str) -> String {
    let odd = |c: char| (c.is_control() && c != '\n' && c != '\t') || turns(c);
    text.replace(odd, "\u{fffd}")
}

/// Whether a character sets the direction of what follows (UAX #9, 2.1 to 2.6), or ends a line or paragraph.
fn turns(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A cell of CSV that holds text: none that a spreadsheet takes for a formula.
pub fn cell(text: &str) -> Cow<'_, str> {
    let is_formula = text.starts_with(['=', '+', '-', '@']);
    let is_odd = |c: char| c.is_control() || turns(c);
    if !is_formula && !text.contains(is_odd) {
        return Cow::Borrowed(text);
    }
    let mark = if is_formula { "'" } else { "" };
    Cow::Owned(format!("{mark}{}", clean(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_replaced() {
        assert_eq!(clean("a\tb\n"), "a\tb\n");
        assert_eq!(clean("\u{1b}[2J\r"), "\u{fffd}[2J\u{fffd}");
        // Shown as "H1->S0" it would be another link.
        assert_eq!(clean("\u{202e}0S>-1H\u{202c}"), "\u{fffd}0S>-1H\u{fffd}");
        assert_eq!(clean("\u{2066}ü\u{200f}"), "\u{fffd}ü\u{fffd}");
    }

    #[test]
    fn a_cell_of_text_is_no_formula() {
        assert_eq!(cell("=1+1"), "'=1+1");
        assert_eq!(cell("@\u{1b}"), "'@\u{fffd}");
        assert_eq!(cell("PFC+DCQCN"), "PFC+DCQCN");
    }
}
