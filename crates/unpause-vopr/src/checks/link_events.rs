//! Links that fail or have errors: who loses packets, and who sends none.

use std::collections::BTreeMap;

use unpause_protocols::units::{Rate, Time};
use unpause_sim::config::{Config, FrameErrors, NodeId, PortId};
use unpause_sim::results::{LinkChange, LossPlace, Results};

use super::facts::{Answer, ports};

/// When the wire behind a port was down, as the results tell it.
fn down(results: &Results, (node, port): (NodeId, PortId)) -> Vec<(Time, Time)> {
    let mut spans: Vec<(Time, Time)> = Vec::new();
    for change in &results.link_changes {
        match *change {
            LinkChange::Wire {
                at,
                node: of,
                port: number,
                up,
            } if (of, number) == (node, port) => match (up, spans.last_mut()) {
                (true, Some(last)) => last.1 = at,
                (true, None) => {}
                (false, _) => spans.push((at, Time::NEVER)),
            },
            LinkChange::Wire { .. }
            | LinkChange::Errors { .. }
            | LinkChange::Rate { .. }
            | LinkChange::Routes { .. } => {}
        }
    }
    spans
}

/// Losses are those of a failure or of errors, at its port, and no more than were dropped in all; without a route only once routes have
/// moved.
pub fn losses(config: &Config, results: &Results) -> Answer {
    let lost: u64 = results.losses.iter().map(|loss| loss.data_packets).sum();
    if lost > results.totals.dropped_packets {
        return Err(format!(
            "{lost} data packets lost in failures, {} in all",
            results.totals.dropped_packets
        ));
    }
    // A frame is given up after its replays, which may be when errors are over.
    let retries = config.switch.retry.is_some();
    for loss in &results.losses {
        let known = match loss.place {
            LossPlace::Switch => {
                let moved = LinkChange::Routes { at: loss.since };
                results.link_changes.contains(&moved)
            }
            LossPlace::Error => results.link_changes.iter().any(|change| {
                matches!(
                    *change,
                    LinkChange::Errors { at, node, port, errors }
                        if (node, port) == (loss.node, loss.port)
                            && errors != FrameErrors::None
                            && (at == loss.since || retries && at <= loss.since)
                )
            }),
            LossPlace::Wire | LossPlace::Queue | LossPlace::Port => {
                let spans = down(results, (loss.node, loss.port));
                spans.iter().any(|(at, _)| *at == loss.since)
            }
        };
        if !known || loss.packets == 0 || loss.data_packets > loss.packets {
            return Err(format!("nothing has failed: {loss:?}"));
        }
    }
    let mut changes = results.link_changes.iter();
    match changes.find(|change| change.at() >= config.stop) {
        Some(change) => Err(format!("after the end: {change:?}")),
        None => Ok(()),
    }
}

/// Nothing is sent by a port whose wire is down.
pub fn silence(_config: &Config, results: &Results) -> Answer {
    for packet in &results.packets {
        let spans = down(results, (packet.node, packet.port));
        let is_down = |(from, until): &(Time, Time)| *from <= packet.time && packet.time < *until;
        if spans.iter().any(is_down) {
            return Err(format!("sent into a link that is down: {packet:?}"));
        }
    }
    Ok(())
}

/// No port sends more than the rates in force carry, and the frame that was under way at each change and each failure.
pub fn capacity(config: &Config, results: &Results) -> Answer {
    let frame = config.largest_frame_bytes().max(64) + config.fabric.framing_bytes;
    let mut own: BTreeMap<(NodeId, PortId), Vec<(Time, Rate)>> = BTreeMap::new();
    for port in ports(config) {
        own.insert(
            (port.node, port.number),
            vec![(Time::ZERO, port.speed.rate())],
        );
    }
    for change in &results.link_changes {
        if let LinkChange::Rate {
            at,
            node,
            port,
            rate,
        } = *change
        {
            own.entry((node, port)).or_default().push((at, rate));
        }
    }
    let mut sent: BTreeMap<(NodeId, PortId), u64> = BTreeMap::new();
    for port in &results.ports {
        *sent.entry((port.node, port.port)).or_default() += port.tx_bytes;
    }
    for (port, sent) in sent {
        let Some(steps) = own.get(&port) else {
            return Err(format!("there is no port {port:?}"));
        };
        let ends = steps.iter().skip(1).map(|step| step.0);
        let ends = ends.chain([results.totals.simulated]);
        let spans = steps.iter().zip(ends);
        // At each change, one byte may have been begun.
        let carried: u64 = spans
            .map(|((at, rate), end)| rate.bytes_in(end.saturating_sub(*at)) + 1)
            .sum();
        // A frame counts whole when it begins, also one that a failure cuts short.
        let cut = steps.len() + down(results, port).len();
        let most = carried + u64::from(frame) * cut as u64;
        if sent > most {
            return Err(format!("{port:?} sent {sent} bytes of at most {most}"));
        }
    }
    Ok(())
}
