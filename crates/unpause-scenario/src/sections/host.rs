//! `[host]`.

use serde::Deserialize;
use serde_spanned::Spanned;
use unpause_protocols::spraying::{DEFAULT_PATHS, reps};
use unpause_protocols::units::Time;
use unpause_sim::config::{AckPriority, HostConfig, PRIORITIES, WindowConfig};
use unpause_text::error::{Checked, Problem, nearest};
use unpause_text::name_list::NameList;
use unpause_text::quantity::{Duration, Ratio, Size, parse_size};

use super::ets::{Ets, shares};
use super::extra_delay::ExtraDelayKey;
use super::spraying::{SprayingKey, spraying};
use crate::text::keys::{Keys, Param, WithDefault, Written};
use crate::text::kind::{HasKind, Kind, OneOf};
use crate::text::setting::{AckPriority as AckPriorityKey, NicModel, RateChange};

/// A size, or `"path"`.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct WindowKey(String);

impl HasKind for WindowKey {
    fn kind() -> Kind {
        Size::kind().or("path")
    }
}

/// IBTA's local ACK timeout for exponent 0, if that did not stand for no timeout.
const ACK_TIMEOUT_UNIT_NS: u64 = 4_096;

/// The largest exponent: IBTA's field has five bits.
const LARGEST_ACK_TIMEOUT: u8 = 31;

const ONE_PATH: (&str, &str) = (
    "all packets of a flow take one path",
    "set spraying = \"oblivious\", \"bitmap\" or \"reps\", or remove it",
);
const NO_REPS: (&str, &str) = ("only REPS has it", "set spraying = \"reps\", or remove it");

/// Hosts, and what their frames take of a wire beyond their own bytes.
#[derive(Default)]
pub(crate) struct Hosts {
    pub config: HostConfig,
    pub framing_bytes: u32,
}

