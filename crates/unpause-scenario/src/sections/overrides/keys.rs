//! The keys of `[[override]]`.

use serde_spanned::Spanned;
use unpause_protocols::names::Names;
use unpause_text::name_list::NameList;
use unpause_text::quantity::{DataRate, Ratio, Size};

use super::maps::PriorityMap;
use crate::sections::switch::Watchdog;
use crate::text::keys::{Keys, WithDefault, Written};
use crate::text::kind::OneOf;

pub(super) type Priorities = Vec<Spanned<u8>>;

/// Marking in some queues instead of the scheme's congestion point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Names)]
pub(crate) enum OwnMarking {
    #[name = "none"]
    Off,
}

/// `[[override]]`
#[derive(Keys)]
#[keys("override")]
pub(crate) struct OverrideKeys {
    /// which switches: `"S0"`, `["S0", "S2..S5"]`, or a pattern, `"spine*"`
    #[key(unset = "all")]
    pub(crate) switches: Written<NameList>,
    /// which of their ports, instead of `switches`: `"leaf0->spine*"`. PFC settings apply to arrivals by the port, all others to departures
    #[key(unset = "all")]
    pub(crate) ports: Written<NameList>,
    /// which priorities, and queues of these numbers: `[3]`
    #[key(unset = "all")]
    pub(crate) priorities: Written<Priorities>,
    /// priorities with PFC there, a subset of those of `[switch]`; the others are lossy: the switch neither sends nor obeys PAUSE for them
    #[key(unset = "that of `[switch]`")]
    pub(crate) lossless: Written<Priorities>,
    /// PAUSE above this
    #[key(unset = "that of `[pfc]`")]
    pub(crate) xoff: Written<Size>,
    /// resume at or below this
    #[key(unset = "two frames below `xoff`", idle = ("`xoff` is that of [pfc]", "add xoff, or remove it"))]
    pub(crate) xon: Written<Size>,
    /// with a dynamic threshold: the free shared buffer times this
    #[key(unset = "that of `[pfc]`")]
    pub(crate) alpha: Written<Ratio>,
    /// buffer for data that arrive after XOFF, for each lossless (port, priority): cables differ, as `xoff` of SONiC's profiles. A frame is added as to that of `[pfc]`
    #[key(unset = "that of `[pfc]`")]
    pub(crate) headroom: Written<Size>,
    /// `false`: PFC is off there. The port neither sends nor obeys PAUSE; what comes in by it has no headroom unless this override sets one, and is dropped above the threshold
    #[key(default = true)]
    pub(crate) pfc: WithDefault<bool>,
    /// PFC watchdog there, a table as [`[switch.watchdog]`](scenario/switch.md#switchwatchdog)
    #[key(unset = "that of `[switch]`")]
    pub(crate) watchdog: Written<Watchdog>,
    /// packet memory, headroom included
    #[key(unset = "that of `[switch]`")]
    pub(crate) buffer: Written<Size>,
    /// largest egress queue of a lossy priority
    #[key(unset = "that of `[switch]`")]
    pub(crate) lossy_queue: Written<Size>,
    /// which queue PAUSE for a priority stops there, as in SONiC's `MAP_PFC_PRIORITY_TO_QUEUE`: `{ 3 = 1 }`; a wrong map is a classic fault
    #[key(unset = "the identity")]
    pub(crate) pfc_to_queue: Written<PriorityMap>,
    /// the queue in which packets of a priority wait there, as in SONiC's `TC_TO_QUEUE_MAP`: `{ 3 = 1 }`
    #[key(unset = "the identity")]
    pub(crate) tc_to_queue: Written<PriorityMap>,
    /// the group in which packets of a priority count at their ingress, as in SONiC's `TC_TO_PRIORITY_GROUP_MAP`; a group is lossless, and sends PAUSE, like the priority with its number
    #[key(unset = "the identity")]
    pub(crate) tc_to_pg: Written<PriorityMap>,
    /// largest egress queue; frames that do not fit are dropped, also lossless ones, as with `static_th` of an egress profile in SONiC
    #[key(unset = "that of lossy queues")]
    pub(crate) queue_limit: Written<Size>,
    /// instead of `queue_limit`: the free shared buffer times this, as with `dynamic_th`
    #[key(unset = "none")]
    pub(crate) queue_alpha: Written<Ratio>,
    /// highest rate on the wire, framing included: of each queue if `priorities` is set, else of each port; SONiC's `pir`
    #[key(unset = "that of the link")]
    pub(crate) max_rate: Written<DataRate>,
    /// size of the token bucket of `max_rate`, SONiC's `pbs`: the bytes that may leave at link rate after a pause, and that make up for waiting behind a frame of another queue; with `"0B"` frames start at least as far apart as they take at `max_rate`
    #[key(unset = "two full frames", idle = ("there is no `max_rate`", "add max_rate, or remove it"))]
    pub(crate) burst: Written<Size>,
    /// these queues have no congestion point
    #[key(unset = "that of the scheme")]
    pub(crate) marking: Written<OneOf<OwnMarking>>,
    /// with `kmax` and `pmax`, in schemes that mark by queue length (RED, DCQCN, WRED): no marks up to this
    #[key(unset = "that of the scheme")]
    pub(crate) kmin: Written<Size>,
    /// every packet is marked above this
    #[key(unset = "that of the scheme", idle = ("`kmin` is that of the scheme", "write all of kmin, kmax and pmax"))]
    pub(crate) kmax: Written<Size>,
    /// marking probability at `kmax`
    #[key(unset = "that of the scheme", idle = ("`kmin` is that of the scheme", "write all of kmin, kmax and pmax"))]
    pub(crate) pmax: Written<Ratio>,
}
