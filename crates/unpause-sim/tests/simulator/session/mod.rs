//! Runs that another program drives.

mod interrupted;
mod refusals;
mod windows;

use std::ops::ControlFlow;

use proptest::prelude::*;
use unpause_protocols::units::Time;
use unpause_sim::config::{Config, Direction, LinkEvent, NodeId, NodeKind};
use unpause_sim::results::Results;
use unpause_sim::session::{Completion, Message, Options, Refused, Session, What};
use unpause_sim::traffic::{Connections, FlowSettings, FlowSpec, Pool, TrafficSpec, Transport};

use crate::common::*;
use crate::following;
use crate::nics::two_planes;
use crate::random;
use crate::tcp;

fn message(src: NodeId, dst: NodeId, bytes: u64) -> Message {
    Message {
        src,
        dst,
        bytes,
        tag: 0,
        connection: Some(0),
    }
}

/// A star of this many hosts at 100 Gb/s, 1 us, without traffic.
fn idle_star(hosts: usize) -> Config {
    let mut config = config(star(&vec![gbps(100); hosts], us(1)), Vec::new(), ms(10));
    config.traffic.clear();
    config
}

fn open(config: &Config) -> Session {
    Session::open(config.clone(), Options::default()).expect("it can be driven")
}

fn next(session: &mut Session) -> Option<Completion> {
    session.advance(None).expect("all hosts are linked")
}

/// Who drives: what it sends next depends on what it is told.
struct Program {
    hosts: Vec<NodeId>,
    random: u64,
    /// Messages that it still sends, and timers that it still sets.
    left: u32,
    largest: u64,
    sent: Vec<(Time, Message)>,
    told: Vec<Completion>,
}

impl Program {
    fn new(config: &Config, seed: u64, messages: u32, largest: u64) -> Self {
        let nodes = (0..).zip(&config.fabric.nodes);
        let hosts = nodes.filter(|(_, kind)| **kind == NodeKind::Host);
        Self {
            hosts: hosts.map(|(id, _)| id).collect(),
            random: seed,
            left: messages,
            largest,
            sent: Vec::new(),
            told: Vec::new(),
        }
    }

    fn below(&mut self, end: u64) -> u64 {
        let step = self.random.wrapping_mul(6_364_136_223_846_793_005);
        self.random = step.wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % end
    }

    fn send(&mut self, session: &mut Session, src: Option<NodeId>) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        let count = self.hosts.len() as u64;
        let any = self.below(count) as usize;
        let src = src.unwrap_or(self.hosts[any]);
        let place = self.hosts.iter().position(|host| *host == src);
        let hop = 1 + self.below(count - 1);
        let dst = self.hosts[((place.expect("a host") as u64 + hop) % count) as usize];
        let message = Message {
            bytes: 1 + self.below(self.largest),
            connection: (self.below(2) == 0).then_some(self.below(3) as u32),
            ..message(src, dst, 1)
        };
        session.send(message).expect("it can be sent");
        self.sent.push((session.now(), message));
    }

    fn drive(&mut self, session: &mut Session) {
        for _ in 0..3 {
            self.send(session, None);
        }
        session.schedule(us(7), 0);
        while let Some(completion) = self.step(session) {
            self.told.push(completion);
            match completion.what {
                // From the very host, from any other, or later.
                What::Delivered(_, of) if self.below(3) > 0 => self.send(session, Some(of.dst)),
                What::Delivered(..) => self.send(session, None),
                What::Sent(_, of) if self.below(2) == 0 => self.send(session, Some(of.src)),
                What::Sent(..) => {
                    let delay = [0, 1, 1_000, 300_000][self.below(4) as usize];
                    session.schedule(ps(delay), 1);
                }
                What::Timer(_, 1) => self.send(session, None),
                What::Timer(..) => {}
            }
        }
    }

    /// Now and then it asks to come no further than a little.
    fn step(&mut self, session: &mut Session) -> Option<Completion> {
        while self.below(4) == 0 && !session.is_over() {
            let until = session.now() + ps(self.below(3_000_000));
            let completion = session.advance(Some(until)).expect("hosts are linked");
            if completion.is_some() {
                return completion;
            }
            assert!(session.is_over() || session.now() == until);
        }
        next(session)
    }
}

