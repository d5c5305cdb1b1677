//! A value of a sweep.

use std::fmt::{self, Display};
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// A swept value. Shown as its name, or as its number: `1e-12` instead of a row of zeros.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Swept {
    /// The number in table `runs`: the value itself, or the number of a name.
    pub value: f64,
    /// All names, in a sweep over names.
    pub names: Arc<[String]>,
    /// Whether it is the run's seed, and nothing else changes with it.
    pub is_seed: bool,
}

impl Swept {
    /// The name that it is, in a sweep over names.
    pub fn name(&self) -> Option<&str> {
        self.names.get(self.value as usize).map(String::as_str)
    }
}

impl From<f64> for Swept {
    fn from(value: f64) -> Self {
        Self {
            value,
            ..Self::default()
        }
    }
}

impl Serialize for Swept {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.name() {
            Some(name) => serializer.serialize_str(name),
            None => serializer.serialize_f64(self.value),
        }
    }
}

impl Display for Swept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SMALL: f64 = 1e-4;
        match self.name() {
            Some(name) => f.write_str(name),
            None if self.value != 0.0 && self.value.abs() < SMALL => write!(f, "{:e}", self.value),
            None => write!(f, "{}", self.value),
        }
    }
}
