//! Why a configuration cannot be run.

use std::fmt;

use crate::fabric::NodeId;

/// Why a configuration cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// The field at fault, from [`Config`](crate::config::Config) on: `switch.buffer_bytes`.
    pub field: &'static str,
    /// What of the fabric it is about, if it is about one thing: the subject of `message`.
    pub subject: Option<Subject>,
    /// What is wrong.
    pub message: String,
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
    pub(crate) fn new(field: &'static str, message: impl Into<String>) -> Self {
        Self {
            field,
            subject: None,
            message: message.into(),
        }
    }

    pub(crate) fn of(self, subject: Subject) -> Self {
        Self {
            subject: Some(subject),
            ..self
        }
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
