//! PFC alone.

use unpause_sim::config::SchemeConfig;

use super::congestion_control::Scheme;
use crate::text::keys::{self};

/// It has no parameters.
#[derive(Default)]
pub(super) struct PfcAlone;

/// Its keys.
#[derive(keys::Keys)]
#[keys("scheme", sets = PfcAlone)]
pub(super) struct Keys {}

impl Scheme for PfcAlone {
    const NAME: &'static str = "none";
    const SUMMARY: &'static str = "PFC alone; senders at line rate";
    const REACTS: bool = false;
    type Keys = Keys;

    fn config(self) -> SchemeConfig {
        SchemeConfig::default()
    }
}
