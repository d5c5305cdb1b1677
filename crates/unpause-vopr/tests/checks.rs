//! Each check answers for what it is there for: results are made wrong on purpose.

use unpause_protocols::scheduler::{self, dwrr};
use unpause_protocols::units::{Rate, Time};
use unpause_sim::config::{Config, FullQueue, PipelineConfig, SwitchModel};
use unpause_sim::results::{Deadlock, PacketRecord, PauseRecord, Results};
use unpause_sim::traffic::TrafficSpec;

use unpause_vopr::case::Case;
use unpause_vopr::checks::{CHECKS, broken};
use unpause_vopr::judge::with_every_probe;
use unpause_vopr::simulate::{How, simulate};

const SCENARIO: &str = "duration = '200us'
[topology]
builder = 'single-switch'
hosts = 4
rate = '10Gbps'
delay = '1us'
[switch]
lossy_queue = '20KB'
[pfc]
xoff = '4KB'
[[scheme]]
name = 'DCQCN'
congestion_control = 'dcqcn'
dcqcn = { kmin = '1KB', kmax = '2KB' }
[[traffic]]
name = 'a'
kind = 'burst'
from = 'H1..H3'
to = 'H0'
size = '30KB'
";

/// Two priorities without PFC that take turns, and queues that are never empty.
const TURNS: &str = "duration = '50us'
[topology]
builder = 'single-switch'
hosts = 3
rate = '10Gbps'
delay = '1us'
[switch]
lossless = []
[switch.scheduler]
kind = 'dwrr'
weights = { 1 = 1, 2 = 3 }
[[scheme]]
name = 'none'
[[traffic]]
name = 'a'
kind = 'flow'
from = 'H1'
to = 'H0'
priority = 1
[[traffic]]
name = 'b'
kind = 'flow'
from = 'H2'
to = 'H0'
priority = 2
";

/// Links with retry that keep little more than a frame, so that PFC frames wait for an acknowledgement.
const SMALL_REPLAY_BUFFER: &str = "duration = '7431225ps'
[topology]
builder = 'single-switch'
hosts = 2
rate = '10Gbps'
delay = '415567ps'
[switch]
model = 'pipeline'
[switch.pipeline]
ingress_xon = '0B'
ingress_xoff = '0B'
latency = '1ps'
[link]
retry = 'llr'
retry_buffer = '1168B'
[[scheme]]
name = 'none'
[[traffic]]
name = 'a'
kind = 'flow'
from = 'H0'
to = 'H1'
[[traffic]]
name = 'b'
kind = 'flow'
from = 'H1'
to = 'H0'
";

fn measured() -> (Config, Results) {
    measure(SCENARIO)
}

fn measure(scenario: &str) -> (Config, Results) {
    measure_with(scenario, &[])
}

fn measure_with(scenario: &str, files: &[(&str, &str)]) -> (Config, Results) {
    let files = files.iter();
    let case = Case {
        seed: 1,
        document: scenario.parse().unwrap(),
        files: files
            .map(|(name, text)| ((*name).into(), (*text).into()))
            .collect(),
    };
    let directory = tempfile::tempdir().unwrap();
    let scenario = case.compile(directory.path()).unwrap();
    let config = with_every_probe(&scenario.runs()[0].config);
    let results = simulate(&config, How::OnThreads(1)).unwrap();
    (config, results)
}

/// Names of the checks that fail.
fn failing(config: &Config, results: &Results) -> Vec<&'static str> {
    let failing = CHECKS
        .iter()
        .filter(|(_, check)| check(config, results).is_err());
    failing.map(|(name, _)| *name).collect()
}

#[test]
fn what_was_measured_passes() {
    let (config, results) = measured();
    assert_eq!(failing(&config, &results), Vec::<&str>::new());
    assert!(!results.pauses.is_empty() && results.totals.marked_packets > 0);
    assert!(!results.flow_series.is_empty() && !results.packets.is_empty());
}

