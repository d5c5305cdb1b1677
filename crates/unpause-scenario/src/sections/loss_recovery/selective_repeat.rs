//! Selective repeat as IRN has it (SIGCOMM 2018).

use unpause_protocols::loss_recovery::{Config, selective_repeat};
use unpause_protocols::units::Time;
use unpause_text::error::{Checked, Problem};
use unpause_text::quantity::{Duration, Size};

use super::repair::Repair;
use crate::text::keys::{self, Param, ordered};

pub(super) use selective_repeat::Params as SelectiveRepeat;

/// Its keys.
#[derive(keys::Keys)]
#[keys("scheme", sets = SelectiveRepeat)]
pub(super) struct Keys {
    /// round trip that `window` covers; the default is propagation alone, so with long frames on short links the window may not fill the link of a lone flow
    #[key(unset = "base RTT of the topology")]
    base_rtt: Param<Duration>,
    /// largest distance, in payload, from the first missing packet to the last one sent: the size of the bitmaps
    #[key(
        unset = "line rate x `base_rtt`; 4 times that with `nscc` and `rccc`",
        from = "IRN paper: BDP-FC"
    )]
    window: Param<Size>,
    /// timeout while at most `few_packets` are in flight
    #[key(from = "IRN paper, 40 Gb/s")]
    rto_low: Param<Duration>,
    /// timeout otherwise
    #[key(from = "IRN paper, 40 Gb/s")]
    rto_high: Param<Duration>,
    /// see `rto_low`
    #[key(sets = few, from = "IRN paper: N")]
    few_packets: Param<u32>,
    /// packets that overtake a missing one do not indicate its loss if their numbers are higher by at most this; without a limit only timeouts detect losses
    #[key(
        unset = "0; no limit if packets of a flow take different paths, or switches trim them",
        from = "IRN paper: 0"
    )]
    reordering: Param<u32>,
}

impl Repair for SelectiveRepeat {
    const NAME: &'static str = "selective-repeat";
    const SUMMARY: &'static str = "selective repeat of IRN (SIGCOMM 2018): receivers keep packets that arrive out of order, senders resend missing ones, at most a BDP is in flight";
    type Keys = Keys;

    fn without_base_rtt(keys: &Keys) -> Option<&'static str> {
        let is_written = keys.base_rtt.peek().is_some() || keys.window.peek().is_some();
        (!is_written).then_some("base_rtt")
    }

    fn defaults(base_rtt: Time) -> Self {
        let default = Self::default();
        match base_rtt {
            Time::ZERO => default,
            base_rtt => Self {
                base_rtt,
                ..default
            },
        }
    }

    fn check(&self, keys: &Keys) -> Checked<()> {
        if let (Some(base_rtt), Some(window)) = (keys.base_rtt.peek(), keys.window.peek()) {
            return Problem::new("`base_rtt` has no effect")
                .at(base_rtt.span(), "says how large the window is")
                .at(window.span(), "this says so")
                .help("remove one of them")
                .err();
        }
        ordered(
            ("rto_low", &keys.rto_low),
            &self.rto_low,
            ("rto_high", &keys.rto_high),
            &self.rto_high,
        )
    }

    fn config(self) -> Config {
        Config::SelectiveRepeat(self)
    }
}
