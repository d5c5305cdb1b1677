//! `[[traffic]]`: every kind, entries that start at the same picosecond, files of flows.

use toml::{Table, Value};

use super::host::extra_delay;
use super::sketch::Sketch;
use crate::case::{push, put, rate, size, time};

/// Kinds that are known here, with how often each comes.
const KINDS: [(u64, &str); 7] = [
    (5, "flow"),
    (4, "burst"),
    (2, "on-off"),
    (4, "poisson"),
    (3, "incast"),
    (3, "permutation"),
    (2, "file"),
];

/// Writes one to four entries, which share the budget.
pub fn traffic(sketch: &mut Sketch) {
    let count = if sketch.crowded {
        crowd(sketch)
    } else {
        entries(sketch)
    };
    if !(0..count).any(|number| may_be_tcp(sketch, number as usize)) && sketch.dice.percent(98) {
        sketch.document.remove("tcp");
        sketch.document.remove("pias");
    }
}

/// Some hosts send to one without end, in every priority there is, and it sends to one of them: its queues
/// are never empty, and every PAUSE meets frames that come the other way.
fn crowd(sketch: &mut Sketch) -> u64 {
    let mut hosts = hosts(sketch, 2);
    let one = hosts.pop().unwrap_or_default();
    let back = (vec![one.clone()], vec![hosts[0].clone()]);
    let mut all = vec![(hosts, vec![one]); sketch.priorities.len()];
    all.push(back);
    let span = 8 * sketch.frame * sketch.ps_per_byte.1;
    for (number, (from, to)) in all.iter().enumerate() {
        let mut entry = Table::new();
        put(&mut entry, "name", format!("T{number}"));
        put(&mut entry, "kind", "flow");
        if sketch.dice.percent(70) {
            put(&mut entry, "controlled", false)
        } else {
            put(&mut entry, "transport", "roce")
        }
        let priorities = &sketch.priorities;
        put(
            &mut entry,
            "priority",
            i64::from(priorities[number % priorities.len()]),
        );
        put(&mut entry, "from", from.clone());
        put(&mut entry, "to", to.clone());
        let start = sketch.dice.below(span.min(sketch.duration));
        put(&mut entry, "start", time(start));
        push(&mut sketch.document, "traffic", entry);
    }
    all.len() as u64
}

fn entries(sketch: &mut Sketch) -> u64 {
    let count = sketch.dice.weighted(&[(4, 1), (4, 2), (2, 3), (1, 4)]);
    for number in 0..count {
        let mut entry = Table::new();
        put(&mut entry, "name", format!("T{number}"));
        let kind = sketch.dice.weighted(&KINDS);
        put(&mut entry, "kind", kind);
        let tcp_only = common(sketch, &mut entry, kind);
        let share = sketch.budget / count;
        match kind {
            "flow" => flow(sketch, &mut entry, share),
            "burst" => burst(sketch, &mut entry, share),
            "on-off" => on_off(sketch, &mut entry, share),
            "poisson" => poisson(sketch, &mut entry, share),
            "incast" => incast(sketch, &mut entry, share),
            "permutation" => permutation(sketch, &mut entry, share),
            _ => file(sketch, &mut entry, share, number),
        }
        if !["size", "cdf"].iter().any(|key| entry.contains_key(*key)) {
            entry.remove("priority_by_size");
        }
        if tcp_only && kind != "file" && sketch.dice.percent(8) && entry.contains_key("size") {
            put(&mut entry, "size", "0B");
        }
        push(&mut sketch.document, "traffic", entry);
    }
    count
}

/// Some scheme makes flows of this entry TCP.
fn may_be_tcp(sketch: &Sketch, entry: usize) -> bool {
    let entry = &sketch.document["traffic"][entry];
    match entry.get("transport").and_then(Value::as_str) {
        Some(transport) => transport == "tcp",
        None => entry.get("controlled").is_none() && sketch.schemes.iter().any(|scheme| scheme.1),
    }
}

