//! A `config_db.json` in types: ports, buffers, maps, marking, the watchdog, neighbours.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::finding::{Finding, Given, Spot};
use unpause_import::Place;

/// The configuration of a switch.
#[derive(Clone, Debug, Default)]
pub struct ConfigDb {
    /// The file.
    pub path: PathBuf,
    /// Bytes at which its lines begin.
    pub(super) lines: Vec<usize>,
    /// Faults in its form.
    pub(super) findings: Vec<Finding>,
    /// Names of all tables of the file.
    pub tables: Vec<String>,
    /// Fields that are not read, by table.
    pub(super) unread: BTreeMap<&'static str, BTreeSet<String>>,
    /// `DEVICE_METADATA`.
    pub device: Device,
    /// `PORT`, with its cable.
    pub ports: BTreeMap<String, Port>,
    /// `BUFFER_POOL`.
    pub pools: BTreeMap<String, Pool>,
    /// `BUFFER_PROFILE`.
    pub profiles: BTreeMap<String, Profile>,
    /// `BUFFER_PG`, for each port and priority group.
    pub groups: BTreeMap<(String, u8), Given<Buffer>>,
    /// `BUFFER_QUEUE`, for each port and queue.
    pub queue_buffers: BTreeMap<(String, u8), Given<Buffer>>,
    /// `QUEUE`, for each port and queue.
    pub queues: BTreeMap<(String, u8), Queue>,
    /// Maps from a number to a number, by their table and name.
    pub maps: BTreeMap<(&'static str, String), Map>,
    /// `PORT_QOS_MAP`, by port; `global` is one.
    pub qos: BTreeMap<String, Qos>,
    /// `SCHEDULER`.
    pub schedulers: BTreeMap<String, Scheduler>,
    /// `WRED_PROFILE`.
    pub wred: BTreeMap<String, Wred>,
    /// `PFC_WD`.
    pub watchdog: Watchdog,
    /// `DEVICE_NEIGHBOR`, by port.
    pub neighbors: BTreeMap<String, Neighbor>,
    /// `DEVICE_NEIGHBOR_METADATA`: the type of each neighbour, such as `Server`.
    pub neighbor_types: BTreeMap<String, Given<String>>,
    /// `LOSSLESS_TRAFFIC_PATTERN`, bytes.
    pub lossless_mtu: Option<Given<u64>>,
    /// The same: packets of 64 bytes among a hundred.
    pub small_packets: Option<Given<u64>>,
    /// `DEFAULT_LOSSLESS_BUFFER_PARAMETER`.
    pub over_subscribe_ratio: Option<Given<i64>>,
}

/// The switch itself.
#[derive(Clone, Debug, Default)]
pub struct Device {
    /// Its name.
    pub hostname: Option<Given<String>>,
    /// Its hardware.
    pub hwsku: Option<Given<String>>,
    /// `traditional` or `dynamic`.
    pub buffer_model: Option<Given<String>>,
}

/// A port.
#[derive(Clone, Debug, Default)]
pub struct Port {
    /// Where it stands.
    pub spot: Spot,
    /// Another name of it, by which neighbours may know it.
    pub alias: Option<String>,
    /// Mb/s.
    pub speed: Option<Given<u64>>,
    /// Largest frame, bytes; SONiC's default is 9100.
    pub mtu: Option<Given<u64>>,
    /// Somebody has shut it down.
    pub is_down: bool,
    /// `pfc_asym`: it obeys PAUSE of every priority.
    pub is_asymmetric: bool,
    /// Of its cable, metres, as `CABLE_LENGTH` says.
    pub cable: Option<Given<f64>>,
    /// Its speed or its cable is written, and cannot be read.
    pub is_unread: bool,
}

/// SONiC's largest frame where a port names none, bytes.
pub const DEFAULT_MTU: u64 = 9100;

/// A part of the packet memory.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    /// Where it stands.
    pub spot: Spot,
    /// Bytes.
    pub size: Option<Given<u64>>,
    /// `ingress` or `egress`.
    pub direction: Option<Given<String>>,
    /// `dynamic` or `static`.
    pub mode: Option<Given<String>>,
    /// The shared headroom pool, bytes.
    pub xoff: Option<Given<u64>>,
}

/// How much of a pool something may take.
#[derive(Clone, Debug, PartialEq)]
pub enum Threshold {
    /// A share of what is free: 2 to this power.
    Dynamic(i64),
    /// Bytes.
    Static(u64),
}

/// Limits of a priority group or a queue.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// Where it stands.
    pub spot: Spot,
    /// The pool it is of.
    pub pool: Option<Given<String>>,
    /// Reserved, bytes.
    pub size: Option<Given<u64>>,
    /// XON below this many bytes.
    pub xon: Option<Given<u64>>,
    /// XON this many bytes below XOFF.
    pub xon_offset: Option<Given<u64>>,
    /// Headroom, bytes.
    pub xoff: Option<Given<u64>>,
    /// Its share of the pool.
    pub threshold: Option<Given<Threshold>>,
    /// A threshold is written, whether it can be read or not.
    pub has_threshold: bool,
    /// SONiC computes the headroom.
    pub is_dynamic_headroom: bool,
    /// Its headroom is written, and cannot be read.
    pub is_unread: bool,
}

