//! From a seed to a scenario: every key of the scenario file comes, with values from its whole range,
//! in a scenario small enough to run in milliseconds.

mod cbfc;
mod clocks;
mod credits;
mod datagrams;
mod events;
mod following;
mod headrooms;
mod host;
mod jitter;
mod jobs;
mod laws;
mod links;
mod nic_names;
mod overrides;
mod paths;
mod pipelines;
mod places;
mod probes;
mod programs;
mod recovery;
mod retry;
mod scheme;
mod servers;
mod sketch;
mod slow_receiver;
mod switch;
mod topology;
mod traffic;

use toml::Table;

use crate::case::{Case, put, size, table, time};
use crate::dice::Dice;
use sketch::Sketch;

/// The scenario of a seed.
pub fn generate(seed: u64) -> Case {
    let mut dice = Dice::new(seed);
    let mut document = Table::new();
    put(&mut document, "duration", "1us");
    put(&mut document, "seed", dice.scale(1, 1 << 40) as i64);
    let models = [
        (6, "shared-buffer"),
        (2, "pipeline"),
        (2, "cioq"),
        (2, "input-queued"),
    ];
    let model = dice.weighted(&models);
    let mut files = std::collections::BTreeMap::new();
    host::host(&mut document, &mut dice);
    topology::topology(&mut document, &mut files, model == "cioq", &mut dice);
    let mut sketch = Sketch::new(dice, document, files);
    sketch.measure(seed);
    let duration = time(sketch.duration);
    put(&mut sketch.document, "duration", duration);
    scheme::schemes(&mut sketch);
    host::transports(&mut sketch);
    switch::switch(&mut sketch, model);
    traffic::traffic(&mut sketch);
    probes::probes(&mut sketch);
    sweep(&mut sketch);
    set_by_scheme(&mut sketch);
    let entries = sketch.document["traffic"].as_array().into_iter().flatten();
    let is_random = |entry: &toml::Value| {
        entry["kind"].as_str() == Some("poisson") || entry.get("mean_interval").is_some()
    };
    let random = entries.into_iter().any(is_random);
    if sketch.dice.percent(if random { 15 } else { 1 }) {
        put(&mut sketch.document, "load_scale", "1/2");
    }
    if sketch.dice.percent(5) {
        put(&mut sketch.document, "title", "A scenario of vopr");
        put(&mut sketch.document, "source", "vopr");
    }
    slow_receiver::slow_receiver(&mut sketch);
    following::following(&mut sketch, &mut Dice::new(!seed));
    jobs::jobs(&mut sketch, &mut Dice::new(!seed ^ 0x6a6f_6273));
    programs::programs(&mut sketch, &mut Dice::new(!seed ^ 0x676f_616c));
    events::events(&mut sketch, &mut Dice::new(!seed ^ 0x6c69_6e6b));
    events::errors(&mut sketch, &mut Dice::new(!seed ^ 0x6572_726f));
    events::rates(&mut sketch, &mut Dice::new(!seed ^ 0x7261_7465));
    recovery::recovery(&mut sketch, &mut Dice::new(!seed ^ 0x7265_7061));
    host::ets(&mut sketch, &mut Dice::new(!seed ^ 0x6574_7321));
    recovery::retries(&mut sketch, &mut Dice::new(!seed ^ 0x7265_7472));
    events::of_ranks(&mut sketch, &mut Dice::new(!seed ^ 0x7261_6e6b));
    paths::paths(&mut sketch, &mut Dice::new(!seed ^ 0x7061_7468));
    credits::credits(&mut sketch, &mut Dice::new(!seed ^ 0x6372_6564));
    datagrams::datagrams(&mut sketch, &mut Dice::new(!seed ^ 0x7564_7021));
    laws::laws(&mut sketch, &mut Dice::new(!seed ^ 0x6c61_7773));
    cbfc::cbfc(&mut sketch, &mut Dice::new(!seed ^ 0x6362_6663));
    retry::retry(&mut sketch, &mut Dice::new(!seed ^ 0x6c6c_7221));
    events::storms(&mut sketch, &mut Dice::new(!seed ^ 0x7374_6f72));
    overrides::overrides(&mut sketch, &mut Dice::new(!seed ^ 0x6f76_6572));
    places::places(&mut sketch, &mut Dice::new(!seed ^ 0x706c_6163));
    jitter::jitter(&mut sketch, &mut Dice::new(!seed ^ 0x6a69_7421));
    clocks::clocks(&mut sketch, &mut Dice::new(!seed ^ 0x636c_6b21));
    pipelines::pipelines(&mut sketch, &mut Dice::new(!seed ^ 0x7069_7065));
    nic_names::nic_names(&mut sketch, &mut Dice::new(!seed ^ 0x6e69_6321));
    headrooms::headrooms(&mut sketch, &mut Dice::new(!seed ^ 0x6865_6164));
    servers::servers(&mut sketch, &mut Dice::new(!seed ^ 0x7365_7276));
    host::without_idle(&mut sketch.document, &sketch.schemes);
    sketch.into_case(seed)
}

