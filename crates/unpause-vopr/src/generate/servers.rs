//! NVLink in servers, and exchanges that cross servers by PXN.

use toml::{Table, Value};

use super::sketch::Sketch;
use crate::case::{push, put, size};
use crate::dice::Dice;

/// Gives the servers of half of the rails NVSwitches, and such fabrics a job whose messages go over relays. `dice` are its own.
pub fn servers(sketch: &mut Sketch, dice: &mut Dice) {
    let text = sketch.document.to_string();
    let of_model = sketch.model == "shared-buffer" && !text.contains("\"cbfc\"");
    let Some(topology) = sketch
        .document
        .get_mut("topology")
        .and_then(Value::as_table_mut)
    else {
        return;
    };
    let is_rails = topology.get("builder").and_then(Value::as_str) == Some("rails");
    if !is_rails || !of_model || !dice.percent(50) {
        return;
    }
    put(
        topology,
        "nvlink_rate",
        dice.pick(&["200Gbps", "900Gbps", "3600Gbps"]),
    );
    let servers = topology
        .get("servers")
        .and_then(Value::as_integer)
        .unwrap_or(1);
    let of_roce = |(name, is_tcp, _): &(String, bool, bool)| (!is_tcp).then(|| name.clone());
    let schemes: Vec<String> = sketch.schemes.iter().filter_map(of_roce).collect();
    if servers < 2 || schemes.is_empty() {
        return;
    }
    let mut job = exchange(sketch, dice);
    if schemes.len() < sketch.schemes.len() {
        put(&mut job, "schemes", schemes);
    }
    push(&mut sketch.document, "job", job);
}

/// All hosts exchange messages over relays.
fn exchange(sketch: &Sketch, dice: &mut Dice) -> Table {
    let mut job = Table::new();
    put(&mut job, "name", "X");
    let ranks: Vec<String> = sketch.hosts.iter().map(|host| host.0.clone()).collect();
    let count = ranks.len() as u64;
    put(&mut job, "ranks", ranks);
    put(
        &mut job,
        "priority",
        i64::from(dice.pick(&sketch.priorities)),
    );
    put(&mut job, "iterations", dice.between(1, 2) as i64);
    put(&mut job, "pxn", true);
    let (collective, algorithm) = dice.pick(&[
        ("all-to-all", "direct"),
        ("all-to-all", "pairwise"),
        ("all-to-all-v", "direct"),
        ("all-to-all-v", "pairwise"),
        ("send-receive", "ring"),
    ]);
    put(&mut job, "collective", collective);
    put(&mut job, "algorithm", algorithm);
    put(&mut job, "channels", dice.between(1, 3) as i64);
    let most = 20 * sketch.frame;
    if collective == "all-to-all-v" {
        let sizes = (0..count * count).map(|_| size(dice.below(2) * dice.scale(1, most)));
        put(&mut job, "matrix", sizes.collect::<Vec<String>>());
    } else {
        put(&mut job, "size", size(dice.scale(1, most * count)));
    }
    job
}