/// Drives `config`, and finds the results of the same messages in a scenario, on any number of shards; answers the
/// results.
fn assert_as_scenario(config: &Config, flow: FlowSettings, program: &mut Program) -> Results {
    let options = Options {
        flow,
        ..Options::default()
    };
    let mut session = Session::open(config.clone(), options).expect("it can be driven");
    program.drive(&mut session);
    let closed = session.soonest_end();
    let driven = session.finish(None).expect("hosts are linked");
    let listed = as_scenario(config, flow, program, &driven, closed);
    for threads in 1..=3 {
        let go_on = &mut |_| ControlFlow::Continue(());
        let same = unpause_sim::run_sequential(&listed, threads, go_on).expect("it is valid");
        assert_same(&driven, &same);
        assert!(same == driven, "as a scenario on {threads} shards");
    }
    driven
}

/// The scenario of the messages of a session that was `closed` then.
fn as_scenario(
    config: &Config,
    flow: FlowSettings,
    program: &Program,
    driven: &Results,
    closed: Time,
) -> Config {
    let mut listed = config.clone();
    listed.stop = closed.min(listed.stop);
    let entry = listed.traffic.len() as u16;
    let ports = driven.flows.iter().filter(|flow| flow.group == entry);
    let mut ports = ports.map(|flow| flow.source_port);
    let flows = program.sent.iter().map(|(start, message)| FlowSpec {
        start: *start,
        size_bytes: Some(message.bytes),
        priority: flow.priority_of(Some(message.bytes)),
        source_port: ports.next().expect("each message is a flow"),
        ..flow.flow(message.src, message.dst)
    });
    listed.traffic.push(TrafficSpec::Flows(flows.collect()));
    listed
}

/// Says where they differ first.
fn assert_same(driven: &Results, listed: &Results) {
    for (a, b) in driven.flows.iter().zip(&listed.flows) {
        assert_eq!(a, b);
    }
    assert_eq!(driven.flows.len(), listed.flows.len());
    for (a, b) in driven.packets.iter().zip(&listed.packets) {
        assert_eq!(a, b);
    }
    assert_eq!(driven.totals, listed.totals);
    assert_eq!(driven.ports, listed.ports);
    assert_eq!(driven.pauses, listed.pauses);
}

/// Callbacks report the same as the results.
fn assert_told(program: &Program, entry: u16, results: &Results) {
    let told = |wanted: u32| {
        let of = program.told.iter().filter(move |it| match it.what {
            What::Delivered(id, _) => id == wanted,
            _ => false,
        });
        of.map(|it| it.time).collect::<Vec<_>>()
    };
    for flow in results.flows.iter().filter(|flow| flow.group == entry) {
        let delivered = flow.fct.map(|fct| flow.start + fct);
        assert_eq!(told(flow.id), Vec::from_iter(delivered), "{flow:?}");
    }
    let times = program.told.iter().map(|it| it.time);
    assert!(times.is_sorted(), "completions come in order of time");
}

fn with_samples(config: &mut Config) {
    config.probes.interval = us(3);
    config.probes.ports = vec![(0, 0)];
    config.probes.packets = vec![(0, 0)];
    config.probes.causes = true;
    config.probes.acknowledged = true;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// On any fabric, beside other traffic.
    #[test]
    fn a_driven_run_is_that_of_the_same_flows(
        case in random::case(),
        scheme in 0usize..7,
        seed in any::<u64>(),
        recorded in any::<bool>(),
    ) {
        let (_, scheme) = schemes().swap_remove(scheme);
        let case = case.with_sizes_up_to(100_000);
        let mut config = case.config(scheme, ms(3));
        with_samples(&mut config);
        let flow = FlowSettings { recorded, ..FlowSettings::default() };
        let mut program = Program::new(&config, seed, 40, 60_000);
        let results = assert_as_scenario(&config, flow, &mut program);
        assert_told(&program, 1, &results);
    }
}

