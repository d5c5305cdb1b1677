//! The features of a scenario, so that features that never occur are noticed.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use crate::case::Case;

/// How many scenarios had each feature.
pub type Coverage = BTreeMap<String, u64>;

/// Keys whose values are names, numbers of them, or files: of these only the key counts.
const FREE: [&str; 24] = [
    "after",
    "name",
    "from",
    "to",
    "hosts",
    "switches",
    "left",
    "right",
    "a",
    "b",
    "title",
    "source",
    "file",
    "cdf",
    "ports",
    "packets",
    "schemes",
    "key",
    "unit",
    "extra_delay",
    "goal",
    "simai",
    "chakra",
    "htsim",
];

/// The keys of a scenario, by path, and the values of those that choose among names:
/// `traffic.kind = "burst"`.
pub fn features(case: &Case) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    of_table(&case.document, "", &mut found);
    found
}

fn of_table(table: &Table, before: &str, found: &mut BTreeSet<String>) {
    for (key, value) in table {
        let path = match before {
            "" => key.clone(),
            before => format!("{before}.{key}"),
        };
        match value {
            Value::Table(inner) => of_table(inner, &path, found),
            Value::Array(entries) if entries.iter().any(Value::is_table) => {
                for entry in entries.iter().filter_map(Value::as_table) {
                    of_table(entry, &path, found);
                }
            }
            Value::String(text) if !FREE.contains(&key.as_str()) && is_choice(text) => {
                found.insert(format!("{path} = \"{text}\""));
            }
            Value::Boolean(value) => {
                found.insert(format!("{path} = {value}"));
            }
            _ => {
                found.insert(path);
            }
        }
    }
}

fn is_choice(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// The summary of coverage: features that choose among names, with seeds in 100.
const SHOWN: [(&str, &[&str]); 8] = [
    ("builders", &["topology.builder"]),
    (
        "switches",
        &[
            "switch.model",
            "switch.pipeline.flow_control",
            "switch.queueing",
            "switch.scheduler.kind",
            "pfc.mode",
        ],
    ),
    ("congestion control", &["scheme.congestion_control"]),
    ("TCP beside it", &["scheme.tcp"]),
    ("marking", &["scheme.marking"]),
    ("loss recovery", &["scheme.loss_recovery"]),
    ("traffic", &["traffic.kind", "traffic.transport"]),
    (
        "sweeps, priorities, probes",
        &[
            "sweep.key",
            "pias.priorities",
            "traffic.priority_by_size.upto",
            "probes.ports",
            "probes.packets",
            "probes.deadlock",
        ],
    ),
];

/// A line for each kind of feature: how many of 100 seeds had which.
pub fn in_few_lines(coverage: &Coverage, seeds: u64) -> String {
    let mut text = String::new();
    for (what, paths) in SHOWN {
        let mut found = Vec::new();
        for path in paths {
            for (feature, &count) in coverage {
                let Some(rest) = feature.strip_prefix(path) else {
                    continue;
                };
                let name = match rest.strip_prefix(" = ") {
                    Some(value) => value.trim_matches('"'),
                    None if rest.is_empty() => *path,
                    None => continue,
                };
                found.push((count, name));
            }
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        let share = |count: u64| 100.0 * count as f64 / seeds.max(1) as f64;
        let found = found
            .iter()
            .map(|(count, name)| format!("{name} {:.1}", share(*count)));
        text += &format!("% of seeds, {what}: {}\n", Vec::from_iter(found).join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;
    use unpause_scenario::{
        BUILDERS, CONGESTION_CONTROLS, LOSS_RECOVERIES, MARKINGS, TRAFFIC_KINDS,
    };

    fn coverage(seeds: u64) -> Coverage {
        let mut coverage = Coverage::new();
        for seed in 0..seeds {
            for feature in features(&generate(seed)) {
                *coverage.entry(feature).or_default() += 1;
            }
        }
        coverage
    }

    /// Everything that scenario files can contain is generated: a new builder, kind or mechanism fails here
    /// until the generator knows it.
    #[test]
    fn every_builder_kind_mechanism_and_key_comes() {
        let coverage = coverage(3_000);
        let has = |feature: String| {
            assert!(coverage.contains_key(&feature), "{feature} never comes");
        };
        for builder in BUILDERS {
            has(format!("topology.builder = \"{}\"", builder.name()));
        }
        for kind in TRAFFIC_KINDS {
            has(format!("traffic.kind = \"{}\"", kind.name()));
        }
        for mechanism in CONGESTION_CONTROLS {
            let name = mechanism.name();
            has(format!("scheme.congestion_control = \"{name}\""));
            if mechanism.is_tcp() {
                has(format!("scheme.tcp = \"{name}\""));
            }
            for key in mechanism.keys() {
                let path = format!("scheme.{name}.{}", key.name);
                let mut all = coverage.keys();
                assert!(
                    all.any(|feature| feature.starts_with(&path)),
                    "{path} never comes"
                );
            }
        }
        let markings = MARKINGS.map(|it| ("marking", it.name(), it.keys()));
        let recoveries = LOSS_RECOVERIES.map(|it| ("loss_recovery", it.name(), it.keys()));
        for (key_of_scheme, name, keys) in markings.into_iter().chain(recoveries) {
            has(format!("scheme.{key_of_scheme} = \"{name}\""));
            for key in keys {
                let path = format!("scheme.{name}.{}", key.name);
                let mut all = coverage.keys();
                assert!(
                    all.any(|feature| feature.starts_with(&path)),
                    "{path} never comes"
                );
            }
        }
        for feature in [
            "topology.file",
            "sweep.key",
            "switch.model = \"shared-buffer\"",
            "switch.model = \"pipeline\"",
            "switch.model = \"cioq\"",
            "switch.model = \"input-queued\"",
            "switch.input_queued.queues = \"fifo\"",
            "switch.scheduler.kind = \"dwrr\"",
            "switch.scheduler.kind = \"strict\"",
            "switch.balancing = \"valiant\"",
            "link.flow_control = \"cbfc\"",
            "pias.priorities",
            "probes.deadlock",
            "probes.packets",
            "probes.flow_interval",
            "host.extra_delay",
            "traffic.extra_delay",
            "traffic.load_basis = \"wire\"",
            "traffic.priority_by_size.upto",
            "load_scale",
        ] {
            has(feature.to_owned());
        }
    }
}
