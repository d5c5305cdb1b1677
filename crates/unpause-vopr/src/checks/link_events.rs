//! Links that fail or have errors: who loses packets, and who sends none.

use unpause_protocols::units::Time;
use unpause_sim::config::{Config, FrameErrors, NodeId, PortId};
use unpause_sim::results::{LinkChange, LossPlace, Results};

use super::facts::Answer;

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
            LinkChange::Wire { .. } | LinkChange::Errors { .. } | LinkChange::Routes { .. } => {}
        }
    }
    spans
}

/// Losses are those of a failure or of errors, at its port, and no more than were dropped in all; without a route only once routes have
/// moved.
pub fn losses(config: &Config, results: &Results) -> Answer {
    let lost: u64 = results.losses.iter().map(|it| it.data_packets).sum();
    if lost > results.totals.dropped_packets {
        return Err(format!(
            "{lost} data packets lost in failures, {} in all",
            results.totals.dropped_packets
        ));
    }
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
                        if (at, node, port) == (loss.since, loss.node, loss.port)
                            && errors != FrameErrors::None
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
    let late = |change: &&LinkChange| match **change {
        LinkChange::Wire { at, .. } | LinkChange::Errors { at, .. } | LinkChange::Routes { at } => {
            at >= config.stop
        }
    };
    match results.link_changes.iter().find(late) {
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
