//! `[[scheme]]`: congestion controls, window laws and markings with their parameters.

use toml::{Table, Value};
use unpause_scenario::{CONGESTION_CONTROLS, CongestionControl, Key, MARKINGS, Marking};

use super::nic_names;
use super::sketch::Sketch;
use crate::case::{push, put, rate, size, time};

/// Keys that only some values of another key allow, or that exclude others: not drawn by themselves.
const SPECIAL: [&str; 6] = [
    "credits",
    "segment",
    "ins_min",
    "ins_max",
    "threshold_packets",
    "variant",
];

/// Writes one to three schemes, and chooses the priorities of the run.
pub fn schemes(sketch: &mut Sketch) {
    priorities(sketch);
    let count = sketch.dice.weighted(&[(70, 1), (22, 2), (8, 3)]);
    for number in 0..count {
        let entry = scheme(sketch, number);
        push(&mut sketch.document, "scheme", entry);
    }
}

/// Which priorities data have, and which of them are lossless.
fn priorities(sketch: &mut Sketch) {
    let control = sketch.control;
    let all: Vec<u8> = (0..8).filter(|p| *p != control).collect();
    let dice = &mut sketch.dice;
    let count = dice.weighted(&[(5, 1), (3, 2), (2, 3), (1, 4)]);
    sketch.priorities = dice.some(&all, count);
    if dice.percent(50) && control != 3 && !sketch.priorities.contains(&3) {
        sketch.priorities[0] = 3;
    }
    let lossless = match dice.weighted(&[(5, 0), (3, 1), (2, 2)]) {
        0 => count,
        1 => dice.between(1, count as u64) as usize,
        _ => 0,
    };
    sketch.lossless = sketch.priorities[..lossless].to_vec();
}

fn scheme(sketch: &mut Sketch, number: usize) -> Table {
    let mut entry = Table::new();
    let name = sketch.dice.pick(&["Scheme", "PFC+", "a b"]).to_owned() + &number.to_string();
    put(&mut entry, "name", name.clone());
    // With credits, that of `super::credits`.
    let all = CONGESTION_CONTROLS
        .into_iter()
        .filter(|it| it.name() != "rccc");
    let mechanism = sketch.dice.pick(&Vec::from_iter(all));
    if mechanism.name() != "none" || sketch.dice.percent(30) {
        put(&mut entry, "congestion_control", mechanism.name());
    }
    let mut beside = None;
    if !mechanism.is_tcp() && sketch.dice.percent(35) {
        let laws = CONGESTION_CONTROLS.into_iter().filter(|law| law.is_tcp());
        let law = sketch.dice.pick(&Vec::from_iter(laws));
        put(&mut entry, "tcp", law.name());
        beside = Some(law);
    }
    let replaceable = mechanism.replaceable().is_some();
    let marking = (replaceable && sketch.dice.percent(40)).then(|| sketch.dice.pick(&MARKINGS));
    if let Some(marking) = marking {
        put(&mut entry, "marking", marking.name());
    }
    let replaced = marking.is_some();
    for mechanism in [Some(mechanism), beside].into_iter().flatten() {
        if sketch.dice.percent(65) {
            let of_queues = replaced || (mechanism.is_tcp() && beside.is_some());
            parameters_of_mechanism(sketch, &mut entry, mechanism, of_queues);
        }
    }
    if let Some(marking) = marking.filter(|_| sketch.dice.percent(70)) {
        parameters_of_marking(sketch, &mut entry, marking);
    }
    let has_tcp = mechanism.is_tcp() || beside.is_some();
    sketch.schemes.push((name, mechanism.is_tcp(), has_tcp));
    entry
}

