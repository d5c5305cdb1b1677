//! Sentences about the actions of PFC watchdogs.

use unpause_sim::config::{NodeId, WatchdogAction};
use unpause_sim::results::StormRecord;

use crate::run::Run;
use crate::run::measured::Measured;
use crate::warnings::foreseen::Foreseen;
use unpause_text::count::counted;

/// The kind of messages about storms, which tell of what the scenario asks for.
pub const KIND: &str = "pfc-storm";

const TABLE: &str = "table storms has the numbers";

/// So many storms are told one by one.
const MOST: usize = 6;

/// A message for each storm.
pub fn of(measured: &Measured) -> Vec<Foreseen> {
    let Measured { run, results, .. } = measured;
    let storms = &results.storms;
    let first = storms.iter().take(MOST);
    let mut found: Vec<Foreseen> = first
        .map(|it| told(storm(run, it), help(run, it)))
        .collect();
    if storms.len() > MOST {
        let rest = &storms[MOST..];
        let packets: u64 = rest.iter().map(|it| it.dropped_packets).sum();
        let dropped = match packets {
            0 => String::new(),
            _ => format!(", in which it dropped {}", counted(packets, "packet")),
        };
        let more = counted(rest.len(), "more storm");
        let message = format!("the PFC watchdog found {more}{dropped}");
        found.push(told(message, TABLE.to_owned()));
    }
    found
}

fn told(message: String, help: String) -> Foreseen {
    Foreseen {
        kind: KIND,
        message,
        help,
        key: Vec::new(),
    }
}

/// The node that sends the PAUSE.
fn peer(run: &Run, it: &StormRecord) -> NodeId {
    run.names.peers[it.node as usize][usize::from(it.port)]
}

/// A host that sends PAUSE without end is broken; a switch that does is stopped itself.
fn help(run: &Run, it: &StormRecord) -> String {
    let peer = peer(run, it);
    let name = run.names.name(peer);
    match run.names.is_host(peer) {
        true => format!("look at the NIC of {name}, which sends PAUSE; {TABLE}"),
        false => format!(
            "{name} is a switch: look further upstream for the cause of its PAUSE, or for a deadlock; with switch.watchdog.ports = \"hosts\" only ports to hosts have a \
             watchdog; {TABLE}"
        ),
    }
}

fn storm(run: &Run, it: &StormRecord) -> String {
    let (node, peer) = (run.names.name(it.node), run.names.name(peer(run, it)));
    let data = match it.dropped_packets == it.dropped_data_packets {
        true => counted(it.dropped_packets, "data packet"),
        false => format!(
            "{}, {} of them data",
            counted(it.dropped_packets, "packet"),
            it.dropped_data_packets
        ),
    };
    let did = match it.action {
        WatchdogAction::Drop => format!("it dropped {data}"),
        WatchdogAction::Forward => "it sent although it was paused".to_owned(),
        WatchdogAction::Alert => "it only reports it".to_owned(),
    };
    let over = match it.restored {
        Some(at) => format!("over at {at}"),
        None => "not over at the end of the run".to_owned(),
    };
    format!(
        "PFC storm from {peer}: {node}->{peer}, priority {}, was paused from {}; the watchdog of {node} detected this at {}, {over}; \
         {did}",
        it.priority, it.began, it.detected,
    )
}
