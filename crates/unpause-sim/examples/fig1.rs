//! Scratch.
use std::ops::ControlFlow;
use unpause_protocols::units::{Rate, Time};
use unpause_protocols::{congestion_point, notification_point, reaction_point};
use unpause_sim::config::*;
use unpause_sim::traffic::{FlowSpec, TrafficSpec};

fn main() {
    let scheme = std::env::args().nth(1).unwrap_or("pfc".into());
    // S0=0 S1=1 H0=2 H1=3 R0=4 R1=5 H2..=6..
    let mut nodes = vec![NodeKind::Switch; 2];
    nodes.extend(vec![NodeKind::Host; 18]);
    let link = |a, b| Link {
        a,
        b,
        rate: Rate::from_gbps(40),
        delay: Time::from_us(5),
    };
    let mut links = vec![link(0, 1), link(0, 2), link(0, 3), link(1, 4), link(1, 5)];
    links.extend((6..20).map(|h| link(1, h)));
    let flow = |src, dst, start, size: Option<u64>, limit, controlled, recorded| FlowSpec {
        group: 0,
        src,
        dst,
        size_bytes: size,
        start,
        stop: Time::NEVER,
        priority: 3,
        rate_limit: limit,
        controlled,
        recorded,
        source_port: 0,
    };
    let limit = (scheme == "pfc").then(|| Rate::from_gbps(20));
    let mut flows = vec![
        flow(2, 4, Time::ZERO, None, limit, true, true),
        flow(3, 5, Time::ZERO, None, limit, true, true),
    ];
    for h in 6..20 {
        for _ in 0..16 {
            flows.push(flow(
                h,
                5,
                Time::from_ms(50),
                Some(64000),
                None,
                false,
                false,
            ));
        }
    }
    let s = match scheme.as_str() {
        "pcn" => SchemeConfig {
            congestion_point: congestion_point::Config::NpEcn(Default::default()),
            notification_point: notification_point::Config::Pcn(Default::default()),
            reaction_point: reaction_point::Config::Pcn(Default::default()),
        },
        "qcn" => SchemeConfig {
            congestion_point: congestion_point::Config::Qcn(Default::default()),
            notification_point: notification_point::Config::None,
            reaction_point: reaction_point::Config::Qcn(Default::default()),
        },
        "dcqcn" => SchemeConfig {
            congestion_point: congestion_point::Config::Red(Default::default()),
            notification_point: notification_point::Config::Dcqcn(Default::default()),
            reaction_point: reaction_point::Config::Dcqcn(Default::default()),
        },
        "timely" => SchemeConfig {
            reaction_point: reaction_point::Config::Timely(
                reaction_point::timely::Params::per_packet(),
            ),
            ..Default::default()
        },
        _ => SchemeConfig::default(),
    };
    let config = Config {
        fabric: Fabric {
            nodes,
            links,
            framing_bytes: 0,
        },
        host: HostConfig::default(),
        switch: SwitchConfig::default(),
        scheme: s,
        traffic: vec![TrafficSpec::Flows(flows)],
        probes: Probes {
            interval: Time::from_us(100),
            ports: vec![(0, 0), (1, 2), (1, 0), (0, 1), (0, 2)],
            pauses: true,
            ..Probes::default()
        },
        seed: 1,
        stop: Time::from_ms(150),
    };
    let t = std::time::Instant::now();
    let threads = std::env::args().nth(2).map_or(1, |t| t.parse().unwrap());
    let r = unpause_sim::run_threads(&config, threads, &mut |_| ControlFlow::Continue(())).unwrap();
    let r1 = unpause_sim::run(&config, &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(r == r1);
    let dt = t.elapsed().as_secs_f64();
    println!("{:?}", r.totals);
    println!(
        "{:.3}s {:.2} M hops/s, {:.2} events/hop",
        dt,
        r.totals.packet_hops as f64 / dt / 1e6,
        r.totals.events as f64 / r.totals.packet_hops as f64
    );
    for p in r.pauses.iter().take(1) {
        println!("{p:?} {} {}", p.start, p.end);
    }
    println!(
        "{} pauses, last end {:?}",
        r.pauses.len(),
        r.pauses.last().map(|p| p.end.to_string())
    );
    let mut prev = [(0u64, 0u64); 2];
    for s in r.flow_series.iter().filter(|s| {
        s.time.as_ps() % 1_000_000_000 == 0
            && s.time >= Time::from_ms(45)
            && s.time < Time::from_ms(62)
    }) {
        let f = s.flow as usize;
        let (a, b) = prev[f];
        prev[f] = (s.sent_bytes, s.delivered_bytes);
        println!(
            "{} F{} ctl {:.2} sent {:.2} goodput {:.2}",
            s.time,
            f,
            s.controller_rate.as_gbps_f64(),
            (s.sent_bytes - a) as f64 * 8e-6,
            (s.delivered_bytes - b) as f64 * 8e-6
        );
    }
}
