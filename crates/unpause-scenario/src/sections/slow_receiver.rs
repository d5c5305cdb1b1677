//! `[slow_receiver]`.

use crate::text::keys::Written;
use unpause_import::fabric::names::Names;
use unpause_protocols::units::{Rate, Time};
use unpause_sim::config::SlowReceiver;
use unpause_text::error::{Checked, Problem};
use unpause_text::name_list::NameList;
use unpause_text::quantity::{DataRate, Duration, Size};

use crate::text::keys::{Keys, WithDefault};

/// XOFF where none is said.
const XOFF_BYTES: u64 = 256_000;

/// `[slow_receiver]`
#[derive(Keys)]
#[keys("slow_receiver", idle = ("no NIC is slow", "add hosts = [\"H0\"], whose NICs are slow"))]
pub(crate) struct SlowReceiverKeys {
    /// hosts whose NIC is slow: `"H3"`, `["H0..H3", "H9"]`
    #[key(unset = "none")]
    pub(crate) hosts: Written<NameList>,
    /// rate at which the NIC drains data packets from its receive buffer; 0 is a NIC PAUSE storm
    #[key(default = DataRate(Rate::ZERO), from = "both symptoms: Guo et al., RDMA over Commodity Ethernet at Scale, SIGCOMM 2016")]
    pub(crate) drain_rate: WithDefault<DataRate>,
    /// time from which the host is slow
    pub(crate) start: WithDefault<Duration>,
    /// time from which it again accepts packets at the rate of its link
    #[key(unset = "the end")]
    pub(crate) stop: Written<Duration>,
    /// the host sends PAUSE above this many bytes of a lossless priority
    #[key(default = Size(XOFF_BYTES), from = "ours: no source says")]
    pub(crate) xoff: WithDefault<Size>,
    /// the host sends XON at or below this
    #[key(unset = "`xoff`")]
    pub(crate) xon: Written<Size>,
    /// size of the receive buffer; packets that find no room are dropped
    #[key(
        unset = "for each lossless priority XOFF, one frame and headroom by IEEE 802.1Q; the same again for all other priorities together"
    )]
    pub(crate) buffer: Written<Size>,
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
    let xon = is_paused.then(|| file.xon.value()).flatten();
    let xoff_bytes = if is_paused {
        file.xoff.value().0
    } else {
        XOFF_BYTES
    };
    Ok(Some(SlowReceiver {
        hosts: names.host_list(hosts)?,
        drain_rate: file.drain_rate.value().0,
        start: file.start.value().0,
        stop: file.stop.value().map_or(Time::NEVER, |time| time.0),
        xoff_bytes,
        xon_bytes: size(xon).unwrap_or(xoff_bytes),
        buffer_bytes: size(file.buffer.value()),
    }))
}