/// Keys of every kind; true if its flows are TCP in every scheme that has them.
fn common(sketch: &mut Sketch, entry: &mut Table, kind: &str) -> bool {
    let (mut tcp, mut roce) = (false, false);
    let everywhere = sketch.schemes.iter().all(|scheme| scheme.2);
    let anywhere: Vec<String> = sketch
        .schemes
        .iter()
        .filter(|s| s.2)
        .map(|s| s.0.clone())
        .collect();
    match sketch.dice.below(10) {
        0..3 if !anywhere.is_empty() => {
            put(entry, "transport", "tcp");
            tcp = true;
            if !everywhere {
                put(entry, "schemes", anywhere);
            }
        }
        3..5 => {
            put(entry, "transport", "roce");
            roce = true;
        }
        5 => {
            put(entry, "controlled", false);
            roce = true;
        }
        _ => {
            tcp = sketch.schemes.iter().all(|scheme| scheme.1);
            roce = sketch.schemes.iter().all(|scheme| !scheme.1);
        }
    }
    priority(sketch, entry, kind, roce);
    if sketch.dice.percent(15) {
        put(entry, "rate_limit", rate(sketch.rate()));
    }
    if roce && sketch.dice.percent(16) {
        put(entry, "offered", rate(sketch.rate()));
    }
    if sketch.dice.percent(50) {
        put(entry, "record", true);
    }
    if sketch.dice.percent(8) {
        let delay = extra_delay(sketch);
        put(entry, "extra_delay", delay);
    }
    tcp
}

/// With `[pias]`, only what is RoCE in every scheme has a priority of its own.
fn priority(sketch: &mut Sketch, entry: &mut Table, kind: &str, roce: bool) {
    if sketch.pias && !roce {
        return;
    }
    let priority = sketch.dice.pick(&sketch.priorities);
    if priority != 3 || sketch.dice.percent(30) {
        put(entry, "priority", i64::from(priority));
    }
    if !matches!(kind, "on-off" | "file") && sketch.dice.percent(10) {
        let mut upto = 0;
        let mut classes = Vec::new();
        for _ in 0..sketch.dice.between(1, 2) {
            upto += sketch.bytes();
            let mut class = Table::new();
            put(&mut class, "upto", size(upto));
            put(
                &mut class,
                "priority",
                i64::from(sketch.dice.pick(&sketch.priorities)),
            );
            classes.push(Value::Table(class));
        }
        put(entry, "priority_by_size", classes);
    }
}

/// Some hosts.
fn hosts(sketch: &mut Sketch, least: usize) -> Vec<String> {
    let names: Vec<String> = sketch.hosts.iter().map(|host| host.0.clone()).collect();
    let count = sketch
        .dice
        .between(least as u64, names.len().max(least) as u64) as usize;
    sketch.dice.some(&names, count)
}

/// Some hosts that send, and one that receives.
fn many_to_one(sketch: &mut Sketch, entry: &mut Table) -> u64 {
    let mut senders = hosts(sketch, 2);
    let receiver = senders.pop().unwrap_or_default();
    put(entry, "to", receiver);
    let count = senders.len() as u64;
    match (&senders[..], sketch.dice.percent(50)) {
        ([one], true) => put(entry, "from", one.clone()),
        _ => put(entry, "from", senders),
    }
    count
}

/// When it starts, often with something else, and sometimes when it stops.
fn period(sketch: &mut Sketch, entry: &mut Table, may_stop: bool) {
    let duration = sketch.duration;
    let start = match sketch.dice.below(6) {
        0..3 => 0,
        3 => duration / 4,
        4 => sketch.dice.below(duration),
        _ => sketch.time().min(duration - 1),
    };
    if start > 0 {
        put(entry, "start", time(start));
    }
    if may_stop && sketch.dice.percent(25) {
        put(entry, "stop", time(start + sketch.dice.scale(1, duration)));
    }
}

/// Bytes of one of `flows` flows that share `share`.
fn flow_bytes(sketch: &mut Sketch, share: u64, flows: u64) -> u64 {
    let most = (share / flows.max(1)).max(1);
    match sketch.dice.below(4) {
        0 => most,
        // A last packet that is full, or has a single byte.
        1 => (most / sketch.payload).max(1) * sketch.payload + sketch.dice.below(2),
        _ => sketch.dice.scale(1, most),
    }
}

