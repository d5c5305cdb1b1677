//! `[[event]]` and `[routing]`: links that fail, return, lose frames and change their rate, and NICs that send PAUSE.

use toml::{Table, Value};

use super::sketch::Sketch;
use crate::case::{push, put, table, time};
use crate::dice::Dice;

/// In one scenario of ten, lets one to three links fail, most of which return. `dice` are its own, so that all else stays
/// what it was.
pub fn events(sketch: &mut Sketch, dice: &mut Dice) {
    if !dice.percent(10) {
        return;
    }
    let ports = &sketch.ports;
    if ports.is_empty() {
        return;
    }
    // A sweep may end the run after half of it.
    let most = (sketch.duration / 2).max(2);
    for _ in 0..dice.between(1, 3) {
        let (from, to) = ports[dice.below(ports.len() as u64) as usize].clone();
        let (key, name) = match dice.below(10) {
            0 => ("node", from),
            1..3 => ("link", format!("{from}->{to}")),
            _ => ("link", format!("{from}-{to}")),
        };
        let event = |kind: &str, at: u64| {
            let mut event = Table::new();
            put(&mut event, "at", time(at));
            put(&mut event, "kind", kind);
            put(&mut event, key, name.clone());
            event
        };
        let at = dice.below(most - 1);
        let mut down = event("down", at);
        let returns = dice.percent(75).then(|| dice.between(at + 1, most - 1));
        if let Some(back) = returns {
            let mut up = event("up", back);
            if dice.percent(25) {
                let every = (back - at) * 2 + most / dice.between(5, 30);
                for flap in [&mut down, &mut up] {
                    put(flap, "every", time(every));
                    if every < most {
                        put(flap, "until", time(most));
                    }
                }
            }
            push(&mut sketch.document, "event", up);
        }
        push(&mut sketch.document, "event", down);
    }
    let routing = table(&mut sketch.document, "routing");
    let detection = dice.scale(1, most);
    put(routing, "detection", time(dice.below(detection)));
    if dice.percent(30) {
        put(routing, "convergence", time(dice.scale(1, most)));
    }
}

/// In half of the scenarios with jobs and without links that fail, lets the link of a rank fail, which returns in half of them, and
/// connections give up; `dice` are its own, too.
pub fn of_ranks(sketch: &mut Sketch, dice: &mut Dice) {
    let job = sketch.document.get("job").and_then(Value::as_array);
    let ranks = job.and_then(|jobs| jobs.first()?.get("ranks")?.as_array());
    let Some(ranks) = ranks.filter(|_| !sketch.document.contains_key("event")) else {
        return;
    };
    let hosts: Vec<&str> = ranks.iter().filter_map(Value::as_str).collect();
    if !dice.percent(50) || hosts.is_empty() {
        return;
    }
    let host = hosts[dice.below(hosts.len() as u64) as usize];
    let ends = |(from, to): &&(String, String)| from == host || to == host;
    let Some((from, to)) = sketch.ports.iter().find(ends).cloned() else {
        return;
    };
    let most = (sketch.duration / 2).max(2);
    let at = dice.below(most - 1);
    let mut event = |kind: &str, at: u64| {
        let mut event = Table::new();
        put(&mut event, "at", time(at));
        put(&mut event, "kind", kind);
        put(&mut event, "link", format!("{from}-{to}"));
        push(&mut sketch.document, "event", event);
    };
    event("down", at);
    if dice.percent(50) {
        event("up", dice.between(at + 1, most - 1));
    }
    let routing = table(&mut sketch.document, "routing");
    put(routing, "detection", time(dice.below(most)));
    let timeout = dice.between(sketch.rtt, (sketch.duration / 8).max(sketch.rtt));
    let count = dice.below(4) as i64;
    let host = table(&mut sketch.document, "host");
    put(host, "retry_count", count);
    host.remove("ack_timeout");
    put(host, "retransmit_timeout", time(timeout));
}

