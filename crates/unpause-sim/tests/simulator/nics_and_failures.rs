//! Hosts with several NICs, of which links fail.

use unpause_protocols::units::Time;
use unpause_sim::config::{Config, Direction, Events, Fabric, LinkEvent, NicModel, NodeKind};
use unpause_sim::traffic::{FlowSpec, Transport};

use crate::common::*;
use crate::nics::{from_port, records_all, spray, two_planes};
use crate::ranks::assert_ranks_do_not_matter;
use crate::threads::assert_threads_do_not_matter;

/// Hosts 4 and 5 have a NIC at each of the leaves 0 and 1, hosts 6 and 7 at 2 and 3; links 0 to 3 lead from the leaves to a spine.
fn dual_homed() -> Fabric {
    let mut net = Net::default();
    let leaves = [0; 4].map(|_| net.switch());
    let hosts = [0; 4].map(|_| net.node(NodeKind::Host));
    let spine = net.switch();
    for leaf in leaves {
        net.link(leaf, spine, gbps(40), us(1));
    }
    for (at, host) in hosts.into_iter().enumerate() {
        for leaf in &leaves[at / 2 * 2..][..2] {
            net.link(host, *leaf, gbps(40), us(1));
        }
    }
    net.0
}

/// A link fails at 100 us and does not return before the end.
fn fails(link: usize, direction: Direction) -> Events {
    let down = LinkEvent {
        at: us(100),
        link,
        direction,
        up: false,
    };
    Events {
        links: vec![down],
        detection: us(20),
        convergence: us(10),
        ..Events::default()
    }
}

/// Eight flows of RoCE and TCP from hosts of the first leaves to those of the others, by both NICs of each.
fn pairs(nic: NicModel) -> Config {
    let flows = (0..8u16).map(|at| FlowSpec {
        transport: match at % 3 {
            2 => Transport::Tcp,
            _ => Transport::Roce,
        },
        source_port: 31 * at,
        ..sized(4 + u32::from(at) % 2, 6 + u32::from(at) / 4, 2_000_000)
    });
    let mut config = config(dual_homed(), flows.collect(), ms(40));
    config.host.nic = nic;
    config.host.retransmit_timeout = us(200);
    config.switch.lossy_queue_bytes = 100_000;
    config.scheme = dcqcn();
    config
}

/// Failures of an uplink of a leaf and of a NIC's own link, at senders and receivers, in one direction or both.
#[test]
fn flows_go_to_the_other_nic_when_there_is_no_path_from_theirs() {
    // Link 4 is NIC 0 of host 4, link 8 that of host 6. The NICs that lead nowhere without the link:
    let cases = [(0, vec![4, 5]), (2, vec![6, 7]), (4, vec![4]), (8, vec![6])];
    for nic in [NicModel::Own, NicModel::Hpcc] {
        for (link, hosts) in &cases {
            for direction in [Direction::Both, Direction::Forward, Direction::Backward] {
                let what = format!("{nic:?}, link {link}, {direction:?}");
                let mut config = pairs(nic);
                config.events = fails(*link, direction);
                records_all(&mut config);
                let results = run(&config);
                assert_complete(&results);
                let lost: u64 = results.losses.iter().map(|it| it.packets).sum();
                assert!(lost > 0, "{what}");
                // All know after 30 us.
                let by_first = results.packets.iter().filter(|it| it.port == 0);
                let mut by_first = by_first.filter(|it| hosts.contains(&it.node));
                assert!(by_first.any(|it| it.time < us(100)), "{what}");
                let late = by_first.find(|it| it.time > us(131));
                assert!(late.is_none(), "{what}: {late:?}");
            }
        }
    }
}

