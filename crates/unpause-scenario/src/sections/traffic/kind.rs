//! Descriptions of kinds of traffic.

use std::ops::Range;
use unpause_text::error::Checked;

use unpause_sim::traffic::{FlowSettings, TrafficSpec};

use super::common::Common;
use super::context::Context;
use crate::text::document::{Table, read};
use crate::text::keys::{Key, Keys, refuse};

/// A value of `kind`: its keys.
pub(super) trait Kind: Keys<Params = ()> + 'static {
    /// As written in the file.
    const NAME: &'static str;
    /// A description of its flows, in Markdown.
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
    keys: fn() -> Vec<Key>,
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
            keys: || K::keys(&()),
            what: K::WHAT,
            has_priorities: K::HAS_PRIORITIES,
            read: |table| {
                let entry = table.span();
                let keys: K = read(table, &Common::names())?;
                let spec: Spec = Box::new(move |flow, context| {
                    let spec = keys.spec(flow, context, entry)?;
                    refuse(keys.unread())?;
                    Ok(spec)
                });
                Ok(spec)
            },
        }
    }

    /// As written in the file.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Its keys, beyond those of every kind.
    pub fn keys(self) -> Vec<Key> {
        (self.keys)()
    }

    /// A description of its flows, in Markdown.
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
