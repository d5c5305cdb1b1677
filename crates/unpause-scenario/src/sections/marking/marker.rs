//! Descriptions of congestion points that work with any sender.

use std::fmt;
use unpause_text::error::Checked;

use unpause_protocols::congestion_point::Config;

use crate::text::document::Table;
use crate::text::keys::{self, Key, Keys as _, keys_of};

/// A value of `marking`: its parameters.
pub(super) trait Marker: Default {
    /// As written in the file; also the name of its table.
    const NAME: &'static str;
    /// One line on what it is.
    const SUMMARY: &'static str;
    /// It marks packets.
    const MARKS: bool = true;
    /// Its table.
    type Keys: keys::Keys<Params = Self> + Default;

    /// Refuses parameters that do not go together, and completes them.
    fn check(&mut self, _keys: &Self::Keys) -> Checked<()> {
        Ok(())
    }

    /// The congestion point.
    fn config(self) -> Config;
}

/// A value of `marking`.
#[derive(Clone, Copy)]
pub struct Marking {
    name: &'static str,
    summary: &'static str,
    marks: bool,
    keys: fn() -> Vec<Key>,
    configure: fn(Option<Table<'_>>) -> Checked<Config>,
}

impl Marking {
    pub(super) const fn of<M: Marker>() -> Self {
        Self {
            name: M::NAME,
            summary: M::SUMMARY,
            marks: M::MARKS,
            keys: || M::Keys::keys(&M::default()),
            configure: |table| {
                let keys: M::Keys = keys_of(table)?;
                let mut marker = M::default();
                keys.apply(&mut marker)?;
                marker.check(&keys)?;
                Ok(marker.config())
            },
        }
    }

    /// As written in the file; also the name of its table.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// One line on what it is.
    pub fn summary(self) -> &'static str {
        self.summary
    }

    /// The keys of its table.
    pub fn keys(self) -> Vec<Key> {
        (self.keys)()
    }

    /// True if it marks packets.
    pub(crate) fn marks(self) -> bool {
        self.marks
    }

    /// The congestion point with what its table says, if it has one.
    pub(crate) fn configure(self, table: Option<Table<'_>>) -> Checked<Config> {
        (self.configure)(table)
    }
}

impl fmt::Debug for Marking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
