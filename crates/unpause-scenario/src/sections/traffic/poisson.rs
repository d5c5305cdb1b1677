//! Random arrivals.

use std::ops::Range;
use unpause_text::error::{Checked, Problem};
use unpause_text::limits;
use unpause_text::name_list::NameList;
use unpause_text::quantity::{DataRate, Duration, Ratio, Size};

use serde_spanned::Spanned;
use unpause_protocols::units::{Rate, Time};
use unpause_sim::config::NodeId;
use unpause_sim::traffic::{
    self, Arrivals, FlowSettings, Pairs, Pattern, Receivers, TrafficSpec, Transport,
};

use super::arrivals::{stops_after_start, time};
use super::context::{Context, LoadBasis, LoadOf};
use super::kind::Kind;
use crate::text::checks::{both, positive};
use crate::text::keys::{Keys, WithDefault, Written};
use crate::text::kind::OneOf;

/// Why what is said of a load has no effect.
const NO_LOAD: (&str, &str) = (
    "there is no `load`",
    "remove it, or set the amount of traffic with `load`",
);

/// Its keys.
#[derive(Keys)]
#[keys("traffic")]
pub(super) struct Poisson {
    /// senders
    #[key(unset = "all hosts")]
    from: Written<NameList>,
    /// receivers
    #[key(unset = "all hosts")]
    to: Written<NameList>,
    /// instead of `to`: each sender has one receiver for the whole run
    permutation: WithDefault<bool>,
    /// receivers are never behind the same switch as the sender
    outside_leaf: WithDefault<bool>,
    /// payload of each flow, above zero except over TCP
    #[key(unset = "required, or `cdf`")]
    size: Written<Size>,
    /// instead of `size`: distribution from which each flow's size is drawn, a name from `unpause list` or the path of a file
    #[key(unset = "none")]
    cdf: Written<String>,
    /// amount of traffic, as a share of what links carry
    #[key(unset = "required, or `rate` or `mean_interval`")]
    load: Written<Ratio>,
    /// links of which `load` is a share: those of the senders, those of the receivers, or those from the senders' switches to other switches, as usual for leaf-spine fabrics
    #[key(idle = NO_LOAD)]
    load_of: WithDefault<OneOf<LoadOf>>,
    /// what takes that share: payload, or full frames with their headers, preamble and gap; ACKs and retransmissions are not included
    #[key(idle = NO_LOAD)]
    load_basis: WithDefault<OneOf<LoadBasis>>,
    /// instead of `load`: payload of all senders together
    #[key(unset = "none")]
    rate: Written<DataRate>,
    /// instead of `load`: mean time between events
    #[key(unset = "none")]
    mean_interval: Written<Duration>,
    /// in each event all senders start a flow, instead of a random one
    synchronised: WithDefault<bool>,
    /// time from which events are drawn
    start: WithDefault<Duration>,
    /// no event starts from this time on
    #[key(unset = "end of the run")]
    stop: Written<Duration>,
    /// largest number of flows
    #[key(unset = "no limit")]
    flows: Written<u64>,
}

impl Kind for Poisson {
    const NAME: &'static str = "poisson";
    const WHAT: &'static str = "random senders and receivers, exponential intervals";

    fn spec(
        &self,
        flow: FlowSettings,
        context: &Context<'_>,
        entry: Range<usize>,
    ) -> Checked<TrafficSpec> {
        let from = context.hosts_or_all(&self.from)?;
        let to = self.receivers(context)?;
        let receivers = match &to {
            Receivers::Any(hosts) | Receivers::BehindOtherSwitch { to: hosts, .. } => {
                hosts.as_slice()
            }
            Receivers::Permutation => &from,
        };
        context.any_to_any(&from, receivers, &self.from, &self.to, &entry)?;
        let size = context
            .files
            .size(&self.size, &self.cdf, flow.transport, entry.clone())?;
        stops_after_start(&self.start, &self.stop)?;
        let of_load = |load: &Spanned<Ratio>| {
            self.bits_per_second(load, (&from, receivers), flow.transport, context)
        };
        let events_per_second = self.events_per_second(from.len(), &size, of_load, entry)?;
        let arrivals = Arrivals {
            stop: time(&self.stop, Time::NEVER),
            max_flows: self.flows.value().copied(),
            ..Arrivals::poisson(events_per_second, time(&self.start, Time::ZERO))
        };
        let pairs = Pairs::Random {
            from,
            to,
            synchronised: self.is_synchronised(),
        };
        Ok(TrafficSpec::Pattern(Pattern {
            flow,
            ..Pattern::new(pairs, size, arrivals)
        }))
    }
}

