//! The words of a `config.txt`, taken as a C++ stream takes them.

use std::path::Path;

use crate::{FileError, Place};

/// A word, with its line and column.
type Word<'a> = ((usize, usize), &'a str);

/// Words, one after the other.
pub(super) struct Words<'a> {
    words: Vec<Word<'a>>,
    at: usize,
    path: &'a Path,
    /// Parts of numbers that are not read.
    pub notes: Vec<String>,
}

impl<'a> Words<'a> {
    pub fn new(text: &'a str, path: &'a Path) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = text.lines().zip(1..);
        let words = lines.flat_map(|(line, number)| words_of(line, number));
        Self {
            words: words.collect(),
            at: 0,
            path,
            notes: Vec::new(),
        }
    }

    pub fn next(&mut self) -> Option<&'a str> {
        let word = self.words.get(self.at)?;
        self.at += 1;
        Some(word.1)
    }

    /// Line and column of the word that comes next; at the end, the last line.
    pub fn place(&self) -> (usize, usize) {
        let end = self
            .words
            .last()
            .map_or((1, 0), |((line, _), _)| (*line, 0));
        self.words.get(self.at).map_or(end, |(place, _)| *place)
    }

    fn error(&self, (line, column): (usize, usize), found: &str, expected: String) -> FileError {
        let place = Place {
            path: self.path,
            line,
            column,
        };
        place.error(found, expected)
    }

    /// The value of `key`.
    pub fn text(&mut self, key: &str) -> Result<&'a str, FileError> {
        let place = self.place();
        let word = self.next();
        word.ok_or_else(|| self.error(place, "the end of the file", format!("a value of {key}")))
    }

    /// A whole number: as much of the word as is one.
    pub fn number<T: std::str::FromStr>(&mut self, key: &str) -> Result<T, FileError> {
        let place = self.place();
        let text = self.text(key)?;
        let end = text.find(|c: char| !c.is_ascii_digit());
        let (number, rest) = text.split_at(end.unwrap_or(text.len()));
        let found = number.parse().map_err(|_| {
            let expected = format!("a whole number, the value of {key}");
            self.error(place, &format!("`{text}`"), expected)
        })?;
        self.tell_rest(key, text, number, rest);
        Ok(found)
    }

    /// A number that may have a point and an exponent: as much of the word as is one.
    pub fn real(&mut self, key: &str) -> Result<f64, FileError> {
        let place = self.place();
        let text = self.text(key)?;
        let ends = (1..=text.len())
            .rev()
            .filter(|end| text.is_char_boundary(*end));
        let is_number = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
        let read = ends.take(60).find_map(|end| {
            let number = &text[..end];
            let value: f64 = number
                .chars()
                .all(is_number)
                .then(|| number.parse().ok())??;
            (value.is_finite() && value >= 0.0).then_some((value, number))
        });
        let (value, number) = read.ok_or_else(|| {
            let expected = format!("a number, the value of {key}");
            self.error(place, &format!("`{text}`"), expected)
        })?;
        self.tell_rest(key, text, number, &text[number.len()..]);
        Ok(value)
    }

    /// Says that `rest` is not read, unless it is `.0`.
    fn tell_rest(&mut self, key: &str, text: &str, number: &str, rest: &str) {
        let is_zero = |rest: &str| rest.bytes().all(|byte| byte == b'0');
        if !rest.is_empty() && !rest.strip_prefix('.').is_some_and(is_zero) {
            let note = format!("{key}: `{text}` is read as {number}, as in HPCC's simulator");
            self.notes.push(note);
        }
    }

    /// 0 or another number.
    pub fn flag(&mut self, key: &str) -> Result<bool, FileError> {
        self.number::<u32>(key).map(|number| number != 0)
    }

    /// How many there are, then pairs of a rate and a value.
    pub fn map(&mut self, key: &str) -> Result<Vec<(u64, f64)>, FileError> {
        let count: usize = self.number(key)?;
        (0..count)
            .map(|_| Ok((self.number(key)?, self.real(key)?)))
            .collect()
    }
}

fn words_of(line: &str, number: usize) -> impl Iterator<Item = Word<'_>> {
    let mut rest = line;
    let mut column = 1;
    std::iter::from_fn(move || {
        let start = rest.find(|c: char| !c.is_whitespace())?;
        column += rest[..start].chars().count();
        rest = &rest[start..];
        let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (word, after) = rest.split_at(length);
        let at = column;
        column += word.chars().count();
        rest = after;
        Some(((number, at), word))
    })
}
