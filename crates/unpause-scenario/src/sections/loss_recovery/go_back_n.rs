//! Go-back-N (InfiniBand Architecture Specification, 9.7).

use unpause_protocols::loss_recovery::Config;

use super::repair::Repair;
use crate::text::keys::{self};

/// It has no parameters of its own: those of `[host]` are as old as hosts.
#[derive(Default)]
pub(super) struct GoBackN;

/// Its keys.
#[derive(keys::Keys)]
#[keys("scheme", sets = GoBackN)]
pub(super) struct Keys {}

impl Repair for GoBackN {
    const NAME: &'static str = "go-back-n";
    const SUMMARY: &'static str = "go-back-N: receivers accept packets only in order; senders go back to the first missing one";
    type Keys = Keys;

    fn config(self) -> Config {
        Config::GoBackN
    }
}
