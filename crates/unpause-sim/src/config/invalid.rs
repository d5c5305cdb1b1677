//! Why a configuration cannot be run.

use std::fmt;

use crate::fabric::NodeId;

/// Why a configuration cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// The field at fault, from [`Config`](crate::config::Config) on: `switch.buffer_bytes`.
    pub field: &'static str,
    /// The part of the fabric concerned, if it is one part: the subject of `message`.
    pub subject: Option<Subject>,
    /// The fault.
    pub message: String,
    /// A few words about the field; may be empty.
    pub label: Box<str>,
    /// Other fields that have a part in it, and what holds there.
    pub others: Vec<(&'static str, String)>,
    /// Advice.
    pub help: Option<Box<str>>,
}

/// Something in the fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A host.
    Host(NodeId),
    /// A switch.
    Switch(NodeId),
    /// A link, by its index.
    Link(usize),
}

impl Invalid {
    /// This field is at fault, in these words.
    pub fn new(field: &'static str, message: impl Into<String>) -> Self {
        Self {
            field,
            subject: None,
            message: message.into(),
            label: Box::default(),
            others: Vec::new(),
            help: None,
        }
    }

    /// A field that must be above zero.
    pub(crate) fn zero(field: &'static str) -> Self {
        Self::new(field, format!("`{}` is zero", name(field)))
    }

    /// A number of bytes that is above another: fields and values.
    pub(crate) fn above(low: (&'static str, u64), high: (&'static str, u64)) -> Self {
        let message = format!("`{}` is above `{}`", name(low.0), name(high.0));
        Self::new(low.0, message)
            .label(bytes(low.1))
            .and(high.0, bytes(high.1))
    }

    /// Says what holds at the field.
    pub fn label(self, label: impl Into<Box<str>>) -> Self {
        let label = label.into();
        Self { label, ..self }
    }

    pub(crate) fn and(mut self, field: &'static str, label: impl Into<String>) -> Self {
        self.others.push((field, label.into()));
        self
    }

    /// Says what to do.
    pub fn help(self, help: impl Into<Box<str>>) -> Self {
        let help = Some(help.into());
        Self { help, ..self }
    }

    /// Says what it is about.
    pub fn of(self, subject: Subject) -> Self {
        Self {
            subject: Some(subject),
            ..self
        }
    }
}

/// The last step of a field, without its unit.
fn name(field: &str) -> &str {
    let last = field.rsplit('.').next().unwrap_or(field);
    last.strip_suffix("_bytes").unwrap_or(last)
}

/// Bytes in the largest unit of 1000 that divides them.
pub fn bytes(bytes: u64) -> String {
    match bytes {
        0 => "0B".into(),
        _ if bytes.is_multiple_of(1_000_000) => format!("{}MB", bytes / 1_000_000),
        _ if bytes.is_multiple_of(1_000) => format!("{}KB", bytes / 1_000),
        _ => format!("{bytes}B"),
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(node) => write!(f, "host {node}"),
            Self::Switch(node) => write!(f, "switch {node}"),
            Self::Link(link) => write!(f, "link {link}"),
        }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.subject {
            Some(subject) => write!(f, "{subject} {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for Invalid {}
