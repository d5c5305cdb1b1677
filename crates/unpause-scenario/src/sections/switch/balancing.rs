//! `balancing` of `[switch]`: which of several equal next hops a packet takes, and by which group.

use unpause_protocols::names::Names;
use unpause_protocols::units::Time;
use unpause_sim::config::{AdaptiveBalancing, Balancing};
use unpause_text::error::{Checked, Problem};
use unpause_text::quantity::{Duration, Size};

use crate::text::keys::WithDefault;
use crate::text::kind::OneOf;

/// LetFlow's, as the public simulator of ConWeave (SIGCOMM 2023) sets it.
pub(super) const FLOWLET_GAP: Time = Time::from_us(100);

/// How next hops are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Names)]
pub(crate) enum BalancingKey {
    Ecmp,
    RoundRobin,
    Random,
    Adaptive,
    Flowlet,
    Valiant,
}

/// The balancing of `[switch]`, with its parameters.
pub(super) fn balancing(
    key: &WithDefault<OneOf<BalancingKey>>,
    (min, max): (&WithDefault<Size>, &WithDefault<Size>),
    flowlet_gap: &WithDefault<Duration>,
) -> Checked<Balancing> {
    Ok(match key.value().0 {
        BalancingKey::Ecmp => Balancing::Ecmp,
        BalancingKey::RoundRobin => Balancing::RoundRobin,
        BalancingKey::Random => Balancing::Random,
        BalancingKey::Valiant => Balancing::Valiant,
        BalancingKey::Adaptive => Balancing::Adaptive(AdaptiveBalancing {
            min_bytes: min.value().0,
            max_bytes: max.value().0,
        }),
        BalancingKey::Flowlet => match flowlet_gap.get() {
            Some(gap) if gap.get_ref().0 == Time::ZERO => {
                return Problem::new("`flowlet_gap` is zero")
                    .at(gap.span(), "every packet would be a flowlet")
                    .help("set balancing = \"random\", which does the same")
                    .err();
            }
            _ => Balancing::Flowlet {
                gap: flowlet_gap.value().0,
            },
        },
    })
}
