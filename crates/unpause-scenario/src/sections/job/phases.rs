//! The phases of an iteration, from the keys of a job or its steps.

use std::collections::BTreeMap;
use std::ops::Range;
use unpause_text::error::{Checked, Problem};

use unpause_protocols::units::{Fraction, Rate, Time};
use unpause_sim::config::NodeId;
use unpause_sim::jobs::{self, Collective, Exchange, Phase};

use super::keys::{Algorithm, Group, Operation, Parallel, Work};
use super::pipeline::pipeline;
use crate::text::keys::{WithDefault, Written};
use unpause_protocols::names::Names as _;

/// The settings of all steps of a job.
pub(super) struct OfJob<'a> {
    pub ranks: u32,
    pub parallel: &'a Written<Parallel>,
    pub per_server: &'a WithDefault<u32>,
    pub reduce_rate: Option<Rate>,
    /// The host of each rank.
    pub hosts: &'a [NodeId],
    /// As [`Fabric::seats`](unpause_sim::config::Fabric::seats) says.
    pub seats: &'a BTreeMap<NodeId, (NodeId, u32)>,
    /// Where the job stands.
    pub place: Range<usize>,
}

/// The phase of a step, and what it does.
pub(super) fn phase(step: &Work, group: Group, of: &OfJob<'_>) -> Checked<(Phase, String)> {
    let compute = step.compute.value().0;
    let jitter = jitter(step, compute)?;
    let Some(collective) = step.collective.get() else {
        if compute == Time::ZERO {
            return Problem::new("nothing to do")
                .at(of.place.clone(), "neither `compute` nor `collective`")
                .help("write collective = \"all-reduce\" with a `size`, or add [[job.step]] tables")
                .err();
        }
        let phase = Phase {
            compute,
            jitter,
            collective: None,
        };
        return Ok((phase, "compute".into()));
    };
    let operation = collective.get_ref().0;
    let groups = groups(group, of)?;
    let n = groups.first().map_or(0, jobs::Group::count);
    if n < 2 {
        return Problem::new("a group of one rank")
            .at(collective.span(), "nobody to exchange anything with")
            .help("raise that number of `parallel`, or choose another `group`")
            .err();
    }
    let algorithm = algorithm(step, operation, n, of)?;
    let exchanged = Collective {
        operation: self::operation(step, operation, n, collective.span())?,
        algorithm,
        bytes: bytes(step, operation, collective.span())?,
        channels: at_least_one(&step.channels, "channels")?,
        slices: at_least_one(&step.slices, "slices")?,
        pxn: false,
    };
    let exchanged = Collective {
        pxn: exchanged.may_relay() && pxn(step, &groups, of)?,
        ..exchanged
    };
    let reduces = matches!(operation, Operation::AllReduce | Operation::ReduceScatter);
    let reduce_rate = of.reduce_rate.filter(|_| reduces);
    check_slices(step, &exchanged, reduce_rate)?;
    let phase = Phase {
        compute,
        jitter,
        collective: Some(Exchange {
            collective: exchanged,
            groups,
            reduce_rate,
        }),
    };
    Ok((phase, operation.name().into()))
}

/// Refuses slices that may overtake one another.
fn check_slices(step: &Work, exchanged: &Collective, reduce_rate: Option<Rate>) -> Checked<()> {
    if let Some(slices) = step.slices.peek().filter(|_| exchanged.slices > 1)
        && !exchanged.keeps_slices_in_order()
    {
        let (label, help) = if exchanged.pxn {
            (
                "not with `pxn`",
                "remove `slices` or `pxn`; `channels` run side by side with both",
            )
        } else {
            (
                "not with this algorithm",
                "remove `slices`, or write algorithm = \"ring\" or \"double-binary-tree\"; `channels` run side by side with any",
            )
        };
        return Problem::new("slices would overtake one another")
            .at(slices.span(), label)
            .help(help)
            .err();
    }
    if let Some(slices) = step.slices.peek().filter(|_| exchanged.slices > 1)
        && reduce_rate.is_some()
    {
        return Problem::new("slices would overtake one another")
            .at(
                slices.span(),
                "with `reduce_rate`, a slice without reduction could overtake one that is being reduced",
            )
            .help("remove `slices` or `reduce_rate`; `channels` run side by side with both")
            .err();
    }
    Ok(())
}

