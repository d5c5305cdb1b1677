//! Keys of `[[job]]` and `[[job.step]]`.

use serde::Deserialize;
use serde_spanned::Spanned;
use unpause_sim::traffic::FlowSettings;

use crate::text::keys::{Written, keys, kinds, names};
use unpause_text::name_list::NameList;
use unpause_text::quantity::{DataRate, Duration, Ratio, Size};

names! {
    /// What ranks do together.
    pub(crate) Operation {
        AllReduce = "all-reduce",
        AllGather = "all-gather",
        ReduceScatter = "reduce-scatter",
        Broadcast = "broadcast",
        AllToAll = "all-to-all",
        AllToAllV = "all-to-all-v",
        SendReceive = "send-receive",
        Pipeline = "pipeline",
    }
}

names! {
    /// How they do it.
    pub(crate) Algorithm {
        Ring = "ring",
        HalvingDoubling = "halving-doubling",
        Direct = "direct",
        Pairwise = "pairwise",
        Tree = "double-binary-tree",
        Rails = "rails",
        OneForwardOneBackward = "1f1b",
        GPipe = "gpipe",
        Interleaved = "interleaved",
    }
}

names! {
    /// What messages go over.
    pub(crate) Connecting { Kept = "kept", PerMessage = "per-message" }
}

names! {
    /// When a rank has received a message.
    pub(crate) Completion { Delivered = "delivered", Ack = "ack" }
}

names! {
    /// Which hosts the ranks of a job get.
    pub(crate) Placement { Packed = "packed", Spread = "spread", Random = "random" }
}

names! {
    /// Which ranks take part in a step together.
    pub(crate) Group { All = "all", Tp = "tp", Dp = "dp", Ep = "ep", Pp = "pp" }
}

/// How many ranks, or at which hosts.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum RanksKey {
    /// So many.
    Count(u32),
    /// At these hosts, in this order.
    Hosts(NameList),
}

/// How a model is split.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Parallel {
    pub tp: Option<Spanned<u32>>,
    pub dp: Option<Spanned<u32>>,
    pub ep: Option<Spanned<u32>>,
    pub pp: Option<Spanned<u32>>,
}

type Sizes = Vec<Spanned<Size>>;

kinds! {
    RanksKey = "number or names",
    Parallel = "table of `tp`, `dp`, `ep`, `pp`",
}

keys! {
    /// `[[job]]`
    pub(crate) JobKeys at "job" for () {
        ! name: String "name of the job in results; no entry of `[[traffic]]` has the same";
        ! ranks: RanksKey "how many ranks, or their hosts in the order of ranks: `\"H0..H63\"`. One rank of a job runs at a host";
        schemes: NameList = ["all"] "run only under these schemes";
        placement: Placement = ["`\"packed\"`"]
            "placement on the hosts that no earlier job uses: `\"packed\"`: the first ones; `\"spread\"`: one at each leaf switch in turn; `\"random\"`: drawn with the run's seed";
        priority: u8 = [FlowSettings::default().priority] "priority of the data packets";
        start: Duration = ["`\"0s\"`"] "when all ranks start";
        iterations: u32 = ["`1`"] "number of times that each rank runs through the steps; a rank restarts when it has itself ended all of them";
        warmup: u32 = ["`0`"] "iterations at the beginning that are excluded from means, percentiles and bandwidths";
        connection: Connecting = ["`\"kept\"`"]
            "connections of messages: `\"kept\"`: one for each pair of ranks and channel, with its rate, window and source port; `\"per-message\"`: a new one for each message, as in the front ends of ns-3 and htsim, see below";
        completion: Completion = ["`\"delivered\"`"]
            "when a message counts as received: `\"delivered\"`: when its last byte has arrived; `\"ack\"`: when its sender could have received the ACK, as in the front ends of ns-3 and htsim, see below";
        launch: Duration = ["`\"0s\"`"]
            "delay between the moment at which a rank may send a message and its sending: software and doorbell";
        reduce_rate: DataRate = ["infinite"]
            "rate at which a rank adds received data to its own before it continues; not with `slices`"
            idle ("nothing is reduced", "remove it");
        per_server: u32 = ["`8`"] "ranks of a server, consecutive in their group"
            idle ("no step uses algorithm = \"rails\"", "remove it");
        parallel: Parallel = ["none"]
            "how the ranks are split into groups: `{ tp = 8, dp = 4 }`; the product of the numbers is `ranks`; only `ep` divides `dp` instead. Ranks of a tensor-parallel group are consecutive"
            idle ("no step has a `group`", "remove it, or write group = \"dp\" in a [[job.step]]");
        alone: bool = ["`true`"]
            "also run the job alone, on the same hosts and under the same scheme, to measure how much other traffic slows it down, and alone on packed hosts, to measure the cost of its placement; takes the time of up to two more runs";
        messages: bool = ["`true` up to 1,000,000 messages"] "record each message in table `messages`";
        goal: String = ["none"]
            "file that describes what the ranks do, instead of the keys below: a GOAL schedule, text or binary, see below";
        simai: String = ["none"]
            "file that describes what the ranks do, instead of the keys below, but for `channels`: a workload of SimAI, see below";
        chakra: String = ["none"]
            "files that describe what the ranks do, instead of the keys below, but for `algorithm` and `channels`: Chakra traces, `\"trace.{rank}.et\"` or `\"trace\"` for trace.0.et, trace.1.et, …, see below";
        htsim: String = ["none"]
            "file that describes what the ranks do, instead of the keys below: a connection matrix of htsim (.cm), see below";
        compute: Duration = ["`\"0s\"`"] "compute time of each rank at the beginning of an iteration";
        jitter: Ratio = ["`\"0%\"`"]
            "`compute` varies uniformly by up to this share, from rank to rank and iteration to iteration"
            idle ("nothing is computed", "add `compute`, or remove it");
        collective: Operation = ["none"] "what all ranks do after that";
        algorithm: Algorithm = ["see below"] "how" idle ("there is no `collective`", "add one");
        size: Size = ["-"] "bytes, as nccl-tests counts them, see below" idle ("there is no `collective`", "add one");
        matrix: Sizes = ["-"]
            "sizes from each rank to each, row by row" idle ("only \"all-to-all-v\" has them", "write size = …, or collective = \"all-to-all-v\"");
        root: u32 = ["`0`"] "the rank that broadcasts, by its position in the group" idle ("nobody broadcasts", "remove it");
        micro_batches: u32 = ["-"]
            "number of micro-batches" idle ("only \"pipeline\" has them", "write collective = \"pipeline\", or remove it");
        virtual_stages: u32 = ["`2`"]
            "chunks of the model at each rank of an interleaved pipeline"
            idle ("no pipeline is interleaved", "write algorithm = \"interleaved\", or remove it");
        forward: Duration = ["-"]
            "compute time of a pipeline stage for the forward pass of a micro-batch"
            idle ("only \"pipeline\" has it", "write collective = \"pipeline\", or remove it");
        backward: Duration = ["-"]
            "compute time of a pipeline stage for the backward pass of a micro-batch"
            idle ("only \"pipeline\" has it", "write collective = \"pipeline\", or remove it");
        channels: u32 = ["`1`"]
            "copies of the algorithm side by side, each with a share of the bytes and its own connections"
            idle ("there is no `collective`", "add one");
        slices: u32 = ["`1`"]
            "parts of each message, which follow one another through the steps"
            idle ("there is no `collective`", "add one");
    }
}

