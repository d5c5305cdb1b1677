//! Keys of `[[job]]` and `[[job.step]]`.

use serde::Deserialize;
use serde_json::json;
use serde_spanned::Spanned;
use unpause_protocols::names::Names;
use unpause_sim::jobs;
use unpause_sim::traffic::FlowSettings;
use unpause_text::name_list::NameList;
use unpause_text::quantity::{DataRate, Duration, Ratio, Size};

use crate::text::keys::{Keys, WithDefault, Written};
use crate::text::kind::{HasKind, Kind, OneOf};

/// A collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Names)]
pub(crate) enum Operation {
    AllReduce,
    AllGather,
    ReduceScatter,
    Broadcast,
    AllToAll,
    AllToAllV,
    SendReceive,
    Pipeline,
}

/// The algorithm of a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Names)]
pub(crate) enum Algorithm {
    Ring,
    HalvingDoubling,
    Direct,
    Pairwise,
    #[name = "double-binary-tree"]
    Tree,
    Rails,
    #[name = "1f1b"]
    OneForwardOneBackward,
    #[name = "gpipe"]
    GPipe,
    Interleaved,
}

/// The connections of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Names)]
pub(crate) enum Connecting {
    Kept,
    PerMessage,
}

/// Which hosts the ranks of a job get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Names)]
pub(crate) enum Placement {
    Packed,
    Spread,
    Random,
}

