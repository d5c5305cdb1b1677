//! Scenarios at their limits.

use crate::small::parsed;

/// 65,536 hosts and a million links, with a load that is a share of all their rates.
#[test]
fn a_large_fabric_is_possible() {
    let text = r#"
        duration = "1us"
        [topology]
        builder = "leaf-spine"
        leaves = 1024
        spines = 960
        hosts_per_leaf = 64
        host_rate = "100Gbps"
        delay = "1us"
        [[scheme]]
        name = "PFC"
        [[traffic]]
        name = "all"
        kind = "poisson"
        from = "H0..H65535"
        size = "1MB"
        load = 0.5
        [probes]
        ports = ["spine0->*", "spine1->*"]
    "#;
    let scenario = parsed(text);
    let config = &scenario.runs()[0].config;
    assert_eq!(config.fabric.links.len(), 1_048_576);
    assert_eq!(config.probes.ports.len(), 2 * 1024);
}
