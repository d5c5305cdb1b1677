//! The keys of `[[override]]`.

use serde_spanned::Spanned;

use super::maps::PriorityMap;
use crate::text::keys::{keys, names};
use unpause_text::name_list::NameList;
use unpause_text::quantity::{DataRate, Ratio, Size};

pub(super) type Priorities = Vec<Spanned<u8>>;

names! {
    /// What marks packets in some queues instead of the scheme's congestion point.
    pub(crate) OwnMarking { Off = "none" }
}

keys! {
    /// `[[override]]`
    pub(crate) OverrideKeys at "override" for () {
        switches: NameList = ["all"] "which switches: `\"S0\"`, `[\"S0\", \"S2..S5\"]`, or a pattern, `\"spine*\"`";
        ports: NameList = ["all"]
            "which of their ports, instead of `switches`: `\"leaf0->spine*\"`. PFC settings apply to arrivals by the port, all others to departures";
        priorities: Priorities = ["all"] "which priorities, and queues of these numbers: `[3]`";
        lossless: Priorities = ["that of `[switch]`"]
            "priorities with PFC there, a subset of those of `[switch]`; the others are lossy: the switch neither sends nor obeys PAUSE for them";
        xoff: Size = ["that of `[pfc]`"] "PAUSE above this";
        xon: Size = ["two frames below `xoff`"] "resume at or below this"
            idle ("`xoff` is that of [pfc]", "add xoff, or remove it");
        alpha: Ratio = ["that of `[pfc]`"] "with a dynamic threshold: the free shared buffer times this";
        headroom: Size = ["that of `[pfc]`"]
            "buffer for data that arrive after XOFF, for each lossless (port, priority): cables differ, as `xoff` of SONiC's profiles. A frame is added as to that of `[pfc]`";
        buffer: Size = ["that of `[switch]`"] "packet memory, headroom included";
        lossy_queue: Size = ["that of `[switch]`"] "largest egress queue of a lossy priority";
        pfc_to_queue: PriorityMap = ["the identity"]
            "which queue PAUSE for a priority stops there, as in SONiC's `MAP_PFC_PRIORITY_TO_QUEUE`: `{ 3 = 1 }`; a wrong map is a classic fault";
        tc_to_queue: PriorityMap = ["the identity"]
            "the queue in which packets of a priority wait there, as in SONiC's `TC_TO_QUEUE_MAP`: `{ 3 = 1 }`";
        tc_to_pg: PriorityMap = ["the identity"]
            "the group in which packets of a priority count at their ingress, as in SONiC's `TC_TO_PRIORITY_GROUP_MAP`; a group is lossless, and sends PAUSE, like the priority with its number";
        queue_limit: Size = ["that of lossy queues"]
            "largest egress queue; frames that do not fit are dropped, also lossless ones, as with `static_th` of an egress profile in SONiC";
        queue_alpha: Ratio = ["none"]
            "instead of `queue_limit`: the free shared buffer times this, as with `dynamic_th`";
        max_rate: DataRate = ["that of the link"]
            "highest rate on the wire, framing included: of each queue if `priorities` is set, else of each port; SONiC's `pir`";
        burst: Size = ["two full frames"]
            "size of the token bucket of `max_rate`, SONiC's `pbs`: the bytes that may leave at link rate after a pause, and that make up for waiting behind a frame of another queue; with `\"0B\"` frames start at least as far apart as they take at `max_rate`"
            idle ("there is no `max_rate`", "add max_rate, or remove it");
        marking: OwnMarking = ["that of the scheme"] "these queues have no congestion point";
        kmin: Size = ["that of the scheme"]
            "with `kmax` and `pmax`, in schemes that mark by queue length (RED, DCQCN, WRED): no marks up to this";
        kmax: Size = ["that of the scheme"] "every packet is marked above this"
            idle ("`kmin` is that of the scheme", "write all of kmin, kmax and pmax");
        pmax: Ratio = ["that of the scheme"] "marking probability at `kmax`"
            idle ("`kmin` is that of the scheme", "write all of kmin, kmax and pmax");
    }
}
