//! The benchmark cases.

mod large;
mod parts;
mod rails;

use std::path::Path;

use unpause_protocols::flow_control::capfc::{EgressParams, IngressParams};
use unpause_protocols::units::{Rate, Time};
use unpause_scenario::Scenario;
use unpause_scenario::topology::{SingleSwitch, TwoSwitch};
use unpause_sim::config::{
    CioqConfig, Config, FullQueue, Memory, NodeId, PfcThreshold, PipelineConfig, SchemeConfig,
    SpinesConfig, SwitchConfig, SwitchModel,
};
use unpause_sim::traffic::{
    Arrivals, BurstFlows, FlowSettings, FlowSpec, Pairs, Pattern, Size, TrafficSpec,
};

use large::{CABLE, LINK, fat_tree, leaf_spine, ring, sparse};
use parts::{clos_topology, dcqcn, pcn, permutation, run, w1};

/// One case.
pub struct Case {
    /// Name on the command line.
    pub name: &'static str,
    /// A description, in a line.
    pub what: &'static str,
    /// Builds the run, of this many flows if that is a choice.
    pub config: fn(u64) -> Config,
    /// How many flows it has unless told otherwise; 0 where that is no choice.
    pub flows: u64,
    /// When to run it.
    pub role: Role,
}

/// When a case is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// By default, on one thread.
    Single,
    /// By default, on one thread and on all cores.
    Threaded,
    /// When named: to count instructions, or beside another simulator.
    Named,
}

