//! `[tcp]`.

use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use unpause_protocols::units::Time;
use unpause_sim::config::{DelayedAck, TcpConfig};

use crate::text::keys::{Keys, keys, kinds};
use crate::text::setting::{AckPriority, Qdisc, Setting};
use unpause_text::error::{Checked, Problem};
use unpause_text::quantity::{Duration, Size};

keys! {
    /// `[tcp]`
    #[derive(Default)]
    pub(crate) Tcp at "tcp" for TcpConfig {
        mss: Size "bytes of a flow in a full segment" from "the ECN♯ authors' simulator" => recovery.mss;
        header: Size
            "headers and trailers of a segment; SYN and ACK have nothing else and are padded to 64 bytes"
            from "the ECN♯ authors' simulator" => header_bytes;
        initial_window: u32 "segments" from "the ECN♯ authors' simulator" => recovery.initial_window;
        max_burst: CountOrNone
            "largest number of segments released by one ACK, timeout or the handshake; `\"none\"`: no limit"
            from "the ECN♯ authors' simulator" => recovery.max_burst;
        tso: CountOrNone
            "segments that the network card cuts from one large send: new data wait until there are this many, a third of the window, or all remaining data; `\"none\"`: each segment is sent by itself" from "ours; Linux has up to 44 of 1448 bytes"
            => recovery.tso;
        dupack_threshold: CountOrNone = [CountOrNone(Some(TcpConfig::default().recovery.duplicate_threshold)).0]
            "number of duplicate ACKs that signal a loss; `\"none\"`: only timeouts repair losses, so reordering does no harm" from "RFC 5681";
        limited_transmit: bool = ["`true`, with `dupack_threshold` `\"none\"` `false`"]
            "the first two duplicate ACKs release one segment each" from "the ECN♯ authors' simulator";
        delayed_ack: CountOrNone = ["`\"none\"`"] "segments per ACK; `\"none\"`: one ACK per segment"
            from "the ECN♯ authors' simulator";
        delayed_ack_timeout: Duration = [DELAYED_ACK_TIMEOUT] "longest delay of a delayed ACK" from "Linux's shortest"
            idle ("no ACK is delayed", "add delayed_ack = 2: an ACK for every second segment");
        min_rto: Duration = [TcpConfig::default().recovery.rto.min] "shortest retransmission timeout"
            from "the ECN♯ authors' simulator";
        max_rto: Duration = [TcpConfig::default().recovery.rto.max] "longest retransmission timeout"
            from "RFC 6298, ns-3";
        rto_granularity: Duration "smallest contribution of the RTT's deviation to the timeout"
            from "the ECN♯ authors' simulator" => recovery.rto.granularity;
        initial_rtt: Duration "RTT assumed until one has been measured" from "the ECN♯ authors' simulator"
            => recovery.rto.initial_rtt;
        retries: u32 "consecutive timeouts that a connection survives; one more ends it"
            from "the ECN♯ authors' `queue-track`" => recovery.retries;
        syn_timeout: Duration "timeout of the first SYN; it doubles with each retry"
            from "the ECN♯ authors' simulator" => syn_timeout;
        syn_tries: u32 "SYNs before the sender gives up" from "the ECN♯ authors' simulator" => syn_tries;
        ack_priority: AckPriority "SYNs and ACKs have the priority of the flow, or with `\"control\"` that of `[host]`"
            => ack_priority;
        grow_only_if_limiting: bool
            "the window grows only while it limits the sender; if false, it grows with each ACK, even while the network card or the application is the limit"
            from "RFC 7661, 4.3; the ECN♯ authors' simulator differs" => recovery.grow_only_if_limiting;
        qdisc: Qdisc
            "where segments wait for the network card: in their connections, which take turns (`\"fq\"`), or, as soon as their window allows, in one FIFO per priority (`\"pfifo\"`, as in the ECN♯ authors' simulator)"
            from "ours" => qdisc;
        fin: bool
            "the receiver closes the connection of a finished flow with a FIN, which the sender acknowledges"
            from "ours; as in the ECN♯ authors' simulator" => fin;
        buffer: Size "upper limit of bytes in flight" from "the ECN♯ authors' simulator"
            => buffer_bytes;
    }
}

/// A number, or `"none"`.
#[derive(Clone, Copy)]
pub(crate) struct CountOrNone(pub Option<u32>);

struct CountVisitor;

impl Visitor<'_> for CountVisitor {
    type Value = CountOrNone;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or \"none\"")
    }
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<CountOrNone, E> {
        u32::try_from(number)
            .map(|count| CountOrNone(Some(count)))
            .map_err(|_| E::invalid_value(de::Unexpected::Signed(number), &self))
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<CountOrNone, E> {
        match text {
            "none" => Ok(CountOrNone(None)),
            _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
        }
    }
}

impl<'de> Deserialize<'de> for CountOrNone {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CountVisitor)
    }
}

kinds! { CountOrNone = "number, `\"none\"`" }

impl Setting<Option<u32>> for CountOrNone {
    fn store(&self, slot: &mut Option<u32>) -> Result<(), String> {
        *slot = self.0;
        Ok(())
    }
    fn show(slot: &Option<u32>) -> String {
        slot.map_or("none".to_owned(), |count| count.to_string())
    }
}

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
    if let Some(CountOrNone(Some(every))) = file.delayed_ack.value() {
        let timeout = file.delayed_ack_timeout.value();
        tcp.delayed_ack = Some(DelayedAck {
            every: *every,
            timeout: timeout.map_or(DELAYED_ACK_TIMEOUT, |timeout| timeout.0),
        });
    }
    if let Some(CountOrNone(threshold)) = file.dupack_threshold.value() {
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
    if let Some(min) = file.min_rto.value() {
        rto.min = min.0;
        rto.max = rto.max.max(min.0);
    }
    if let Some(max) = file.max_rto.value() {
        rto.max = max.0;
    }
    Ok(tcp)
}
