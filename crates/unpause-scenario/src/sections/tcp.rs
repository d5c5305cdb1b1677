//! `[tcp]`.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use serde_spanned::Spanned;
use unpause_protocols::loss_recovery::newreno;
use unpause_protocols::units::Time;
use unpause_sim::config::{AckPriority, DelayedAck, TcpConfig};

use crate::text::checks::{at_least_one, bytes_u32, positive};
use crate::text::error::{Checked, Problem};
use crate::text::quantity::{Duration, Size};
use crate::text::setting::show_bytes;

/// `[tcp]`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tcp {
    pub mss: Option<Spanned<Size>>,
    pub header: Option<Spanned<Size>>,
    pub initial_window: Option<Spanned<u32>>,
    pub max_burst: Option<Spanned<CountOrNone>>,
    pub dupack_threshold: Option<Spanned<CountOrNone>>,
    pub limited_transmit: Option<bool>,
    pub delayed_ack: Option<Spanned<CountOrNone>>,
    pub delayed_ack_timeout: Option<Spanned<Duration>>,
    pub min_rto: Option<Spanned<Duration>>,
    pub max_rto: Option<Spanned<Duration>>,
    pub rto_granularity: Option<Spanned<Duration>>,
    pub initial_rtt: Option<Spanned<Duration>>,
    pub retries: Option<Spanned<u32>>,
    pub syn_timeout: Option<Spanned<Duration>>,
    pub syn_tries: Option<Spanned<u32>>,
    pub ack_priority: Option<AckPriorityKey>,
    pub buffer: Option<Spanned<Size>>,
}

/// Which priority SYNs and ACKs have.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AckPriorityKey {
    Flow,
    Control,
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

/// How long a delayed ACK waits when it is not said: Linux's shortest.
const DELAYED_ACK_TIMEOUT: Time = Time::from_ms(40);

/// Connections, but for their window.
pub(crate) fn tcp(file: &Tcp) -> Checked<TcpConfig> {
    let mut tcp = TcpConfig::default();
    if let Some(header) = &file.header {
        tcp.header_bytes = bytes_u32("header", header, 1)?;
    }
    if let Some(timeout) = &file.syn_timeout {
        tcp.syn_timeout = positive("syn_timeout", timeout)?;
    }
    if let Some(tries) = &file.syn_tries {
        tcp.syn_tries = at_least_one("syn_tries", tries, "a connection needs a SYN")?;
    }
    if let Some(buffer) = &file.buffer {
        tcp.buffer_bytes = buffer.get_ref().0;
        if tcp.buffer_bytes > 1 << 30 {
            return Problem::new("`buffer` is more than 1GiB")
                .at(buffer.span(), "TCP's numbers wrap after 4 GiB")
                .err();
        }
        let mss = file.mss.as_ref().map_or(1400, |mss| mss.get_ref().0);
        if tcp.buffer_bytes < mss {
            return Problem::new("`buffer` is less than a segment")
                .at(buffer.span(), format!("a segment has {}", show_bytes(mss)))
                .err();
        }
    }
    tcp.ack_priority = match file.ack_priority {
        None | Some(AckPriorityKey::Flow) => AckPriority::Flow,
        Some(AckPriorityKey::Control) => AckPriority::Control,
    };
    tcp.delayed_ack = delayed_ack(file)?;
    Ok(tcp)
}

fn delayed_ack(file: &Tcp) -> Checked<Option<DelayedAck>> {
    let every = match &file.delayed_ack {
        Some(every) => count("delayed_ack", every, "\"none\": an ACK for each segment")?,
        None => None,
    };
    let Some(every) = every else {
        if let Some(timeout) = &file.delayed_ack_timeout {
            return Problem::new("`delayed_ack_timeout` has no effect")
                .at(timeout.span(), "no ACK is delayed")
                .help("add delayed_ack = 2: an ACK for every second segment")
                .err();
        }
        return Ok(None);
    };
    let timeout = match &file.delayed_ack_timeout {
        Some(timeout) => positive("delayed_ack_timeout", timeout)?,
        None => DELAYED_ACK_TIMEOUT,
    };
    Ok(Some(DelayedAck { every, timeout }))
}

/// Segments, and what is done about losses.
pub(crate) fn recovery(file: &Tcp, params: &mut newreno::Params) -> Checked<()> {
    // The network card takes segments when it can send them: see `newreno::Params`.
    params.grow_only_if_limiting = true;
    if let Some(mss) = &file.mss {
        params.mss = bytes_u32("mss", mss, 1)?;
    }
    if let Some(segments) = &file.initial_window {
        params.initial_window = at_least_one("initial_window", segments, "nothing could be sent")?;
    }
    if let Some(burst) = &file.max_burst {
        params.max_burst = count("max_burst", burst, "\"none\": no limit")?;
    }
    if let Some(threshold) = &file.dupack_threshold {
        match count(
            "dupack_threshold",
            threshold,
            "\"none\": only timeouts repair losses",
        )? {
            Some(duplicates) => params.duplicate_threshold = duplicates,
            None => {
                params.duplicate_threshold = u32::MAX;
                params.limited_transmit = false;
            }
        }
    }
    if let Some(limited_transmit) = file.limited_transmit {
        params.limited_transmit = limited_transmit;
    }
    if let Some(retries) = &file.retries {
        params.retries = *retries.get_ref();
    }
    if let Some(min) = &file.min_rto {
        params.rto.min = positive("min_rto", min)?;
        params.rto.max = params.rto.max.max(params.rto.min);
    }
    if let Some(max) = &file.max_rto {
        params.rto.max = positive("max_rto", max)?;
        if params.rto.max < params.rto.min {
            return Problem::new("`max_rto` is below `min_rto`")
                .at(max.span(), format!("`min_rto` is {}", params.rto.min))
                .err();
        }
    }
    if let Some(granularity) = &file.rto_granularity {
        params.rto.granularity = granularity.get_ref().0;
    }
    if let Some(rtt) = &file.initial_rtt {
        params.rto.initial_rtt = positive("initial_rtt", rtt)?;
    }
    Ok(())
}

/// A number above zero, or none.
fn count(key: &str, value: &Spanned<CountOrNone>, none: &str) -> Checked<Option<u32>> {
    match value.get_ref().0 {
        Some(0) => Problem::new(format!("`{key}` is zero"))
            .at(value.span(), "at least 1")
            .help(format!("or write {none}"))
            .err(),
        number => Ok(number),
    }
}