/// `[host]`
#[derive(Keys)]
#[keys("host", sets = Hosts)]
pub(crate) struct Host {
    /// largest payload of a data packet
    #[key(sets = config.payload_bytes, from = "PCN's evaluation, as read")]
    pub(crate) payload: Param<Size>,
    /// headers and trailers of a data packet
    #[key(sets = config.header_bytes, from = "PCN's evaluation, as read")]
    pub(crate) header: Param<Size>,
    /// preamble and gap, bytes on the wire beyond the frame: `"20B"` on real Ethernet
    #[key(sets = framing_bytes, from = "ns-3, which counts none")]
    pub(crate) preamble_and_gap: Param<Size>,
    /// smallest size of RoCE data packets, which are padded to it; `"0B"` in HPCC's simulator, which pads only ACKs
    #[key(sets = config.min_frame_bytes, from = "IEEE 802.3")]
    pub(crate) min_frame: Param<Size>,
    /// data packets per ACK; the last packet of a flow or of a window is always acknowledged
    #[key(sets = config.ack_every, from = "PCN's evaluation, as read")]
    pub(crate) ack_every: Param<u32>,
    /// time without progress after which a sender goes back to the oldest unacknowledged packet
    #[key(sets = config.retransmit_timeout, from = "IBTA's local ACK timeout 14")]
    pub(crate) retransmit_timeout: Param<Duration>,
    /// hosts whose NICs do not obey PAUSE: `"H3"`, `["H0..H3", "H9"]`
    #[key(unset = "none", idle = ("no queue can be paused", "remove it, or list a priority in switch.lossless"))]
    pub(crate) ignore_pause: Written<NameList>,
    /// instead of `retransmit_timeout`: the timeout as an exponent, as NICs and NCCL express it. `n` is 4.096 us times 2 to the `n`: 14 is 67 ms, 20 is 4.3 s; from 1 to 31
    #[key(from = "IBTA's local ACK timeout")]
    pub(crate) ack_timeout: Written<u8>,
    /// a RoCE flow gives up at the next timeout after this many consecutive timeouts with nothing acknowledged: 7 on most NICs
    #[key(unset = "no limit", from = "IBTA's retry counter; only timeouts count")]
    pub(crate) retry_count: Written<u32>,
    /// priority of RoCE's ACKs and NAKs: `"control"`, or that of the `"flow"`: they then queue behind its data in switches, can be paused, and count for PFC and marking; hosts send them first
    #[key(sets = config.ack_priority)]
    pub(crate) ack_priority: Param<AckPriorityKey>,
    /// with `ack_priority` `"flow"`: PAUSE at a host stops its ACKs, too
    #[key(default = true, idle = ("PAUSE cannot stop them", "set ack_priority = \"flow\", or remove it"))]
    pub(crate) pause_acks: WithDefault<bool>,
    /// frame size of ACKs and NAKs
    #[key(sets = config.ack_bytes, from = "RoCEv2 over Ethernet with FCS")]
    pub(crate) ack_size: Param<Size>,
    /// when a new rate applies: at once, to the gap since the last packet, or from the `"next-packet"`, as in HPCC's simulator for all laws but HPCC
    #[key(sets = config.rate_change, from = "NICs that reschedule")]
    pub(crate) rate_change: Param<RateChange>,
    /// how the NIC schedules flows: `"own"`, or `"hpcc"` as in HPCC's simulator: round-robin in start order, with a single wake-up timer that is never rearmed while pending; there a NAK is also an RTT sample, and a duplicate packet is not acknowledged unless a timeout sent it
    #[key(sets = config.nic, from = "NICs with a rate limiter for each flow")]
    pub(crate) nic: Param<NicModel>,
    /// weight of each priority at the NIC, such as `{ 0 = 20, 3 = 80 }`: they share its port in proportion; priorities that are not listed go before them, higher numbers first
    #[key(unset = "strict priority", from = "ETS, 802.1Q clause 37")]
    pub(crate) ets: Written<Ets>,
    /// how the NIC chooses the path of each packet of a RoCE flow: [Paths](#paths)
    pub(crate) spraying: WithDefault<OneOf<SprayingKey>>,
    /// entropy values (source ports) per flow; a power of two, or any number with `"reps"`
    #[key(default = DEFAULT_PATHS, from = "uet-htsim", idle = ONE_PATH)]
    pub(crate) paths: WithDefault<u32>,
    /// time after a timeout during which REPS uses only paths that are known to work; `"0s"` switches this off
    #[key(default = Duration(reps::Params::default().freeze), from = "uet-htsim", idle = NO_REPS)]
    pub(crate) reps_freeze: WithDefault<Duration>,
    /// limit of payload in flight, in addition to that of the congestion control: a size, or `"path"` for the bandwidth-delay product of each flow's path
    #[key(unset = "none")]
    pub(crate) window: Written<WindowKey>,
    /// the window shrinks with the flow's rate
    #[key(idle = ("there is no window", "set window = \"path\", or a size"))]
    pub(crate) window_by_rate: WithDefault<bool>,
    /// interval at which a remaining gap is reported again
    #[key(sets = config.nak_interval, from = "once per gap; HPCC's simulator 500 us")]
    pub(crate) nak_interval: Param<Duration>,
    /// the clock of each port, of NICs and of switches, is fast or slow by up to this, drawn by the seed. IEEE 802.3 allows `"100ppm"` (10 Gb/s: Table 52-7, 100 Gb/s: Table 88-7). Equal senders then drift against each other and lose alike, as through real switches. Clocks are exact by default: closed forms hold to the picosecond, a scenario in which nothing else is drawn has the same result with every seed, and the papers' simulators have exact clocks
    #[key(sets = config.clock_tolerance, from = "exact clocks, as in the papers' simulators")]
    pub(crate) clock_tolerance: Param<Ratio>,
    /// priority of CNP, CNM and, unless it is the flow's, of ACK and NAK; never paused; must not be lossless
    #[key(sets = config.control_priority)]
    pub(crate) control_priority: Param<u8>,
    /// delay from the arrival of a CNP or CNM until it takes effect
    #[key(sets = config.notification_reaction)]
    pub(crate) notification_reaction: Param<Duration>,
    /// delay of a flow's data packets at the receiving host, before its transport sees them
    #[key(unset = Duration::default().to_string())]
    pub(crate) extra_delay: Written<ExtraDelayKey>,
}

impl WindowKey {
    /// Bytes; `None` for those of the path.
    fn bytes(written: &Spanned<Self>) -> Checked<Option<u64>> {
        let text = written.get_ref().0.trim();
        if text == "path" {
            return Ok(None);
        }
        match parse_size(text) {
            Ok(0) => Problem::new("`window` is zero")
                .at(written.span(), "nothing could be sent")
                .err(),
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) => Problem::new(format!("`window` is invalid: {error}"))
                .at(
                    written.span(),
                    "expected a size such as \"104KB\", or \"path\"",
                )
                .help_if(nearest(text, &["path"]))
                .err(),
        }
    }
}

