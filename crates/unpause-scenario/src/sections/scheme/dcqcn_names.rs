//! Parameters of DCQCN by the names and in the units of NICs: what `/sys/class/net/*/ecn/roce_rp` and `mlxconfig` show.

use unpause_protocols::congestion_control::dcqcn;
use unpause_protocols::units::{Fraction, Rate, Time};

use crate::text::keys::Written;
use unpause_text::error::{Checked, Problem};

/// The parameters that a file has, in microseconds and megabits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NicNames {
    pub dce_tcp_g: Option<u32>,
    pub dce_tcp_rtt: Option<u32>,
    pub rate_reduce_monitor_period: Option<u32>,
    pub rpg_time_reset: Option<u32>,
    pub rpg_threshold: Option<u32>,
    pub rpg_ai_rate: Option<u32>,
    pub rpg_hai_rate: Option<u32>,
    pub rpg_min_rate: Option<u32>,
    pub clamp_tgt_rate: Option<u32>,
    pub min_time_between_cnps: Option<u32>,
    pub initial_alpha_value: Option<u32>,
    pub rate_to_set_on_first_cnp: Option<u32>,
    pub rpg_min_dec_fac: Option<u32>,
    pub rpg_gd: Option<u32>,
    pub rpg_byte_reset: Option<u32>,
}

/// A parameter with its written value, its least and largest value, and the reason for these limits.
pub(super) struct Limit<'a> {
    pub name: &'static str,
    pub written: &'a Written<u32>,
    pub least: u32,
    pub most: u32,
    pub why: &'static str,
}

/// Refuses values that NICs do not take, or that the reaction point here does not have.
pub(super) fn check(limits: &[Limit<'_>]) -> Checked<()> {
    for limit in limits {
        let Some(value) = limit.written.peek() else {
            continue;
        };
        let Limit {
            name, least, most, ..
        } = limit;
        if (*least..=*most).contains(value.get_ref()) {
            continue;
        }
        let expected = match least == most {
            true => format!("expected {least}: {}", limit.why),
            false => format!("expected {least} to {most}: {}", limit.why),
        };
        return Problem::new(format!("`{name}` cannot be {}", value.get_ref()))
            .at(value.span(), expected)
            .err();
    }
    Ok(())
}

impl NicNames {
    /// True if nothing is written.
    pub(super) fn are_unused(&self) -> bool {
        *self == Self::default()
    }

    /// Sets the reaction point and the shortest time between two CNPs: by what is written, and otherwise by the defaults of the
    /// firmware. Answers the shortest time between two cuts.
    pub(super) fn apply(&self, rp: &mut dcqcn::Params, cnp_interval: &mut Time) -> Time {
        let us = |written: Option<u32>, default| Time::from_us(written.unwrap_or(default).into());
        let mbps = |written: Option<u32>, default: u32| {
            Rate::from_bps(u64::from(written.unwrap_or(default)) * 1_000_000)
        };
        let kept = self.dce_tcp_g.unwrap_or(1019);
        rp.g = Fraction::of(u64::from(1024 - kept.min(1024)), 1024);
        rp.alpha_timer = us(self.dce_tcp_rtt, 1);
        rp.increase_timer = us(self.rpg_time_reset, 300);
        rp.fr_threshold = self.rpg_threshold.unwrap_or(1);
        rp.rate_ai = mbps(self.rpg_ai_rate, 5);
        rp.rate_hai = mbps(self.rpg_hai_rate, 50);
        rp.min_rate = mbps(self.rpg_min_rate, 1);
        rp.clamp_target = self.clamp_tgt_rate == Some(1);
        *cnp_interval = us(self.min_time_between_cnps, 2);
        us(self.rate_reduce_monitor_period, 4)
    }
}
