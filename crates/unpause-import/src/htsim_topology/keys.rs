//! The keys of a .topo file.

use std::path::Path;

use crate::{FileError, Place};

/// A key's number, and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    pub name: &'static str,
    pub number: u64,
    pub line: usize,
}

/// The content of a file.
pub(super) struct File {
    pub nodes: Value,
    pub podsize: Value,
    /// Two or three, the ToRs first.
    pub tiers: Vec<Tier>,
}

/// The settings of a file for the switches of a tier.
#[derive(Debug)]
pub(super) struct Tier {
    number: usize,
    line: usize,
    keys: Vec<Value>,
}

const HEADER: [&str; 3] = ["Nodes", "Tiers", "Podsize"];
const OF_TIER: [&str; 9] = [
    "Downlink_speed_Gbps",
    "Radix_Down",
    "Radix_Up",
    "Queue_Up",
    "Queue_Down",
    "Oversubscribed",
    "Bundle",
    "Switch_Latency_ns",
    "Downlink_Latency_ns",
];

/// Keys that have no effect here, and what says the same.
const UNUSED: [(&str, &str); 3] = [
    ("Queue_Up", "set switch.lossy_queue, or switch.buffer"),
    ("Queue_Down", "set switch.lossy_queue, or switch.buffer"),
    ("Oversubscribed", "the radixes say it"),
];

impl File {
    pub fn read(text: &str, path: &Path) -> Result<Self, FileError> {
        let mut header: Vec<Value> = Vec::new();
        let mut tiers: Vec<Tier> = Vec::new();
        let lines = text.trim_start_matches('\u{feff}').lines();
        for (index, line) in lines.enumerate().filter(|it| !it.1.starts_with('#')) {
            let place = Place::of_line(path, index + 1);
            let words: Vec<&str> = line.split_whitespace().collect();
            let (key, number) = match words[..] {
                [] => continue,
                [key, number] => (key, number),
                _ => return Err(place.error(line.trim(), "a key and its number")),
            };
            if key.eq_ignore_ascii_case("tier") {
                let next = tiers.len();
                if number != next.to_string() {
                    return Err(place.error(line.trim(), format!("Tier {next}")));
                }
                tiers.push(Tier {
                    number: next,
                    line: index + 1,
                    keys: Vec::new(),
                });
                continue;
            }
            let (known, keys) = match tiers.last_mut() {
                None => (&HEADER[..], &mut header),
                Some(tier) => (&OF_TIER[..], &mut tier.keys),
            };
            keys.push(value((key, number), known, keys, place)?);
        }
        Self::of(&header, tiers, path)
    }

    fn of(header: &[Value], tiers: Vec<Tier>, path: &Path) -> Result<Self, FileError> {
        let find = |name: &str| {
            let found = header.iter().find(|it| it.name == name).copied();
            let missing =
                || Place::of_line(path, 1).error("a header without it", format!("{name} N"));
            found.ok_or_else(missing)
        };
        let count = find("Tiers")?;
        if !(2..=3).contains(&count.number) {
            let place = Place::of_line(path, count.line);
            return Err(place.error(format!("Tiers {}", count.number), "two tiers, or three"));
        }
        if tiers.len() as u64 != count.number {
            let place = Place::of_line(path, count.line);
            let found = format!("Tiers {}, of which {} follow", count.number, tiers.len());
            return Err(place.error(found, "a Tier with its keys for each"));
        }
        if let Some(up) = tiers.last().and_then(|top| top.find("Radix_Up")) {
            let place = Place::of_line(path, up.line);
            return Err(place.error("Radix_Up of the last tier", "nothing: it has no uplinks"));
        }
        Ok(Self {
            nodes: find("Nodes")?,
            podsize: find("Podsize")?,
            tiers,
        })
    }

    /// A sentence for each key that has no effect.
    pub fn unused(&self) -> impl Iterator<Item = String> {
        const BUNDLE: (&str, &str) = ("Bundle", "a host has one link to its switch");
        self.tiers.iter().flat_map(|tier| {
            let keys = tier.keys.iter();
            keys.filter_map(|key| {
                let of_hosts = (tier.number == 0 && key.number > 1).then_some(&BUNDLE);
                let unused = UNUSED.iter().chain(of_hosts);
                let (name, help) = unused.into_iter().find(|it| it.0 == key.name)?;
                let (line, number) = (key.line, tier.number);
                Some(format!(
                    "line {line}: {name} of tier {number} has no effect: {help}"
                ))
            })
        })
    }
}

/// A key, which is one of `known` and not among those `before`.
fn value(
    (key, number): (&str, &str),
    known: &'static [&'static str],
    before: &[Value],
    place: Place<'_>,
) -> Result<Value, FileError> {
    let Some(name) = known.iter().find(|it| it.eq_ignore_ascii_case(key)) else {
        return Err(place.error(key, format!("one of {}", known.join(", "))));
    };
    if before.iter().any(|it| it.name == *name) {
        return Err(place.error(format!("{name} a second time"), "each key once"));
    }
    let number = number.parse();
    let Ok(number) = number else {
        return Err(place.error(format!("{name} without a whole number"), "a whole number"));
    };
    Ok(Value {
        name,
        number,
        line: place.line,
    })
}

impl Tier {
    fn find(&self, name: &str) -> Option<&Value> {
        self.keys.iter().find(|it| it.name == name)
    }

    fn needed(&self, name: &str, path: &Path, why: &str) -> Result<&Value, FileError> {
        self.find(name).ok_or_else(|| {
            let found = format!("Tier {} without {name}", self.number);
            Place::of_line(path, self.line).error(found, why)
        })
    }

    pub fn radix_down(&self, path: &Path) -> Result<&Value, FileError> {
        self.needed("Radix_Down", path, "how many links each switch has down")
    }

    pub fn radix_up(&self, path: &Path) -> Result<&Value, FileError> {
        self.needed("Radix_Up", path, "how many links each switch has up")
    }

    pub fn speed(&self, path: &Path) -> Result<&Value, FileError> {
        self.needed(
            "Downlink_speed_Gbps",
            path,
            "the rate of the links below it",
        )
    }

    pub fn latency(&self, path: &Path) -> Result<&Value, FileError> {
        const WHY: &str = "the delay of the links below it, in ns: htsim's commands have it as an option where the file has none";
        self.needed("Downlink_Latency_ns", path, WHY)
    }

    /// 0 if nothing is said.
    pub fn switch_latency_ns(&self) -> u64 {
        self.find("Switch_Latency_ns").map_or(0, |it| it.number)
    }

    /// Links to each switch below: 1 if nothing is said.
    pub fn bundle(&self) -> u32 {
        let bundle = self.find("Bundle").map_or(1, |it| it.number);
        u32::try_from(bundle).unwrap_or(u32::MAX)
    }
}