#[test]
fn wrong_totals_and_series_fail_their_checks() {
    fails(&[
        ("conservation", |_, r| {
            r.totals.delivered_packets = r.totals.data_packets + 1
        }),
        ("conservation", |_, r| r.totals.marked_packets += 1),
        ("flows", |_, r| r.flows[0].delivered_bytes += 1),
        ("flows", |_, r| r.totals.flows_completed += 1),
        ("ideal", |_, r| {
            r.flows[0].fct = r.flows[0]
                .ideal_fct
                .map(|t| t.saturating_sub(Time::from_ps(1)));
        }),
        ("notifications", |_, r| {
            r.flows[0].notifications = r.totals.notifications + 1
        }),
        ("marks", |_, r| r.ports[0].cnm_packets = 1),
        ("deadlock", |_, r| {
            let (began, cycle) = (Time::ZERO, vec![(4, 0, 3)]);
            r.deadlock = Some(Deadlock { began, cycle });
        }),
        ("pauses", |_, r| {
            let again = PauseRecord { ..r.pauses[0] };
            r.pauses.insert(0, again);
        }),
        ("pauses", |_, r| {
            // All that the link carries, and it was held, too.
            let held = r.ports.iter_mut().find(|p| p.paused > Time::ZERO);
            held.unwrap().tx_bytes =
                10_000_000_000 / 8 / 1000 * r.totals.simulated.as_ps() / 1_000_000_000;
        }),
        ("packets", |_, r| {
            let late = r.pauses.iter_mut().find(|p| p.start > p.obeyed);
            let late = late.unwrap();
            late.start = late.obeyed;
        }),
        ("rates", |_, r| r.ports[0].tx_bytes += 300_000),
        ("buffers", |_, r| {
            let of_switch = r.ports.iter_mut().find(|p| p.node == 4 && p.priority == 7);
            of_switch.unwrap().max_queue_bytes = 20_001;
        }),
        ("lossless", |_, r| {
            r.ports
                .iter_mut()
                .find(|p| p.priority == 3)
                .unwrap()
                .headroom_dropped_packets = 1;
        }),
        ("series", |_, r| {
            r.flow_series[0].controller_rate = Some(Rate::from_gbps(11))
        }),
        ("series", |_, r| r.port_series[0].tx_bytes = u64::MAX),
        ("packets", |_, r| r.packets[0].arrival = Time::ZERO),
        ("packets", |_, r| {
            r.packets.pop();
        }),
        ("packets", |_, r| {
            r.packets[0].ce = true;
            r.packets[0].ect = false;
        }),
    ]);
}

#[test]
fn wrong_packets_and_limits_fail_their_checks() {
    fails(&[
        ("order", |_, r| {
            let last = r.packets.iter_mut().rfind(|p| p.dst == 0 && p.node == 4);
            last.unwrap().seq = 0;
        }),
        ("delivery", |_, r| r.totals.packet_hops += 1),
        ("delivery", |_, r| r.flows[0].delivered_bytes -= 1),
        ("delivery", |_, r| r.flows[0].notifications += 1),
        ("limits", |c, _| {
            let TrafficSpec::Pattern(burst) = &mut c.traffic[0] else {
                panic!("a burst")
            };
            burst.flow.rate_limit = Some(Rate::from_gbps(1));
        }),
        ("held", |_, r| {
            let of_switch = r
                .port_series
                .iter_mut()
                .find(|s| s.node == 4 && s.priority == 3);
            of_switch.unwrap().ingress_bytes += 1;
        }),
        ("xon", |_, r| {
            let pause = r.pauses.iter_mut().find(|pause| pause.node == 1);
            pause.unwrap().end = r.totals.simulated;
        }),
        ("again", |_, r| {
            let first = r.packets.iter_mut().find(|p| p.node == 1 && p.seq == 1);
            first.unwrap().seq = 2;
        }),
        ("again", |_, r| {
            let next = r.packets.iter_mut().find(|p| p.node == 1 && p.seq == 1);
            next.unwrap().seq = 0;
        }),
        ("emptied", |_, r| {
            let last = r.port_series.last_mut().unwrap();
            assert_eq!((last.node, last.time), (4, r.totals.simulated));
            last.ingress_bytes = 1;
        }),
        ("refresh", |_, r| {
            let pfc = r.packets.iter_mut().find_map(|p| p.pfc.as_mut());
            pfc.unwrap().pause = Time::from_ns(1);
        }),
        ("cut_through", |_, r| {
            let of_switch = |p: &&mut PacketRecord| p.node == 4 && p.kind.is_data();
            let packet = r.packets.iter_mut().find(of_switch).unwrap();
            packet.time = packet.time - Time::from_ps(1);
        }),
        ("service", |_, r| {
            let of_queue = |p: &PacketRecord| p.node == 4 && p.dst == 0 && p.kind.is_data();
            let at = r.packets.iter().position(of_queue).unwrap();
            let (before, after) = r.packets.split_at_mut(at + 1);
            let next = after.iter_mut().find(|p| of_queue(p)).unwrap();
            std::mem::swap(&mut before[at].flow, &mut next.flow);
        }),
        ("beyond_xoff", |_, r| {
            let of_switch = r.ports.iter_mut().find(|p| p.node == 4 && p.priority == 3);
            of_switch.unwrap().max_ingress_bytes = 1_000_000;
        }),
        ("lossless", |c, r| {
            c.switch.model = SwitchModel::Pipeline(PipelineConfig {
                full_queue: FullQueue::Stop,
                ..PipelineConfig::default()
            });
            let lossless = r.ports.iter_mut().find(|p| p.priority == 3);
            lossless.unwrap().dropped_packets = 1;
        }),
    ]);
}

