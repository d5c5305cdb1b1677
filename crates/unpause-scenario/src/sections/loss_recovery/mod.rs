//! `loss_recovery` of `[[scheme]]`: how RoCE flows repair losses. A file for each value.

mod choice;
mod go_back_n;
mod repair;
mod selective_repeat;

pub(crate) use choice::{loss_recovery, take_loss_recovery};
pub use repair::LossRecovery;

/// Every value of `loss_recovery`, the default first.
pub const LOSS_RECOVERIES: [LossRecovery; 2] = [
    LossRecovery::of::<go_back_n::GoBackN>(),
    LossRecovery::of::<selective_repeat::SelectiveRepeat>(),
];