/// The time without progress for IBTA's exponent, if that is written.
fn ack_timeout(file: &Host) -> Checked<Option<Time>> {
    let Some(exponent) = file.ack_timeout.get() else {
        return Ok(None);
    };
    if let Some(timeout) = file.retransmit_timeout.peek() {
        return Problem::new("both `retransmit_timeout` and `ack_timeout` are set")
            .at(timeout.span(), "either this")
            .at(exponent.span(), "or this")
            .err();
    }
    match *exponent.get_ref() {
        0 => Problem::new("`ack_timeout` is zero")
            .at(exponent.span(), "NICs take zero as no timeout")
            .help("write retransmit_timeout, with a time longer than the run")
            .err(),
        n if n > LARGEST_ACK_TIMEOUT => Problem::new("`ack_timeout` is too large")
            .at(exponent.span(), "an exponent from 1 to 31")
            .help("14 is 67 ms, 20 is 4.3 s; or write the time itself: retransmit_timeout")
            .err(),
        n => Ok(Some(Time::from_ns(ACK_TIMEOUT_UNIT_NS << n))),
    }
}

/// Refuses a priority of control frames that is lossless by default.
pub(crate) fn check_control(file: &Host, lossless: Option<u8>) -> Checked<()> {
    let Some(control) = file.control_priority.peek() else {
        return Ok(());
    };
    let number = *control.get_ref();
    let lossless = lossless.unwrap_or_default();
    if usize::from(number) >= PRIORITIES || lossless >> number & 1 == 0 {
        return Ok(());
    }
    Problem::new(format!("priority {number} is lossless"))
        .at(
            control.span(),
            "must not be: PAUSE would stop ACKs and CNPs",
        )
        .help(format!(
            "choose another priority, or set switch.lossless, whose default has {number}"
        ))
        .err()
}

impl Hosts {
    /// The settings of `[host]`, except for delays.
    pub fn of(file: &Host) -> Checked<Self> {
        let mut hosts = Self::default();
        file.apply(&mut hosts)?;
        if hosts.config.ack_priority == AckPriority::Flow {
            hosts.config.pause_acks = *file.pause_acks.value();
        }
        hosts.config.spraying = spraying(&file.spraying, &file.paths, &file.reps_freeze)?;
        if let Some(timeout) = ack_timeout(file)? {
            hosts.config.retransmit_timeout = timeout;
        }
        hosts.config.retry_count = file.retry_count.value().copied();
        hosts.config.shares = shares(file.ets.get(), &hosts.config)?;
        if let Some(window) = file.window.get() {
            hosts.config.window = Some(WindowConfig {
                bytes: WindowKey::bytes(window)?,
                by_rate: *file.window_by_rate.value(),
            });
        }
        Ok(hosts)
    }
}

#[cfg(test)]
mod tests {
    use unpause_protocols::units::Time;

    use super::{Host, Hosts};

    fn timeout(text: &str) -> Result<Time, ()> {
        let file: Host = toml::from_str(text).unwrap();
        let hosts = Hosts::of(&file).map_err(|_| ())?;
        Ok(hosts.config.retransmit_timeout)
    }

    #[test]
    fn ack_timeouts_are_those_of_ibta() {
        let default = Hosts::default().config.retransmit_timeout;
        assert_eq!(timeout("ack_timeout = 14"), Ok(default));
        assert_eq!(timeout("ack_timeout = 1"), Ok(Time::from_ns(8_192)));
        assert_eq!(
            timeout("ack_timeout = 20"),
            Ok(Time::from_ns(4_294_967_296))
        );
        assert_eq!(
            timeout("ack_timeout = 31"),
            Ok(Time::from_ns(8_796_093_022_208))
        );
        assert_eq!(timeout("ack_timeout = 0"), Err(()));
        assert_eq!(timeout("ack_timeout = 32"), Err(()));
        assert_eq!(
            timeout("ack_timeout = 14\nretransmit_timeout = \"1ms\""),
            Err(())
        );
    }
}
