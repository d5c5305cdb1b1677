//! Topology files of htsim: what is accepted is a fabric whose hosts have one link each.

use std::path::Path;

use unpause_import::htsim_topology;

/// Reads a topology.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match htsim_topology::parse(text, Path::new("fabric.topo")) {
        Ok(topology) => {
            let hosts = topology.hosts().count();
            let links = &topology.fabric.links;
            let is_host = |node: u32| (node as usize) < hosts;
            let of_hosts = links
                .iter()
                .filter(|link| is_host(link.a) || is_host(link.b));
            assert_eq!(of_hosts.count(), hosts);
        }
        Err(error) => crate::messages::check_file_error(&error, data),
    }
}