/// Flows return with the link; threads and ranks do not matter.
#[test]
fn flows_return_with_the_link() {
    for (link, nic) in [(0, NicModel::Own), (4, NicModel::Own), (4, NicModel::Hpcc)] {
        let mut config = pairs(nic);
        config.events = fails(link, Direction::Both);
        config.events.links.push(LinkEvent {
            at: us(500),
            up: true,
            ..config.events.links[0]
        });
        records_all(&mut config);
        let results = run(&config);
        assert_complete(&results);
        let sends = |from, to| {
            let packets = results.packets.iter();
            packets
                .filter(|it| (it.node, it.port) == (4, 0) && from < it.time && it.time < to)
                .count()
        };
        assert!(sends(Time::ZERO, us(100)) > 0);
        assert_eq!(sends(us(160), us(500)), 0, "link {link}");
        assert!(sends(us(530), us(1_000)) > 0, "link {link}");
        assert_threads_do_not_matter("NICs and failures", &config);
        assert!(assert_ranks_do_not_matter("NICs and failures", &config) == results);
    }
}

/// A link fails that no flow uses: hosts follow other routes, and flows keep their NICs and their turns.
#[test]
fn routes_that_do_not_concern_a_flow_leave_it_its_turn() {
    let cases = [
        (NicModel::Own, true),
        (NicModel::Own, false),
        (NicModel::Hpcc, false),
    ];
    for (nic, sprays) in cases {
        let flows = (0..7u16).map(|at| from_port(sized(2, 3, 500_000), 31 * at));
        let mut config = config(two_planes(4), flows.collect(), ms(5));
        config.host.nic = nic;
        if sprays {
            spray(&mut config);
        }
        records_all(&mut config);
        let order = |config: &Config| {
            let results = run(config);
            assert_complete(&results);
            let sent = results.packets.into_iter().filter(|it| it.node == 2);
            sent.map(|it| (it.time, it.port, it.flow))
                .collect::<Vec<_>>()
        };
        let undisturbed = order(&config);
        // That of host 5 at switch 0.
        config.events = fails(3, Direction::Both);
        assert!(order(&config) == undisturbed, "{nic:?}, sprays: {sprays}");
    }
}

/// Both NICs of a host fail, one returns, then the other.
#[test]
fn sprayed_flows_wait_for_a_nic_that_returns() {
    let flows = (0..7u16).map(|at| from_port(sized(2, 3, 500_000), 31 * at));
    let mut config = config(two_planes(4), flows.collect(), ms(5));
    spray(&mut config);
    config.host.retransmit_timeout = us(200);
    let events = [
        (100, 0, false),
        (150, 4, false),
        (600, 4, true),
        (800, 0, true),
    ];
    config.events = fails(0, Direction::Both);
    config.events.links = events
        .map(|(at, link, up)| LinkEvent {
            at: us(at),
            link,
            direction: Direction::Both,
            up,
        })
        .to_vec();
    records_all(&mut config);
    let results = run(&config);
    assert_complete(&results);
    let sends = |nic, from, to| {
        let packets = results.packets.iter();
        let own = packets.filter(|it| (it.node, it.port) == (2, nic));
        own.filter(|it| us(from) < it.time && it.time < us(to))
            .count()
    };
    for (nic, from, to, some) in [
        (0, 0, 100, true),
        (1, 0, 100, true),
        (0, 150, 800, false),
        (1, 150, 600, false),
        (1, 650, 800, true),
        (0, 850, 1_500, true),
        (1, 850, 1_500, true),
    ] {
        let sent = sends(nic, from, to);
        assert_eq!(sent > 0, some, "NIC {nic}, {from} to {to} us: {sent}");
    }
    assert_threads_do_not_matter("both NICs fail", &config);
}

/// A sprayed flow that no NIC leads to the receiver of, until a link returns.
#[test]
fn a_sprayed_flow_without_a_path_goes_on_when_there_is_one() {
    let mut net = Net(two_planes(2));
    let near = net.host(0, gbps(40), us(1));
    let mut config = config(net.0, vec![sized(2, near, 1_000_000)], ms(20));
    spray(&mut config);
    // The only link of the receiver.
    config.events = fails(4, Direction::Both);
    config.events.links.push(LinkEvent {
        at: us(500),
        up: true,
        ..config.events.links[0]
    });
    let results = run(&config);
    assert_complete(&results);
    assert!(results.flows[0].fct > Some(us(500)));
    assert_threads_do_not_matter("sprayed over NICs without a path", &config);
}