/// Whether messages go over relays. That needs a server with two ranks of a group, beside another server.
fn pxn(step: &Work, groups: &[jobs::Group], of: &OfJob<'_>) -> Checked<bool> {
    let Some(written) = step.pxn.get().filter(|it| *it.get_ref()) else {
        return Ok(false);
    };
    let seats = of.hosts.iter().map(|host| of.seats.get(host));
    let servers: Vec<_> = seats.map(|seat| seat.map(|(server, _)| server)).collect();
    let may_relay = |group: &jobs::Group| {
        let of_group = group.iter().map(|rank| servers[*rank as usize]);
        let mut sizes: BTreeMap<_, u32> = BTreeMap::new();
        of_group
            .flatten()
            .for_each(|server| *sizes.entry(server).or_default() += 1);
        sizes
            .values()
            .any(|size| *size > 1 && *size < group.count())
    };
    if groups.iter().any(may_relay) {
        return Ok(true);
    }
    Problem::new("`pxn` has no effect")
        .at(written.span(), "no server has two ranks of a group that has ranks elsewhere, too")
        .help("remove it, or place the job on several servers with NVSwitches, such as those of builder = \"rails\" with an `nvlink_rate`")
        .err()
}

fn jitter(step: &Work, compute: Time) -> Checked<Fraction> {
    let Some(jitter) = step.jitter.peek().filter(|_| compute > Time::ZERO) else {
        return Ok(Fraction::ZERO);
    };
    step.jitter.get();
    match jitter.get_ref().scaled(1 << 32) {
        Some(of_one) if of_one <= 1 << 32 => Ok(Fraction::from_q32(of_one)),
        _ => Problem::new("`jitter` is more than all of `compute`")
            .at(jitter.span(), "from 0% to 100%")
            .err(),
    }
}

pub(super) fn at_least_one(key: &WithDefault<u32>, what: &str) -> Checked<u32> {
    key.within(1..=1024, what)
}

fn bytes(step: &Work, operation: Operation, place: Range<usize>) -> Checked<u64> {
    if operation == Operation::AllToAllV {
        return Ok(0);
    }
    match step.size.get() {
        Some(size) if size.get_ref().0 > 0 => Ok(size.get_ref().0),
        Some(size) => Problem::new("nothing to exchange")
            .at(size.span(), "at least 1 B")
            .err(),
        None => Problem::new(format!("{} without a size", operation.name()))
            .at(place, "needs `size`")
            .help("write size = \"256MB\"")
            .err(),
    }
}

fn operation(
    step: &Work,
    operation: Operation,
    n: u32,
    place: Range<usize>,
) -> Checked<jobs::Operation> {
    use jobs::Operation as To;
    Ok(match operation {
        Operation::AllReduce => To::AllReduce,
        Operation::AllGather => To::AllGather,
        Operation::ReduceScatter => To::ReduceScatter,
        Operation::AllToAll => To::AllToAll,
        Operation::SendReceive => To::SendReceive,
        Operation::Pipeline => To::Pipeline(pipeline(step, n, place)?),
        Operation::Broadcast => match step.root.get() {
            Some(root) if *root.get_ref() >= n => {
                return Problem::new(format!(
                    "there is no rank {} in a group of {n}",
                    root.get_ref()
                ))
                .at(root.span(), "counted from 0")
                .err();
            }
            _ => To::Broadcast {
                root: *step.root.value(),
            },
        },
        Operation::AllToAllV => {
            let matrix = step.matrix.get();
            let given = matrix.map_or(0, |it| it.get_ref().len());
            if given != (n * n) as usize {
                let problem = Problem::new(format!("{given} sizes, expected {}", n * n));
                let place = matrix.or(step.matrix.peek()).map(|it| it.span());
                let place = place.or(step.collective.peek().map(|it| it.span()));
                return problem
                    .at(
                        place.unwrap_or(0..0),
                        format!("from each of {n} ranks to each, row by row"),
                    )
                    .help("write matrix = [\"0B\", \"1MB\", …]")
                    .err();
            }
            let sizes = matrix.into_iter().flat_map(|it| it.get_ref());
            To::AllToAllV(sizes.map(|it| it.get_ref().0).collect())
        }
    })
}

