//! The fabric that several switches' `DEVICE_NEIGHBOR` make.

use std::collections::{BTreeMap, BTreeSet};

use unpause_protocols::units::{Rate, Time};

use crate::finding::Spot;
use crate::model::{ConfigDb, Neighbor};
use crate::values::some_of;
use unpause_import::FileError;

/// Of light in the cable, picoseconds a metre.
const PS_PER_METRE: f64 = 5000.0;

/// A link, as a scenario has it.
#[derive(Clone, Debug)]
pub(super) struct Link {
    /// Names of its ends.
    pub a: String,
    pub b: String,
    pub rate: Rate,
    pub delay: Time,
    pub parallel: u32,
}

/// The other end of a port's link.
#[derive(Clone, Debug)]
pub(super) struct End {
    pub name: String,
    pub is_host: bool,
}

/// The fabric.
#[derive(Clone, Debug, Default)]
pub(super) struct Fabric {
    pub switches: Vec<String>,
    pub hosts: BTreeSet<String>,
    pub links: Vec<Link>,
    /// By switch: its ports with a link, and what is at the other end.
    pub ports: Vec<BTreeMap<String, End>>,
    pub notes: Vec<String>,
    pub left_out: Vec<String>,
}

/// The links of the switches.
pub(super) fn fabric(switches: &[ConfigDb]) -> Result<Fabric, FileError> {
    let mut fabric = Fabric {
        ports: vec![BTreeMap::new(); switches.len()],
        ..Fabric::default()
    };
    for db in switches {
        let name = db.name();
        if fabric.switches.contains(&name) {
            let spot = db.device.hostname.as_ref().map(|it| it.spot.clone());
            let place = db.place(&spot.unwrap_or_default());
            return Err(place.error(
                format!("a second switch called {name}"),
                "a name of its own in DEVICE_METADATA's hostname",
            ));
        }
        fabric.switches.push(name);
    }
    let build = |fabric: Fabric, stands_in| {
        let mut builder = Builder {
            switches,
            fabric,
            seen: BTreeSet::new(),
            pairs: BTreeMap::new(),
            stands_in,
        };
        for index in 0..switches.len() {
            builder.switch(index)?;
        }
        Ok(builder)
    };
    let mut builder = build(fabric.clone(), false)?;
    if builder.fabric.hosts.len() < 2 {
        builder = build(fabric, true)?;
    }
    let fabric = &builder.fabric;
    let odd = |name: &&String| {
        name.contains("..") || name.is_empty() || name.chars().any(char::is_control)
    };
    if let Some(name) = fabric.hosts.iter().chain(&fabric.switches).find(odd) {
        let place = switches[0].place(&Spot::default());
        return Err(place.error(
            format!("a node called {name:?}"),
            "names without `..`, which is a range in a scenario",
        ));
    }
    if builder.fabric.hosts.len() < 2 {
        let place = switches[0].place(&Spot::default());
        return Err(place.error(
            format!("{} hosts among the neighbours", builder.fabric.hosts.len()),
            "two or more: DEVICE_NEIGHBOR names who is at each port, and DEVICE_NEIGHBOR_METADATA which of them are \
             servers",
        ));
    }
    Ok(builder.fabric)
}

struct Builder<'a> {
    switches: &'a [ConfigDb],
    fabric: Fabric,
    /// Ends of links between switches that are there already.
    seen: BTreeSet<(usize, String)>,
    /// Index of the link between two nodes.
    pairs: BTreeMap<(String, String), usize>,
    /// Hosts stand for the switches whose files are missing.
    stands_in: bool,
}

