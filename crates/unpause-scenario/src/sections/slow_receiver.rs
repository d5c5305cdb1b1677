//! `[slow_receiver]`.

use unpause_protocols::units::{Rate, Time};
use unpause_sim::config::SlowReceiver;

use crate::text::keys::{Written, keys};
use unpause_import::fabric::names::Names;
use unpause_text::error::{Checked, Problem};
use unpause_text::name_list::NameList;
use unpause_text::quantity::{DataRate, Duration, Size};

/// XOFF where none is said.
const XOFF_BYTES: u64 = 256_000;

keys! {
    /// `[slow_receiver]`
    #[derive(Default)]
    pub(crate) SlowReceiverKeys at "slow_receiver" for () {
        hosts: NameList = ["none"] "hosts whose NIC is slow: `\"H3\"`, `[\"H0..H3\", \"H9\"]`";
        drain_rate: DataRate = ["`\"0Gbps\"`"]
            "rate at which the NIC drains data packets from its receive buffer; 0 is a NIC PAUSE storm"
            from "both symptoms: Guo et al., RDMA over Commodity Ethernet at Scale, SIGCOMM 2016"
            idle ("no NIC is slow", "add hosts = [\"H0\"], whose NICs are slow");
        start: Duration = ["`\"0s\"`"] "time from which the host is slow"
            idle ("no NIC is slow", "add hosts = [\"H0\"], whose NICs are slow");
        stop: Duration = ["the end"] "time from which it again accepts packets at the rate of its link"
            idle ("no NIC is slow", "add hosts = [\"H0\"], whose NICs are slow");
        xoff: Size = ["`\"256KB\"`"] "the host sends PAUSE above this many bytes of a lossless priority"
            from "ours: no source says"
            idle ("no NIC is slow", "add hosts = [\"H0\"], whose NICs are slow");
        xon: Size = ["`xoff`"] "the host sends XON at or below this"
            idle ("no NIC is slow", "add hosts = [\"H0\"], whose NICs are slow");
        buffer: Size = ["for each lossless priority XOFF, one frame and headroom by IEEE 802.1Q; the same again for all other priorities together"]
            "size of the receive buffer; packets that find no room are dropped"
            idle ("no NIC is slow", "add hosts = [\"H0\"], whose NICs are slow");
    }
}

/// Refuses hosts that become slow after the end of the run.
pub(crate) fn check_start(file: &SlowReceiverKeys, end: Time) -> Checked<()> {
    match file.start.peek().filter(|start| start.get_ref().0 >= end) {
        None => Ok(()),
        Some(start) => Problem::new("the run ends before hosts become slow")
            .at(start.span(), format!("the run ends at {end}"))
            .err(),
    }
}

/// Which NICs are slow; `is_paused` if any priority has PAUSE.
pub(crate) fn slow_receiver(
    file: &SlowReceiverKeys,
    names: &Names,
    is_paused: bool,
) -> Checked<Option<SlowReceiver>> {
    let Some(hosts) = file.hosts.get() else {
        return Ok(None);
    };
    let size = |key: Option<&Size>| key.map(|size| size.0);
    let threshold = |key: &Written<Size>| size(is_paused.then(|| key.value()).flatten());
    let xoff_bytes = threshold(&file.xoff).unwrap_or(XOFF_BYTES);
    Ok(Some(SlowReceiver {
        hosts: names.host_list(hosts)?,
        drain_rate: file.drain_rate.value().map_or(Rate::ZERO, |rate| rate.0),
        start: file.start.value().map_or(Time::ZERO, |time| time.0),
        stop: file.stop.value().map_or(Time::NEVER, |time| time.0),
        xoff_bytes,
        xon_bytes: threshold(&file.xon).unwrap_or(xoff_bytes),
        buffer_bytes: size(file.buffer.value()),
    }))
}
