//! `config_db.json`, the configuration of a switch with SONiC: what it says, and what is wrong with it.
//!
//! The file is one object: tables, of keys, of fields, of which every value is text. What the tables mean is
//! what sonic-net's sonic-swss and sonic-buildimage make of them (August 2026).

mod chips;
mod entry;
mod finding;
mod json;
mod known;
pub mod lldp;
mod model;
mod read;
mod read_qos;
mod rules;
mod scenario;
mod table;
mod values;

use std::path::Path;

use unpause_import::{FileError, Place};
use unpause_text::limits;

pub use chips::{Chip, chip};
pub use finding::{Finding, Given, Severity, Spot};
pub use model::{
    Buffer, COLORS, ConfigDb, Curve, DEFAULT_MTU, Device, Green, Map, Neighbor, Pool, Port,
    Profile, Qos, Queue, Scheduler, Threshold, Watchdog, Watched, Wred,
};
pub use rules::{Cable, Need, lint};
pub use scenario::{Imported, import};

/// Ports of a switch; each is compared with every other.
const MOST_PORTS: usize = 1024;

/// Reads a `config_db.json`.
///
/// # Errors
///
/// If it cannot be read, or is no JSON. What is wrong with its tables, [`lint`] says.
pub fn read(path: &Path) -> Result<ConfigDb, FileError> {
    let bytes = limits::read_at_most(path, limits::SCENARIO_BYTES)
        .map_err(|reason| Place::of_line(path, 0).io(reason))?;
    parse(bytes, path)
}

/// The same of what the file at `path` contains.
///
/// # Errors
///
/// If it is no JSON.
pub fn parse(bytes: Vec<u8>, path: &Path) -> Result<ConfigDb, FileError> {
    let text = limits::utf8(bytes, 0)
        .map_err(|not| Place::of_line(path, not.line).error(not.found, limits::EXPECTED_TEXT))?;
    let root = json::parse(&text).map_err(|mistake| {
        let before = &text[..mistake.at];
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let place = Place {
            path,
            line: 1 + before.matches('\n').count(),
            column: 1 + before[start..]
                .trim_start_matches('\u{feff}')
                .chars()
                .count(),
        };
        place.error(mistake.found, mistake.expected)
    })?;
    let starts = text.match_indices('\n').map(|(at, _)| at + 1);
    let mut db = ConfigDb {
        path: path.to_owned(),
        lines: std::iter::once(0).chain(starts).collect(),
        ..ConfigDb::default()
    };
    let mut tables = table::Tables::new(&root);
    read::ports(&mut tables, &mut db);
    read::buffers(&mut tables, &mut db);
    read_qos::maps(&mut tables, &mut db);
    read_qos::queues(&mut tables, &mut db);
    read_qos::watchdog(&mut tables, &mut db);
    db.tables = tables.all_names();
    db.unread = std::mem::take(&mut tables.unread);
    let ports = db.ports.len().max(db.qos.len());
    if ports > MOST_PORTS {
        let place = Place::of_line(path, 1);
        return Err(place.error(
            format!("{ports} ports"),
            format!("at most {MOST_PORTS}: a switch has no more"),
        ));
    }
    db.findings = tables.findings;
    Ok(db)
}
