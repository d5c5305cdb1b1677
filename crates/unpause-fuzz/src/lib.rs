//! Fuzz targets for everything that reads files: what is done with an input, and what must be true of
//! the answer beyond that there is one. `make fuzz` runs them under libFuzzer.

pub mod capture;
pub mod cdf;
pub mod chakra;
pub mod config_db;
pub mod delays;
pub mod directories;
pub mod frame;
pub mod goal;
pub mod hpcc_flows;
pub mod hpcc_topology;
pub mod htsim;
pub mod htsim_topology;
mod keys;
mod messages;
pub mod quantity;
pub mod results;
pub mod scenario;
pub mod seeds;
pub mod simai;
pub mod testbed;

/// A target: panics if an input violates a property.
pub type Target = fn(&[u8]);

/// The targets by their names.
pub const TARGETS: [(&str, Target); 17] = [
    ("quantity", quantity::check),
    ("cdf", cdf::check),
    ("delays", delays::check),
    ("hpcc_topology", hpcc_topology::check),
    ("hpcc_flows", hpcc_flows::check),
    ("goal", goal::check),
    ("simai", simai::check),
    ("chakra", chakra::check),
    ("htsim", htsim::check),
    ("htsim_topology", htsim_topology::check),
    ("config_db", config_db::check),
    ("scenario", scenario::check),
    ("results", results::check),
    ("directories", directories::check),
    ("frame", frame::check),
    ("capture", capture::check),
    ("testbed", testbed::check),
];

/// The target of this name.
pub fn target(name: &str) -> Option<Target> {
    let found = TARGETS.iter().find(|(known, _)| *known == name);
    found.map(|(_, target)| *target)
}
