//! Neighbours as a switch has heard them by LLDP: `show lldp table` of SONiC, or `lldpcli -f json show neighbors`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use unpause_import::{FileError, Place};
use unpause_text::limits;

use super::finding::{Given, Spot};
use super::model::{ConfigDb, Neighbor};
use super::values::some_of;

const EXPECTED: &str = "the output of `show lldp table`, or of `lldpcli -f json show neighbors`";

/// A neighbour at a port.
#[derive(Clone, Debug, PartialEq)]
struct Heard {
    /// The port that has heard it.
    port: String,
    name: String,
    /// Names of its port: the port's number or alias, and its description.
    ports: Vec<String>,
    /// It forwards frames or packets.
    forwards: bool,
}

/// Gives switches without `DEVICE_NEIGHBOR` the neighbours of dumps, each with the name of its switch; answers what was done.
///
/// # Errors
///
/// If a dump cannot be read, or belongs to no switch, or if a neighbour's port is none of its ports.
pub fn add(
    switches: &mut [ConfigDb],
    dumps: &[(String, PathBuf)],
) -> Result<Vec<String>, FileError> {
    let mut notes = Vec::new();
    let mut all = BTreeMap::new();
    for (name, path) in dumps {
        let heard = read(path)?;
        let Some(index) = switches.iter().position(|db| db.name() == *name) else {
            let names: Vec<String> = switches.iter().map(ConfigDb::name).collect();
            let found = format!("LLDP neighbours of {name}, which is none of the switches");
            let expected = format!("the name of one: {}", names.join(", "));
            return Err(Place::of_line(path, 1).error(found, expected));
        };
        let db = &switches[index];
        if !db.neighbors.is_empty() {
            notes.push(format!(
                "{name}: {} is not used: DEVICE_NEIGHBOR says who is at each port",
                path.display()
            ));
            continue;
        }
        let (own, others): (Vec<_>, Vec<_>) = heard
            .into_iter()
            .partition(|it| db.ports.contains_key(&it.port));
        if own.is_empty() {
            let found = format!("no neighbour at a port of {name}");
            return Err(Place::of_line(path, 1).error(found, "neighbours at ports of PORT"));
        }
        notes.push(format!(
            "{name}: {} neighbours by LLDP ({})",
            own.len(),
            path.display()
        ));
        if !others.is_empty() {
            let ports: Vec<&str> = others.iter().map(|it| it.port.as_str()).collect();
            notes.push(format!(
                "{name}: LLDP at {}: not in PORT, and left out",
                some_of(&ports)
            ));
        }
        all.insert(index, (own, path));
    }
    for (index, (heard, path)) in all {
        for it in heard {
            let port = port_of(switches, &it, path)?;
            let db = &mut switches[index];
            let kind = if it.forwards { "Switch" } else { "Server" };
            let kind = given(kind.to_owned());
            db.neighbor_types.entry(it.name.clone()).or_insert(kind);
            let neighbor = Neighbor {
                spot: Spot::default(),
                name: Some(given(it.name)),
                port: port.map(given),
            };
            db.neighbors.insert(it.port, neighbor);
        }
    }
    Ok(notes)
}

fn given(value: String) -> Given<String> {
    let spot = Spot::default();
    Given { value, spot }
}

/// The port of a neighbour by the name that its own file has for it; none for a neighbour without a file.
fn port_of(switches: &[ConfigDb], it: &Heard, path: &Path) -> Result<Option<String>, FileError> {
    let Some(peer) = switches.iter().find(|db| db.name() == it.name) else {
        return Ok(None);
    };
    let named = |(port, own): &(&String, &super::model::Port)| {
        it.ports
            .iter()
            .any(|name| name == *port || own.alias.as_ref() == Some(name))
    };
    match peer.ports.iter().find(named) {
        Some((port, _)) => Ok(Some(port.clone())),
        None => {
            let found = format!(
                "{} to {} at {}, which PORT of {} lacks",
                it.port,
                it.name,
                it.ports.join(" or "),
                peer.path.display()
            );
            Err(Place::of_line(path, 1).error(found, "a port by its name or its alias"))
        }
    }
}

fn read(path: &Path) -> Result<Vec<Heard>, FileError> {
    let bytes = limits::read_at_most(path, limits::SCENARIO_BYTES)
        .map_err(|reason| Place::of_line(path, 0).io(reason))?;
    let text = limits::utf8(bytes, 0)
        .map_err(|not| Place::of_line(path, not.line).error(not.found, limits::EXPECTED_TEXT))?;
    let heard = if text.trim_start().starts_with(['{', '[']) {
        json(&text, path)?
    } else {
        table(&text)
    };
    if heard.is_empty() {
        return Err(Place::of_line(path, 1).error("no neighbours", EXPECTED));
    }
    Ok(heard)
}