/// Which profile something has.
#[derive(Clone, Debug, PartialEq)]
pub enum Buffer {
    /// A profile of that name.
    Profile(String),
    /// The lossless one that SONiC computes for the port.
    Computed,
    /// One that is not there, or none is named.
    Unknown,
}

/// Settings of a queue.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    /// An entry of `SCHEDULER`.
    pub scheduler: Option<Given<String>>,
    /// An entry of `WRED_PROFILE`.
    pub wred: Option<Given<String>>,
}

/// A map from a number to a number.
#[derive(Clone, Debug, Default)]
pub struct Map {
    /// Where it stands.
    pub spot: Spot,
    /// The target of each.
    pub entries: BTreeMap<u8, Given<u8>>,
}

/// The treatment of classes at a port.
#[derive(Clone, Debug, Default)]
pub struct Qos {
    /// Where it stands.
    pub spot: Spot,
    /// Priorities with PFC.
    pub pfc: BTreeSet<u8>,
    /// Where they stand.
    pub pfc_spot: Spot,
    /// Priorities that the watchdog watches.
    pub watched: Option<Given<BTreeSet<u8>>>,
    /// An entry of `SCHEDULER`, for the port as a whole.
    pub scheduler: Option<Given<String>>,
    /// The names of its maps, by the maps' tables.
    pub maps: BTreeMap<&'static str, Given<String>>,
    /// It names a map that is not there.
    pub is_broken: bool,
    /// `pfc_enable` is written, and cannot be read.
    pub is_unread: bool,
}

/// A scheduler.
#[derive(Clone, Debug, Default)]
pub struct Scheduler {
    /// Where it stands.
    pub spot: Spot,
    /// `STRICT`, `DWRR` or `WRR`.
    pub kind: Option<Given<String>>,
    /// Its weight.
    pub weight: Option<Given<u64>>,
    /// The highest rate, `pir`, bytes per second: `SAI_SCHEDULER_ATTR_MAX_BANDWIDTH_RATE`.
    pub rate: Option<Given<u64>>,
    /// The size of its token bucket, `pbs`, bytes.
    pub burst: Option<Given<u64>>,
    /// A rate that is guaranteed, `cir` and `cbs`.
    pub guaranteed: Option<Spot>,
    /// Rates are counted in packets.
    pub in_packets: Option<Spot>,
}

/// A curve of marks.
#[derive(Clone, Debug, Default)]
pub struct Wred {
    /// Where it stands.
    pub spot: Spot,
    /// Of green, yellow, red: by these, packets are dropped, and marked where ECN has no thresholds of its own.
    pub colors: [Curve; 3],
    /// ECN's own thresholds of green, yellow, red (sonic-net/SONiC#2433, sonic-net/sonic-swss#4719).
    pub marks: [Curve; 3],
    /// `ecn_all`, `ecn_none`, and so on.
    pub ecn: Option<Given<String>>,
}

/// A curve of one colour.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    /// Nothing below this many bytes.
    pub min: Option<Given<u64>>,
    /// Everything from this many bytes on.
    pub max: Option<Given<u64>>,
    /// Percent just below that.
    pub probability: Option<Given<u64>>,
    /// Whether packets of this colour are dropped by it, or marked.
    pub is_enabled: Option<Given<bool>>,
}

/// The treatment of green packets by a profile of WRED. All packets are green unless a policer colours them.
#[derive(Clone, Debug)]
pub enum Green {
    /// It marks those that are ECN-capable, by this curve.
    Marks(Curve),
    /// It drops them.
    Drops,
    /// Nothing: the curve is switched off, or neither drops nor marks.
    Off,
}

impl Wred {
    /// Its treatment of green packets: `wred_green_enable` switches the curve on, and `ecn` says whether it marks
    /// (`SAI_WRED_ATTR_GREEN_ENABLE`, `SAI_WRED_ATTR_ECN_MARK_MODE`).
    pub fn green(&self) -> Green {
        let [curve, ..] = &self.colors;
        match curve.is_enabled.as_ref().map(|it| it.value) {
            Some(false) => Green::Off,
            _ if self.marks("green") => Green::Marks(self.marking()),
            Some(true) => Green::Drops,
            None => Green::Off,
        }
    }

    /// Whether `ecn` includes this colour.
    pub fn marks(&self, color: &str) -> bool {
        let ecn = self.ecn.as_ref().map(|ecn| ecn.value.as_str());
        let colors = ecn.and_then(|ecn| ecn.strip_prefix("ecn_"));
        colors.is_some_and(|colors| colors == "all" || colors.split('_').any(|it| it == color))
    }

    /// The curve by which green packets are marked: ECN's own values, and those of the drops where ECN has none, as SAI
    /// has it.
    fn marking(&self) -> Curve {
        let ([own, ..], [drops, ..]) = (&self.marks, &self.colors);
        Curve {
            min: own.min.clone().or(drops.min.clone()),
            max: own.max.clone().or(drops.max.clone()),
            probability: own.probability.clone().or(drops.probability.clone()),
            is_enabled: drops.is_enabled.clone(),
        }
    }