/// Two racks whose cables are short, which are clusters in a run that nobody drives.
fn racks() -> Config {
    let mut net = Net::default();
    let spine = net.switch();
    for _ in 0..2 {
        let leaf = net.switch();
        net.link(spine, leaf, gbps(100), us(6));
        for _ in 0..3 {
            net.host(leaf, gbps(40), Time::from_ns(100));
        }
    }
    let mut config = config(net.0, vec![sized(2, 6, 400_000)], ms(3));
    with_samples(&mut config);
    config
}

#[test]
fn clusters_do_not_matter() {
    let config = racks();
    let mut program = Program::new(&config, 5, 200, 40_000);
    let results = assert_as_scenario(&config, FlowSettings::default(), &mut program);
    assert_told(&program, 1, &results);
    assert_eq!(results.flows.len(), 201);
}

/// Packets are lost, and sent again.
#[test]
fn losses_do_not_matter() {
    let mut config = racks();
    config.switch.lossless = 0;
    config.switch.lossy_queue_bytes = 8_000;
    config.host.retransmit_timeout = us(40);
    let mut program = Program::new(&config, 5, 100, 40_000);
    let results = assert_as_scenario(&config, FlowSettings::default(), &mut program);
    assert_told(&program, 1, &results);
    assert!(results.totals.dropped_packets > 0);
}

/// The uplink of a rack, then the link of a host fails and returns, and loses frames to errors; what is lost is sent again.
#[test]
fn links_may_fail_and_return() {
    for (link, detection) in [(0, us(10)), (1, us(10)), (1, ms(1)), (4, us(3))] {
        let mut config = racks();
        config.host.retransmit_timeout = us(100);
        let change = |at, up| LinkEvent {
            at,
            link,
            direction: Direction::Both,
            up,
        };
        config.events.links = vec![change(us(60), false), change(us(300), true)];
        config.events.links.push(change(ms(2), false));
        config.events.detection = detection;
        let mut program = Program::new(&config, 5, 150, 40_000);
        let results = assert_as_scenario(&config, FlowSettings::default(), &mut program);
        assert_told(&program, 1, &results);
        let lost: u64 = results.losses.iter().map(|loss| loss.packets).sum();
        assert!(lost > 0 && results.link_changes.len() >= 4, "{link}");
    }
}

/// Hosts with two NICs, by both of which packets arrive.
#[test]
fn several_nics_do_not_matter() {
    let mut config = config(two_planes(5), vec![sized(2, 6, 400_000)], ms(3));
    with_samples(&mut config);
    let mut program = Program::new(&config, 5, 200, 40_000);
    let results = assert_as_scenario(&config, FlowSettings::default(), &mut program);
    assert_told(&program, 1, &results);
    assert_eq!(results.flows.len(), 201);
}

#[test]
fn tcp_can_be_driven() {
    let mut config = racks();
    let (law, params) = tcp::dctcp(tcp::params());
    config.scheme.tcp = law;
    config.host.tcp.recovery = params;
    config.switch.lossless = 0;
    config.switch.lossy_queue_bytes = 20_000;
    for connections in [Connections::New, Connections::Pool(Pool::new(true))] {
        let flow = FlowSettings {
            transport: Transport::Tcp,
            connections,
            ..FlowSettings::default()
        };
        let mut program = Program::new(&config, 3, 60, 40_000);
        let results = assert_as_scenario(&config, flow, &mut program);
        assert_told(&program, 1, &results);
        assert!(results.totals.flows_completed > 50);
    }
}

/// A ring all-reduce is 2 (N - 1) steps, each as long as a message that is alone.
#[test]
fn a_step_starts_the_instant_that_the_one_before_is_delivered() {
    let (hosts, bytes) = (8, 40_000);
    let mut session = open(&idle_star(hosts));
    let mut steps = vec![0; hosts + 1];
    let step = |session: &mut Session, host: u32| {
        let next = host % hosts as u32 + 1;
        session.send(message(host, next, bytes)).expect("it goes");
    };
    (1..=hosts as u32).for_each(|host| step(&mut session, host));
    let mut last = Time::ZERO;
    while let Some(completion) = next(&mut session) {
        if let What::Delivered(_, of) = completion.what {
            last = completion.time;
            steps[of.dst as usize] += 1;
            if steps[of.dst as usize] < 14 {
                step(&mut session, of.dst);
            }
        }
    }
    let results = session.finish(None).expect("hosts are linked");
    assert_eq!(results.flows.len(), 14 * hosts);
    // The same by flows that follow others.
    let followed = run(&following::ring(hosts, 14, bytes));
    let spans = |results: &Results| {
        let flows = results.flows.iter();
        let mut spans: Vec<_> = flows.map(|flow| (flow.start, flow.src, flow.fct)).collect();
        spans.sort_unstable();
        spans
    };
    assert_eq!(spans(&results), spans(&followed));
    let ends = followed.flows.iter().map(|flow| flow.start + fct(flow));
    assert_eq!(Some(last), ends.max());
}

