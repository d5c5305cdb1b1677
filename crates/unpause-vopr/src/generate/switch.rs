//! `[switch]` and `[pfc]`: every model, memory from ample to a few packets, and schedulers.

use toml::Table;

use super::sketch::Sketch;
use crate::case::{put, rate, size, table, time};

/// Writes `[switch]` and `[pfc]`.
pub fn switch(sketch: &mut Sketch, model: &'static str) {
    sketch.model = model;
    let lossless: Vec<i64> = sketch.lossless.iter().map(|p| i64::from(*p)).collect();
    let mut switch = Table::new();
    if lossless != [3] || sketch.dice.percent(30) {
        put(&mut switch, "lossless", lossless);
    }
    let frame = sketch.frame;
    // Frames may wait at outputs.
    let mut outputs_queue = true;
    match model {
        "pipeline" => {
            put(&mut switch, "model", "pipeline");
            let pipeline = pipeline(sketch);
            if !pipeline.is_empty() {
                put(&mut switch, "pipeline", pipeline);
            }
        }
        "cioq" => {
            put(&mut switch, "model", "cioq");
            let cioq = cioq(sketch);
            if !cioq.is_empty() {
                put(&mut switch, "cioq", cioq);
            }
        }
        "input-queued" => {
            put(&mut switch, "model", "input-queued");
            let (keys, faster) = input_queued(sketch);
            outputs_queue = faster;
            if !keys.is_empty() {
                put(&mut switch, "input_queued", keys);
            }
        }
        _ => {
            if sketch.dice.percent(15) {
                put(&mut switch, "model", "shared-buffer");
            }
            if sketch.dice.percent(40) {
                put(
                    &mut switch,
                    "lossy_queue",
                    size(sketch.dice.between(1, 30) * frame),
                );
            }
        }
    }
    cut_through(sketch, &mut switch);
    if outputs_queue {
        if sketch.dice.percent(15) {
            let packets = sketch.dice.between(1, 20) as i64;
            put(&mut switch, "lossy_queue_packets", packets);
        }
        if sketch.dice.percent(25) {
            put(&mut switch, "queueing", sketch.dice.pick(&["fifo", "voq"]));
        }
        if sketch.dice.percent(if sketch.crowded { 60 } else { 35 }) {
            put(&mut switch, "scheduler", scheduler(sketch));
        }
    }
    if !sketch.lossless.is_empty() && sketch.dice.percent(10) {
        put(&mut switch, "watchdog", watchdog(sketch));
    }
    if !switch.is_empty() {
        put(&mut sketch.document, "switch", switch);
    }
    if !sketch.lossless.is_empty() {
        pfc(sketch);
    }
}

/// Now and then one that is too large, or that an input-queued switch refuses.
fn cut_through(sketch: &mut Sketch, switch: &mut Table) {
    let stores = sketch.model == "input-queued";
    if sketch.dice.percent(if stores { 2 } else { 25 }) {
        let header = if sketch.dice.percent(40) {
            64
        } else {
            sketch.dice.scale(1, sketch.frame)
        };
        put(switch, "cut_through", size(header));
    }
}

/// A watchdog with times that are short enough to find storms in a short run.
fn watchdog(sketch: &mut Sketch) -> Table {
    let (dice, duration) = (&mut sketch.dice, sketch.duration);
    let poll = dice.between(1, duration / 20 + 1);
    let mut watchdog = Table::new();
    put(&mut watchdog, "poll_interval", time(poll));
    for key in ["detection_time", "restoration_time"] {
        put(&mut watchdog, key, time(poll * dice.between(1, 3)));
    }
    for (key, values) in [
        ("action", &["drop", "forward", "alert"][..]),
        ("rule", &["broadcom", "mellanox"]),
        ("ports", &["all", "hosts"]),
    ] {
        if dice.percent(60) {
            put(&mut watchdog, key, dice.pick(values));
        }
    }
    watchdog
}

fn scheduler(sketch: &mut Sketch) -> Table {
    let mut scheduler = Table::new();
    let dice = &mut sketch.dice;
    if dice.percent(15) {
        put(&mut scheduler, "kind", "strict");
        return scheduler;
    }
    put(&mut scheduler, "kind", "dwrr");
    // Entries of traffic that do not say theirs have priority 3.
    let mut all = sketch.priorities.clone();
    if !all.contains(&3) && sketch.control != 3 {
        all.push(3);
    }
    let strict = dice.below(all.len() as u64) as usize;
    let all = dice.some(&all, all.len());
    let (strict, turns) = all.split_at(strict);
    if !strict.is_empty() {
        let strict: Vec<i64> = strict.iter().map(|p| i64::from(*p)).collect();
        put(&mut scheduler, "strict", strict);
    }
    let in_bytes = dice.percent(40);
    let shares = table(&mut scheduler, if in_bytes { "quanta" } else { "weights" });
    for priority in turns {
        if in_bytes {
            put(shares, &priority.to_string(), size(dice.scale(1, 10_000)))
        } else {
            put(shares, &priority.to_string(), dice.between(1, 9) as i64)
        }
    }
    if !in_bytes && dice.percent(40) {
        put(&mut scheduler, "quantum", size(dice.scale(1, 5_000)));
    }
    scheduler
}

