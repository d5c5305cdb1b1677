//! A collective operation of a job.

use std::path::Path;

use unpause_scenario::Scenario;
use unpause_sim::config::Config;

/// A ring all-reduce over 1,024 ranks. Ranks are placed packed: seven of eight messages stay on NVLink, the eighth crosses leaf
/// switches. `fabric` has more keys of the topology.
fn ring(fabric: &str, size: &str) -> Config {
    let text = format!(
        r#"
duration = "100ms"

[topology]
builder = "rails"
servers = 128
gpus_per_server = 8
servers_per_leaf = 16
rate = "400Gbps"
nvlink_rate = "2880Gbps"
delay = "500ns"
{fabric}

[host]
payload = "4096B"

[[scheme]]
name = "PFC+DCQCN"
congestion_control = "dcqcn"

[[job]]
name = "ring"
ranks = 1024
collective = "all-reduce"
size = "{size}"
messages = false
"#
    );
    let scenario = Scenario::parse(&text, Path::new("ring.toml"));
    let scenario = scenario.unwrap_or_else(|error| panic!("{}", error.explain()));
    scenario.runs()[0].config.clone()
}

/// Of 1 GB, each GPU of a server at a leaf of its own. Blocks differ by a byte, and flows share links to spines.
pub fn all_reduce() -> Config {
    ring("spines = 16", "1GB")
}

/// Of 1 GiB, all GPUs of a server at the same leaf, which has as many links to spines as to hosts: all steps are alike.
pub fn alike() -> Config {
    let fabric = "leaves = \"shared\"\nspines = 64\nuplinks = 2";
    ring(fabric, "1073741824B")
}