/// All cases, in order.
pub const CASES: &[Case] = &[
    Case {
        name: "fig1-pcn",
        what: "(a) PCN Fig. 1, burst, PCN, probes of Fig. 2",
        config: |_| fig1(pcn(), Time::from_ms(50), Time::from_ms(150)),
        flows: 0,
        role: Role::Single,
    },
    Case {
        name: "fig1-dcqcn",
        what: "(a) PCN Fig. 1, burst, DCQCN, probes of Fig. 2",
        config: |_| fig1(dcqcn(), Time::from_ms(50), Time::from_ms(150)),
        flows: 0,
        role: Role::Single,
    },
    Case {
        name: "fig1-capfc",
        what: "(a) the same with PCN over pipelined switches with CaPFC",
        config: |_| pipelined(fig1(pcn(), Time::from_ms(50), Time::from_ms(150))),
        flows: 0,
        role: Role::Single,
    },
    Case {
        name: "clos-pcn",
        what: "(b) 512-host Clos, 20,000 flows of W1, PCN",
        config: |flows| clos(pcn(), flows, FlowSettings::default()),
        flows: 20_000,
        role: Role::Threaded,
    },
    Case {
        name: "clos-dcqcn",
        what: "(b) 512-host Clos, 20,000 flows of W1, DCQCN",
        config: |flows| clos(dcqcn(), flows, FlowSettings::default()),
        flows: 20_000,
        role: Role::Threaded,
    },
    Case {
        name: "fat-tree",
        what: "(c) 1,024-host fat-tree at 100 Gb/s, permutation of 2 MB flows, DCQCN",
        config: |_| fat_tree(dcqcn()),
        flows: 0,
        role: Role::Threaded,
    },
    Case {
        name: "fat-tree-pfc",
        what: "(c) the same with PFC alone",
        config: |_| fat_tree(SchemeConfig::default()),
        flows: 0,
        role: Role::Threaded,
    },
    Case {
        name: "sparse-512",
        what: "(d) 512 hosts, 2,000 flows of W1 at 1 % load, PCN",
        config: |flows| sparse(8, flows),
        flows: 2_000,
        role: Role::Single,
    },
    Case {
        name: "sparse-8192",
        what: "(d) 8,192 hosts, the same flows, PCN",
        config: |flows| sparse(128, flows),
        flows: 2_000,
        role: Role::Single,
    },
    Case {
        name: "leaf-spine-1k",
        what: "(h) 1,024 hosts at 400 Gb/s, 32 + 32 switches, permutation of 4 MB flows, DCQCN",
        config: |_| leaf_spine([32, 32, 32], LINK, 4_000_000),
        flows: 0,
        role: Role::Threaded,
    },
    Case {
        name: "leaf-spine-16k",
        what: "(h) 16,384 hosts, 256 + 64 switches, permutation of 400 KB flows",
        config: |_| leaf_spine([256, 64, 64], LINK, 400_000),
        flows: 0,
        role: Role::Threaded,
    },
    Case {
        name: "racks-16k",
        what: "(h) the same with cables of 10 ns to hosts",
        config: |_| leaf_spine([256, 64, 64], CABLE, 400_000),
        flows: 0,
        role: Role::Named,
    },
    Case {
        name: "leaf-spine-64k",
        what: "(h) 65,536 hosts, 512 + 128 switches, permutation of 40 KB flows",
        config: |_| leaf_spine([512, 128, 128], LINK, 40_000),
        flows: 0,
        role: Role::Threaded,
    },
    Case {
        name: "long-64k",
        what: "(h) the same, of 400 KB",
        config: |_| leaf_spine([512, 128, 128], LINK, 400_000),
        flows: 0,
        role: Role::Named,
    },
    Case {
        name: "ring-1k",
        what: "(i) 1,024 ranks in a ring over the first of (h), 1 MB to the next",
        config: |_| ring(),
        flows: 0,
        role: Role::Threaded,
    },
    Case {
        name: "all-reduce-1k",
        what: "(l) a ring all-reduce of 1 GB over 1,024 ranks on rails, DCQCN",
        config: |_| rails::all_reduce(),
        flows: 0,
        role: Role::Named,
    },
    Case {
        name: "all-reduce-1gib",
        what: "(m) the same of 1 GiB, with shared leaves: steps are skipped",
        config: |_| rails::alike(),
        flows: 0,
        role: Role::Single,
    },
    Case {
        name: "nic-1024",
        what: "(e) 1,024 paced flows through one NIC",
        config: |_| nic(),
        flows: 0,
        role: Role::Single,
    },
    Case {
        name: "lone-8",
        what: "(k) 8 flows of 500 MB that nothing disturbs, through one switch at 100 Gb/s, DCQCN",
        config: |_| lone(),
        flows: 0,
        role: Role::Single,
    },
    Case {
        name: "incast-gbn",
        what: "(f) 100:1 incast of 1 MB flows, lossy class, go-back-N",
        config: |_| incast(),
        flows: 0,
        role: Role::Single,
    },
    Case {
        name: "cioq-pipe",
        what: "(g) CIOQ of 20 hosts, permutation of 10 MB flows, its fabric a pipe",
        config: |_| cioq(None),
        flows: 0,
        role: Role::Single,
    },
    Case {
        name: "cioq-spines",
        what: "(g) the same over 4 leaves and 32 spines, in cells",
        config: |_| cioq(Some(SpinesConfig::default())),
        flows: 0,
        role: Role::Single,
    },
    Case {
        name: "cioq-shared",
        what: "(g) the same flows through a switch with a shared buffer",
        config: |_| Config {
            switch: SwitchConfig::default(),
            ..cioq(None)
        },
        flows: 0,
        role: Role::Named,
    },
    Case {
        name: "capfc-fat-tree",
        what: "(j) CaPFC's fat-tree of 128 hosts at 1 Gb/s, its scenario 3, 1 s",
        config: |_| capfc_fat_tree(),
        flows: 0,
        role: Role::Single,
    },
    Case {
        name: "gate-fig1",
        what: "(a) with PCN, 12 ms of it",
        config: |_| fig1(pcn(), Time::from_ms(4), Time::from_ms(12)),
        flows: 0,
        role: Role::Named,
    },
    Case {
        name: "gate-clos",
        what: "(b) with DCQCN, 600 flows",
        config: |flows| clos(dcqcn(), flows, FlowSettings::default()),
        flows: 600,
        role: Role::Named,
    },
    Case {
        name: "gate-leaf-spine",
        what: "(h) 4,096 hosts, 64 + 32 switches, of 20 KB",
        config: |_| leaf_spine([64, 32, 64], LINK, 20_000),
        flows: 0,
        role: Role::Named,
    },
    Case {
        name: "clos-constant",
        what: "the flows of (b) at 500 Mb/s each, only the last packet acknowledged",
        config: constant,
        flows: 20_000,
        role: Role::Named,
    },
];

