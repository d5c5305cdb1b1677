//! The lines of a suggestion: values, each with its formula and its source.

use unpause_scenario::Error;

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Name of the value.
    pub name: String,
    /// With its unit.
    pub value: String,
    /// How it is computed, with the numbers.
    pub formula: String,
    /// Who says so.
    pub source: &'static str,
}

impl Line {
    /// A line of a table.
    pub fn new(name: &str, value: String, formula: String, source: &'static str) -> Self {
        Self {
            name: name.to_owned(),
            value,
            formula,
            source,
        }
    }
}

/// The lines below each other, values aligned at the right.
pub fn table(lines: &[Line]) -> String {
    let widest = |of: fn(&Line) -> &str| {
        let widths = lines.iter().map(|line| of(line).chars().count());
        widths.max().unwrap_or(0)
    };
    let name = widest(|line| &line.name);
    let value = widest(|line| &line.value);
    let line = |line: &Line| {
        format!(
            "{:name$}  {:>value$}   {}   [{}]\n",
            line.name, line.value, line.formula, line.source
        )
    };
    lines.iter().map(line).collect()
}

/// Bytes as a scenario reads them; of a part of a byte, the first decimal.
pub fn bytes(bytes: f64) -> String {
    match bytes.fract() {
        0.0 => format!("{bytes}B"),
        _ => format!("{bytes:.1}B"),
    }
}

/// An error without a place.
pub fn wrong(message: String, help: &str) -> Error {
    Error::Other {
        message,
        help: Some(help.to_owned()),
    }
}