/// How it can be done; the first is the default.
pub(super) fn possible(operation: Operation) -> &'static [Algorithm] {
    use {Algorithm as A, Operation as O};
    match operation {
        O::AllReduce => &[A::Ring, A::HalvingDoubling, A::Direct, A::Tree, A::Rails],
        O::AllGather | O::ReduceScatter => &[A::Ring, A::Direct],
        O::AllToAll | O::AllToAllV => &[A::Direct, A::Pairwise],
        O::Broadcast | O::SendReceive => &[A::Ring],
        O::Pipeline => &[A::OneForwardOneBackward, A::GPipe, A::Interleaved],
    }
}

fn algorithm(
    step: &Work,
    operation: Operation,
    n: u32,
    of: &OfJob<'_>,
) -> Checked<jobs::Algorithm> {
    use Algorithm as A;
    let possible = possible(operation);
    let written = step.algorithm.get();
    let chosen = written.map_or(possible[0], |written| written.get_ref().0);
    if let Some(written) = written.filter(|_| !possible.contains(&chosen)) {
        let names: Vec<&str> = possible.iter().map(|algorithm| algorithm.name()).collect();
        return Problem::new(format!("no such algorithm for {}", operation.name()))
            .at(written.span(), "here")
            .help(format!("there are: {}", names.join(", ")))
            .err();
    }
    Ok(match chosen {
        A::Ring => jobs::Algorithm::Ring,
        A::HalvingDoubling => jobs::Algorithm::HalvingDoubling,
        A::Direct => jobs::Algorithm::Direct,
        A::Pairwise => jobs::Algorithm::Pairwise,
        A::Tree => jobs::Algorithm::DoubleBinaryTree,
        A::OneForwardOneBackward => jobs::Algorithm::OneForwardOneBackward,
        A::GPipe => jobs::Algorithm::GPipe,
        A::Interleaved => jobs::Algorithm::Interleaved,
        A::Rails => {
            let per_server = of.per_server.get();
            let per_server_ranks = *of.per_server.value();
            if per_server_ranks == 0 || !n.is_multiple_of(per_server_ranks) {
                let message = format!("{n} ranks do not fill servers of {per_server_ranks}");
                let place = per_server
                    .map(|it| it.span())
                    .or(written.map(|it| it.span()));
                return Problem::new(message)
                    .at(place.unwrap_or(of.place.clone()), "here")
                    .help("set per_server to the ranks of a server")
                    .err();
            }
            jobs::Algorithm::Rails {
                per_server: per_server_ranks,
            }
        }
    })
}

/// Ranks by groups. Rank r is number r mod tp of its tensor-parallel group, number r / tp mod dp of its data-parallel one,
/// number r / (tp dp) of its pipeline-parallel one; expert-parallel groups are neighbours in a data-parallel one.
fn groups(group: Group, of: &OfJob<'_>) -> Checked<Vec<jobs::Group>> {
    if group == Group::All {
        return Ok(vec![(0..of.ranks).collect()]);
    }
    let Some(parallel) = of.parallel.get() else {
        return Problem::new("no groups")
            .at(
                of.place.clone(),
                "a step has a `group`, and the job no `parallel`",
            )
            .help("write parallel = { tp = 8, dp = 4 }: numbers that multiply to `ranks`")
            .err();
    };
    let place = parallel.span();
    let parallel = parallel.get_ref();
    let number =
        |it: &Option<serde_spanned::Spanned<u32>>| it.as_ref().map_or(1, |it| *it.get_ref());
    let (tp, dp) = (number(&parallel.tp), number(&parallel.dp));
    let (pp, ep) = (number(&parallel.pp), number(&parallel.ep));
    let product = u64::from(tp) * u64::from(dp) * u64::from(pp);
    if product != u64::from(of.ranks) {
        return Problem::new(format!("groups of {product} ranks, of {}", of.ranks))
            .at(place, "`tp`, `dp` and `pp` multiply to `ranks`")
            .err();
    }
    if ep == 0 || dp % ep != 0 {
        return Problem::new(format!("groups of {ep} do not fill one of {dp}"))
            .at(place, "`ep` divides `dp`")
            .err();
    }
    // Members of a group are so far apart, and so many.
    let (stride, size) = match group {
        Group::All | Group::Tp => (1, tp),
        Group::Dp => (tp, dp),
        Group::Ep => (tp, ep),
        Group::Pp => (tp * dp, pp),
    };
    let is_first = |rank: &u32| (rank / stride).is_multiple_of(size);
    let members = |first: u32| (0..size).map(|at| first + at * stride).collect();
    Ok((0..of.ranks).filter(is_first).map(members).collect())
}
