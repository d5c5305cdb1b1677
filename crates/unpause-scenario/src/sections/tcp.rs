//! `[tcp]`.

use std::ops::Range;
use unpause_text::error::{Checked, Problem};
use unpause_text::quantity::{Duration, Size};

use serde_spanned::Spanned;
use unpause_protocols::units::Time;
use unpause_sim::config::{DelayedAck, TcpConfig};

use crate::text::keys::{Keys, Param, WithDefault, Written};
use crate::text::setting::{AckPriority, OrNone, Qdisc};

/// `[tcp]`
#[derive(Keys)]
#[keys("tcp", sets = TcpConfig, from = "the ECN♯ authors' simulator")]
pub(crate) struct Tcp {
    /// bytes of a flow in a full segment
    #[key(sets = recovery.mss)]
    pub(crate) mss: Param<Size>,
    /// headers and trailers of a segment; SYN and ACK have nothing else and are padded to 64 bytes
    #[key(sets = header_bytes)]
    pub(crate) header: Param<Size>,
    /// segments
    #[key(sets = recovery.initial_window)]
    pub(crate) initial_window: Param<u32>,
    /// largest number of segments released by one ACK, timeout or the handshake; `"none"`: no limit
    #[key(sets = recovery.max_burst)]
    pub(crate) max_burst: Param<CountOrNone>,
    /// segments that the network card cuts from one large send: new data wait until there are this many, a third of the window, or all remaining data; `"none"`: each segment is sent by itself
    #[key(sets = recovery.tso, from = "ours; Linux has up to 44 of 1448 bytes")]
    pub(crate) tso: Param<CountOrNone>,
    /// number of duplicate ACKs that signal a loss; `"none"`: only timeouts repair losses, so reordering does no harm
    #[key(default = OrNone(Some(TcpConfig::default().recovery.duplicate_threshold)), from = "RFC 5681")]
    pub(crate) dupack_threshold: WithDefault<CountOrNone>,
    /// the first two duplicate ACKs release one segment each
    #[key(unset = "`true`, with `dupack_threshold` `\"none\"` `false`")]
    pub(crate) limited_transmit: Written<bool>,
    /// segments per ACK; `"none"`: one ACK per segment
    pub(crate) delayed_ack: WithDefault<CountOrNone>,
    /// longest delay of a delayed ACK
    #[key(default = Duration(DELAYED_ACK_TIMEOUT), from = "Linux's shortest", idle = ("no ACK is delayed", "add delayed_ack = 2: an ACK for every second segment"))]
    pub(crate) delayed_ack_timeout: WithDefault<Duration>,
    /// shortest retransmission timeout
    #[key(default = Duration(TcpConfig::default().recovery.rto.min))]
    pub(crate) min_rto: WithDefault<Duration>,
    /// longest retransmission timeout
    #[key(default = Duration(TcpConfig::default().recovery.rto.max), from = "RFC 6298, ns-3")]
    pub(crate) max_rto: WithDefault<Duration>,
    /// smallest contribution of the RTT's deviation to the timeout
    #[key(sets = recovery.rto.granularity)]
    pub(crate) rto_granularity: Param<Duration>,
    /// RTT assumed until one has been measured
    #[key(sets = recovery.rto.initial_rtt)]
    pub(crate) initial_rtt: Param<Duration>,
    /// consecutive timeouts that a connection survives; one more ends it
    #[key(sets = recovery.retries, from = "the ECN♯ authors' `queue-track`")]
    pub(crate) retries: Param<u32>,
    /// timeout of the first SYN; it doubles with each retry
    pub(crate) syn_timeout: Param<Duration>,
    /// SYNs before the sender gives up
    pub(crate) syn_tries: Param<u32>,
    /// SYNs and ACKs have the priority of the flow, or with `"control"` that of `[host]`
    #[key(from = "")]
    pub(crate) ack_priority: Param<AckPriority>,
    /// the window grows only while it limits the sender; if false, it grows with each ACK, even while the network card or the application is the limit
    #[key(sets = recovery.grow_only_if_limiting, from = "RFC 7661, 4.3; the ECN♯ authors' simulator differs")]
    pub(crate) grow_only_if_limiting: Param<bool>,
    /// where segments wait for the network card: in their connections, which take turns (`"fq"`), or, as soon as their window allows, in one FIFO per priority (`"pfifo"`, as in the ECN♯ authors' simulator)
    #[key(from = "ours")]
    pub(crate) qdisc: Param<Qdisc>,
    /// the receiver closes the connection of a finished flow with a FIN, which the sender acknowledges
    #[key(from = "ours; as in the ECN♯ authors' simulator")]
    pub(crate) fin: Param<bool>,
    /// upper limit of bytes in flight
    #[key(sets = buffer_bytes)]
    pub(crate) buffer: Param<Size>,
}

/// A number, or `"none"`.
type CountOrNone = OrNone<u32>;

/// How long a delayed ACK waits when it is not said: Linux's shortest.
const DELAYED_ACK_TIMEOUT: Time = Time::from_ms(40);

/// Where it says that duplicate ACKs signal no loss.
fn no_threshold(file: &Tcp) -> Option<Range<usize>> {
    let threshold = file.dupack_threshold.peek()?;
    threshold.get_ref().0.is_none().then(|| threshold.span())
}

/// Connections.
pub(crate) fn tcp(file: &Tcp) -> Checked<TcpConfig> {
    let mut tcp = TcpConfig::default();
    file.apply(&mut tcp)?;
    if let OrNone(Some(every)) = file.delayed_ack.value() {
        tcp.delayed_ack = Some(DelayedAck {
            every: *every,
            timeout: file.delayed_ack_timeout.value().0,
        });
    }
    if let Some(OrNone(threshold)) = file.dupack_threshold.get().map(Spanned::get_ref) {
        tcp.recovery.duplicate_threshold = threshold.unwrap_or(u32::MAX);
        tcp.recovery.limited_transmit &= threshold.is_some();
    }
    if let Some(limited) = file.limited_transmit.get() {
        if let (true, Some(none)) = (limited.get_ref(), no_threshold(file)) {
            return Problem::new("`limited_transmit` has no effect")
                .at(limited.span(), "duplicate ACKs release nothing")
                .at(none, "because they signal nothing")
                .help("remove it, or set dupack_threshold = 3")
                .err();
        }
        tcp.recovery.limited_transmit = *limited.get_ref();
    }
    let rto = &mut tcp.recovery.rto;
    rto.min = file.min_rto.value().0;
    rto.max = match file.max_rto.get() {
        Some(max) => max.get_ref().0,
        None => file.max_rto.value().0.max(rto.min),
    };
    Ok(tcp)
}
