//! Lines of a text as words, without comments.

use std::path::Path;

use crate::{FileError, Place};

/// A word, and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'t> {
    pub text: &'t str,
    /// Characters from 1.
    pub column: usize,
}

/// Lines of a text that have words.
pub(super) struct Lines<'t> {
    pub path: &'t Path,
    lines: std::iter::Enumerate<std::str::Lines<'t>>,
    in_comment: bool,
    /// Blanks alone separate words, and nothing is a comment.
    is_plain: bool,
    /// The line read last, from 1.
    pub line: usize,
    pub words: Vec<Word<'t>>,
}

impl<'t> Lines<'t> {
    /// Words of GOAL: `{`, `}` and `:` stand for themselves, comments are those of C.
    pub fn of_goal(text: &'t str, path: &'t Path) -> Self {
        Self {
            is_plain: false,
            ..Self::plain(text, path)
        }
    }

    /// Words with blanks between.
    pub fn plain(text: &'t str, path: &'t Path) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self {
            path,
            lines: text.lines().enumerate(),
            in_comment: false,
            is_plain: true,
            line: 1,
            words: Vec::new(),
        }
    }

    /// Goes to the next line with words; false if there is none.
    pub fn next(&mut self) -> bool {
        loop {
            let Some((index, line)) = self.lines.next() else {
                return false;
            };
            self.line = index + 1;
            self.words.clear();
            self.split(line);
            if !self.words.is_empty() {
                return true;
            }
        }
    }

    fn split(&mut self, line: &'t str) {
        let mut start = None;
        let mut chars = line.char_indices().enumerate().peekable();
        while let Some((index, (at, c))) = chars.next() {
            let next = chars.peek().map(|(_, (_, c))| *c);
            if self.in_comment {
                if c == '*' && next == Some('/') {
                    chars.next();
                    self.in_comment = false;
                }
                continue;
            }
            let begins_comment = !self.is_plain && c == '/' && matches!(next, Some('/' | '*'));
            let is_word = !self.is_plain && "{}:".contains(c);
            if begins_comment || c.is_whitespace() || is_word {
                self.end(line, &mut start, at);
            } else {
                start.get_or_insert((at, index + 1));
                continue;
            }
            if is_word {
                self.words.push(Word {
                    text: &line[at..at + 1],
                    column: index + 1,
                });
            }
            if begins_comment && next == Some('/') {
                return;
            }
            if begins_comment {
                chars.next();
                self.in_comment = true;
            }
        }
        self.end(line, &mut start, line.len());
    }

    fn end(&mut self, line: &'t str, start: &mut Option<(usize, usize)>, end: usize) {
        if let Some((from, column)) = start.take() {
            self.words.push(Word {
                text: &line[from..end],
                column,
            });
        }
    }

    /// Word `at` of the line.
    pub fn word(&self, at: usize) -> Option<&'t str> {
        self.words.get(at).map(|it| it.text)
    }

    /// Something else than `expected` stands at word `at`.
    pub fn error(&self, at: usize, expected: &str) -> FileError {
        let found = match self.word(at) {
            Some(text) => format!("`{text}`"),
            None => "the end of the line".into(),
        };
        self.found(at, found, expected)
    }

    /// The error that word `at` is `found`.
    pub fn found(&self, at: usize, found: impl Into<String>, expected: &str) -> FileError {
        let place = Place {
            path: self.path,
            line: self.line,
            column: self.words.get(at).map_or(0, |it| it.column),
        };
        place.error(found, expected)
    }

    /// The number at word `at`: digits alone.
    pub fn number<T: std::str::FromStr>(&self, at: usize, expected: &str) -> Result<T, FileError> {
        let is_digits = |it: &&str| it.bytes().all(|it| it.is_ascii_digit());
        let text = self.word(at).filter(is_digits);
        let value = text.and_then(|it| it.parse().ok());
        value.ok_or_else(|| self.error(at, expected))
    }

    /// Nothing stands from word `at` on.
    pub fn end_at(&self, at: usize, expected: &str) -> Result<(), FileError> {
        if self.words.len() > at {
            Err(self.error(at, expected))
        } else {
            Ok(())
        }
    }
}
