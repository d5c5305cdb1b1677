//! Standard output.

use std::io::Write;

use unpause_scenario::Error;

use crate::args::{Form, Say};

/// Everything that was wrong.
pub type Errors = Vec<Error>;

/// Writes to standard output. A reader that has gone away is not an error.
pub fn show(text: &str) {
    let _ = std::io::stdout().write_all(printable(text).as_bytes());
}

/// Text of files on a terminal: what would move its cursor is replaced.
pub fn printable(text: &str) -> String {
    let odd = |c: char| c.is_control() && c != '\n' && c != '\t';
    text.replace(odd, "\u{fffd}")
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
