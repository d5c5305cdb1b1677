//! Cases as lines.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::event::{Answer, Create, Event};
use crate::script::{Case, Line};

/// How a line is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A JSON object.
    Json,
    /// Words `name=value`, for programs without a JSON reader: `timer now_ps=55000000`. What is nested has
    /// names with dots and numbers (`hops.0.tx_bytes=1`), `null` is `-`, and spaces in texts are `_`.
    Words,
}

/// One line in this form, without its end.
fn line(told: &impl Serialize, form: Form) -> String {
    let failed = "what stands on a line has names that are texts, and no numbers that JSON lacks";
    match form {
        Form::Json => serde_json::to_string(told).expect(failed),
        Form::Words => {
            let Value::Object(mut fields) = serde_json::to_value(told).expect(failed) else {
                unreachable!("what stands on a line is an object");
            };
            let mut out = String::new();
            if let Some(event) = fields.remove("event") {
                words("event", &event, &mut out);
            }
            for (name, value) in &fields {
                words(name, value, &mut out);
            }
            out
        }
    }
}

fn words(name: &str, value: &Value, out: &mut String) {
    match value {
        Value::Object(fields) => {
            for (inner, value) in fields {
                words(&format!("{name}.{inner}"), value, out);
            }
        }
        Value::Array(values) => {
            for (at, value) in values.iter().enumerate() {
                words(&format!("{name}.{at}"), value, out);
            }
        }
        _ => {
            if !out.is_empty() {
                out.push(' ');
            }
            let text = match value {
                Value::Null => "-".to_owned(),
                Value::String(text) => text.replace(' ', "_"),
                other => other.to_string(),
            };
            // What happens, and that alone, has no name before it.
            let written = if name == "event" {
                write!(out, "{text}")
            } else {
                write!(out, "{name}={text}")
            };
            written.expect("a string has room");
        }
    }
}

/// The fields of an answer in words. Numbers, `true`, `false` and `-` are what they are in JSON.
pub(crate) fn of_words(text: &str) -> Result<Map<String, Value>, String> {
    let mut fields = Map::new();
    for word in text.split_whitespace() {
        let Some((name, value)) = word.split_once('=') else {
            return Err(format!("`{word}` is no `name=value`"));
        };
        let value = match value {
            "-" => Value::Null,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            text => text
                .parse::<serde_json::Number>()
                .map_or_else(|_| Value::from(text), Value::Number),
        };
        fields.insert(name.to_owned(), value);
    }
    Ok(fields)
}

/// The first line of a case.
#[derive(Serialize)]
struct Begun<'a> {
    event: &'static str,
    case: &'a str,
    #[serde(flatten)]
    create: &'a Create,
    #[serde(skip_serializing_if = "<[u32]>::is_empty")]
    draws: &'a [u32],
    #[serde(skip_serializing_if = "Option::is_none")]
    expect: Option<&'a Answer>,
}

/// Any further line of a case.
#[derive(Serialize)]
struct Happened<'a> {
    #[serde(flatten)]
    event: &'a Event,
    #[serde(skip_serializing_if = "<[u32]>::is_empty")]
    draws: &'a [u32],
    #[serde(skip_serializing_if = "Option::is_none")]
    expect: Option<&'a Answer>,
}

impl Case {
    /// Its first line, with the answer if `expect`.
    pub(crate) fn first_line(&self, form: Form, expect: bool) -> String {
        let begun = Begun {
            event: "create",
            case: &self.name,
            create: &self.create,
            draws: &self.draws,
            expect: expect.then_some(&self.answer),
        };
        line(&begun, form)
    }
}

impl Line {
    /// The event as text, with the answer if `expect`.
    pub(crate) fn text(&self, form: Form, expect: bool) -> String {
        let happened = Happened {
            event: &self.event,
            draws: &self.draws,
            expect: expect.then_some(&self.answer),
        };
        line(&happened, form)
    }
}

/// Writes cases: a line where each begins, then a line an event, with the answer as `expect`.
///
/// # Errors
/// `out` takes no more.
pub fn write(cases: &[Case], form: Form, out: &mut impl Write) -> io::Result<()> {
    for case in cases {
        writeln!(out, "{}", case.first_line(form, true))?;
        for line in &case.lines {
            writeln!(out, "{}", line.text(form, true))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_what_json_says() {
        let json = r#"{"event":"ack","rtt_ps":null,"ce":true,"hops":[{"tx_bytes":1},{"tx_bytes":2}],"case":"a b"}"#;
        let Value::Object(fields) = serde_json::from_str(json).unwrap() else {
            panic!("an object");
        };
        let text = line(&fields, Form::Words);
        assert_eq!(
            text,
            "ack case=a_b ce=true hops.0.tx_bytes=1 hops.1.tx_bytes=2 rtt_ps=-"
        );
        let back = of_words("rtt_ps=- ce=true rate_bps=5 change=none").unwrap();
        assert_eq!(
            Value::Object(back),
            serde_json::json!({"rtt_ps": null, "ce": true, "rate_bps": 5, "change": "none"})
        );
        assert!(of_words("5").is_err());
    }
}