/// Which ranks take part in a step together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Names)]
pub(crate) enum Group {
    All,
    Tp,
    Dp,
    Ep,
    Pp,
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

impl HasKind for RanksKey {
    fn kind() -> Kind {
        let schemas = [u32::kind(), String::kind(), Vec::<String>::kind()].map(|kind| kind.schema);
        Kind::new("number or names", json!({"anyOf": schemas}))
    }
}

impl HasKind for Parallel {
    fn kind() -> Kind {
        Kind::table("table of `tp`, `dp`, `ep`, `pp`")
    }
}

type Sizes = Vec<Spanned<Size>>;

/// `[[job]]`
#[derive(Keys)]
#[keys("job")]
pub(crate) struct JobKeys {
    /// name of the job in results; no entry of `[[traffic]]` has the same
    pub(crate) name: Spanned<String>,
    /// how many ranks, or their hosts in the order of ranks: `"H0..H63"`. One rank of a job runs at a host
    pub(crate) ranks: Spanned<RanksKey>,
    /// run only under these schemes
    #[key(unset = "all")]
    pub(crate) schemes: Written<NameList>,
    /// placement on the hosts that no earlier job uses: `"packed"`: the first ones; `"spread"`: one at each leaf switch in turn; `"random"`: drawn with the run's seed
    pub(crate) placement: WithDefault<OneOf<Placement>>,
    /// priority of the data packets
    #[key(default = FlowSettings::default().priority)]
    pub(crate) priority: WithDefault<u8>,
    /// when all ranks start
    pub(crate) start: WithDefault<Duration>,
    /// number of times that each rank runs through the steps; a rank restarts when it has itself ended all of them
    #[key(default = 1)]
    pub(crate) iterations: WithDefault<u32>,
    /// iterations at the beginning that are excluded from means, percentiles and bandwidths
    pub(crate) warmup: WithDefault<u32>,
    /// connections of messages: `"kept"`: one for each pair of ranks and channel, with its rate, window and source port; `"per-message"`: a new one for each message, as in the front ends of ns-3 and htsim, see below
    pub(crate) connection: WithDefault<OneOf<Connecting>>,
    /// when a message counts as received: `"delivered"`: when its last byte has arrived; `"ack"`: when its sender could have received the ACK, as in the front ends of ns-3 and htsim, see below
    pub(crate) completion: WithDefault<OneOf<jobs::Completion>>,
    /// delay between the moment at which a rank may send a message and its sending: software and doorbell
    pub(crate) launch: WithDefault<Duration>,
    /// rate at which a rank adds received data to its own before it continues; not with `slices`
    #[key(unset = "infinite", idle = ("nothing is reduced", "remove it"))]
    pub(crate) reduce_rate: Written<DataRate>,
    /// ranks of a server, consecutive in their group
    #[key(default = 8, idle = ("no step uses algorithm = \"rails\"", "remove it"))]
    pub(crate) per_server: WithDefault<u32>,
    /// how the ranks are split into groups: `{ tp = 8, dp = 4 }`; the product of the numbers is `ranks`; only `ep` divides `dp` instead. Ranks of a tensor-parallel group are consecutive
    #[key(unset = "none", idle = ("no step has a `group`", "remove it, or write group = \"dp\" in a [[job.step]]"))]
    pub(crate) parallel: Written<Parallel>,
    /// also run the job alone and without events, on the same hosts and under the same scheme, to measure how much other traffic and failures slow it down, and alone on packed hosts, to measure the cost of its placement; takes the time of up to two more runs
    #[key(default = true)]
    pub(crate) alone: WithDefault<bool>,
    /// record each message in table `messages`
    #[key(unset = "`true` up to 1,000,000 messages")]
    pub(crate) messages: Written<bool>,
    /// file that describes what the ranks do, instead of the keys below: a GOAL schedule, text or binary, see below
    #[key(unset = "none")]
    pub(crate) goal: Written<String>,
    /// file that describes what the ranks do, instead of the keys below, but for `channels`: a workload of SimAI, see below
    #[key(unset = "none")]
    pub(crate) simai: Written<String>,
    /// files that describe what the ranks do, instead of the keys below, but for `algorithm` and `channels`: Chakra traces, `"trace.{rank}.et"` or `"trace"` for trace.0.et, trace.1.et, …, see below
    #[key(unset = "none")]
    pub(crate) chakra: Written<String>,
    /// file that describes what the ranks do, instead of the keys below: a connection matrix of htsim (.cm), see below
    #[key(unset = "none")]
    pub(crate) htsim: Written<String>,
    #[key(flatten)]
    pub(crate) work: Work,
}

/// `[[job.step]]`
#[derive(Keys)]
#[keys("job.step")]
pub(crate) struct StepKeys {
    /// name of the step in results
    #[key(unset = "what it does")]
    pub(crate) name: Written<String>,
    /// which ranks take part together: all ranks, or each tensor-, data-, expert- or pipeline-parallel group separately
    pub(crate) group: WithDefault<OneOf<Group>>,
    /// number of repetitions, one after the other
    #[key(default = 1)]
    pub(crate) repeat: WithDefault<u32>,
    #[key(flatten)]
    pub(crate) work: Work,
}

/// The work of the ranks in a step. A job without steps has the same keys itself.
#[derive(Keys)]
#[keys("job.step", idle = ("there is no `collective`", "add one"))]
pub(crate) struct Work {
    /// compute time of each rank before the collective operation
    pub(crate) compute: WithDefault<Duration>,
    /// `compute` varies uniformly by up to this share, from rank to rank and iteration to iteration
    #[key(default = Ratio::ZERO, idle = ("nothing is computed", "add `compute`, or remove it"))]
    pub(crate) jitter: WithDefault<Ratio>,
    /// what ranks do together
    #[key(unset = "none")]
    pub(crate) collective: Written<OneOf<Operation>>,
    /// how
    #[key(unset = "see below")]
    pub(crate) algorithm: Written<OneOf<Algorithm>>,
    /// bytes, as nccl-tests counts them, see below
    pub(crate) size: Written<Size>,
    /// sizes from each rank to each, row by row
    #[key(idle = ("only \"all-to-all-v\" has them", "write size = …, or collective = \"all-to-all-v\""))]
    pub(crate) matrix: Written<Sizes>,
    /// the rank that broadcasts, by its position in the group
    #[key(idle = ("nobody broadcasts", "remove it"))]
    pub(crate) root: WithDefault<u32>,
    /// number of micro-batches
    #[key(idle = ("only \"pipeline\" has them", "write collective = \"pipeline\", or remove it"))]
    pub(crate) micro_batches: Written<u32>,
    /// chunks of the model at each rank of an interleaved pipeline
    #[key(default = 2, idle = ("no pipeline is interleaved", "write algorithm = \"interleaved\", or remove it"))]
    pub(crate) virtual_stages: WithDefault<u32>,
    /// compute time of a pipeline stage for the forward pass of a micro-batch
    #[key(idle = ("only \"pipeline\" has it", "write collective = \"pipeline\", or remove it"))]
    pub(crate) forward: Written<Duration>,
    /// compute time of a pipeline stage for the backward pass of a micro-batch
    #[key(idle = ("only \"pipeline\" has it", "write collective = \"pipeline\", or remove it"))]
    pub(crate) backward: Written<Duration>,
    /// copies of the algorithm side by side, each with a share of the bytes and its own connections
    #[key(default = 1)]
    pub(crate) channels: WithDefault<u32>,
    /// parts of each message, which follow one another through the steps
    #[key(default = 1)]
    pub(crate) slices: WithDefault<u32>,
    /// messages to other servers go by NVLink to the GPU on the receiver's rail first, see below
    #[key(idle = ("only \"all-to-all\", \"all-to-all-v\" and \"send-receive\" have it", "remove it"))]
    pub(crate) pxn: WithDefault<bool>,
}
