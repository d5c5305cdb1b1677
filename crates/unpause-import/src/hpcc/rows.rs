//! Lines of these files, and their columns.

use std::collections::VecDeque;
use std::io::{BufRead, Read};
use std::path::Path;

use unpause_sim::config::NodeId;

use crate::{FileError, Place};
use unpause_text::limits;

/// Lines that are not blank.
pub(super) struct Rows<'a, R> {
    reader: R,
    place: Place<'a>,
    /// Bytes read.
    read: u64,
    /// Rows that come before the next line.
    back: VecDeque<Row<'a>>,
}

impl<'a, R: BufRead> Rows<'a, R> {
    pub fn new(reader: R, path: &'a Path) -> Self {
        Self {
            reader,
            place: Place::of_line(path, 0),
            read: 0,
            back: VecDeque::new(),
        }
    }

    /// The next line with its end; `None` at the end of the file. Reads no more than [`limits`] allow.
    fn line(&mut self) -> Result<Option<String>, FileError> {
        let most = limits::LINE_BYTES.min(limits::HPCC_BYTES - self.read);
        let mut bytes = Vec::new();
        let mut reader = self.reader.by_ref().take(most + 1);
        reader
            .read_until(b'\n', &mut bytes)
            .map_err(|reason| self.place.io(reason))?;
        if bytes.is_empty() {
            return Ok(None);
        }
        self.place.line += 1;
        let length = bytes.len() as u64;
        let text = limits::utf8(bytes, self.read)
            .map_err(|not| self.place.error(not.found, limits::EXPECTED_TEXT))?;
        if length > most {
            return Err(match most {
                limits::LINE_BYTES => {
                    let found = format!("a line of more than {} MiB", most >> 20);
                    self.place.error(found, "lines of text")
                }
                _ => self.place.io(limits::too_large(limits::HPCC_BYTES)),
            });
        }
        let text = match self.read {
            0 => text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned(),
            _ => text,
        };
        self.read += length;
        Ok(Some(text))
    }

    pub fn try_next(&mut self) -> Result<Option<Row<'a>>, FileError> {
        if let Some(row) = self.back.pop_front() {
            return Ok(Some(row));
        }
        while let Some(text) = self.line()? {
            if !text.trim().is_empty() {
                return Ok(Some(Row {
                    text,
                    place: self.place,
                    places: Vec::new(),
                }));
            }
        }
        Ok(None)
    }

    pub fn next(&mut self, expected: impl FnOnce() -> String) -> Result<Row<'a>, FileError> {
        let row = self.try_next()?;
        row.ok_or_else(|| self.place.error("the end of the file", expected()))
    }

    /// Lets `row` come next.
    pub fn put_back(&mut self, row: Row<'a>) {
        self.back.push_front(row);
    }

    /// Lets the words of `row` and of what follows come next as `count` rows of `width`, wherever lines end, as the
    /// simulators read them. `false` if the last of these words does not end a line: then a line lacks a word, or
    /// has one too many. Nothing comes after that.
    pub fn rewrap(&mut self, row: &Row<'a>, width: usize, count: usize) -> Result<bool, FileError> {
        let most = width.saturating_mul(count);
        let mut words = row.placed();
        while words.len() < most {
            let Some(row) = self.try_next()? else {
                break;
            };
            words.extend(row.placed());
        }
        let fits = words.len() == most;
        if fits {
            let rows = words.chunks(width.max(1));
            self.back
                .extend(rows.map(|words| Row::of(words, row.place)));
        }
        Ok(fits)
    }
}

/// One line, or what takes its place where words go on in the next.
pub(super) struct Row<'a> {
    pub text: String,
    pub place: Place<'a>,
    /// Lines and columns of its words; empty if they are those of `text`.
    places: Vec<(usize, usize)>,
}

/// A word, with its line and column.
type Placed = (String, (usize, usize));

impl<'a> Row<'a> {
    /// The place of a word of this line.
    pub fn at(&self, word: &str) -> Place<'a> {
        let before = (word.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize);
        let before = before.and_then(|bytes| self.text.get(..bytes));
        let index = before.map_or(0, |before| before.split_whitespace().count());
        if let Some(&(line, column)) = self.places.get(index) {
            return Place {
                line,
                column,
                ..self.place
            };
        }
        Place {
            column: before.map_or(0, |before| before.chars().count() + 1),
            ..self.place
        }
    }

    /// Words of a file as one row.
    fn of(words: &[Placed], place: Place<'a>) -> Self {
        let texts: Vec<&str> = words.iter().map(|(word, _)| word.as_str()).collect();
        let places: Vec<(usize, usize)> = words.iter().map(|(_, place)| *place).collect();
        let line = places.first().map_or(place.line, |(line, _)| *line);
        Self {
            text: texts.join(" "),
            place: Place { line, ..place },
            places,
        }
    }

    fn placed(&self) -> Vec<Placed> {
        let place = |word: &str| {
            let place = self.at(word);
            (word.to_owned(), (place.line, place.column))
        };
        self.words().into_iter().map(place).collect()
    }

    /// Its first `width` words, and the rest.
    pub fn split(&self, width: usize) -> (Self, Self) {
        let words = self.placed();
        let (head, tail) = words.split_at(width.min(words.len()));
        (Self::of(head, self.place), Self::of(tail, self.place))
    }

    pub fn words(&self) -> Vec<&str> {
        self.text.split_whitespace().collect()
    }

    /// Its columns, separated by blanks.
    pub fn columns<const N: usize>(&self, expected: &str) -> Result<[&str; N], FileError> {
        let columns = self.words();
        columns
            .try_into()
            .map_err(|_| self.place.error(self.quoted(), expected))
    }

    /// The text of the row, and its number of columns.
    pub fn quoted(&self) -> String {
        format!("`{}` ({} columns)", self.text.trim(), self.width())
    }

    pub fn width(&self) -> usize {
        self.text.split_whitespace().count()
    }

    /// That it has other columns than the first line of its kind: one that lacks a column would be read as another
    /// format.
    pub fn unlike(&self, (line, columns): (usize, usize)) -> FileError {
        let expected = format!("{columns} columns, as in line {line}");
        self.place.error(self.quoted(), expected)
    }

    pub fn at_most(&self, word: &str, most: u64, what: &str) -> Result<(), FileError> {
        if word.parse().is_ok_and(|found: u64| found > most) {
            let found = format!("{word} {what}");
            return Err(self.at(word).error(found, format!("at most {most}")));
        }
        Ok(())
    }

    pub fn number<T: std::str::FromStr>(&self, text: &str, expected: &str) -> Result<T, FileError> {
        text.parse()
            .map_err(|_| self.at(text).error(format!("`{text}`"), expected))
    }

    pub fn node(&self, text: &str, nodes: NodeId) -> Result<NodeId, FileError> {
        let id = text.parse().ok().filter(|id| *id < nodes);
        id.ok_or_else(|| {
            let expected = format!("the id of a node, below {nodes}");
            self.at(text).error(format!("`{text}`"), expected)
        })
    }
}
