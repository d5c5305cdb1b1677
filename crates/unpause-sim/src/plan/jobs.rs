//! Requirements that a job must meet to be run.

use unpause_protocols::units::Time;

use crate::config::invalid::Invalid;
use crate::config::{Config, NodeKind};
use crate::jobs::{Algorithm, Collective, Exchange, Job, Operation, Phase, Pipeline};
use crate::traffic::{TrafficSpec, Transport};

/// Connections that a job may have.
const MOST_CONNECTIONS: usize = 1 << 22;
/// Iterations that it may have.
const MOST_ITERATIONS: u32 = 1_000_000;
/// Micro-batches of an iteration.
const MOST_MICRO_BATCHES: u32 = 65_536;
/// Chunks of the model at a rank.
const MOST_CHUNKS: u32 = 64;

/// Refuses jobs that cannot be run.
///
/// # Errors
///
/// The first of them that cannot, and why.
pub(super) fn check(config: &Config) -> Result<(), Invalid> {
    for (at, job) in config.jobs.iter().enumerate() {
        let refuse = |why: String| Err(Invalid::new("jobs", format!("job {at}: {why}")));
        if let Err(why) = of(job, config) {
            return refuse(why);
        }
    }
    Ok(())
}

fn of(job: &Job, config: &Config) -> Result<(), String> {
    let ranks = job.hosts.len() as u32;
    if ranks < 2 {
        return Err("it needs two ranks".into());
    }
    let mut hosts = job.hosts.clone();
    hosts.sort_unstable();
    if hosts.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err("two of its ranks are at one host".into());
    }
    let is_host = |host: &u32| config.fabric.nodes.get(*host as usize) == Some(&NodeKind::Host);
    if !job.hosts.iter().all(is_host) {
        return Err("a rank is at no host".into());
    }
    if job.flow.transport != Transport::Roce {
        return Err("its messages go over RoCE only".into());
    }
    if !(1..=MOST_ITERATIONS).contains(&job.iterations) {
        return Err(format!("it has 1 to {MOST_ITERATIONS} iterations"));
    }
    match &job.program {
        Some(program) if !job.phases.is_empty() || program.ranks() != ranks => {
            return Err("its program is of other ranks, or it has phases, too".into());
        }
        None if job.phases.is_empty() => return Err("it does nothing".into()),
        _ => {}
    }
    job.phases
        .iter()
        .try_for_each(|phase| check_phase(phase, ranks))?;
    let flows = match config.traffic.get(usize::from(job.entry)) {
        Some(TrafficSpec::Flows(flows)) => flows.len(),
        _ => return Err("its connections are no flows".into()),
    };
    if flows > MOST_CONNECTIONS {
        return Err(format!(
            "it has {flows} connections, at most {MOST_CONNECTIONS} are possible"
        ));
    }
    check_bytes(job, config)
}

/// Packets of a connection are numbered by 32 bits.
fn check_bytes(job: &Job, config: &Config) -> Result<(), String> {
    let mut sum: u128 = 0;
    for exchange in job.phases.iter().filter_map(|it| it.collective.as_ref()) {
        let it = &exchange.collective;
        let largest = match &it.operation {
            // A relay may carry all that a rank sends, or receives.
            Operation::AllToAllV(matrix) if it.pxn => matrix.iter().sum(),
            Operation::AllToAllV(matrix) => matrix.iter().copied().max().unwrap_or(0),
            _ => it.bytes,
        };
        // Nothing sends its buffer more than twice over one connection, and no packet is lost to slices but one each.
        let most = largest.div_ceil(u64::from(it.lanes_of_channels()));
        let payload = u128::from(config.host.payload_bytes);
        sum += match &it.operation {
            Operation::Pipeline(it) => {
                let messages = u128::from(it.micro_batches) * u128::from(it.chunks);
                messages * (u128::from(most) + payload)
            }
            _ => 2 * u128::from(most) + u128::from(it.slices) * payload,
        };
    }
    if let Some(program) = &job.program {
        let payload = u128::from(config.host.payload_bytes);
        let of = |at: usize| {
            let messages = program.messages_of(at).len();
            u128::from(program.bytes_of(at)) + messages as u128 * payload
        };
        sum = (0..program.connections().len()).map(of).max().unwrap_or(0);
    }
    if sum * u128::from(job.iterations) > u128::from(config.host.most_bytes()) {
        Err("more than 2^32 packets could go over a connection: fewer iterations, or a larger payload".into())
    } else {
        Ok(())
    }
}