fn names(prefix: &str, numbers: std::ops::Range<u32>) -> Vec<String> {
    numbers.map(|number| format!("{prefix}{number}")).collect()
}

fn fig1(scheme: SchemeConfig, burst: Time, stop: Time) -> Config {
    let mut right = names("R", 0..2);
    right.extend(names("H", 2..16));
    let topology = TwoSwitch {
        left: names("H", 0..2),
        right,
        rate: Rate::from_gbps(40),
        bottleneck_rate: None,
        delay: Time::from_us(5),
    }
    .build()
    .expect("the topology is sound");
    let node = |name: &str| topology.names.iter().position(|n| n == name).unwrap() as NodeId;
    let long = |src, dst| FlowSpec {
        recorded: true,
        ..FlowSpec::between(node(src), node(dst))
    };
    let pairs = Pairs::Burst {
        from: (2..16).map(|host| node(&format!("H{host}"))).collect(),
        to: node("R1"),
        flows: BurstFlows::PerHost(16),
    };
    let burst = TrafficSpec::Pattern(Pattern {
        flow: FlowSettings {
            controlled: false,
            ..FlowSettings::default()
        },
        ..Pattern::new(pairs, Size::Fixed(64_000), Arrivals::once(burst))
    });
    let lasting = vec![long("H0", "R0"), long("H1", "R1")];
    let traffic = vec![TrafficSpec::Flows(lasting), burst];
    let ports = [
        ("S0", "S1"),
        ("S1", "S0"),
        ("S0", "H0"),
        ("S0", "H1"),
        ("S1", "R1"),
    ];
    let port = |(from, to): (&str, &str)| {
        let (from, to) = (node(from), node(to));
        let links = topology
            .fabric
            .links
            .iter()
            .filter(|l| l.a == from || l.b == from);
        let at = links
            .into_iter()
            .position(|l| l.a == to || l.b == to)
            .unwrap();
        (from, at as u16)
    };
    let ports = ports.into_iter().map(port).collect();
    let mut config = run(topology, scheme, traffic, stop);
    config.probes.ports = ports;
    config
}

/// PCN Fig. 14: load 0.6, each event 1 to 15 senders to one receiver.
fn clos(scheme: SchemeConfig, flows: u64, flow: FlowSettings) -> Config {
    let topology = clos_topology(8);
    let hosts: Vec<NodeId> = topology.hosts().collect();
    let load = 0.6 * 10e9 * hosts.len() as f64;
    let size = w1();
    let events_per_second = load / (8.0 * size.mean() * 8.0);
    let mut arrivals = Arrivals::poisson(events_per_second, Time::ZERO);
    arrivals.max_flows = Some(flows);
    let pairs = Pairs::Incast {
        from: hosts.clone(),
        to: hosts,
        senders: (1, 15),
    };
    let traffic = TrafficSpec::Pattern(Pattern {
        flow,
        ..Pattern::new(pairs, size, arrivals)
    });
    // Long enough for all flows to end; time in which nothing happens costs nothing.
    let stop = Time::from_ms(200) + Time::from_us(10) * flows;
    run(topology, scheme, vec![traffic], stop)
}

/// A case for comparison with UDP at a constant rate: nothing reacts, next to nothing is
/// acknowledged, and no link has more to carry than it can.
fn constant(flows: u64) -> Config {
    let flow = FlowSettings {
        rate_limit: Some(Rate::from_mbps(500)),
        controlled: false,
        ..FlowSettings::default()
    };
    let mut config = clos(SchemeConfig::default(), flows, flow);
    config.host.ack_every = u32::MAX;
    config.host.retransmit_timeout = Time::from_ms(1000);
    config
}