/// `size`, or `cdf` with a file or a distribution by name, cut to the budget.
fn sizes(sketch: &mut Sketch, entry: &mut Table, share: u64, flows: u64) {
    let bytes = flow_bytes(sketch, share, flows);
    match sketch.dice.below(10) {
        0 | 1 => {
            let text = format!("bytes,cdf\n1,0\n{},0.5\n{},1\n", bytes / 2 + 1, bytes + 1);
            let name = format!("sizes{}.csv", sketch.files.len());
            sketch.files.insert(name.clone(), text);
            put(entry, "cdf", name);
        }
        2 if share > 200_000 => {
            let (name, _) = sketch.dice.pick(&unpause_scenario::cdf::BUILTIN);
            put(entry, "cdf", name);
        }
        _ => put(entry, "size", size(bytes)),
    }
}

/// Keeps flows that never end within the budget, if line rate would not.
fn limit(sketch: &mut Sketch, entry: &mut Table, share: u64, flows: u64) {
    if !sketch.may_be_endless {
        let bits = u128::from(share / flows.max(1)) * 8_000_000_000_000;
        let bps = (bits / u128::from(sketch.duration)) as u64;
        put(entry, "rate_limit", rate(bps.max(1_000)));
        // Another limit for TCP, which heeds no rate: the end comes early.
        let soon = (sketch.duration / 20).max(1);
        let start = entry.get("start").and_then(Value::as_str).unwrap_or("0ps");
        let start = unpause_scenario::quantity::parse_duration(start);
        let start = start.map_or(0, |time| time.as_ps());
        if sketch.schemes.iter().any(|scheme| scheme.2) && entry["kind"].as_str() == Some("flow") {
            put(entry, "stop", time(start + soon));
        }
    }
}

fn flow(sketch: &mut Sketch, entry: &mut Table, share: u64) {
    let all = hosts(sketch, 2);
    let to = sketch.dice.between(1, (all.len() as u64 - 1).min(3)) as usize;
    let (to, from) = all.split_at(to);
    let flows = (to.len() * from.len()) as u64;
    put(entry, "from", from.to_vec());
    put(entry, "to", to.to_vec());
    period(sketch, entry, true);
    if sketch.dice.percent(25) {
        put(entry, "source_port", sketch.dice.below(65_536) as i64);
    }
    if sketch.dice.percent(20) {
        limit(sketch, entry, share, flows);
    } else {
        let bytes = flow_bytes(sketch, share, flows);
        put(entry, "size", size(bytes));
    }
}

/// Events at a fixed interval, at random, or one only; answers how many there can be.
fn events(sketch: &mut Sketch, entry: &mut Table, may_limit: bool) -> u64 {
    let repeats = sketch.dice.percent(50);
    period(sketch, entry, repeats);
    let interval = sketch.time().max(sketch.duration / 40 + 1);
    let events = match sketch.dice.below(2) {
        _ if !repeats => return 1,
        0 => {
            put(entry, "interval", time(interval));
            sketch.duration / interval + 1
        }
        _ => {
            put(entry, "mean_interval", time(interval));
            sketch.duration / interval + 2
        }
    };
    if may_limit && sketch.dice.percent(40) {
        let most = sketch.dice.between(1, 10);
        put(entry, "events", most as i64);
        return events.min(most);
    }
    events
}

fn burst(sketch: &mut Sketch, entry: &mut Table, share: u64) {
    let senders = many_to_one(sketch, entry);
    let events = events(sketch, entry, true);
    let flows = match sketch.dice.below(4) {
        0 => {
            let each = sketch.dice.between(1, 4);
            put(entry, "flows_per_host", each as i64);
            each * senders
        }
        1 => {
            let all = sketch.dice.between(1, 12);
            put(entry, "flows", all as i64);
            all
        }
        _ => senders,
    };
    sizes(sketch, entry, share, flows * events);
}

fn on_off(sketch: &mut Sketch, entry: &mut Table, share: u64) {
    let senders = many_to_one(sketch, entry);
    period(sketch, entry, true);
    let on = sketch.time().max(sketch.duration / 50 + 1);
    put(entry, "on", time(on));
    put(
        entry,
        "off",
        time(sketch.time().max(sketch.duration / 50 + 1)),
    );
    if !sketch.may_be_endless {
        // TCP heeds no rate: what is on is short.
        let tcp = sketch.schemes.iter().any(|scheme| scheme.2);
        if tcp && entry.get("transport").is_none() && entry.get("controlled").is_none() {
            put(entry, "transport", "roce");
            if sketch.pias {
                entry.remove("priority");
            }
        }
        limit(sketch, entry, share, senders);
    }
}