/// `replaced`: another congestion point takes the place of its own, whose keys would be refused.
fn parameters_of_mechanism(
    sketch: &mut Sketch,
    entry: &mut Table,
    mechanism: CongestionControl,
    replaced: bool,
) {
    let own = mechanism.replaceable().unwrap_or_default();
    let of_queues = if replaced { own } else { &[] };
    let keys = mechanism.keys();
    let keys = keys.iter().filter(|key| !of_queues.contains(&key.name));
    let mut parameters = some_of(sketch, keys);
    if mechanism.name() == "timely" && sketch.dice.percent(50) {
        let variant = sketch
            .dice
            .pick(&["per-packet", "segment", "patched", "hpcc"]);
        put(&mut parameters, "variant", variant);
        if !["per-packet", "hpcc"].contains(&variant) && sketch.dice.percent(50) {
            put(&mut parameters, "segment", size(sketch.bytes()));
        }
    }
    without_effect(mechanism.name(), &mut parameters);
    in_order(&mut parameters, "kmin", "kmax", "5KB", "200KB");
    in_order(&mut parameters, "t_low", "t_high", "", "");
    if !parameters.is_empty() {
        put(entry, mechanism.name(), parameters);
    }
}

/// Takes out what others of these parameters leave without effect, which would be refused.
fn without_effect(mechanism: &str, parameters: &mut Table) {
    let is = |key: &str, value: Value| parameters.get(key) == Some(&value);
    let mut idle: Vec<&str> = Vec::new();
    if is("clocks", "separate".into()) {
        idle.extend(["alpha_init", "alpha_order", "byte_counter"]);
    } else if mechanism == "dcqcn" {
        idle.push("cut_interval");
    }
    if is("cnp_on_ack", true.into()) {
        idle.extend(["cnp_interval", "np_poll"]);
    }
    if is("per_path", true.into()) {
        idle.extend(["base_rtt", "window"]);
    }
    if is("variant", "patched".into()) {
        idle.extend(["hai_after", "hai_factor", "hai_delta"]);
    }
    let watches_inputs = |mode: &Value| *mode != "output-arrival".into();
    if mechanism == "qcn" && parameters.get("mode").is_some_and(watches_inputs) {
        idle.push("count");
    }
    if parameters.contains_key("hai_delta") {
        idle.push("hai_factor");
    }
    for key in idle {
        parameters.remove(key);
    }
}

fn parameters_of_marking(sketch: &mut Sketch, entry: &mut Table, marking: Marking) {
    let keys = marking.keys();
    let mut parameters = some_of(sketch, keys.iter());
    match marking.name() {
        "dctcp-red" if sketch.dice.percent(40) => {
            parameters.remove("threshold");
            put(
                &mut parameters,
                "threshold_packets",
                sketch.dice.between(1, 20) as i64,
            );
        }
        "ecn-sharp" => {
            if sketch.dice.percent(40) {
                put(
                    &mut parameters,
                    "variant",
                    sketch.dice.pick(&["paper", "authors-code"]),
                );
            }
            let (low, more) = (sketch.time(), sketch.time());
            parameters.remove("pst_target");
            parameters.remove("ins_target");
            put(&mut parameters, "pst_target", time(low));
            if sketch.dice.percent(40) {
                put(&mut parameters, "ins_min", time(low / 2 + 1));
                put(&mut parameters, "ins_max", time(low + more));
            } else {
                put(&mut parameters, "ins_target", time(low + more));
            }
        }
        "ecn-sharp-tofino" => {
            let (low, more) = (sketch.time(), sketch.time());
            put(&mut parameters, "pst_target", time(low));
            put(&mut parameters, "ins_target", time(low + more));
        }
        "codel" => in_order(&mut parameters, "target", "interval", "", ""),
        "red" => in_order(&mut parameters, "kmin", "kmax", "5KB", "200KB"),
        "wred" => in_order(&mut parameters, "kmin", "kmax", "1MiB", "2MiB"),
        _ => {}
    }
    if !parameters.is_empty() {
        put(entry, marking.name(), parameters);
    }
}