fn pfc(sketch: &mut Sketch) {
    let mut pfc = Table::new();
    if sketch.dice.percent(20) {
        put(&mut pfc, "reaction", time(sketch.time().min(100_000_000)));
    }
    match sketch.dice.below(4) {
        0 => {
            let quanta = sketch.dice.scale(50, 65_535);
            put(&mut pfc, "pause_quanta", quanta as i64);
        }
        1 => put(&mut pfc, "pause_time", time(sketch.period())),
        _ => {}
    }
    if sketch.model == "shared-buffer" {
        shared_buffer(sketch, &mut pfc);
    } else if sketch.model == "pipeline" && sketch.dice.percent(20) {
        put(&mut pfc, "mode", "once");
    } else if matches!(sketch.model, "cioq" | "input-queued") && sketch.dice.percent(15) {
        // Ns3Rdma repeats a PAUSE for every arrival.
        put(&mut pfc, "mode", "ns3-rdma");
    }
    if !pfc.is_empty() {
        for (key, value) in pfc {
            table(&mut sketch.document, "pfc").insert(key, value);
        }
    }
}

fn shared_buffer(sketch: &mut Sketch, pfc: &mut Table) {
    let frame = sketch.frame;
    let dice = &mut sketch.dice;
    if dice.percent(20) {
        let mode = dice.pick(&["standard", "ns3-rdma", "until-xon", "once"]);
        put(pfc, "mode", mode);
        if mode == "until-xon" {
            pfc.remove("pause_quanta");
            pfc.remove("pause_time");
        }
    }
    let mut small = false;
    match dice.weighted(&[(6, 0), (2, 1), (2, 2)]) {
        0 => {
            let xoff = dice.scale(1, 60) * frame;
            put(pfc, "xoff", size(xoff));
            sketch.has_xoff = true;
            match dice.below(3) {
                // At most one frame, for sweeps that change `xoff`.
                0 => put(pfc, "xon", size(dice.below(2) * frame)),
                1 => put(pfc, "xon_gap", size(dice.scale(1, 4 * frame))),
                _ => {}
            }
            small = true;
        }
        1 => {
            let mut shifts = Table::new();
            for bps in &sketch.rates {
                put(&mut shifts, &rate(*bps), dice.below(8) as i64);
            }
            match dice.below(3) {
                0 => put(pfc, "dynamic_shift", shifts),
                1 => put(pfc, "dynamic_shift", dice.below(8) as i64),
                _ if dice.percent(50) => put(pfc, "alpha", 1_i64 << dice.below(9)),
                _ => put(pfc, "alpha", format!("1/{}", 1 << dice.below(9))),
            }
            if dice.percent(40) {
                put(pfc, "reserve", size(dice.below(5) * frame));
            }
            if dice.percent(40) {
                put(pfc, "xon_gap", size(dice.scale(1, 4 * frame)));
            }
        }
        _ => {}
    }
    if dice.percent(10) {
        put(pfc, "headroom_delays", dice.below(8) as i64);
    } else if small && dice.percent(35) {
        let headroom = dice.below(12) * frame;
        put(pfc, "headroom", size(headroom));
        if dice.percent(60) {
            let held = sketch.most_ports * sketch.lossless.len() as u64 * headroom;
            let shared = dice.between(1, 60) * frame;
            let switch = table(&mut sketch.document, "switch");
            put(switch, "buffer", size(held + shared));
        }
    }
}