/// The rows of `show lldp table`: dashes below the heads say where columns begin.
fn table(text: &str) -> Vec<Heard> {
    let mut lines = text
        .lines()
        .skip_while(|line| !line.starts_with("LocalPort"));
    let Some(dashes) = lines.nth(1) else {
        return Vec::new();
    };
    let mut starts: Vec<usize> = Vec::new();
    let mut before = ' ';
    for (at, sign) in dashes.char_indices() {
        if sign == '-' && before != '-' {
            starts.push(at);
        }
        before = sign;
    }
    let column = |line: &str, index: usize| {
        let from = starts.get(index).copied()?;
        let to = starts.get(index + 1).map_or(line.len(), |to| *to);
        let text = line.get(from..to.min(line.len()))?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    let rows = lines.take_while(|line| !line.starts_with("---") && !line.starts_with("Total"));
    let row = |line: &str| {
        let ports: Vec<String> = [2, 4].iter().filter_map(|it| column(line, *it)).collect();
        let signs = column(line, 3).unwrap_or_default();
        Some(Heard {
            port: column(line, 0)?,
            name: column(line, 1)?,
            forwards: signs.contains(['B', 'R']) && !ports.iter().any(|port| is_nic(port)),
            ports,
        })
    };
    rows.filter_map(row).collect()
}

/// Neighbours of lldpd, whose `interface` is an object or an array of them.
fn json(text: &str, path: &Path) -> Result<Vec<Heard>, FileError> {
    let root: Value = serde_json::from_str(text).map_err(|error| {
        let place = Place::of_line(path, error.line());
        place.error(error.to_string(), EXPECTED)
    })?;
    let mut heard = Vec::new();
    let interfaces = &root["lldp"]["interface"];
    let all = match interfaces {
        Value::Array(all) => all.iter().collect(),
        other => vec![other],
    };
    let entries = all.into_iter().filter_map(Value::as_object).flatten();
    for (port, it) in entries {
        let Some((name, chassis)) = it["chassis"].as_object().and_then(|all| all.iter().next())
        else {
            continue;
        };
        let names = [&it["port"]["id"]["value"], &it["port"]["descr"]];
        let names = names.iter().filter_map(|name| name.as_str());
        let ports: Vec<String> = names.map(str::to_owned).collect();
        let enabled = |word: &str| {
            let all = match &chassis["capability"] {
                Value::Array(all) => all.iter().collect(),
                other => vec![other],
            };
            all.iter()
                .any(|it| it["type"] == word && it["enabled"] == true)
        };
        heard.push(Heard {
            port: port.clone(),
            name: name.clone(),
            forwards: (enabled("Bridge") || enabled("Router"))
                && !ports.iter().any(|port| is_nic(port)),
            ports,
        });
    }
    Ok(heard)
}

/// Whether a port has a name that Linux gives a server's NIC: servers forward, too, where containers run.
fn is_nic(port: &str) -> bool {
    let digits = |rest: &str| rest.starts_with(|sign: char| sign.is_ascii_digit());
    let starts = ["en", "ib", "bond", "mlx5"];
    starts.iter().any(|start| port.starts_with(start))
        || port.strip_prefix("eth").is_some_and(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
Capability codes: (R) Router, (B) Bridge, (O) Other
LocalPort    RemoteDevice    RemotePortID    Capability    RemotePortDescr
-----------  --------------  --------------  ------------  -----------------
Ethernet0    h0              ens1f0          BR            ens1f0
Ethernet8    spine0          etp1            BR            Ethernet0
eth0         mgmt            Eth1/7          B
--------------------------------------------------
Total entries displayed:  3
";

    fn heard(port: &str, name: &str, ports: &[&str], forwards: bool) -> Heard {
        Heard {
            port: port.into(),
            name: name.into(),
            ports: ports.iter().map(|it| (*it).to_owned()).collect(),
            forwards,
        }
    }

    #[test]
    fn a_table_has_its_columns_where_the_dashes_are() {
        let expected = [
            heard("Ethernet0", "h0", &["ens1f0", "ens1f0"], false),
            heard("Ethernet8", "spine0", &["etp1", "Ethernet0"], true),
            heard("eth0", "mgmt", &["Eth1/7"], true),
        ];
        assert_eq!(table(TABLE), expected);
        for nothing in ["", "LocalPort", "LocalPort  RemoteDevice\n"] {
            assert!(table(nothing).is_empty());
        }
    }

    #[test]
    fn lldpd_writes_one_interface_or_many() {
        let one = r#"{"Ethernet8": {"via": "LLDP", "chassis": {"spine0": {"capability": [{"type": "Bridge", "enabled": true},
            {"type": "Router", "enabled": false}]}}, "port": {"id": {"type": "local", "value": "etp1"}, "descr": "Ethernet0"}}}"#;
        let expected = [heard("Ethernet8", "spine0", &["etp1", "Ethernet0"], true)];
        for interfaces in [one.to_owned(), format!("[{one}]")] {
            let text = format!("{{\"lldp\": {{\"interface\": {interfaces}}}}}");
            assert_eq!(json(&text, Path::new("x")).unwrap(), expected);
        }
        assert!(json("{\"lldp\": ", Path::new("x")).is_err());
    }
}
