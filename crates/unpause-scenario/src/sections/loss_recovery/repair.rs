//! Descriptions of loss recovery mechanisms.

use std::fmt;
use unpause_text::error::Checked;

use unpause_protocols::loss_recovery::Config;
use unpause_protocols::units::Time;

use crate::sections::scheme::BaseRtt;
use crate::text::document::Table;
use crate::text::keys::{self, Key, Keys as _, keys_of};

/// A value of `loss_recovery`: its parameters.
pub(super) trait Repair: Default {
    /// As written in the file; also the name of its table.
    const NAME: &'static str;
    /// One line on what it is.
    const SUMMARY: &'static str;
    /// Its table.
    type Keys: keys::Keys<Params = Self> + Default;

    /// The key that says the base RTT, or what follows from it, if `keys` do not.
    fn without_base_rtt(_keys: &Self::Keys) -> Option<&'static str> {
        None
    }

    /// The parameters before keys set theirs. `base_rtt` is zero if it is not needed.
    fn defaults(_base_rtt: Time) -> Self {
        Self::default()
    }

    /// Refuses parameters that do not go together.
    fn check(&self, _keys: &Self::Keys) -> Checked<()> {
        Ok(())
    }

    /// The mechanism.
    fn config(self) -> Config;
}

/// A value of `loss_recovery`.
#[derive(Clone, Copy)]
pub struct LossRecovery {
    name: &'static str,
    summary: &'static str,
    keys: fn() -> Vec<Key>,
    configure: fn(Option<Table<'_>>, BaseRtt<'_>) -> Checked<Config>,
}

impl LossRecovery {
    pub(super) const fn of<R: Repair>() -> Self {
        Self {
            name: R::NAME,
            summary: R::SUMMARY,
            keys: || R::Keys::keys(&R::default()),
            configure: |table, base_rtt| {
                let keys: R::Keys = keys_of(table)?;
                let base_rtt = match R::without_base_rtt(&keys) {
                    Some(key) => base_rtt(&format!("scheme.{}.{key}", R::NAME))?,
                    None => Time::ZERO,
                };
                let mut repair = R::defaults(base_rtt);
                keys.apply(&mut repair)?;
                repair.check(&keys)?;
                Ok(repair.config())
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

    /// The mechanism with what its table says, if it has one.
    pub(super) fn configure(
        self,
        table: Option<Table<'_>>,
        base_rtt: BaseRtt<'_>,
    ) -> Checked<Config> {
        (self.configure)(table, base_rtt)
    }
}

impl fmt::Debug for LossRecovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