fn pipeline(sketch: &mut Sketch) -> Table {
    let mut keys = Table::new();
    let frame = sketch.frame;
    let dice = &mut sketch.dice;
    let control = ["pfc-wdrop", "pfc-wstop", "capfc-max", "capfc-calibrate"];
    if dice.percent(85) {
        put(&mut keys, "flow_control", dice.pick(&control));
    }
    if dice.percent(70) {
        let speed = dice.scale(1_000_000, 10_000_000_000);
        put(&mut keys, "packets_per_second", speed as i64);
    }
    let mut frames = |low: u64, high: u64| (dice.between(low, high)) * frame;
    let (egress_xon, more) = (frames(0, 5), frames(0, 5));
    let (ingress_xon, ingress_more, beyond) = (frames(0, 5), frames(0, 5), frames(0, 20));
    let (egress_max, pool, queue) = (frames(2, 15), frames(1, 40), frames(0, 5));
    let (queue_share, port_share) = (frames(1, 10), frames(1, 20));
    if sketch.dice.percent(60) {
        put(&mut keys, "egress_xon", size(egress_xon));
        put(&mut keys, "egress_xoff", size(egress_xon + more));
        put(&mut keys, "egress_warn", size(egress_xon));
    }
    if sketch.dice.percent(30) {
        put(&mut keys, "cut", sketch.dice.pick(&["1/10", "1/2", "1"]));
    }
    if sketch.dice.percent(60) {
        put(&mut keys, "ingress_xon", size(ingress_xon));
        put(&mut keys, "ingress_xoff", size(ingress_xon + ingress_more));
    }
    if sketch.dice.percent(35) {
        let shared = table(&mut keys, "shared");
        put(shared, "pool", size(pool));
        put(shared, "queue", size(queue));
        put(shared, "queue_share", size(queue_share));
        put(shared, "port_share", size(port_share));
    } else if sketch.dice.percent(60) {
        let xoff = if keys.contains_key("ingress_xoff") {
            ingress_xon + ingress_more
        } else {
            50_000
        };
        put(&mut keys, "ingress_max", size(xoff + beyond));
        put(&mut keys, "egress_max", size(egress_max));
    }
    if sketch.dice.percent(50) {
        put(&mut keys, "latency", time(sketch.time()));
    }
    keys
}

/// Buffers, cells and speedup; XOFF is this many bytes where it is not written.
fn cells(sketch: &mut Sketch, default_xoff: u64) -> Table {
    let mut keys = Table::new();
    let frame = sketch.frame;
    if sketch.dice.percent(60) {
        let xoff = sketch.dice.between(1, 40) * frame;
        let beyond = sketch.dice.between(2, 60) * frame;
        if !sketch.lossless.is_empty() {
            let pfc = table(&mut sketch.document, "pfc");
            put(pfc, "xoff", size(xoff));
            if sketch.dice.percent(50) {
                put(pfc, "xon", size(sketch.dice.between(0, xoff)));
            }
            put(&mut keys, "input_buffer", size(xoff + beyond));
        } else {
            put(&mut keys, "input_buffer", size(default_xoff + beyond));
        }
    }
    let dice = &mut sketch.dice;
    if dice.percent(40) {
        put(
            &mut keys,
            "output_buffer",
            size(dice.between(1, 30) * frame + 10_000),
        );
    }
    if dice.percent(40) {
        put(
            &mut keys,
            "cell",
            size(dice.pick(&[64, 100, 256, 512, 1500])),
        );
    }
    if dice.percent(40) {
        put(
            &mut keys,
            "speedup",
            dice.pick(&["1", "11/10", "1.6", "3", "20"]),
        );
    }
    keys
}

/// Keys of an input-queued switch, and whether its crossbar is faster than its links.
fn input_queued(sketch: &mut Sketch) -> (Table, bool) {
    let mut keys = cells(sketch, 512_000);
    let dice = &mut sketch.dice;
    if dice.percent(30) {
        put(&mut keys, "queues", "fifo");
    } else if dice.percent(50) {
        put(&mut keys, "iterations", dice.between(1, 8) as i64);
    }
    let speedup = keys.get("speedup").and_then(|speedup| speedup.as_str());
    let faster = speedup.is_some_and(|speedup| speedup != "1");
    (keys, faster)
}

fn cioq(sketch: &mut Sketch) -> Table {
    let mut keys = cells(sketch, 110_000);
    let dice = &mut sketch.dice;
    if dice.percent(40) {
        put(&mut keys, "spines", dice.between(0, 4) as i64);
        if keys["spines"].as_integer() > Some(0) {
            if dice.percent(60) {
                put(&mut keys, "hosts_per_leaf", dice.between(1, 4) as i64);
            }
            if dice.percent(60) {
                put(&mut keys, "spine_cells", dice.between(1, 20) as i64);
            }
            if dice.percent(60) {
                let gbps = dice.pick(&[10, 25, 50, 100, 400]);
                put(&mut keys, "spine_rate", rate(gbps * 1_000_000_000));
            }
        }
    }
    if sketch.dice.percent(50) {
        put(&mut keys, "latency", time(sketch.time()));
    }
    keys
}
