//! Labels of operations: the names of their nodes.

use std::collections::HashMap;

use unpause_text::limits;

/// Names of nodes, each once.
pub(super) struct Labels {
    names: Vec<String>,
    known: HashMap<String, u16>,
}

/// Names that are kept; nodes of further names are called by their kind.
const MOST: usize = 60_000;

impl Labels {
    pub fn new() -> Self {
        Self {
            names: Vec::new(),
            known: HashMap::new(),
        }
    }

    /// The label of a node of this name, or of this kind if it has none.
    pub fn of(&mut self, name: &str, kind: &str) -> u16 {
        let name = if name.is_empty() { kind } else { name };
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        if self.names.len() >= MOST && name != kind {
            return self.of(kind, kind);
        }
        let label = self.names.len() as u16;
        self.names.push(limits::shorten(name));
        self.known.insert(name.to_owned(), label);
        label
    }

    pub fn names(self) -> Vec<String> {
        self.names
    }
}
