//! A collective operation of a job.

use std::path::Path;

use unpause_scenario::Scenario;
use unpause_sim::config::Config;

/// Ranks are placed packed: seven of eight messages stay on NVLink, the eighth crosses leaf switches.
const RING: &str = r#"
duration = "100ms"

[topology]
builder = "rails"
servers = 128
gpus_per_server = 8
servers_per_leaf = 16
spines = 16
rate = "400Gbps"
nvlink_rate = "2880Gbps"
delay = "500ns"

[host]
payload = "4096B"

[[scheme]]
name = "PFC+DCQCN"
congestion_control = "dcqcn"

[[job]]
name = "ring"
ranks = 1024
collective = "all-reduce"
size = "1GB"
messages = false
"#;

/// A ring all-reduce of 1 GB over 1,024 ranks.
pub fn all_reduce() -> Config {
    let scenario = Scenario::parse(RING, Path::new("ring.toml"));
    let scenario = scenario.unwrap_or_else(|error| panic!("{}", error.explain()));
    scenario.runs()[0].config.clone()
}
