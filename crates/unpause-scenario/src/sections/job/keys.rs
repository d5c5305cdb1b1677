//! Keys of `[[job]]` and `[[job.step]]`.

use serde::Deserialize;
use serde_spanned::Spanned;
use unpause_sim::traffic::FlowSettings;

use crate::text::keys::{Written, keys, kinds, names};
use crate::text::name_list::NameList;
use crate::text::quantity::{DataRate, Duration, Ratio, Size};

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
            "which of the hosts that no job before it has: `\"packed\"`: the first; `\"spread\"`: one at each leaf switch in turn; `\"random\"`: by the run's seed";
        priority: u8 = [FlowSettings::default().priority] "priority of the data packets";
        start: Duration = ["`\"0s\"`"] "when all ranks start";
        iterations: u32 = ["`1`"] "how often each rank runs through the steps; it begins anew when it has ended all of them itself";
        warmup: u32 = ["`0`"] "iterations at the beginning that means, percentiles and bandwidths leave out";
        connection: Connecting = ["`\"kept\"`"]
            "what messages go over: `\"kept\"`: a connection for each pair of ranks and channel, with its rate, window and source port; `\"per-message\"`: a new one for each message, as in the front ends of ns-3 and htsim, see below";
        completion: Completion = ["`\"delivered\"`"]
            "when a rank has received a message: `\"delivered\"`: when its last byte has come; `\"ack\"`: when its sender can have the ACK, as in the front ends of ns-3 and htsim, see below";
        launch: Duration = ["`\"0s\"`"]
            "from the moment at which a rank may send a message until it does: software and doorbell";
        reduce_rate: DataRate = ["infinite"]
            "how fast a rank adds what it has received to its own, before it continues; not with `slices`"
            idle ("nothing is reduced", "remove it");
        per_server: u32 = ["`8`"] "ranks of a server, consecutive in their group"
            idle ("no step uses algorithm = \"rails\"", "remove it");
        parallel: Parallel = ["none"]
            "how the ranks are split into groups: `{ tp = 8, dp = 4 }`; the numbers multiply to `ranks`, but for `ep`, which divides `dp`. Ranks of a tensor-parallel group are consecutive"
            idle ("no step has a `group`", "remove it, or write group = \"dp\" in a [[job.step]]");
        alone: bool = ["`true`"]
            "also run the job alone, with the same hosts and scheme, to say by how much others slow it down, and on packed hosts, to say what its placement costs; takes the time of up to two runs more";
        messages: bool = ["`true` up to 1,000,000 messages"] "record each message in table `messages`";
        goal: String = ["none"]
            "file that says what the ranks do instead of the keys below: a GOAL schedule, text or binary, see below";
        simai: String = ["none"]
            "file that says what the ranks do instead of the keys below, but for `channels`: a workload of SimAI, see below";
        chakra: String = ["none"]
            "files that say what the ranks do instead of the keys below, but for `algorithm` and `channels`: Chakra traces, `\"trace.{rank}.et\"` or `\"trace\"` for trace.0.et, trace.1.et, …, see below";
        htsim: String = ["none"]
            "file that says what the ranks do instead of the keys below: a connection matrix of htsim (.cm), see below";
        compute: Duration = ["`\"0s\"`"] "each rank computes so long at the beginning of an iteration";
        jitter: Ratio = ["`\"0%\"`"]
            "`compute` varies uniformly by up to this share, from rank to rank and iteration to iteration"
            idle ("nothing is computed", "add `compute`, or remove it");
        collective: Operation = ["none"] "what all ranks do then";
        algorithm: Algorithm = ["see below"] "how" idle ("there is no `collective`", "add one");
        size: Size = ["-"] "bytes, as nccl-tests counts them, see below" idle ("there is no `collective`", "add one");
        matrix: Sizes = ["-"]
            "sizes from each rank to each, row by row" idle ("they are of \"all-to-all-v\"", "write size = …, or collective = \"all-to-all-v\"");
        root: u32 = ["`0`"] "the rank that broadcasts, by its place in the group" idle ("nobody broadcasts", "remove it");
        micro_batches: u32 = ["-"]
            "micro-batches that go through the pipeline" idle ("they are of \"pipeline\"", "write collective = \"pipeline\", or remove it");
        virtual_stages: u32 = ["`2`"]
            "chunks of the model at each rank of an interleaved pipeline"
            idle ("no pipeline is interleaved", "write algorithm = \"interleaved\", or remove it");
        forward: Duration = ["-"]
            "compute time of a pipeline stage for the forward pass of a micro-batch"
            idle ("it is of \"pipeline\"", "write collective = \"pipeline\", or remove it");
        backward: Duration = ["-"]
            "compute time of a pipeline stage for the backward pass of a micro-batch"
            idle ("it is of \"pipeline\"", "write collective = \"pipeline\", or remove it");
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
            "who takes part together: all ranks, or each tensor-, data-, expert- or pipeline-parallel group by itself";
        repeat: u32 = ["`1`"] "so often, one after the other";
        compute: Duration = ["`\"0s\"`"] "each rank computes so long first";
        jitter: Ratio = ["`\"0%\"`"]
            "`compute` varies uniformly by up to this share, from rank to rank and iteration to iteration"
            idle ("nothing is computed", "add `compute`, or remove it");
        collective: Operation = ["none"] "what ranks do then";
        algorithm: Algorithm = ["see below"] "how" idle ("there is no `collective`", "add one");
        size: Size = ["-"] "bytes, as nccl-tests counts them, see below" idle ("there is no `collective`", "add one");
        matrix: Sizes = ["-"]
            "sizes from each rank to each, row by row" idle ("they are of \"all-to-all-v\"", "write size = …, or collective = \"all-to-all-v\"");
        root: u32 = ["`0`"] "the rank that broadcasts, by its place in the group" idle ("nobody broadcasts", "remove it");
        micro_batches: u32 = ["-"]
            "micro-batches that go through the pipeline" idle ("they are of \"pipeline\"", "write collective = \"pipeline\", or remove it");
        virtual_stages: u32 = ["`2`"]
            "chunks of the model at each rank of an interleaved pipeline"
            idle ("no pipeline is interleaved", "write algorithm = \"interleaved\", or remove it");
        forward: Duration = ["-"]
            "compute time of a pipeline stage for the forward pass of a micro-batch"
            idle ("it is of \"pipeline\"", "write collective = \"pipeline\", or remove it");
        backward: Duration = ["-"]
            "compute time of a pipeline stage for the backward pass of a micro-batch"
            idle ("it is of \"pipeline\"", "write collective = \"pipeline\", or remove it");
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
