//! PFC alone.

use unpause_sim::config::SchemeConfig;

use super::congestion_control::Scheme;
use crate::text::section::section;

/// It has no parameters.
#[derive(Default)]
pub(super) struct PfcAlone;

section!(Keys for PfcAlone {});

impl Scheme for PfcAlone {
    const NAME: &'static str = "none";
    const SUMMARY: &'static str = "PFC alone; senders at line rate";
    const REACTS: bool = false;
    type Keys = Keys;

    fn config(self) -> SchemeConfig {
        SchemeConfig::default()
    }
}
