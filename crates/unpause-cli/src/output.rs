//! Standard output.

use std::io::{self, ErrorKind, Write};
use std::sync::OnceLock;

use unpause_scenario::{Error, plain_text as plain};

use crate::args::{Form, Say};

/// Everything that was wrong.
pub type Errors = Vec<Error>;

/// Why standard output could not be written, if so.
static FAILED: OnceLock<io::Error> = OnceLock::new();

/// Writes to standard output; [`finished`] says whether that went well.
pub fn show(text: &str) {
    note(io::stdout().write_all(plain::clean(text).as_bytes()));
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
    write_coloured(&plain::clean(text));
}

/// The same of a text that has been cleaned, and coloured afterwards.
pub fn write_coloured(text: &str) {
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
