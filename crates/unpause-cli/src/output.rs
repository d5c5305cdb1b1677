//! Standard output.

use std::io::{self, ErrorKind, Write};
use std::sync::OnceLock;

use unpause_scenario::Error;

use crate::args::{Form, Say};

/// Everything that was wrong.
pub type Errors = Vec<Error>;

/// Why standard output could not be written, if so.
static FAILED: OnceLock<io::Error> = OnceLock::new();

/// Writes to standard output; [`finished`] says whether that went well.
pub fn show(text: &str) {
    note(io::stdout().write_all(printable(text).as_bytes()));
}

/// Remembers the first error. A reader that has gone away is none.
pub fn note(written: io::Result<()>) {
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            let _ = FAILED.set(error);
        }
        _ => {}
    }
}

/// Writes to standard error. Where that cannot be written nobody can be told, and the exit code is what there is.
pub fn write_error(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// A line on standard error, as `eprintln!` writes it, which panics where that cannot be written.
macro_rules! complain {
    ($($part:tt)*) => {
        $crate::output::write_error(&(format!($($part)*) + "\n"))
    };
}
pub(crate) use complain;

/// The exit code of a command that answers `code`, once all that it has shown is written: 1 if it is not.
pub fn finished(code: u8) -> u8 {
    note(io::stdout().flush());
    match FAILED.get() {
        Some(error) => {
            complain!("error: cannot write standard output: {error}");
            code.max(1)
        }
        None => code,
    }
}

/// Text of files on a terminal: what would move its cursor, or the order of what is read, is replaced.
pub fn printable(text: &str) -> String {
    let odd = |c: char| (c.is_control() && c != '\n' && c != '\t') || turns(c);
    text.replace(odd, "\u{fffd}")
}

/// Whether a character is one of Unicode's that set the direction of what follows (UAX #9, 2.1 to 2.6).
fn turns(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Writes a value as JSON to standard output.
pub fn show_json(value: &serde_json::Value) {
    let text = serde_json::to_string_pretty(value).expect("a value is plain data");
    show(&(text + "\n"));
}

impl Say {
    /// True if results are told as JSON.
    pub fn is_json(self) -> bool {
        self.output == Form::Json
    }

    /// Writes for people, unless they want JSON or nothing.
    pub fn tell(self, text: &str) {
        if !self.quiet && !self.is_json() {
            show(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_not_shown() {
        assert_eq!(printable("a\tb\n"), "a\tb\n");
        assert_eq!(printable("\u{1b}[2J"), "\u{fffd}[2J");
        // Shown as "H1->S0" it would be another link.
        assert_eq!(
            printable("\u{202e}0S>-1H\u{202c}"),
            "\u{fffd}0S>-1H\u{fffd}"
        );
        assert_eq!(printable("\u{2066}ü\u{200f}"), "\u{fffd}ü\u{fffd}");
    }
}
