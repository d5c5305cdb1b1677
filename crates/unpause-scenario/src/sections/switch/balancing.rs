//! `balancing` of `[switch]`: which of several equal next hops a packet takes, and by which group.

use unpause_protocols::units::Time;
use unpause_sim::config::{AdaptiveBalancing, Balancing};

use crate::text::keys::{Written, names};
use unpause_text::error::{Checked, Problem};
use unpause_text::quantity::{Duration, Size};

/// LetFlow's, as the public simulator of ConWeave (SIGCOMM 2023) sets it.
pub(super) const FLOWLET_GAP: Time = Time::from_us(100);

names! {
    /// How next hops are chosen.
    pub(crate) BalancingKey {
        Ecmp = "ecmp",
        RoundRobin = "round-robin",
        Random = "random",
        Adaptive = "adaptive",
        Flowlet = "flowlet",
        Valiant = "valiant",
    }
}

/// What `[switch]` says of it, with the parameters of all ways.
pub(super) fn balancing(
    key: &Written<BalancingKey>,
    (min, max): (&Written<Size>, &Written<Size>),
    flowlet_gap: &Written<Duration>,
) -> Checked<Balancing> {
    Ok(match key.value() {
        None | Some(BalancingKey::Ecmp) => Balancing::Ecmp,
        Some(BalancingKey::RoundRobin) => Balancing::RoundRobin,
        Some(BalancingKey::Random) => Balancing::Random,
        Some(BalancingKey::Valiant) => Balancing::Valiant,
        Some(BalancingKey::Adaptive) => {
            let AdaptiveBalancing {
                min_bytes,
                max_bytes,
            } = AdaptiveBalancing::default();
            Balancing::Adaptive(AdaptiveBalancing {
                min_bytes: min.value().map_or(min_bytes, |it| it.0),
                max_bytes: max.value().map_or(max_bytes, |it| it.0),
            })
        }
        Some(BalancingKey::Flowlet) => match flowlet_gap.get() {
            None => Balancing::Flowlet { gap: FLOWLET_GAP },
            Some(gap) if gap.get_ref().0 == Time::ZERO => {
                return Problem::new("`flowlet_gap` is zero")
                    .at(gap.span(), "every packet would be a flowlet")
                    .help("set balancing = \"random\", which does the same")
                    .err();
            }
            Some(gap) => Balancing::Flowlet {
                gap: gap.get_ref().0,
            },
        },
    })
}
