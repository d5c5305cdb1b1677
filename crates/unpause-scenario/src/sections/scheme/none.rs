//! PFC alone.

use unpause_sim::config::SchemeConfig;

use super::congestion_control::Scheme;
use crate::text::keys::keys;

/// It has no parameters.
#[derive(Default)]
pub(super) struct PfcAlone;

keys! {
    #[derive(Default)]
    pub(super) Keys at "scheme" for PfcAlone {}
}

impl Scheme for PfcAlone {
    const NAME: &'static str = "none";
    const SUMMARY: &'static str = "PFC alone; senders at line rate";
    const REACTS: bool = false;
    type Keys = Keys;

    fn config(self) -> SchemeConfig {
        SchemeConfig::default()
    }
}
