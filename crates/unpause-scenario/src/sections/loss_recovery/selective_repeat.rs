//! Selective repeat as IRN has it (SIGCOMM 2018).

use unpause_protocols::loss_recovery::{Config, selective_repeat};
use unpause_protocols::units::Time;

use super::repair::Repair;
use crate::text::keys::{keys, ordered};
use unpause_text::error::{Checked, Problem};
use unpause_text::quantity::{Duration, Size};

pub(super) use selective_repeat::Params as SelectiveRepeat;

keys! {
    #[derive(Default)]
    pub(super) Keys at "scheme" for SelectiveRepeat {
        base_rtt: Duration = ["base RTT of the topology"]
            "round trip that `window` covers; the default is propagation alone, so with long frames on short links the window may not fill the link of a lone flow"
            => base_rtt;
        window: Size = ["line rate x `base_rtt`; 4 times that with `nscc` and `rccc`"]
            "largest distance, in payload, from the first missing packet to the last one sent: the size of the bitmaps"
            from "IRN paper: BDP-FC" => window;
        rto_low: Duration "timeout while at most `few_packets` are in flight"
            from "IRN paper, 40 Gb/s" => rto_low;
        rto_high: Duration "timeout otherwise"
            from "IRN paper, 40 Gb/s" => rto_high;
        few_packets: u32 "see `rto_low`"
            from "IRN paper: N" => few;
        reordering: u32 = ["0; no limit if packets of a flow take different paths, or switches trim them"]
            "packets that overtake a missing one do not indicate its loss if their numbers are higher by at most this; without a limit only timeouts detect losses"
            from "IRN paper: 0" => reordering;
    }
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