/// Keys whose order counts come both or neither, the lower first.
fn in_order(parameters: &mut Table, low: &str, high: &str, low_default: &str, high_default: &str) {
    let value = |key: &str, default: &str| {
        let written = parameters.get(key).and_then(Value::as_str);
        written.unwrap_or(default).to_owned()
    };
    let (a, b) = (value(low, low_default), value(high, high_default));
    if !parameters.contains_key(low) && !parameters.contains_key(high) {
        return;
    }
    if a.is_empty() || b.is_empty() {
        // The default of the other depends on more than this knows.
        parameters.remove(low);
        parameters.remove(high);
        return;
    }
    let (a, b) = if base_units(&a) <= base_units(&b) {
        (a, b)
    } else {
        (b, a)
    };
    put(parameters, low, a);
    put(parameters, high, b);
}

/// A time or a size in its base unit.
fn base_units(text: &str) -> u64 {
    let time = unpause_scenario::quantity::parse_duration(text);
    let size = || unpause_scenario::quantity::parse_size(text);
    time.map(|time| time.as_ps())
        .or_else(|_| size())
        .unwrap_or(0)
}

/// Values for some of these keys.
fn some_of<'a>(sketch: &mut Sketch, keys: impl Iterator<Item = &'a Key>) -> Table {
    let share = sketch.dice.pick(&[15, 40, 80]);
    let mut parameters = Table::new();
    let plain = |key: &&Key| !SPECIAL.contains(&key.name) && !nic_names::is_one(key.name);
    for key in keys.filter(plain) {
        if sketch.dice.percent(share)
            && let Some(value) = value(sketch, key)
        {
            parameters.insert(key.name.to_owned(), value);
        }
    }
    parameters
}

/// A value of the key's kind that no law refuses by itself.
fn value(sketch: &mut Sketch, key: &Key) -> Option<Value> {
    let dice = &mut sketch.dice;
    let choices = &key.kind.choices;
    if key.name == "byte_counter" && dice.percent(60) {
        return Some(size(sketch.bytes()).into());
    }
    if !choices.is_empty() {
        return Some(dice.pick(choices).into());
    }
    Some(match key.name {
        // Numbers of few values.
        "gd" | "g" => format!("1/{}", 1_u64 << dice.below(10)).into(),
        "weight" | "gate" => (dice.between(1, 8) as i64).into(),
        "clock_shift" => (dice.below(21) as i64).into(),
        "congested_above" => format!("{}%", dice.below(101)).into(),
        "w_min" => format!("1/{}", dice.between(4, 512)).into(),
        "w_max" => dice.pick(&["1/4", "1/2", "1"]).into(),
        "drop_probability" => format!("1/{}", dice.scale(3, 1000)).into(),
        "fr_threshold" | "mi_thresh" | "hai_after" | "hai_factor" | "retx_reset_threshold" => {
            (dice.between(1, 8) as i64).into()
        }
        "cnp_interval" | "cut_interval" | "period" | "alpha_timer" | "increase_timer"
        | "time_reset" => time(sketch.period()).into(),
        // Their kind tells the rest.
        _ => match key.kind.text.as_str() {
            "`true`, `false`" => dice.percent(50).into(),
            "rate" => rate(sketch.rate()).into(),
            "size" | "size, or sizes by link rate" => size(sketch.bytes()).into(),
            "time" => time(sketch.time()).into(),
            "ratio" | "ratio, or ratios by link rate" => format!("1/{}", dice.scale(1, 100)).into(),
            _ => return None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_every_mechanism_gets_values() {
        let document = Table::new();
        let dice = crate::dice::Dice::new(1);
        let mut sketch = Sketch::new(dice, document, Default::default());
        let mechanisms = CONGESTION_CONTROLS
            .into_iter()
            .flat_map(CongestionControl::keys);
        let markings = MARKINGS.into_iter().flat_map(Marking::keys);
        for key in mechanisms
            .chain(markings)
            .filter(|key| !nic_names::is_one(key.name))
        {
            let drawn = SPECIAL.contains(&key.name) || value(&mut sketch, &key).is_some();
            assert!(drawn, "{} ({})", key.name, key.default);
        }
    }
}
