//! Sessions do not cut windows, and step only through hosts that hold packets back.

use unpause_sim::config::SlowReceiver;
use unpause_sim::traffic::{ExtraDelay, FlowSettings};

use super::{Program, as_scenario, assert_as_scenario, assert_told, idle_star, open, racks};
use crate::common::*;
use crate::{cbfc, credits};

/// A window is run once, even if flows end in it and messages are sent.
#[test]
fn completions_cut_no_turn() {
    let config = idle_star(8);
    let mut program = Program::new(&config, 5, 400, 200_000);
    let mut session = open(&config);
    program.drive(&mut session);
    let closed = session.soonest_end();
    let driven = session.finish(None).expect("hosts are linked");
    let flow = FlowSettings::default();
    let listed = run(&as_scenario(&config, flow, &program, &driven, closed));
    assert!(driven == listed, "it is the same run");
    let [with, without] = [driven, listed].map(|it| it.totals.windows.0);
    let instants = program.told.iter().map(|it| it.time);
    let instants = instants.collect::<std::collections::BTreeSet<_>>().len() as u64;
    assert!(instants > without, "{instants} instants, {without} windows");
    assert!(with <= without + without / 20, "{with}, not {without}");
}

/// Packets that a host holds back end flows when a timer expires.
#[test]
fn delays_at_hosts_do_not_matter() {
    let mut config = racks();
    config.host.slow_receiver = Some(SlowReceiver {
        hosts: vec![3],
        drain_rate: gbps(4),
        start: us(20),
        stop: us(200),
        xoff_bytes: 50_000,
        xon_bytes: 25_000,
        buffer_bytes: None,
    });
    let flow = FlowSettings {
        extra_delay: ExtraDelay::Fixed(us(4)),
        ..FlowSettings::default()
    };
    let mut program = Program::new(&config, 9, 60, 20_000);
    let results = assert_as_scenario(&config, flow, &mut program);
    assert_told(&program, 1, &results);
    let mut program = Program::new(&config, 9, 60, 20_000);
    let results = assert_as_scenario(&config, FlowSettings::default(), &mut program);
    assert_told(&program, 1, &results);
}

/// The same where every packet waits for a pacer or for credits.
#[test]
fn credits_do_not_matter() {
    let receivers = credits::with_nscc(credits::star_of(5, Vec::new()));
    let mut links = idle_star(5);
    links.switch.cbfc = cbfc::credits(Some(9_000));
    for mut config in [receivers, links] {
        config.traffic.clear();
        config.probes.packets = vec![(0, 0)];
        let mut program = Program::new(&config, 5, 60, 40_000);
        let results = assert_as_scenario(&config, FlowSettings::default(), &mut program);
        assert_told(&program, 0, &results);
        assert_eq!(results.flows.len(), 60);
    }
}