/// Queues whose configuration says that they share in another way.
#[test]
fn turns_that_are_not_those_of_the_weights_are_seen() {
    let (config, results) = measure(TURNS);
    assert_eq!(failing(&config, &results), Vec::<&str>::new());
    let wrongs: [fn(&mut dwrr::Params); 2] = [
        |params| params.group[1] = 1,
        |params| params.quantum.swap(1, 2),
    ];
    for wrong in wrongs {
        let mut config = config.clone();
        let scheduler::Config::Dwrr(params) = &mut config.switch.scheduler else {
            panic!("queues take turns")
        };
        wrong(params);
        assert_eq!(failing(&config, &results), ["service"]);
    }
}

type Wrong = fn(&mut Config, &mut Results);

/// Each of these makes results wrong, and the check of this name finds that.
fn fails(cases: &[(&str, Wrong)]) {
    for (check, wrong) in cases {
        let (mut config, mut results) = measured();
        wrong(&mut config, &mut results);
        let failing = failing(&config, &results);
        assert!(failing.contains(check), "{check}: {failing:?}");
    }
}

/// An XON may wait until the replay buffer has room, and no longer.
#[test]
fn an_xon_waits_for_the_replay_buffer() {
    let (config, results) = measure(SMALL_REPLAY_BUFFER);
    assert!(!results.pauses.is_empty());
    assert_eq!(broken(&config, &results), None);
    let ends = SMALL_REPLAY_BUFFER
        .replace("7431225ps", "100us")
        .replace("kind = 'flow'", "kind = 'flow'\nsize = '5KB'");
    let (config, mut results) = measure(&ends);
    assert_eq!(broken(&config, &results), None);
    let last = results.pauses.last_mut().unwrap();
    last.end = results.totals.simulated;
    let (_, xon) = CHECKS.iter().find(|(name, _)| *name == "xon").unwrap();
    assert!(xon(&config, &results).is_err());
}

/// A connection for one message is forgotten with its last ACK; a notification that takes effect later has no sender.
#[test]
fn notifications_may_come_after_the_only_message() {
    let size = |rank: u32| 10_000 * (rank + 1);
    let send = |rank| {
        format!(
            "rank {rank} {{\nl0: send {}b to 3 tag {rank}\n}}\n",
            size(rank)
        )
    };
    let recv = |rank| format!("l{rank}: recv {}b from {rank} tag {rank}\n", size(rank));
    let (sends, recvs) = ((0..3).map(send), (0..3).map(recv));
    let goal = format!(
        "num_ranks 4\n{}rank 3 {{\n{}}}\n",
        sends.collect::<String>(),
        recvs.collect::<String>()
    );
    let mut heard = 0;
    for reaction in [0, 3_000, 10_000, 30_000] {
        let scenario = format!(
            "duration = '500us'
            [topology]
            builder = 'single-switch'
            hosts = 4
            rate = '2Gbps'
            delay = '1ns'
            [host]
            notification_reaction = '{reaction}ns'
            [[scheme]]
            name = 'PCN'
            congestion_control = 'pcn'
            [scheme.pcn]
            period = '1ps'
            [[job]]
            name = 'J'
            ranks = 'H0..H3'
            connection = 'per-message'
            goal = 'p.goal'"
        );
        let (config, results) = measure_with(&scenario, &[("p.goal", &goal)]);
        assert_eq!(broken(&config, &results), None, "{reaction} ns");
        heard += results
            .flows
            .iter()
            .map(|flow| flow.notifications)
            .sum::<u64>();
    }
    assert!(heard > 0);
}
