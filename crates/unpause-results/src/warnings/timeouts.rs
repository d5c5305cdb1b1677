//! Which keys say when RoCE resends what nobody has acknowledged.

use unpause_protocols::loss_recovery::Config as LossRecovery;
use unpause_sim::config::Config;

/// Their names.
pub fn names(config: &Config) -> &'static str {
    match &config.scheme.loss_recovery {
        LossRecovery::GoBackN => "host.retransmit_timeout",
        LossRecovery::SelectiveRepeat(_) => "rto_low and rto_high of [scheme.selective-repeat]",
    }
}

/// Their names, and their values.
pub fn with_values(config: &Config) -> String {
    let values = match &config.scheme.loss_recovery {
        LossRecovery::GoBackN => config.host.retransmit_timeout.to_string(),
        LossRecovery::SelectiveRepeat(it) => format!("{} and {}", it.rto_low, it.rto_high),
    };
    format!("{} (now {values})", names(config))
}
