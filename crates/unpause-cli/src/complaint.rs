//! Errors for people, for editors and for programs.

use std::io::IsTerminal;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};
use serde_json::{Value, json};
use unpause_scenario::{Error, plain_text};

use crate::args::Form;
use crate::interrupt;
use crate::output::{complain, show_json, write_coloured};

/// Tells errors; answers the exit code.
pub fn explain(errors: &[Error], form: Form) -> u8 {
    let interrupted = errors
        .iter()
        .any(|error| matches!(error, Error::Interrupted));
    if interrupted {
        complain!("interrupted: nothing was written");
        return interrupt::code();
    }
    match form {
        Form::Json => show_json(&json!({ "errors": as_json(errors) })),
        Form::Text => errors.iter().for_each(|error| write_coloured(&text(error))),
    }
    1
}

/// Errors as JSON, for programs.
pub fn as_json(errors: &[Error]) -> Value {
    let one = |error: &Error| {
        let place = error.location();
        json!({
            "file": place.as_ref().map(|(file, ..)| file),
            "line": place.as_ref().map(|(_, line, _)| line),
            "column": place.as_ref().map(|(_, _, column)| column),
            "message": error.to_string(),
            "help": error.help_text(),
        })
    };
    errors.iter().map(one).collect()
}

/// `file:line:column: error: message`, to which editors jump, then the lines and what helps.
fn text(error: &Error) -> String {
    let place = error.location();
    let place = place.map_or(String::new(), |(file, line, column)| {
        format!("{file}:{line}:{column}: ")
    });
    let mut text = format!("{place}error: {error}\n");
    if error.labels().is_some() {
        text += &excerpt(error);
    }
    if let Some(help) = error.help_text() {
        text += &format!("hint: {help}\n");
    }
    let text = plain_text::clean(&text);
    if std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        text.replacen("error:", "\u{1b}[1;31merror:\u{1b}[0m", 1)
    } else {
        text
    }
}

/// The lines of the file around the mistake, marked.
fn excerpt(error: &Error) -> String {
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor());
    let mut drawn = String::new();
    if handler.render_report(&mut drawn, error).is_err() {
        return String::new();
    }
    // The message above the frame and the help below are said in other words.
    let corner = |line: &str, corner: char| line.trim_start().starts_with(corner);
    let end = drawn.lines().position(|line| corner(line, '\u{2570}'));
    let lines = drawn.lines().take(end.map_or(usize::MAX, |end| end + 1));
    let lines = lines.skip_while(|line| !corner(line, '\u{256d}'));
    lines.map(|line| format!("{line}\n")).collect()
}