keys! {
    /// `[[job.step]]`
    pub(crate) StepKeys at "job.step" for () {
        name: String = ["what it does"] "name of the step in results";
        group: Group = ["`\"all\"`"]
            "which ranks take part together: all ranks, or each tensor-, data-, expert- or pipeline-parallel group separately";
        repeat: u32 = ["`1`"] "number of repetitions, one after the other";
        compute: Duration = ["`\"0s\"`"] "compute time of each rank before that";
        jitter: Ratio = ["`\"0%\"`"]
            "`compute` varies uniformly by up to this share, from rank to rank and iteration to iteration"
            idle ("nothing is computed", "add `compute`, or remove it");
        collective: Operation = ["none"] "what ranks do after that";
        algorithm: Algorithm = ["see below"] "how" idle ("there is no `collective`", "add one");
        size: Size = ["-"] "bytes, as nccl-tests counts them, see below" idle ("there is no `collective`", "add one");
        matrix: Sizes = ["-"]
            "sizes from each rank to each, row by row" idle ("only \"all-to-all-v\" has them", "write size = …, or collective = \"all-to-all-v\"");
        root: u32 = ["`0`"] "the rank that broadcasts, by its position in the group" idle ("nobody broadcasts", "remove it");
        micro_batches: u32 = ["-"]
            "number of micro-batches" idle ("only \"pipeline\" has them", "write collective = \"pipeline\", or remove it");
        virtual_stages: u32 = ["`2`"]
            "chunks of the model at each rank of an interleaved pipeline"
            idle ("no pipeline is interleaved", "write algorithm = \"interleaved\", or remove it");
        forward: Duration = ["-"]
            "compute time of a pipeline stage for the forward pass of a micro-batch"
            idle ("only \"pipeline\" has it", "write collective = \"pipeline\", or remove it");
        backward: Duration = ["-"]
            "compute time of a pipeline stage for the backward pass of a micro-batch"
            idle ("only \"pipeline\" has it", "write collective = \"pipeline\", or remove it");
        channels: u32 = ["`1`"]
            "copies of the algorithm side by side, each with a share of the bytes and its own connections"
            idle ("there is no `collective`", "add one");
        slices: u32 = ["`1`"]
            "parts of each message, which follow one another through the steps"
            idle ("there is no `collective`", "add one");
    }
}

/// Keys of a step, which a job without steps has itself.
pub(super) struct StepOf<'a> {
    pub compute: &'a Written<Duration>,
    pub jitter: &'a Written<Ratio>,
    pub collective: &'a Written<Operation>,
    pub algorithm: &'a Written<Algorithm>,
    pub size: &'a Written<Size>,
    pub matrix: &'a Written<Vec<Spanned<Size>>>,
    pub root: &'a Written<u32>,
    pub micro_batches: &'a Written<u32>,
    pub virtual_stages: &'a Written<u32>,
    pub forward: &'a Written<Duration>,
    pub backward: &'a Written<Duration>,
    pub channels: &'a Written<u32>,
    pub slices: &'a Written<u32>,
}

macro_rules! step_of {
    ($keys:expr) => {
        StepOf {
            compute: &$keys.compute,
            jitter: &$keys.jitter,
            collective: &$keys.collective,
            algorithm: &$keys.algorithm,
            size: &$keys.size,
            matrix: &$keys.matrix,
            root: &$keys.root,
            micro_batches: &$keys.micro_batches,
            virtual_stages: &$keys.virtual_stages,
            forward: &$keys.forward,
            backward: &$keys.backward,
            channels: &$keys.channels,
            slices: &$keys.slices,
        }
    };
}

impl JobKeys {
    pub(super) fn step(&self) -> StepOf<'_> {
        step_of!(self)
    }
}

impl StepKeys {
    pub(super) fn step(&self) -> StepOf<'_> {
        step_of!(self)
    }
}
