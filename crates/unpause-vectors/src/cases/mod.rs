//! The cases of each kind of mechanism: thresholds and one step beside them, ties of timers and events,
//! saturation, clocks that wrap, and long random mixtures.

use unpause_protocols::by_name::Config;

use crate::script::Case;

mod congestion_control;
mod congestion_point;
mod flow_control;
mod notification_point;
mod sprayed_window;
mod spraying;

/// All cases of a mechanism, always in the same order.
pub fn of(config: &Config) -> Vec<Case> {
    match config {
        Config::CongestionPoint(_) => congestion_point::cases(config),
        Config::NotificationPoint(_) => notification_point::cases(config),
        Config::CongestionControl(law) => congestion_control::cases(config, law),
        Config::FlowControl(_) => flow_control::cases(config),
        Config::Spraying(_) => spraying::cases(config),
        Config::SprayedWindow(params) => sprayed_window::cases(config, params),
    }
}
