//! What a kind of traffic says of itself, once.

use std::ops::Range;

use serde::Deserialize;
use unpause_sim::traffic::{FlowSettings, TrafficSpec};

use super::common::COMMON_KEYS;
use super::context::Context;
use crate::text::document::{Table, read};
use crate::text::error::Checked;

/// A value of `kind`: its keys.
pub(super) trait Kind: for<'i> Deserialize<'i> {
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
    spec: Spec,
}

type Spec = fn(Table<'_>, FlowSettings, &Context<'_>) -> Checked<TrafficSpec>;

impl TrafficKind {
    pub(super) const fn of<K: Kind>() -> Self {
        Self {
            name: K::NAME,
            keys: K::KEYS,
            what: K::WHAT,
            has_priorities: K::HAS_PRIORITIES,
            spec: |table, flow, context| {
                let entry = table.span();
                read::<K>(table, &COMMON_KEYS)?.spec(flow, context, entry)
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

    /// The traffic of a table, whose flows are `flow`.
    pub(super) fn spec(
        self,
        table: Table<'_>,
        flow: FlowSettings,
        context: &Context<'_>,
    ) -> Checked<TrafficSpec> {
        (self.spec)(table, flow, context)
    }
}
