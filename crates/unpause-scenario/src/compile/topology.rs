//! `[topology]`: a builder and its parameters, or a file.

use std::collections::HashMap;
use std::ops::Range;

use serde::Deserialize;
use serde_spanned::Spanned;
use unpause_protocols::units::{Rate, Time};

use crate::file;
use crate::import::files::Files;
use crate::names::expand;
use crate::text::checks::both;
use crate::text::document::{Table, read, take_string, take_tables};
use crate::text::error::{Checked, Problem, nearest};
use crate::text::quantity::{DataRate, Duration};
use crate::topology::{
    ClosPods, Dumbbell, Explicit, ExplicitLink, FatTree, Invalid, LeafSpine, ParkingLot,
    SingleSwitch, Topology, TwoSwitch, positive_delay, whole_rate,
};

/// Builders with a line on each.
pub const BUILDERS: [(&str, &str); 8] = [
    ("single-switch", "H0.. on S0: hosts, rate, delay"),
    (
        "two-switch",
        "named hosts `left` on S0 and `right` on S1: rate, bottleneck_rate, delay",
    ),
    (
        "dumbbell",
        "A1.. on S0, B1.. on S1: left, right, rate, bottleneck_rate, delay",
    ),
    (
        "parking-lot",
        "switches in a line, a flow across each link: bottlenecks, rate, delay",
    ),
    (
        "leaf-spine",
        "leaves, spines, hosts_per_leaf, parallel, host_rate, fabric_rate, delay",
    ),
    (
        "clos",
        "pods below spines: pods, tors_per_pod, leaves_per_pod, spines, hosts_per_tor, \
         tor_leaf_links, host_rate, fabric_rate, delay",
    ),
    (
        "fat-tree",
        "k, edge_uplinks, agg_uplinks, host_rate, fabric_rate, core_rate, delay",
    ),
    (
        "explicit",
        "hosts, switches, and [[topology.link]] with a, b, rate, delay, parallel",
    ),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SingleSwitchKeys {
    hosts: u32,
    rate: DataRate,
    delay: Duration,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TwoSwitchKeys {
    left: Spanned<file::Names>,
    right: Spanned<file::Names>,
    rate: DataRate,
    bottleneck_rate: Option<DataRate>,
    delay: Duration,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DumbbellKeys {
    left: u32,
    right: u32,
    rate: DataRate,
    bottleneck_rate: Option<DataRate>,
    delay: Duration,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ParkingLotKeys {
    bottlenecks: u32,
    rate: DataRate,
    delay: Duration,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LeafSpineKeys {
    leaves: u32,
    spines: u32,
    hosts_per_leaf: u32,
    parallel: Option<u32>,
    host_rate: DataRate,
    fabric_rate: Option<DataRate>,
    delay: Duration,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClosKeys {
    pods: u32,
    tors_per_pod: u32,
    leaves_per_pod: u32,
    spines: u32,
    hosts_per_tor: u32,
    tor_leaf_links: Option<u32>,
    host_rate: DataRate,
    fabric_rate: Option<DataRate>,
    delay: Duration,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FatTreeKeys {
    k: u32,
    edge_uplinks: Option<u32>,
    agg_uplinks: Option<u32>,
    host_rate: DataRate,
    fabric_rate: Option<DataRate>,
    core_rate: Option<DataRate>,
    delay: Duration,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExplicitKeys {
    hosts: Spanned<file::Names>,
    switches: Spanned<file::Names>,
    rate: Option<DataRate>,
    delay: Option<Duration>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkKeys {
    a: Spanned<String>,
    b: Spanned<String>,
    rate: Option<Spanned<DataRate>>,
    delay: Option<Spanned<Duration>>,
    parallel: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileKeys {
    parallel: Option<u32>,
}

/// Where the keys of the table are.
struct Places {
    table: Range<usize>,
    keys: HashMap<String, Range<usize>>,
}

impl Places {
    fn problem(&self, invalid: &Invalid) -> Box<Problem> {
        let place = self.keys.get(&invalid.field).unwrap_or(&self.table).clone();
        let label = match invalid.field.as_str() {
            "links" => "see the [[topology.link]] entries",
            field if field.starts_with("links[") => "this link",
            _ => "here",
        };
        with_rates(Problem::new(&*invalid.message).at(place, label))
    }
}

/// Reads the `[topology]` table and builds what it says.
pub(super) fn read_table(mut table: Table<'_>, files: &Files) -> Checked<Topology> {
    let mut places = Places {
        table: table.span(),
        keys: table
            .get_ref()
            .iter()
            .map(|(k, v)| (k.get_ref().to_string(), v.span()))
            .collect(),
    };
    let file = take_string(&mut table, "file")?;
    let builder = take_string(&mut table, "builder")?;
    let builder = match (file, builder) {
        (Some(file), None) => {
            let keys: FileKeys = read(table, &["file"])?;
            return files.topology(&file, keys.parallel.unwrap_or(1));
        }
        (Some(file), Some(builder)) => {
            return both("file", &file, "builder", &builder);
        }
        (None, Some(builder)) => builder,
        (None, None) => {
            return Problem::new("neither `builder` nor `file`")
                .at(places.table, "in this table")
                .help("set builder = \"two-switch\" (`unpause list` shows all), or file = \"topology.txt\"")
                .err();
        }
    };
    let keys = &["builder"];
    let built = match builder.get_ref().as_str() {
        "single-switch" => {
            let k: SingleSwitchKeys = read(table, keys)?;
            SingleSwitch {
                hosts: k.hosts,
                rate: k.rate.0,
                delay: k.delay.0,
            }
            .build()
        }
        "two-switch" => {
            let k: TwoSwitchKeys = read(table, keys)?;
            TwoSwitch {
                left: names(&k.left)?,
                right: names(&k.right)?,
                rate: k.rate.0,
                bottleneck_rate: k.bottleneck_rate.map(|rate| rate.0),
                delay: k.delay.0,
            }
            .build()
        }
        "dumbbell" => {
            let k: DumbbellKeys = read(table, keys)?;
            Dumbbell {
                left: k.left,
                right: k.right,
                rate: k.rate.0,
                bottleneck_rate: k.bottleneck_rate.map(|rate| rate.0),
                delay: k.delay.0,
            }
            .build()
        }
        "parking-lot" => {
            let k: ParkingLotKeys = read(table, keys)?;
            ParkingLot {
                bottlenecks: k.bottlenecks,
                rate: k.rate.0,
                delay: k.delay.0,
            }
            .build()
        }
        "leaf-spine" => {
            let k: LeafSpineKeys = read(table, keys)?;
            LeafSpine {
                leaves: k.leaves,
                spines: k.spines,
                hosts_per_leaf: k.hosts_per_leaf,
                host_rate: k.host_rate.0,
                fabric_rate: k.fabric_rate.unwrap_or(k.host_rate).0,
                parallel: k.parallel.unwrap_or(1),
                delay: k.delay.0,
            }
            .build()
        }
        "clos" => {
            let k: ClosKeys = read(table, keys)?;
            ClosPods {
                pods: k.pods,
                tors_per_pod: k.tors_per_pod,
                leaves_per_pod: k.leaves_per_pod,
                spines: k.spines,
                hosts_per_tor: k.hosts_per_tor,
                host_rate: k.host_rate.0,
                fabric_rate: k.fabric_rate.unwrap_or(k.host_rate).0,
                tor_leaf_links: k.tor_leaf_links.unwrap_or(1),
                delay: k.delay.0,
            }
            .build()
        }
        "fat-tree" => {
            let k: FatTreeKeys = read(table, keys)?;
            let fabric_rate = k.fabric_rate.unwrap_or(k.host_rate);
            FatTree {
                k: k.k,
                edge_uplinks: k.edge_uplinks.unwrap_or(k.k / 2),
                agg_uplinks: k.agg_uplinks.unwrap_or(k.k / 2),
                host_rate: k.host_rate.0,
                fabric_rate: fabric_rate.0,
                core_rate: k.core_rate.unwrap_or(fabric_rate).0,
                delay: k.delay.0,
            }
            .build()
        }
        "explicit" => explicit(table, &mut places)?.build(),
        other => {
            let builders: Vec<&str> = BUILDERS.iter().map(|(name, _)| *name).collect();
            return Problem::new(format!("unknown topology builder \"{other}\""))
                .at(builder.span(), "here")
                .help_if(nearest(other, &builders))
                .err();
        }
    };
    built.map_err(|invalid| places.problem(&invalid))
}

fn names(list: &Spanned<file::Names>) -> Checked<Vec<String>> {
    let expanded = list
        .get_ref()
        .0
        .iter()
        .map(|name| expand(name, &list.span()));
    Ok(expanded.collect::<Checked<Vec<_>>>()?.concat())
}

/// Reads the links, and checks here what the builder would also find but could not place as well.
fn explicit(mut table: Table<'_>, places: &mut Places) -> Checked<Explicit> {
    let link_tables = take_tables(&mut table, "link")?;
    let k: ExplicitKeys = read(table, &["builder", "link"])?;
    let (hosts, switches) = (names(&k.hosts)?, names(&k.switches)?);
    let mut links = Vec::new();
    let mut pairs: HashMap<(String, String), Range<usize>> = HashMap::new();
    for (index, table) in link_tables.into_iter().enumerate() {
        let span = table.span();
        places.keys.insert(format!("links[{index}]"), span.clone());
        let link: LinkKeys = read(table, &[])?;
        for end in [&link.a, &link.b] {
            let mut known = hosts.iter().chain(&switches).map(String::as_str);
            if !known.clone().any(|name| name == end.get_ref()) {
                let known: Vec<&str> = known.by_ref().collect();
                return Problem::new(format!("there is no node `{}`", end.get_ref()))
                    .at(end.span(), "neither in `hosts` nor in `switches`")
                    .help_if(nearest(end.get_ref(), &known))
                    .err();
            }
        }
        let missing = |key: &str| {
            let problem = Problem::new(format!("key `{key}` is missing"))
                .at(span.clone(), format!("this link needs `{key}`"))
                .help(format!(
                    "set it here, or in [topology] for every link: {key} = …"
                ));
            Box::new(problem)
        };
        let rate: Rate = match &link.rate {
            Some(rate) => {
                whole_rate("rate", rate.get_ref().0).map_err(|e| at_link(&e, rate.span()))?;
                rate.get_ref().0
            }
            None => k.rate.ok_or_else(|| missing("rate"))?.0,
        };
        let delay: Time = match &link.delay {
            Some(delay) => {
                positive_delay("delay", delay.get_ref().0)
                    .map_err(|e| at_link(&e, delay.span()))?;
                delay.get_ref().0
            }
            None => k.delay.ok_or_else(|| missing("delay"))?.0,
        };
        let (a, b) = (link.a.into_inner(), link.b.into_inner());
        let pair = (a.clone().min(b.clone()), a.clone().max(b.clone()));
        if let Some(first) = pairs.insert(pair, span.clone()) {
            return Problem::new(format!("two links between {a} and {b}"))
                .at(span, "the second")
                .at(first, "the first")
                .help("remove one; for more links between two switches write `parallel = 2` in the first")
                .err();
        }
        let parallel = link.parallel.unwrap_or(1);
        links.push(ExplicitLink {
            a,
            b,
            rate,
            delay,
            parallel,
        });
    }
    // Hosts without a link, and parts without a path between them, are found by the builder.
    let hosts_place = k.hosts.span();
    places.keys.insert("links".into(), hosts_place);
    Ok(Explicit {
        hosts,
        switches,
        links,
    })
}

fn at_link(invalid: &Invalid, place: Range<usize>) -> Box<Problem> {
    with_rates(Problem::new(&*invalid.message).at(place, "of this link"))
}

/// Says which rates there are, if that is the problem.
fn with_rates(problem: Problem) -> Box<Problem> {
    let is_rate = problem.message.contains("picoseconds");
    let help = "1, 2.5, 5, 10, 25, 40, 50, 100, 200, 400 and 800 Gb/s are such rates";
    Box::new(problem.help_if(is_rate.then(|| help.to_owned())))
}
