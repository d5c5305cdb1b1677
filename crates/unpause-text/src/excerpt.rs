//! The lines of a file that a message shows: long ones only around what is marked.

use std::ops::Range;
use std::sync::Arc;

/// More bytes of a line than this are not shown.
const LINE: usize = 160;
/// Bytes of a long line that are shown before a mark, and those of the mark itself.
const BEFORE: usize = 40;

/// A text whose long lines are cut.
pub struct Excerpt {
    pub text: Arc<str>,
    /// Where the marks are in it.
    pub marks: Vec<Range<usize>>,
}

/// Cuts the long lines of `source`; `marks` are within lines.
pub fn excerpt(source: &Arc<str>, marks: Vec<Range<usize>>) -> Excerpt {
    if source.split('\n').all(|line| line.len() <= LINE) {
        let text = source.clone();
        return Excerpt { text, marks };
    }
    let mut text = String::new();
    let mut moved = marks.clone();
    let mut start = 0;
    for line in source.split_inclusive('\n') {
        let end = start + line.len();
        let own = |mark: &Range<usize>| (start..end).contains(&mark.start);
        let shown = if line.len() > LINE {
            shown(
                line,
                marks.iter().find(|mark| own(mark)).map(|m| m.start - start),
            )
        } else {
            0..line.len()
        };
        let head = if shown.start > 0 { "…" } else { "" };
        let at = text.len() + head.len();
        for (mark, moved) in marks.iter().zip(&mut moved).filter(|(mark, _)| own(mark)) {
            let place = |of: usize| (of - start).clamp(shown.start, shown.end) - shown.start + at;
            let marked = if line.len() > LINE {
                boundary(source, mark.end.min(mark.start + BEFORE))
            } else {
                mark.end
            };
            *moved = place(mark.start)..place(marked);
        }
        text += head;
        text += &line[shown.clone()];
        if shown.end < line.len() {
            text += "…\n";
        }
        start = end;
    }
    for (mark, moved) in marks.iter().zip(&mut moved) {
        if mark.start >= source.len() {
            *moved = text.len()..text.len();
        }
    }
    let text = text.into();
    Excerpt { text, marks: moved }
}

/// The part of a long line to show for a mark at `mark`.
fn shown(line: &str, mark: Option<usize>) -> Range<usize> {
    let start = match mark {
        Some(mark) if mark > LINE - BEFORE => boundary(line, mark - BEFORE),
        _ => 0,
    };
    let end = line.trim_end_matches(['\r', '\n']).len();
    start..boundary(line, end.min(start + LINE))
}

/// The start of the character that the byte `at` is of.
fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_long_lines_around_their_marks() {
        let long = format!("a = \"{}é{}\"", "x".repeat(1000), "y".repeat(1000));
        let source: Arc<str> = format!("# é\n{long}\nb = 1\n{long}").into();
        let second = source.find('é').unwrap();
        let in_long = source[second + 2..].find('é').unwrap() + second + 2;
        let b = source.find("b =").unwrap();
        let cut = excerpt(
            &source,
            vec![in_long..in_long + 2, b..b + 1, source.len()..source.len()],
        );
        assert!(cut.text.len() < 4 * LINE, "{}", cut.text);
        assert_eq!(&cut.text[cut.marks[0].clone()], "é");
        assert_eq!(&cut.text[cut.marks[1].clone()], "b");
        assert_eq!(cut.marks[2], cut.text.len()..cut.text.len());
        assert_eq!(cut.text.lines().count(), source.lines().count());
    }

    #[test]
    fn leaves_short_lines_alone() {
        let source: Arc<str> = "a = 1\r\nb = 2\n".into();
        let cut = excerpt(&source, vec![7..8, 0..1]);
        assert!(Arc::ptr_eq(&cut.text, &source));
        assert_eq!(cut.marks, [7..8, 0..1]);
    }
}
