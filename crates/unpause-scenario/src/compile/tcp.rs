//! `[tcp]` and `[pias]`.

use serde_spanned::Spanned;
use unpause_protocols::tagging::{self, pias};
use unpause_protocols::units::Time;
use unpause_protocols::window::newreno;
use unpause_sim::config::{AckPriority, DelayedAck, PRIORITIES, Tags, TcpConfig};

use crate::file::{self, CountOrNone};
use crate::text::checks::{at_least_one, bytes_u32, data_priority, positive};
use crate::text::error::{Checked, Problem};
use crate::text::setting::show_bytes;

/// How long a delayed ACK waits when it is not said: Linux's shortest.
const DELAYED_ACK_TIMEOUT: Time = Time::from_ms(40);

/// Connections, but for their window.
pub(super) fn tcp(file: &file::Tcp) -> Checked<TcpConfig> {
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
        None | Some(file::AckPriority::Flow) => AckPriority::Flow,
        Some(file::AckPriority::Control) => AckPriority::Control,
    };
    tcp.delayed_ack = delayed_ack(file)?;
    Ok(tcp)
}

fn delayed_ack(file: &file::Tcp) -> Checked<Option<DelayedAck>> {
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

/// What all window laws share.
pub(super) fn window(file: &file::Tcp, params: &mut newreno::Params) -> Checked<()> {
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

/// PIAS: thresholds that increase, and a priority less urgent than the last for each level.
pub(super) fn pias(file: &Spanned<file::Pias>, control_priority: u8) -> Checked<Tags> {
    let pias = file.get_ref();
    let mut thresholds = vec![140_000, 280_000, 420_000];
    if let Some(list) = &pias.thresholds {
        thresholds.clear();
        for size in list.get_ref() {
            let (bytes, before) = (size.get_ref().0, thresholds.last().copied().unwrap_or(0));
            if bytes <= before {
                return Problem::new("thresholds must increase")
                    .at(size.span(), format!("not above {}", show_bytes(before)))
                    .help("they count from the start of a flow: [\"140KB\", \"280KB\", \"420KB\"]")
                    .err();
            }
            thresholds.push(bytes);
        }
    }
    if thresholds.len() >= PRIORITIES {
        let list = pias.thresholds.as_ref().map_or(file.span(), Spanned::span);
        return Problem::new(format!("{} thresholds", thresholds.len()))
            .at(list, "at most 7: there are 8 queues")
            .err();
    }
    let mut priorities: Vec<u8> = Vec::new();
    for priority in pias.priorities.get_ref() {
        let number = data_priority(priority)?;
        if number == control_priority {
            return Problem::new(format!("priority {number} carries control frames"))
                .at(priority.span(), "data cannot use it")
                .help("choose another priority, or set host.control_priority")
                .err();
        }
        if let Some(last) = priorities.last().filter(|last| number >= **last) {
            return Problem::new("priorities of PIAS must decrease")
                .at(
                    priority.span(),
                    format!("not below {last}: the higher is served first"),
                )
                .err();
        }
        priorities.push(number);
    }
    if priorities.len() != thresholds.len() + 1 {
        let levels = thresholds.len() + 1;
        return Problem::new(format!(
            "{} priorities for {levels} levels",
            priorities.len()
        ))
        .at(pias.priorities.span(), "one priority for each level")
        .help("as many as there are thresholds, and one more")
        .err();
    }
    Ok(Tags {
        law: tagging::Config::Pias(pias::Params::of(&thresholds)),
        priorities,
    })
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
