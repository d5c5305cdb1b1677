//! Descriptions of topology builders.

use std::collections::HashMap;
use std::ops::Range;
use unpause_text::error::{Checked, Problem};

use serde::Deserialize;

use crate::text::document::{self, Table};
use crate::text::keys::{Key, Keys};
use unpause_import::fabric::topology::{Invalid, Topology};

/// A value of `builder`.
pub(super) trait Builder {
    /// Its table.
    type Keys: Keys<Params = ()>;
    /// As written in the file.
    const NAME: &'static str;
    /// The names of nodes, and how they are linked.
    const NODES: &'static str;

    /// Reads its table and builds what it says.
    fn read(table: Table<'_>, places: &mut Places) -> Checked<Result<Topology, Invalid>>;
}

/// The keys of a builder.
pub(super) fn keys<'i, B: Deserialize<'i>>(table: Table<'i>) -> Checked<B> {
    document::read(table, &["builder"])
}

/// A value of `builder`.
#[derive(Clone, Copy)]
pub struct TopologyBuilder {
    name: &'static str,
    keys: fn() -> Vec<Key>,
    nodes: &'static str,
    build: fn(Table<'_>, Places) -> Checked<Topology>,
}

impl TopologyBuilder {
    pub(super) const fn of<B: Builder>() -> Self {
        Self {
            name: B::NAME,
            keys: || B::Keys::keys(&()),
            nodes: B::NODES,
            build: |table, mut places| {
                let built = B::read(table, &mut places)?;
                built.map_err(|invalid| places.problem(&invalid))
            },
        }
    }

    /// As written in the file.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Its keys.
    pub fn keys(self) -> Vec<Key> {
        (self.keys)()
    }

    /// The names of nodes, and how they are linked; in Markdown.
    pub fn nodes(self) -> &'static str {
        self.nodes
    }

    /// Builds what the table says.
    pub(super) fn build(self, table: Table<'_>, places: Places) -> Checked<Topology> {
        (self.build)(table, places)
    }
}

/// Where the keys of the table are.
pub(super) struct Places {
    pub table: Range<usize>,
    pub keys: HashMap<String, Range<usize>>,
}

impl Places {
    fn problem(&self, invalid: &Invalid) -> Box<Problem> {
        let place = self.keys.get(&invalid.field).unwrap_or(&self.table).clone();
        let label = match invalid.field.as_str() {
            "links" => "see the [[topology.link]] entries",
            field if field.starts_with("links[") => "this link",
            _ => "here",
        };
        Box::new(Problem::new(&*invalid.message).at(place, label))
    }
}
