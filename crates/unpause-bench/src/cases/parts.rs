//! Parts that several cases share.

use std::sync::Arc;

use unpause_protocols::units::{Rate, Time};
use unpause_protocols::{congestion_control, congestion_point, notification_point};
use unpause_scenario::cdf;
use unpause_scenario::topology::{ClosPods, Topology};
use unpause_sim::config::{
    Config, Events, HostConfig, Probes, SchemeConfig, Skipping, SwitchConfig,
};
use unpause_sim::traffic::{Arrivals, Pairs, Pattern, Size, TrafficSpec};

/// PCN with its defaults.
pub fn pcn() -> SchemeConfig {
    SchemeConfig {
        congestion_point: congestion_point::Config::NpEcn(Default::default()),
        notification_point: notification_point::Config::Pcn(Default::default()),
        roce: congestion_control::Config::Pcn(Default::default()),
        ..SchemeConfig::default()
    }
}

/// DCQCN with its defaults.
pub fn dcqcn() -> SchemeConfig {
    SchemeConfig {
        congestion_point: congestion_point::Config::Red(Default::default()),
        notification_point: notification_point::Config::Dcqcn(Default::default()),
        roce: congestion_control::Config::Dcqcn(Default::default()),
        ..SchemeConfig::default()
    }
}

/// A flow from each host and to each, at time zero.
pub fn permutation(topology: &Topology, size: Size) -> TrafficSpec {
    let pairs = Pairs::permutation(topology.hosts().collect());
    TrafficSpec::Pattern(Pattern::new(pairs, size, Arrivals::once(Time::ZERO)))
}

/// A run with the defaults of hosts and switches.
pub fn run(
    topology: Topology,
    scheme: SchemeConfig,
    traffic: Vec<TrafficSpec>,
    stop: Time,
) -> Config {
    Config {
        fabric: topology.fabric,
        host: HostConfig::default(),
        switch: SwitchConfig::default(),
        scheme,
        traffic,
        probes: Probes {
            interval: Time::from_us(50),
            flow_interval: None,
            ..Probes::default()
        },
        seed: 1,
        stop,
        following: Vec::new(),
        jitters: Vec::new(),
        jobs: Vec::new(),
        events: Events::default(),
        skipping: Skipping::default(),
    }
}

/// PCN's Clos, of this many pods.
pub fn clos_topology(pods: u32) -> Topology {
    ClosPods {
        pods,
        tors_per_pod: 4,
        leaves_per_pod: 2,
        spines: 8,
        hosts_per_tor: 16,
        host_rate: Rate::from_gbps(10),
        fabric_rate: Some(Rate::from_gbps(40)),
        tor_leaf_links: 2,
        delay: Time::from_us(5),
        host_delay: None,
    }
    .build()
    .expect("the topology is sound")
}

/// PCN's workload W1.
pub fn w1() -> Size {
    Size::Cdf(Arc::new(cdf::builtin("pcn_w1").expect("it is built in")))
}