/// In one scenario of ten, lets one to three links lose frames to errors for some time; `dice` are its own, too.
pub fn errors(sketch: &mut Sketch, dice: &mut Dice) {
    if !dice.percent(10) || sketch.ports.is_empty() {
        return;
    }
    let most = (sketch.duration / 2).max(2);
    for _ in 0..dice.between(1, 3) {
        let (from, to) = sketch.ports[dice.below(sketch.ports.len() as u64) as usize].clone();
        let mut event = Table::new();
        put(&mut event, "kind", "error-rate");
        match dice.below(10) {
            0 => put(&mut event, "link", "all"),
            1..5 => put(&mut event, "link", format!("{from}->{to}")),
            _ => put(&mut event, "link", format!("{from}-{to}")),
        }
        match dice.below(4) {
            0 | 1 => put(&mut event, "loss", 1.0 / dice.scale(1, 10_000) as f64),
            2 => put(&mut event, "ber", 0.1 / dice.scale(1_000, 1_000_000) as f64),
            _ => {
                put(&mut event, "ber", 0.01 / dice.between(1, 20) as f64);
                put(&mut event, "fec", dice.pick(&["rs-544", "rs-272"]));
                if dice.percent(50) {
                    put(&mut event, "interleave", dice.between(1, 8) as i64);
                }
            }
        }
        let at = dice.below(most - 1);
        if dice.percent(70) {
            put(&mut event, "at", time(at));
        }
        if dice.percent(50) {
            put(&mut event, "until", time(dice.between(at + 1, most)));
        }
        push(&mut sketch.document, "event", event);
    }
}

/// In one scenario of ten, lets one to three links become slower, most of which have their rate again; `dice` are its own,
/// too.
pub fn rates(sketch: &mut Sketch, dice: &mut Dice) {
    if !dice.percent(10) || sketch.ports.is_empty() {
        return;
    }
    let most = (sketch.duration / 2).max(2);
    let mut used = Vec::new();
    for _ in 0..dice.between(1, 3) {
        let (from, to) = sketch.ports[dice.below(sketch.ports.len() as u64) as usize].clone();
        let ends = [from.clone(), to.clone()];
        let both = dice.percent(60);
        let share = dice.pick(&[2, 3, 4, 7, 10]);
        let at = dice.below(most - 1);
        let back = dice.percent(70).then(|| dice.between(at + 1, most - 1));
        let flaps = dice.percent(30);
        let pause = dice.between(5, 30);
        // An event that changes nothing is refused.
        if used.contains(&ends) || used.contains(&[to.clone(), from.clone()]) {
            continue;
        }
        used.push(ends);
        let Some(own) = sketch.rate_of(&from, &to) else {
            continue;
        };
        let name = if both {
            format!("{from}-{to}")
        } else {
            format!("{from}->{to}")
        };
        let event = |at: u64, bps: u64| {
            let mut event = Table::new();
            put(&mut event, "kind", "rate");
            put(&mut event, "at", time(at));
            put(&mut event, "link", name.clone());
            put(&mut event, "rate", format!("{bps}bps"));
            event
        };
        let mut slow = event(at, own / share);
        if let Some(back) = back {
            let mut again = event(back, own);
            if flaps {
                let every = (back - at) * 2 + most / pause;
                for flap in [&mut slow, &mut again] {
                    put(flap, "every", time(every));
                }
            }
            push(&mut sketch.document, "event", again);
        }
        push(&mut sketch.document, "event", slow);
    }
}

/// In one scenario of twelve where PAUSE is obeyed, lets one or two NICs, or all of a host, send PAUSE for some
/// time; `dice` are its own, too.
pub fn storms(sketch: &mut Sketch, dice: &mut Dice) {
    let document = &sketch.document;
    let flow_control = document
        .get("link")
        .and_then(|document| document.get("flow_control"));
    let is_paused = !sketch.lossless.is_empty() && flow_control.is_none();
    if !dice.percent(8) || !is_paused {
        return;
    }
    let hosts: Vec<&String> = sketch.hosts.iter().map(|(host, _)| host).collect();
    if hosts.is_empty() {
        return;
    }
    let most = (sketch.duration / 2).max(3);
    for _ in 0..dice.between(1, 2) {
        let mut event = Table::new();
        let at = dice.below(most - 1);
        put(&mut event, "kind", "pause-storm");
        let host = hosts[dice.below(hosts.len() as u64) as usize];
        let nics = sketch.ports.iter().filter(|(node, _)| node == host);
        let nics: Vec<&String> = nics.map(|(_, peer)| peer).collect();
        match dice.below(3) {
            0 if !nics.is_empty() => {
                let peer = nics[dice.below(nics.len() as u64) as usize];
                put(&mut event, "link", format!("{host}->{peer}"));
            }
            _ => put(&mut event, "node", host.clone()),
        }
        put(&mut event, "at", time(at));
        if dice.percent(70) {
            put(&mut event, "until", time(dice.between(at + 1, most)));
        }
        push(&mut sketch.document, "event", event);
    }
}