/// A key that sweeps and schemes vary, with values: what it takes from the sketch is its scale.
fn variable(sketch: &mut Sketch) -> (String, Vec<String>) {
    let frame = sketch.frame;
    let duration = sketch.duration;
    let dice = &mut sketch.dice;
    let mut keys = vec!["duration", "host.ack_every", "host.notification_reaction"];
    if sketch.has_xoff {
        keys.push("pfc.xoff");
    }
    if sketch.model == "shared-buffer" {
        keys.push("switch.lossy_queue");
    }
    let first = sketch.document["traffic"].as_array();
    let first = first.and_then(|entries| entries.first());
    // A scheme may not set keys of an entry that it leaves out.
    if first.is_some_and(|it| it.get("size").is_some() && it.get("schemes").is_none()) {
        keys.push("traffic.T0.size");
    }
    let key = dice.pick(&keys);
    let value = |dice: &mut Dice| match key {
        "duration" => time(dice.between(duration / 2 + 1, duration)),
        "host.ack_every" => dice.between(1, 5).to_string(),
        "host.notification_reaction" => time(dice.scale(1, duration)),
        "pfc.xoff" => size(dice.between(2, 20) * frame),
        "switch.lossy_queue" => size(dice.between(1, 40) * frame),
        _ => size(dice.scale(1, 20 * frame)),
    };
    let values = (0..3).map(|_| value(dice)).collect();
    (key.to_owned(), values)
}

/// Splits a number from its unit: sweeps put the unit behind each value.
fn split(text: &str) -> (i64, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    (number.parse().unwrap_or(1), unit)
}

fn sweep(sketch: &mut Sketch) {
    if !sketch.dice.percent(15) {
        return;
    }
    let (key, values) = variable(sketch);
    let (first, unit) = split(&values[0]);
    let second = (first / 2).max(1) + i64::from(first <= 1);
    let mut entry = Table::new();
    put(&mut entry, "name", "swept");
    put(&mut entry, "key", key);
    if !unit.is_empty() {
        put(&mut entry, "unit", unit);
    }
    if sketch.dice.percent(70) {
        put(
            &mut entry,
            "values",
            vec![second.min(first), first.max(second)],
        );
    } else {
        put(&mut entry, "from", second.min(first) as f64);
        put(&mut entry, "to", second.max(first) as f64);
        put(&mut entry, "step", first.abs_diff(second).max(1) as f64);
    }
    crate::case::push(&mut sketch.document, "sweep", entry);
}

/// Lets the last scheme differ in a key of the file.
fn set_by_scheme(sketch: &mut Sketch) {
    if !sketch.dice.percent(15) {
        return;
    }
    let (key, values) = variable(sketch);
    // A key that is swept has one value in each run already.
    let sweeps = sketch
        .document
        .get("sweep")
        .and_then(|document| document.as_array());
    let swept = |it: &toml::Value| it.get("key").and_then(|it| it.as_str()) == Some(&key);
    if sweeps.into_iter().flatten().any(swept) {
        return;
    }
    let value: toml::Value = match values[0].parse::<i64>() {
        Ok(number) => number.into(),
        Err(_) => values[0].clone().into(),
    };
    let schemes = sketch.document["scheme"].as_array_mut();
    if let Some(last) = schemes.and_then(|all| all.last_mut()?.as_table_mut()) {
        table(last, "set").insert(key, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_makes_the_same_scenario() {
        for seed in 0..50 {
            assert_eq!(generate(seed), generate(seed));
        }
        assert_ne!(generate(1), generate(2));
    }

    #[test]
    fn numbers_are_taken_off_their_units() {
        assert_eq!(split("1500ps"), (1500, "ps"));
        assert_eq!(split("7"), (7, ""));
    }
}