impl Builder<'_> {
    fn switch(&mut self, index: usize) -> Result<(), FileError> {
        let db = &self.switches[index];
        let name = &self.fabric.switches[index].clone();
        if db.neighbors.is_empty() {
            return self.alone(index);
        }
        let without: Vec<&str> = db
            .ports
            .keys()
            .filter(|port| !db.neighbors.contains_key(*port))
            .map(String::as_str)
            .collect();
        if !without.is_empty() {
            self.fabric.left_out.push(format!(
                "{name}: PORT {}: not in DEVICE_NEIGHBOR, so nothing is linked there",
                some_of(&without)
            ));
        }
        for (port, neighbor) in &db.neighbors {
            self.neighbor(index, port, neighbor)?;
        }
        Ok(())
    }

    /// A switch whose neighbours are not written: with no other switch, each port has a host.
    fn alone(&mut self, index: usize) -> Result<(), FileError> {
        let db = &self.switches[index];
        if self.switches.len() > 1 {
            let place = db.place(&Spot::default());
            return Err(place.error(
                "no DEVICE_NEIGHBOR",
                "the neighbour of each port: several switches are linked by it. Neighbours can also come from LLDP: --lldp SWITCH=FILE",
            ));
        }
        let name = self.fabric.switches[index].clone();
        for port in db.ports.keys() {
            self.connect(index, port, &format!("{name}-{port}"), true)?;
        }
        self.fabric.notes.push(format!(
            "{name}: no DEVICE_NEIGHBOR: each port has a host of its own, {name}-<port>"
        ));
        Ok(())
    }

    fn neighbor(&mut self, index: usize, port: &str, it: &Neighbor) -> Result<(), FileError> {
        let db = &self.switches[index];
        let name = self.fabric.switches[index].clone();
        let Some(other) = &it.name else {
            return Err(db.place(&it.spot).error("no name", "the neighbour's name"));
        };
        if db.ports.get(port).is_some_and(|it| it.is_down) {
            let line = format!("{name}: {port} to {}: the port is shut down", other.value);
            self.fabric.left_out.push(line);
            return Ok(());
        }
        if let Some(at) = self
            .fabric
            .switches
            .iter()
            .position(|name| *name == other.value)
        {
            return self.between(index, port, it, at);
        }
        let types = db.neighbor_types.get(&other.value);
        let router = types.filter(|kind| is_switch(&kind.value));
        if let Some(kind) = router.filter(|_| self.stands_in) {
            self.fabric.notes.push(format!(
                "{name}: {port}: a host stands for {}, a {} of which no config_db.json is given: too few neighbours are servers",
                other.value, kind.value
            ));
        } else if let Some(kind) = router {
            self.fabric.left_out.push(format!(
                "{name}: {port} to {}: a {}, of which no config_db.json is given",
                other.value, kind.value
            ));
            return Ok(());
        }
        if types.is_none() {
            self.fabric.notes.push(format!(
                "{name}: {port}: {} has no type in DEVICE_NEIGHBOR_METADATA, and is a host here",
                other.value
            ));
        }
        self.connect(index, port, &other.value.clone(), true)
    }

    /// A link between two of the switches, which both may name.
    fn between(
        &mut self,
        index: usize,
        port: &str,
        it: &Neighbor,
        at: usize,
    ) -> Result<(), FileError> {
        let (db, peer) = (&self.switches[index], &self.switches[at]);
        let name = self.fabric.switches[index].clone();
        let other = self.fabric.switches[at].clone();
        if at == index {
            let place = db.place(&it.spot);
            return Err(place.error("a switch that is its own neighbour", "another switch"));
        }
        if self.seen.contains(&(index, port.to_owned())) {
            return Ok(());
        }
        // Which port it is there: as it says itself, or as the other one says.
        let said = it.port.as_ref().map(|port| port.value.clone());
        let back = peer.neighbors.iter().find(|(_, back)| {
            back.name.as_ref().is_some_and(|it| it.value == name)
                && back.port.as_ref().is_some_and(|it| it.value == port)
        });
        let found = said.clone().or(back.map(|(port, _)| port.clone()));
        let names_us = |it: &Neighbor| it.name.as_ref().is_some_and(|it| it.value == name);
        if found.is_none() && peer.neighbors.values().any(names_us) {
            let found = format!("a link to {other} that does not say its port there");
            let expected = "\"port\": both switches name links to each other";
            return Err(db.place(&it.spot).error(found, expected));
        }
        if let Some(there) = &found {
            let answer = peer.neighbors.get(there);
            let is_back = |it: &Neighbor| {
                it.name.as_ref().is_some_and(|it| it.value == name)
                    && it.port.as_ref().is_none_or(|it| it.value == port)
            };
            if answer.is_some_and(|it| !is_back(it)) {
                let found = format!("{there} of {other}, where {other} has another neighbour");
                return Err(db
                    .place(&it.spot)
                    .error(found, "files that name the same links"));
            }
            self.agree(index, port, at, there)?;
            if peer.ports.get(there).is_some_and(|it| it.is_down) {
                let line = format!("{name}: {port} to {other}: its port {there} is shut down");
                self.fabric.left_out.push(line);
                return Ok(());
            }
            self.seen.insert((at, there.clone()));
            let end = End {
                name: name.clone(),
                is_host: false,
            };
            self.fabric.ports[at].insert(there.clone(), end);
            if answer.is_none() {
                self.fabric.notes.push(format!(
                    "{name}: {port} to {there} of {other}: only one of the two names the link"
                ));
            }
        }
        self.connect(index, port, &other, false)
    }

    /// Both ends of a cable say the same of it.
    fn agree(&mut self, index: usize, port: &str, at: usize, there: &str) -> Result<(), FileError> {
        let (db, peer) = (&self.switches[index], &self.switches[at]);
        let (Some(own), Some(theirs)) = (db.ports.get(port), peer.ports.get(there)) else {
            let found = format!("port {there}, which PORT of {} lacks", peer.path.display());
            let spot = db.neighbors.get(port).map(|it| it.spot.clone());
            return Err(db
                .place(&spot.unwrap_or_default())
                .error(found, "a port that is there"));
        };
        if let (Some(a), Some(b)) = (&own.speed, &theirs.speed)
            && a.value != b.value
        {
            let found = format!(
                "{} Mb/s, at the other end ({there}) {} Mb/s",
                a.value, b.value
            );
            return Err(db
                .place(&a.spot)
                .error(found, "the same speed at both ends of a cable"));
        }
        if let (Some(a), Some(b)) = (&own.cable, &theirs.cable)
            && a.value != b.value
        {
            self.fabric.left_out.push(format!(
                "{}: CABLE_LENGTH {port} {} m, at the other end {} m: the first counts",
                self.fabric.switches[index], a.value, b.value
            ));
        }
        Ok(())
    }

    fn connect(
        &mut self,
        index: usize,
        port: &str,
        other: &str,
        is_host: bool,
    ) -> Result<(), FileError> {
        let db = &self.switches[index];
        let name = self.fabric.switches[index].clone();
        let Some(it) = db.ports.get(port) else {
            let place = db.place(&Spot::default());
            return Err(place.error(format!("no port {port}"), "table PORT with its speed"));
        };
        if it.is_down {
            let line = format!("{name}: {port}: the port is shut down");
            self.fabric.left_out.push(line);
            return Ok(());
        }
        let Some(speed) = &it.speed else {
            let place = db.place(&it.spot);
            return Err(place.error(format!("{port} without a speed"), "\"speed\", in Mb/s"));
        };
        let rate = Rate::from_mbps(speed.value);
        let metres = it.cable.as_ref().map_or(0.0, |cable| cable.value);
        if metres == 0.0 {
            self.fabric.notes.push(format!(
                "{name}: {port}: no length in CABLE_LENGTH, 1 m here: a link has a delay"
            ));
        }
        let metres = if metres == 0.0 { 1.0 } else { metres };
        let delay = Time::from_ps((metres * PS_PER_METRE).round().max(1.0) as u64);
        if is_host {
            self.fabric.hosts.insert(other.to_owned());
        }
        let end = End {
            name: other.to_owned(),
            is_host,
        };
        self.fabric.ports[index].insert(port.to_owned(), end);
        let pair = if name.as_str() < other {
            (name.clone(), other.to_owned())
        } else {
            (other.to_owned(), name.clone())
        };
        if let Some(at) = self.pairs.get(&pair) {
            let link = &mut self.fabric.links[*at];
            if (link.rate, link.delay) != (rate, delay) {
                let found = format!(
                    "a link to {other} of {rate} and {delay}, beside one of {} and {}",
                    link.rate, link.delay
                );
                let expected =
                    "links alike: a scenario has parallel links of one rate and one delay";
                return Err(db.place(&speed.spot).error(found, expected));
            }
            link.parallel += 1;
            return Ok(());
        }
        self.pairs.insert(pair, self.fabric.links.len());
        self.fabric.links.push(Link {
            a: other.to_owned(),
            b: name,
            rate,
            delay,
            parallel: 1,
        });
        Ok(())
    }
}

/// Types of `DEVICE_NEIGHBOR_METADATA` that forward.
fn is_switch(kind: &str) -> bool {
    ["Router", "Switch", "Spine", "Leaf", "ToR", "Fabric"]
        .iter()
        .any(|word| kind.contains(word))
}
