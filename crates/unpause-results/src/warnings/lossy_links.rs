//! Sentences about the losses of links with errors.

use std::collections::BTreeSet;

use unpause_protocols::units::Time;
use unpause_sim::config::{Fec, FrameErrors, NodeId, PortId};
use unpause_sim::results::{LinkChange, LossPlace, Results};

use crate::run::link_names::links;
use crate::run::measured::Measured;
use crate::warnings::changes::Changes;
use crate::warnings::foreseen::Foreseen;
use crate::warnings::link_failures::said;
use unpause_text::count::counted;

/// The kind of these messages, which tell of what the scenario asks for.
pub const KIND: &str = "frame-errors";

/// So many are told one by one.
const MOST: usize = 6;

/// Links that had the same errors at the same time.
struct Lossy {
    at: Time,
    /// When they changed; never if they did not.
    end: Time,
    errors: FrameErrors,
    /// Ports that send by them.
    wires: BTreeSet<(NodeId, PortId)>,
}

/// A message for each time at which links came to have errors.
pub fn of(measured: &Measured) -> Vec<Foreseen> {
    let Measured { run, results, .. } = measured;
    let all = lossy(results);
    let mut told: Vec<String> = all
        .iter()
        .take(MOST)
        .map(|it| {
            let (packets, data) = lost(results, it);
            format!(
                "errors on {} from {}, {}: {}",
                links(run, &Vec::from_iter(it.wires.iter().copied())),
                span(it.at, it.end),
                shown(&it.errors),
                said(packets, data)
            )
        })
        .collect();
    if all.len() > MOST {
        let rest = &all[MOST..];
        let (packets, data) = rest
            .iter()
            .map(|it| lost(results, it))
            .fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
        told.push(format!(
            "{} at which links began to have errors: {}",
            counted(rest.len(), "more time"),
            said(packets, data)
        ));
    }
    let switch = &run.config.switch;
    let help = match switch.lossless != 0 && switch.cbfc.is_none() {
        true => {
            "table losses says where packets were lost; a lost XOFF may overflow a buffer; a lost XON stops its sender until the pause time is over"
        }
        false => "table losses says where packets were lost",
    };
    let message = |message| Foreseen {
        kind: KIND,
        message,
        help: help.to_owned(),
        key: Vec::new(),
    };
    told.into_iter().map(message).collect()
}

fn lossy(results: &Results) -> Vec<Lossy> {
    let mut found: Vec<Lossy> = Vec::new();
    let changes = Changes::of(results, |it| matches!(it, LinkChange::Errors { .. }));
    for change in &results.link_changes {
        let LinkChange::Errors {
            at,
            node,
            port,
            errors,
        } = *change
        else {
            continue;
        };
        if errors == FrameErrors::None {
            continue;
        }
        let wire = (node, port);
        let end = changes.next(wire, at);
        // Those of one time follow one another.
        let same = found.iter_mut().rev().take_while(|it| it.at == at);
        let mut same = same.filter(|it| (it.end, it.errors) == (end, errors));
        match same.next() {
            Some(same) => {
                same.wires.insert(wire);
            }
            None => found.push(Lossy {
                at,
                end,
                errors,
                wires: BTreeSet::from([wire]),
            }),
        }
    }
    found
}

/// Packets that these links lost while they had these errors, and those of them with data.
fn lost(results: &Results, of: &Lossy) -> (u64, u64) {
    let own = results.losses.iter().filter(|it| {
        it.place == LossPlace::Error && it.since == of.at && of.wires.contains(&(it.node, it.port))
    });
    own.fold((0, 0), |(packets, data), it| {
        (packets + it.packets, data + it.data_packets)
    })
}

pub fn span(at: Time, end: Time) -> String {
    let begin = match at {
        Time::ZERO => "the start".to_owned(),
        _ => at.to_string(),
    };
    match end {
        Time::NEVER => format!("{begin} on"),
        _ => format!("{begin} until {end}"),
    }
}

fn shown(errors: &FrameErrors) -> String {
    match errors {
        FrameErrors::None => "none".to_owned(),
        FrameErrors::Frames(share) => format!("each frame with probability {share:e}"),
        FrameErrors::Bits(ber) => format!("each bit with probability {ber:e}, without FEC"),
        FrameErrors::Codewords {
            fec,
            interleave,
            codeword_errors,
        } => {
            let code = match fec {
                Fec::Rs544 => "RS(544, 514)",
                Fec::Rs272 => "RS(272, 257)",
            };
            format!(
                "each codeword of {code} with probability {codeword_errors:.3e}, {interleave} interleaved"
            )
        }
    }
}
