//! The simulator without a scenario file: four hosts send 1 MB each to a fifth, under PFC and PCN.
//!
//! `cargo run --release -p unpause-sim --example incast`

use std::ops::ControlFlow;

use unpause_protocols::units::{Rate, Time};
use unpause_protocols::{congestion_control, congestion_point, notification_point};
use unpause_sim::config::{
    Config, Events, Fabric, HostConfig, Link, NodeKind, Probes, SchemeConfig, Skipping,
    SwitchConfig,
};
use unpause_sim::traffic::{Arrivals, BurstFlows, Pairs, Pattern, Size, TrafficSpec};

fn main() -> Result<(), unpause_sim::Error> {
    // Node 0 is a switch, nodes 1 to 5 are its hosts.
    let mut nodes = vec![NodeKind::Switch];
    nodes.extend([NodeKind::Host; 5]);
    let link = |host| Link {
        a: 0,
        b: host,
        rate: Rate::from_gbps(100),
        delay: Time::from_us(1),
    };
    let pairs = Pairs::Burst {
        from: vec![2, 3, 4, 5],
        to: 1,
        flows: BurstFlows::PerHost(1),
    };
    let incast = Pattern::new(pairs, Size::Fixed(1_000_000), Arrivals::once(Time::ZERO));
    let config = Config {
        fabric: Fabric {
            nodes,
            links: (1..=5).map(link).collect(),
            framing_bytes: 20,
            ..Fabric::default()
        },
        host: HostConfig::default(),
        switch: SwitchConfig::default(),
        scheme: SchemeConfig {
            congestion_point: congestion_point::Config::NpEcn(Default::default()),
            notification_point: notification_point::Config::Pcn(Default::default()),
            roce: congestion_control::Config::Pcn(Default::default()),
            ..SchemeConfig::default()
        },
        traffic: vec![TrafficSpec::Pattern(incast)],
        probes: Probes::default(),
        seed: 1,
        stop: Time::from_ms(10),
        following: Vec::new(),
        jitters: Vec::new(),
        jobs: Vec::new(),
        events: Events::default(),
        skipping: Skipping::default(),
    };
    let results = unpause_sim::run(&config, &mut |_| ControlFlow::Continue(()))?;
    for flow in &results.flows {
        let fct = flow
            .fct
            .map_or("not complete".into(), |fct| fct.to_string());
        println!("host {} -> host {}: {fct}", flow.src, flow.dst);
    }
    println!("{} PAUSE frames", results.totals.pause_frames);
    Ok(())
}