/// First who knows that all has arrived, then what has arrived, then timers.
#[test]
fn completions_of_an_instant_have_an_order() {
    let mut session = open(&idle_star(4));
    // The same way, so that both come at the same times; the larger number first.
    session.send(message(3, 4, 5_000)).expect("it goes");
    session.send(message(1, 2, 5_000)).expect("it goes");
    let delivered = next(&mut session).expect("the first").time;
    let mut session = open(&idle_star(4));
    session.schedule(delivered, 8);
    session.send(message(3, 4, 5_000)).expect("it goes");
    session.send(message(1, 2, 5_000)).expect("it goes");
    session.schedule(delivered, 9);
    let mut order = Vec::new();
    while let Some(completion) = next(&mut session) {
        if let What::Timer(_, 8) = completion.what {
            session.schedule(Time::ZERO, 10);
        }
        order.push(match completion.what {
            What::Sent(id, _) => format!("sent {id}"),
            What::Delivered(id, _) => format!("delivered {id}"),
            What::Timer(_, tag) => format!("timer {tag}"),
        });
    }
    let expected = [
        "delivered 0",
        "delivered 1",
        "timer 8",
        "timer 9",
        "timer 10",
        "sent 0",
        "sent 1",
    ];
    assert_eq!(order, expected);
}

#[test]
fn a_session_without_work_stays_where_it_is() {
    let mut session = open(&idle_star(2));
    assert_eq!(next(&mut session), None);
    assert_eq!(session.now(), Time::ZERO);
    assert_eq!(session.advance(Some(us(5))), Ok(None));
    assert_eq!(session.now(), us(5));
    session.send(message(1, 2, 1_000)).expect("it goes");
    assert_eq!(session.open_messages(), 1);
    // The past is not come back to.
    assert_eq!(session.advance(Some(us(1))), Ok(None));
    assert_eq!(session.now(), us(5));
    assert_eq!(
        session.advance(Some(us(50))).map(|it| it.is_some()),
        Ok(true)
    );
    let results = session.finish(Some(us(70))).expect("hosts are linked");
    assert_eq!(results.totals.simulated, us(70));
    assert_eq!(results.flows[0].start, us(5));
}

#[test]
fn a_session_ends_with_its_scenario() {
    let mut config = idle_star(2);
    config.stop = us(10);
    let mut session = open(&config);
    session.send(message(1, 2, 1_000_000)).expect("it goes");
    assert_eq!(next(&mut session), None);
    assert!(session.is_over());
    assert_eq!((session.now(), session.open_messages()), (us(10), 1));
    let refused = session.send(message(1, 2, 1));
    assert_eq!(refused, Err(Refused::Over(us(10))));
    let results = session.finish(None).expect("hosts are linked");
    assert_eq!(results.totals.simulated, us(10));
    assert_eq!(results.flows[0].fct, None);
}

#[test]
fn only_what_is_asked_for_is_told() {
    for (acknowledged, delivered) in [(true, false), (false, true), (false, false)] {
        let options = Options {
            acknowledged,
            delivered,
            ..Options::default()
        };
        let mut session = Session::open(idle_star(2), options).expect("it can be driven");
        session.send(message(1, 2, 1_000)).expect("it goes");
        session.schedule(us(100), 0);
        let mut told = Vec::new();
        while let Some(completion) = next(&mut session) {
            told.push(matches!(completion.what, What::Timer(..)));
        }
        let of_messages = told.iter().filter(|timer| !**timer).count();
        let asked = usize::from(acknowledged) + usize::from(delivered);
        assert_eq!((of_messages, told.len()), (asked, asked + 1));
    }
}
