//! Parameters of DCQCN by the names and in the units of NICs: what `/sys/class/net/*/ecn/roce_rp` and `mlxconfig` show.

use unpause_protocols::congestion_control::dcqcn;
use unpause_protocols::units::{Fraction, Rate, Time};
use unpause_text::error::{Checked, Problem};

use crate::text::keys::{Keys, WithDefault};

/// Parameters in microseconds and megabits per second. The defaults are those of the firmware.
#[derive(Keys)]
#[keys("scheme", from = "mlxconfig")]
pub(super) struct NicNames {
    /// by NVIDIA's names, [explained below](#schemedcqcn): the part of alpha that is kept, in 1/1024; 1019 is g = 5/1024
    #[key(default = 1019)]
    pub dce_tcp_g: WithDefault<u32>,
    /// alpha's interval, us
    #[key(default = 1)]
    pub dce_tcp_rtt: WithDefault<u32>,
    /// shortest time between two cuts, us
    #[key(default = 4)]
    pub rate_reduce_monitor_period: WithDefault<u32>,
    /// duration of one cycle of the increase timer, us
    #[key(default = 300)]
    pub rpg_time_reset: WithDefault<u32>,
    /// cycles of fast recovery
    #[key(default = 1)]
    pub rpg_threshold: WithDefault<u32>,
    /// step of additive increase, Mb/s
    #[key(default = 5)]
    pub rpg_ai_rate: WithDefault<u32>,
    /// step of hyper increase, Mb/s
    #[key(default = 50)]
    pub rpg_hai_rate: WithDefault<u32>,
    /// the rate never falls below this, Mb/s
    #[key(default = 1)]
    pub rpg_min_rate: WithDefault<u32>,
    /// 1: every cut lowers the target rate; 0: only a cut that follows an increase
    pub clamp_tgt_rate: WithDefault<u32>,
    /// shortest time between two CNPs of a flow, us
    #[key(default = 2)]
    pub min_time_between_cnps: WithDefault<u32>,
    /// initial alpha, in 1/1024; only 1023, which is taken as 1
    #[key(default = 1023)]
    pub initial_alpha_value: WithDefault<u32>,
    /// only 0: the first CNP sets no rate
    pub rate_to_set_on_first_cnp: WithDefault<u32>,
    /// only 50: a cut leaves at least half of the rate, %
    #[key(default = 50)]
    pub rpg_min_dec_fac: WithDefault<u32>,
    /// only 11: a cut is half of alpha
    #[key(default = 11)]
    pub rpg_gd: WithDefault<u32>,
    /// only 0: increases follow the timer alone, as in HPCC's simulator
    #[key(from = "ours")]
    pub rpg_byte_reset: WithDefault<u32>,
}

impl NicNames {
    /// Refuses values that NICs do not take, or that the reaction point here does not have.
    pub(super) fn check(&self) -> Checked<()> {
        const RANGE: &str = "the values that the NIC accepts";
        let limits = [
            (
                "dce_tcp_g",
                &self.dce_tcp_g,
                0..=1023,
                "the part of alpha that is kept, in 1/1024",
            ),
            ("dce_tcp_rtt", &self.dce_tcp_rtt, 1..=131_071, RANGE),
            (
                "rate_reduce_monitor_period",
                &self.rate_reduce_monitor_period,
                1..=u32::MAX,
                RANGE,
            ),
            ("rpg_time_reset", &self.rpg_time_reset, 1..=131_071, RANGE),
            ("rpg_threshold", &self.rpg_threshold, 1..=31, RANGE),
            ("rpg_ai_rate", &self.rpg_ai_rate, 1..=u32::MAX, RANGE),
            ("rpg_hai_rate", &self.rpg_hai_rate, 1..=u32::MAX, RANGE),
            ("rpg_min_rate", &self.rpg_min_rate, 1..=u32::MAX, RANGE),
            ("clamp_tgt_rate", &self.clamp_tgt_rate, 0..=1, RANGE),
            (
                "initial_alpha_value",
                &self.initial_alpha_value,
                1023..=1023,
                "alpha begins with 1 here",
            ),
            (
                "rate_to_set_on_first_cnp",
                &self.rate_to_set_on_first_cnp,
                0..=0,
                "the first CNP sets no rate here",
            ),
            (
                "rpg_min_dec_fac",
                &self.rpg_min_dec_fac,
                50..=50,
                "no cut leaves less than half here",
            ),
            (
                "rpg_gd",
                &self.rpg_gd,
                11..=11,
                "a cut is half of alpha here",
            ),
            (
                "rpg_byte_reset",
                &self.rpg_byte_reset,
                0..=0,
                "increases follow the timer alone here",
            ),
        ];
        for (name, key, possible, why) in limits {
            let (least, most) = (possible.start(), possible.end());
            let written = key.get();
            let Some(value) = written.filter(|value| !possible.contains(value.get_ref())) else {
                continue;
            };
            let expected = if least == most {
                format!("expected {least}: {why}")
            } else {
                format!("expected {least} to {most}: {why}")
            };
            return Problem::new(format!("`{name}` cannot be {}", value.get_ref()))
                .at(value.span(), expected)
                .err();
        }
        Ok(())
    }

    /// Sets the reaction point and the shortest time between two CNPs: as NICs count them. Returns the shortest time between two cuts.
    pub(super) fn apply(&self, rp: &mut dcqcn::Params, cnp_interval: &mut Time) -> Time {
        let us = |key: &WithDefault<u32>| Time::from_us((*key.value()).into());
        let mbps = |key: &WithDefault<u32>| Rate::from_bps(u64::from(*key.value()) * 1_000_000);
        let kept = *self.dce_tcp_g.value();
        rp.g = Fraction::of(u64::from(1024 - kept.min(1024)), 1024);
        rp.alpha_timer = us(&self.dce_tcp_rtt);
        rp.increase_timer = us(&self.rpg_time_reset);
        rp.fr_threshold = *self.rpg_threshold.value();
        rp.rate_ai = mbps(&self.rpg_ai_rate);
        rp.rate_hai = mbps(&self.rpg_hai_rate);
        rp.min_rate = mbps(&self.rpg_min_rate);
        rp.clamp_target = *self.clamp_tgt_rate.value() == 1;
        *cnp_interval = us(&self.min_time_between_cnps);
        us(&self.rate_reduce_monitor_period)
    }
}