impl Poisson {
    fn is_synchronised(&self) -> bool {
        *self.synchronised.value()
    }

    fn receivers(&self, context: &Context<'_>) -> Checked<Receivers> {
        let to = match (self.permutation.get(), self.to.get()) {
            (Some(permutation), Some(to)) if *permutation.get_ref() => {
                return both("permutation", permutation, "to", to);
            }
            (Some(permutation), None) if *permutation.get_ref() => Receivers::Permutation,
            _ => Receivers::Any(context.hosts_or_all(&self.to)?),
        };
        Ok(match (self.outside_leaf.get(), to) {
            (Some(outside), Receivers::Permutation) if *outside.get_ref() => {
                let permutation = self.permutation.get().expect("it has been read");
                return both("permutation", permutation, "outside_leaf", outside);
            }
            (Some(outside), Receivers::Any(to)) if *outside.get_ref() => {
                Receivers::BehindOtherSwitch {
                    to,
                    switch_of: context.switch_of(),
                }
            }
            (_, to) => to,
        })
    }

    /// Payload that `load` asks for.
    fn bits_per_second(
        &self,
        load: &Spanned<Ratio>,
        (from, to): (&[NodeId], &[NodeId]),
        transport: Transport,
        context: &Context<'_>,
    ) -> Checked<f64> {
        if load.get_ref().num == 0 {
            return Problem::new("`load` is zero")
                .at(load.span(), "nothing would be sent")
                .err();
        }
        within_limit(load)?;
        let capacity = context.capacity(&self.load_of, from, to)?;
        let share = match self.load_basis.value().0 {
            LoadBasis::Payload => 1.0,
            LoadBasis::Wire => context.payload_share(transport),
        };
        let asked = load.get_ref().as_f64();
        context.load.set(Some((asked, share * capacity)));
        Ok(asked * share * capacity)
    }

    fn events_per_second(
        &self,
        senders: usize,
        size: &traffic::Size,
        bits_per_second: impl Fn(&Spanned<Ratio>) -> Checked<f64>,
        entry: Range<usize>,
    ) -> Checked<f64> {
        let senders_per_event = if self.is_synchronised() {
            senders as f64
        } else {
            1.0
        };
        let bits_per_event = size.mean() * 8.0 * senders_per_event;
        let how_much = self.load.peek().map(Spanned::span);
        let how_much = how_much.or(self.rate.peek().map(Spanned::span));
        if let (Some(how_much), 0.0) = (how_much, bits_per_event) {
            let size = self.size.peek().map_or(entry, Spanned::span);
            return Problem::new("flows without bytes carry no load")
                .at(size, "0 B each")
                .at(how_much, "any load would need infinitely many")
                .help("set mean_interval = \"10us\" instead, or another size")
                .err();
        }
        let amount = (self.load.get(), self.rate.get(), self.mean_interval.get());
        Ok(match amount {
            (Some(load), Some(rate), _) => return both("load", load, "rate", rate),
            (Some(load), _, Some(interval)) => {
                return both("load", load, "mean_interval", interval);
            }
            (_, Some(rate), Some(interval)) => {
                return both("rate", rate, "mean_interval", interval);
            }
            (Some(load), None, None) => bits_per_second(load)? / bits_per_event,
            (None, Some(rate), None) => {
                if rate.get_ref().0 == Rate::ZERO {
                    return Problem::new("`rate` is zero")
                        .at(rate.span(), "nothing would be sent")
                        .err();
                }
                rate.get_ref().0.as_bps() as f64 / bits_per_event
            }
            (None, None, Some(interval)) => {
                1.0 / positive("mean_interval", interval)?.as_secs_f64()
            }
            (None, None, None) => {
                return Problem::new("the amount of traffic is missing")
                    .at(entry, "in this entry")
                    .help(
                        "set one of: load = 0.5 (share of the senders' links, or what load_of says), rate = \"12Gbps\" \
                         (payload of all senders together), mean_interval = \"10us\"",
                    )
                    .err();
            }
        })
    }
}

/// Refuses a load that can only have been meant in percent.
fn within_limit(load: &Spanned<Ratio>) -> Checked<()> {
    let said = load.get_ref();
    if u128::from(said.num) <= u128::from(limits::LOAD) * u128::from(said.den) {
        return Ok(());
    }
    let percent = said.as_f64();
    Problem::new(format!(
        "`load` {percent} is {percent} times what the links can carry"
    ))
    .at(load.span(), format!("at most {}", limits::LOAD))
    .help(format!(
        "for {percent} % write load = \"{percent} %\" or load = {}",
        percent / 100.0
    ))
    .err()
}