fn poisson(sketch: &mut Sketch, entry: &mut Table, share: u64) {
    let permutation = sketch.dice.percent(20);
    let mut senders = sketch.hosts.len() as u64;
    if sketch.dice.percent(40) {
        let from = hosts(sketch, 2);
        senders = from.len() as u64;
        put(entry, "from", from);
    }
    if permutation {
        put(entry, "permutation", true);
    } else {
        if sketch.dice.percent(40) {
            let to = hosts(sketch, 2);
            put(entry, "to", to);
        }
        if !sketch.one_leaf && !entry.contains_key("to") && sketch.dice.percent(25) {
            put(entry, "outside_leaf", true);
        }
    }
    period(sketch, entry, true);
    let synchronised = sketch.dice.percent(15);
    if synchronised {
        put(entry, "synchronised", true);
    }
    let most = sketch.dice.scale(1, 60);
    put(entry, "flows", most as i64);
    match sketch.dice.below(3) {
        0 => {
            put(entry, "load", format!("{}%", sketch.dice.between(1, 120)));
            let mut of = vec!["senders", "receivers"];
            if sketch.has_uplinks && !entry.contains_key("from") {
                of.push("uplinks");
            }
            if sketch.dice.percent(50) {
                put(entry, "load_of", sketch.dice.pick(&of));
            }
            if sketch.dice.percent(30) {
                put(entry, "load_basis", sketch.dice.pick(&["payload", "wire"]));
            }
        }
        1 => put(entry, "rate", rate(sketch.rate())),
        _ => put(
            entry,
            "mean_interval",
            time(sketch.time().max(sketch.duration / 60 + 1)),
        ),
    }
    let at_once = if synchronised { senders } else { 1 };
    sizes(sketch, entry, share, most.max(at_once));
}

fn incast(sketch: &mut Sketch, entry: &mut Table, share: u64) {
    let mut available = sketch.hosts.len() as u64;
    if sketch.dice.percent(40) {
        let from = hosts(sketch, 2);
        available = from.len() as u64;
        put(entry, "from", from);
    }
    if sketch.dice.percent(30) {
        let to = hosts(sketch, 2);
        put(entry, "to", to);
    }
    let senders = sketch.dice.between(1, (available - 1).max(1));
    put(entry, "senders", senders as i64);
    let most = if sketch.dice.percent(30) {
        sketch.dice.between(senders, (available - 1).max(senders))
    } else {
        senders
    };
    if most > senders {
        put(entry, "max_senders", most as i64);
    }
    let events = events(sketch, entry, true);
    sizes(sketch, entry, share, most * events);
}

fn permutation(sketch: &mut Sketch, entry: &mut Table, share: u64) {
    let mut flows = sketch.hosts.len() as u64;
    if sketch.dice.percent(40) {
        let from = hosts(sketch, 2);
        flows = from.len() as u64;
        put(entry, "from", from);
    }
    period(sketch, entry, false);
    let tcp = sketch.schemes.iter().any(|scheme| scheme.2);
    if sketch.dice.percent(20) && (sketch.may_be_endless || !tcp) {
        limit(sketch, entry, share, flows);
    } else {
        sizes(sketch, entry, share, flows);
    }
}

fn file(sketch: &mut Sketch, entry: &mut Table, share: u64, number: u64) {
    let flows = sketch.dice.scale(1, 20);
    let instant = sketch.dice.below(sketch.duration);
    let mut text = format!("{flows}\n");
    for _ in 0..flows {
        let ends = sketch.dice.some(&sketch.hosts, 2);
        let [(_, src), (_, dst)] = &ends[..] else {
            continue;
        };
        let start = match sketch.dice.below(3) {
            0 => 0,
            1 => instant,
            _ => sketch.dice.below(sketch.duration),
        };
        let priority = sketch.dice.pick(&sketch.priorities);
        let bytes = flow_bytes(sketch, share, flows);
        let seconds = format!(
            "{}.{:012}",
            start / 1_000_000_000_000,
            start % 1_000_000_000_000
        );
        text += &format!("{src} {dst} {priority} 100 {bytes} {seconds}\n");
    }
    let name = format!("flows{number}.txt");
    put(entry, "file", name.clone());
    sketch.files.insert(name, text);
    // Each line says its own.
    entry.remove("priority");
    if sketch.pias && entry.get("transport").is_none() {
        put(entry, "transport", "roce");
    }
}