    /// Whether `wred_green_enable` is missing: SAI's default is false, and a switch that follows it does not mark.
    pub fn is_off_by_default(&self) -> bool {
        self.colors[0].is_enabled.is_none()
    }
}

impl Curve {
    /// A value of it, if it has any.
    pub fn any(&self) -> Option<&Given<u64>> {
        let values = [&self.min, &self.max, &self.probability];
        values.into_iter().find_map(|value| value.as_ref())
    }
}

/// The names of the colours.
pub const COLORS: [&str; 3] = ["green", "yellow", "red"];

/// The PFC watchdog.
#[derive(Clone, Debug, Default)]
pub struct Watchdog {
    /// Between two looks, ms.
    pub poll: Option<Given<u64>>,
    /// Set for the whole switch.
    pub big_red_switch: Option<Given<String>>,
    /// Ports that have one.
    pub ports: BTreeMap<String, Watched>,
}

/// The watchdog of a port.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    /// Where it stands.
    pub spot: Spot,
    /// ms.
    pub detection: Option<Given<u64>>,
    /// ms.
    pub restoration: Option<Given<u64>>,
    /// `drop`, `forward`, `alert`.
    pub action: Option<Given<String>>,
}

/// Who is at the other end of a cable.
#[derive(Clone, Debug, Default)]
pub struct Neighbor {
    /// Where it stands.
    pub spot: Spot,
    /// Its name.
    pub name: Option<Given<String>>,
    /// Its port.
    pub port: Option<Given<String>>,
}

impl ConfigDb {
    /// Line and column of a place, both from 1; columns count bytes.
    pub fn line_column(&self, spot: &Spot) -> (usize, usize) {
        let line = self.lines.partition_point(|start| *start <= spot.at).max(1);
        let start = self.lines.get(line - 1).copied().unwrap_or(0);
        (line, spot.at.saturating_sub(start) + 1)
    }

    /// A place of the file, for an error there.
    pub(super) fn place(&self, spot: &Spot) -> Place<'_> {
        let (line, column) = self.line_column(spot);
        Place {
            path: &self.path,
            line,
            column,
        }
    }

    /// The switch's name: what `DEVICE_METADATA` says, or that of the file.
    pub fn name(&self) -> String {
        match &self.device.hostname {
            Some(name) => name.value.clone(),
            None => {
                let stem = self.path.file_stem().unwrap_or_default();
                stem.to_string_lossy().into_owned()
            }
        }
    }

    /// The map of this table that holds at a port: its own, or that of the switch.
    pub fn map(&self, port: &str, table: &'static str) -> Option<&Map> {
        let of = |key: &str| self.qos.get(key)?.maps.get(table);
        let name = of(port).or_else(|| of("global"))?;
        self.maps.get(&(table, name.value.clone()))
    }

    /// The lossless profile of a priority group: `None` if it is lossy or not there.
    pub fn lossless(&self, port: &str, group: u8) -> Option<(&Given<Buffer>, Option<&Profile>)> {
        let given = self.groups.get(&(port.to_owned(), group))?;
        match &given.value {
            Buffer::Computed => Some((given, None)),
            Buffer::Unknown => None,
            Buffer::Profile(name) => {
                let profile = self.profiles.get(name)?;
                let is_lossless = profile.xoff.is_some()
                    || profile.is_dynamic_headroom
                    || name.starts_with("pg_lossless");
                is_lossless.then_some((given, Some(profile)))
            }
        }
    }

    /// The priority group that asks for PAUSE of a priority.
    pub fn group_of(&self, port: &str, priority: u8) -> u8 {
        let map = self.map(port, "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP");
        let entry = map.and_then(|map| map.entries.get(&priority));
        entry.map_or(priority, |given| given.value)
    }

    /// The queue that PAUSE of a priority stops.
    pub fn queue_of(&self, port: &str, priority: u8) -> u8 {
        let map = self.map(port, "MAP_PFC_PRIORITY_TO_QUEUE");
        let entry = map.and_then(|map| map.entries.get(&priority));
        entry.map_or(priority, |given| given.value)
    }

    /// The profile and the pool of a queue, as far as they are there.
    pub fn queue_profile(&self, port: &str, queue: u8) -> Option<(&Given<Buffer>, &Profile)> {
        let given = self.queue_buffers.get(&(port.to_owned(), queue))?;
        match &given.value {
            Buffer::Profile(name) => Some((given, self.profiles.get(name)?)),
            _ => None,
        }
    }

    /// The pool of a profile.
    pub fn pool_of(&self, profile: &Profile) -> Option<(&str, &Pool)> {
        let name = &profile.pool.as_ref()?.value;
        let (name, pool) = self.pools.get_key_value(name)?;
        Some((name, pool))
    }

    /// Ports with PFC, and for which priorities.
    pub fn pfc_ports(&self) -> impl Iterator<Item = (&str, &Qos)> {
        let ports = self.qos.iter().filter(|(_, qos)| !qos.pfc.is_empty());
        ports.map(|(port, qos)| (port.as_str(), qos))
    }
}
