//! Topology files of the HPCC simulator and of SimAI: what is accepted, written again, is the same fabric.

use std::path::Path;

use unpause_import::hpcc;

/// Reads a topology, with parallel links and without.
pub fn check(data: &[u8]) {
    check_with(data, Some(2));
    check_with(data, None);
}

fn check_with(data: &[u8], parallel: Option<u32>) {
    let path = Path::new("topology.txt");
    match hpcc::parse_topology(data, path, parallel) {
        Ok(topology) => {
            let mut text = Vec::new();
            hpcc::write_topology(&mut text, &topology).expect("memory can be written");
            let again = hpcc::parse_topology(&*text, path, parallel)
                .unwrap_or_else(|error| panic!("{error} in {}", String::from_utf8_lossy(&text)));
            assert_eq!(again.names, topology.names);
            assert_eq!(again.fabric.nodes, topology.fabric.nodes);
            assert_eq!(again.fabric.links, topology.fabric.links);
            assert_eq!(again.fabric.nvswitches, topology.fabric.nvswitches);
            assert_eq!(again.gpus_per_server, topology.gpus_per_server);
        }
        Err(error) => crate::messages::check_file_error(&error, data),
    }
}