/// Slow links and few packets: windows cost more than what is in them.
fn capfc_fat_tree() -> Config {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../papers/capfc/scenarios/f8c.toml"
    );
    let scenario = Scenario::load(Path::new(file)).expect("it is shipped");
    let mut runs = scenario.runs().iter();
    let run = runs.find(|run| run.scheme == "CaPFC_cal");
    let mut config = run.expect("it is among its schemes").config.clone();
    config.stop = Time::from_ms(1000);
    config
}

/// The switch of the QCN-at-inputs paper, with the headers of that paper's frames.
fn cioq(spines: Option<SpinesConfig>) -> Config {
    let topology = SingleSwitch {
        hosts: 20,
        rate: Rate::from_gbps(10),
        delay: Time::from_us(1),
    }
    .build()
    .expect("the topology is sound");
    let traffic = permutation(&topology, Size::Fixed(10_000_000));
    let mut config = run(
        topology,
        SchemeConfig::default(),
        vec![traffic],
        Time::from_ms(20),
    );
    config.host.payload_bytes = 1474;
    config.switch.model = SwitchModel::Cioq(CioqConfig {
        spines,
        ..CioqConfig::default()
    });
    config.switch.pfc.threshold = PfcThreshold::Static {
        xoff_bytes: 110_000,
        xon_bytes: 44_000,
    };
    config
}

/// The same over switches with a pipeline and CaPFC, with PFC's threshold at ingress and egress.
fn pipelined(mut config: Config) -> Config {
    config.switch.model = SwitchModel::Pipeline(PipelineConfig {
        packets_per_second: 1_000_000_000,
        latency: Time::from_us(1),
        ingress: IngressParams {
            xoff: 512_000,
            xon: 510_000,
        },
        full_queue: FullQueue::Capfc(EgressParams {
            xoff: 512_000,
            xon: 510_000,
            warn: 510_000,
            ..EgressParams::default()
        }),
        memory: Memory::Dedicated {
            ingress_bytes: 600_000,
            egress_bytes: 1_500_000,
        },
    });
    config
}

fn nic() -> Config {
    let rate = Rate::from_gbps(40);
    let topology = SingleSwitch {
        hosts: 2,
        rate,
        delay: Time::from_us(5),
    }
    .build()
    .expect("the topology is sound");
    let hosts: Vec<NodeId> = topology.hosts().collect();
    let flow = |number: u64| FlowSpec {
        start: Time::from_ns(number),
        rate_limit: Some(Rate::from_mbps(39)),
        ..FlowSpec::between(hosts[0], hosts[1])
    };
    let flows = TrafficSpec::Flows((0..1024).map(flow).collect());
    run(topology, pcn(), vec![flows], Time::from_ms(200))
}

fn lone() -> Config {
    let topology = SingleSwitch {
        hosts: 16,
        rate: Rate::from_gbps(100),
        delay: Time::from_us(1),
    }
    .build()
    .expect("the topology is sound");
    let hosts: Vec<NodeId> = topology.hosts().collect();
    let flow = |number: usize| FlowSpec {
        size_bytes: Some(500_000_000),
        start: Time::from_us(number as u64),
        ..FlowSpec::between(hosts[number], hosts[number + 8])
    };
    let flows = TrafficSpec::Flows((0..8).map(flow).collect());
    let mut config = run(topology, dcqcn(), vec![flows], Time::from_ms(100));
    config.host.payload_bytes = 4096;
    config
}

fn incast() -> Config {
    let rate = Rate::from_gbps(40);
    let topology = SingleSwitch {
        hosts: 101,
        rate,
        delay: Time::from_us(1),
    }
    .build()
    .expect("the topology is sound");
    let hosts: Vec<NodeId> = topology.hosts().collect();
    let pairs = Pairs::Burst {
        from: hosts[1..].to_vec(),
        to: hosts[0],
        flows: BurstFlows::PerHost(1),
    };
    let at_zero = Arrivals::once(Time::ZERO);
    let burst = TrafficSpec::Pattern(Pattern::new(pairs, Size::Fixed(1_000_000), at_zero));
    let mut config = run(topology, dcqcn(), vec![burst], Time::from_ms(400));
    config.switch.lossless = 0;
    config.host.retransmit_timeout = Time::from_ms(1);
    config
}