fn check_pipeline(it: &Pipeline, of: &Collective) -> Result<(), String> {
    if of.channels > 1 {
        return Err("stages of a pipeline compute once, not for each channel".into());
    }
    let is_interleaved = of.algorithm == Algorithm::Interleaved;
    if (it.chunks > 1) != is_interleaved || !(1..=MOST_CHUNKS).contains(&it.chunks) {
        return Err(format!(
            "a pipeline has one chunk of the model at each rank, an interleaved one 2 to {MOST_CHUNKS}"
        ));
    }
    if (1..=MOST_MICRO_BATCHES).contains(&it.micro_batches) {
        Ok(())
    } else {
        Err(format!(
            "a pipeline has 1 to {MOST_MICRO_BATCHES} micro-batches"
        ))
    }
}

fn check_phase(phase: &Phase, ranks: u32) -> Result<(), String> {
    let Some(exchange) = &phase.collective else {
        return if phase.compute > Time::ZERO {
            Ok(())
        } else {
            Err("a phase has neither compute nor a collective".into())
        };
    };
    check_groups(exchange, ranks)?;
    let it = &exchange.collective;
    if it.pxn && !it.may_relay() {
        return Err("only exchanges go over relays".into());
    }
    if it.channels == 0 || it.slices == 0 {
        return Err("there is at least one channel, and one slice".into());
    }
    if it.slices > 1 && !it.keeps_slices_in_order() {
        return Err("slices of this algorithm may overtake one another".into());
    }
    if it.slices > 1 && exchange.reduce_rate.is_some() {
        // Some of a step are reduced, or are a byte longer, while others go on at once.
        return Err("slices that take time to reduce may overtake one another".into());
    }
    use {Algorithm as A, Operation as O};
    let fits = matches!(
        (&it.operation, it.algorithm),
        (
            O::AllReduce,
            A::Ring | A::HalvingDoubling | A::Direct | A::DoubleBinaryTree | A::Rails { .. }
        ) | (O::AllGather | O::ReduceScatter, A::Ring | A::Direct)
            | (O::AllToAll | O::AllToAllV(_), A::Direct | A::Pairwise)
            | (O::Broadcast { .. } | O::SendReceive, A::Ring)
            | (
                O::Pipeline(_),
                A::OneForwardOneBackward | A::GPipe | A::Interleaved
            )
    );
    if !fits {
        return Err("there is no such algorithm for this operation".into());
    }
    if let O::Pipeline(pipeline) = &it.operation {
        check_pipeline(pipeline, it)?;
    }
    for group in &exchange.groups {
        let n = group.count();
        let why = match (&it.operation, it.algorithm) {
            (O::Broadcast { root }, _) if *root >= n => format!("there is no rank {root}"),
            (O::AllToAllV(matrix), _) if matrix.len() != (n * n) as usize => {
                format!(
                    "{} sizes do not go from each of {n} ranks to each",
                    matrix.len()
                )
            }
            (O::Pipeline(it), A::Interleaved) if n < 3 || !it.micro_batches.is_multiple_of(n) => {
                format!(
                    "an interleaved pipeline of {n} ranks and {} micro-batches",
                    it.micro_batches
                )
            }
            (_, A::Rails { per_server }) if per_server < 1 || !n.is_multiple_of(per_server) => {
                format!("{n} ranks do not fill servers of {per_server}")
            }
            _ => continue,
        };
        return Err(why);
    }
    Ok(())
}

/// Every rank is in one group at most.
fn check_groups(exchange: &Exchange, ranks: u32) -> Result<(), String> {
    let mut seen = vec![false; ranks as usize];
    for rank in exchange.groups.iter().flat_map(|it| it.iter()) {
        match seen.get_mut(*rank as usize) {
            None => return Err(format!("there is no rank {rank}")),
            Some(true) => return Err(format!("rank {rank} is in two groups")),
            Some(place) => *place = true,
        }
    }
    Ok(())
}
