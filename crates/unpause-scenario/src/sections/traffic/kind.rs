//! What a kind of traffic says of itself, once.

use std::ops::Range;

use serde::Deserialize;
use unpause_sim::traffic::{FlowSettings, TrafficSpec};

use super::common::COMMON_KEYS;
use super::context::Context;
use crate::text::document::{Table, read};
use crate::text::error::Checked;

/// A value of `kind`: its keys.
pub(super) trait Kind: for<'i> Deserialize<'i> + 'static {
    /// As written in the file.
    const NAME: &'static str;
    /// Its keys, with the defaults of those that have one; in Markdown.
    const KEYS: &'static str;
    /// What it sends; in Markdown.
    const WHAT: &'static str;
    /// It says the priority of each flow itself.
    const HAS_PRIORITIES: bool = false;

    /// The traffic of the table at `entry`, whose flows are `flow`.
    fn spec(
        &self,
        flow: FlowSettings,
        context: &Context<'_>,
        entry: Range<usize>,
    ) -> Checked<TrafficSpec>;
}

/// A value of `kind`.
#[derive(Clone, Copy)]
pub struct TrafficKind {
    name: &'static str,
    keys: &'static str,
    what: &'static str,
    has_priorities: bool,
    read: fn(Table<'_>) -> Checked<Spec>,
}

/// Makes traffic of keys that have been read; its flows are as told.
pub(super) type Spec = Box<dyn FnOnce(FlowSettings, &Context<'_>) -> Checked<TrafficSpec>>;

impl TrafficKind {
    pub(super) const fn of<K: Kind>() -> Self {
        Self {
            name: K::NAME,
            keys: K::KEYS,
            what: K::WHAT,
            has_priorities: K::HAS_PRIORITIES,
            read: |table| {
                let entry = table.span();
                let keys: K = read(table, &COMMON_KEYS)?;
                let spec: Spec = Box::new(move |flow, context| keys.spec(flow, context, entry));
                Ok(spec)
            },
        }
    }

    /// As written in the file.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Its keys, with the defaults of those that have one; in Markdown.
    pub fn keys(self) -> &'static str {
        self.keys
    }

    /// What it sends; in Markdown.
    pub fn what(self) -> &'static str {
        self.what
    }

    /// True if it says the priority of each flow itself.
    pub(super) fn has_priorities(self) -> bool {
        self.has_priorities
    }

    /// Reads the keys of its table.
    pub(super) fn read(self, table: Table<'_>) -> Checked<Spec> {
        (self.read)(table)
    }
}
