//! Credits instead of PFC.

use unpause_protocols::flow_control::credits;

/// Credit-based flow control (CBFC) of all lossless priorities of all links, instead of PFC.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CbfcConfig {
    /// Of both ends of each link.
    pub params: credits::Config,
    /// Buffer of each lossless (ingress port, priority), bytes. `None`: what fills the link, by
    /// [`credits::Settings::full_rate_bytes`], in whole frames of the largest size.
    pub buffer_bytes: Option<u64>,
}
