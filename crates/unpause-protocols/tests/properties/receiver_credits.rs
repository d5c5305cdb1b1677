//! RCCC: credits are neither made nor lost, whatever the network loses.

use proptest::prelude::*;
use unpause_protocols::congestion_control::receiver_credits::pacer::{
    Flow, PULL_UNITS, Pacer, Pull,
};
use unpause_protocols::congestion_control::receiver_credits::sender::{Credit, Demand, UNIT_BYTES};
use unpause_protocols::units::{Rate, Time};

const FLOWS: usize = 4;
const PACKET: u32 = 4150;

#[derive(Clone, Copy, Debug)]
enum Arrival {
    Whole,
    Trimmed,
    Lost,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// More to send.
    Post(usize, u32),
    Send(usize, Arrival),
    /// The pacer's next pull arrives, or is lost.
    Pull(bool),
    Acknowledge(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let arrival = prop_oneof![
        4 => Just(Arrival::Whole),
        1 => Just(Arrival::Trimmed),
        1 => Just(Arrival::Lost),
    ];
    prop_oneof![
        1 => (0..FLOWS, 0..1_000_000_u32).prop_map(|(flow, bytes)| Step::Post(flow, bytes)),
        6 => (0..FLOWS, arrival).prop_map(|(flow, arrival)| Step::Send(flow, arrival)),
        4 => prop::bool::weighted(0.8).prop_map(Step::Pull),
        1 => (0..FLOWS).prop_map(Step::Acknowledge),
    ]
}

#[derive(Clone, Copy)]
struct Sender {
    credit: Credit,
    backlog: u64,
    repairs: u64,
    sent: u64,
}

impl Sender {
    /// Sends a packet if it may and has one, and answers its pull target.
    fn send(&mut self) -> Option<u64> {
        let left = if self.repairs > 0 {
            &mut self.repairs
        } else {
            &mut self.backlog
        };
        let bytes = (*left).min(u64::from(PACKET));
        if bytes == 0 || !self.credit.may_send() {
            return None;
        }
        *left -= bytes;
        self.sent += bytes;
        self.credit.on_sent(bytes as u32);
        Some(self.target())
    }

    fn target(&self) -> u64 {
        self.credit.pull_target(&Demand {
            backlog: self.backlog,
            repairs: self.repairs,
            window: None,
            flows: 1,
        })
    }

    fn left(&self) -> u64 {
        self.backlog + self.repairs
    }
}

struct Model {
    most: u64,
    senders: [Sender; FLOWS],
    flows: [Flow; FLOWS],
    pacer: Pacer,
    /// Packets that the receiver knows of.
    packets: u64,
    now: Time,
    /// When the first pull left and the units granted before the last one.
    first: Option<Time>,
    before: u64,
    granted: u64,
}

impl Model {
    fn new(most: u64) -> Self {
        let sender = Sender {
            credit: Credit::new(most, PACKET),
            backlog: 0,
            repairs: 0,
            sent: 0,
        };
        Self {
            most,
            senders: [sender; FLOWS],
            flows: [Flow::new(most); FLOWS],
            pacer: Pacer::new(Rate::from_gbps(100)),
            packets: 0,
            now: Time::ZERO,
            first: None,
            before: 0,
            granted: 0,
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Post(flow, bytes) => self.senders[flow].backlog += u64::from(bytes),
            Step::Acknowledge(flow) => self.senders[flow].credit.on_feedback(),
            Step::Pull(arrives) => self.pull(arrives),
            Step::Send(flow, arrival) => {
                let Some(target) = self.senders[flow].send() else {
                    return;
                };
                self.packets += 1;
                let (pacer, flows) = (&mut self.pacer, &mut self.flows[..]);
                let number = flow as u32;
                match arrival {
                    Arrival::Whole => pacer.on_target(flows, number, self.now, target),
                    Arrival::Trimmed => {
                        pacer.on_target(flows, number, self.now, target);
                        pacer.on_trim(flows, number, self.now);
                        self.senders[flow].repairs += u64::from(PACKET);
                    }
                    Arrival::Lost => self.senders[flow].repairs += u64::from(PACKET),
                }
            }
        }
    }

    /// The request of a sender that has waited long enough for credit.
    fn request_to_send(&mut self, flow: usize) {
        let sender = &self.senders[flow];
        if sender.left() > 0 && !sender.credit.may_send() {
            let (number, target) = (flow as u32, sender.target());
            self.packets += 1;
            let flows = &mut self.flows[..];
            self.pacer.on_target(flows, number, self.now, target);
            self.pacer.on_trim(flows, number, self.now);
        }
    }

    fn pull(&mut self, arrives: bool) {
        let due = self.pacer.next_timer();
        if due.is_never() {
            return;
        }
        self.now = self.now.max(due);
        let waiting = self.flows.iter().any(|flow| flow.wanted() > flow.granted());
        let before: Vec<u64> = self.flows.iter().map(Flow::granted).collect();
        let Some(Pull {
            flow,
            granted,
            slow,
        }) = self.pacer.on_timer(&mut self.flows[..], self.now)
        else {
            assert!(!waiting, "the pacer stops while a flow wants more");
            return;
        };
        let flow = flow as usize;
        let more = granted - before[flow];
        assert!(more <= PULL_UNITS && granted == self.flows[flow].granted());
        assert!(!(slow && waiting), "a slow pull while a flow wants more");
        self.first.get_or_insert(self.now);
        self.before = self.granted;
        self.granted += more;
        if arrives {
            self.senders[flow].credit.on_pull(granted);
        }
    }

    fn check(&self) {
        for (sender, flow) in self.senders.iter().zip(&self.flows) {
            let (credit, pulled) = (sender.credit.bytes(), sender.credit.pulled());
            assert!(-i64::from(PACKET) < credit && credit <= self.most as i64);
            assert!(pulled <= flow.granted());
            assert!(sender.sent <= self.most + pulled * UNIT_BYTES + u64::from(PACKET));
            let unused = flow.granted().saturating_sub(flow.wanted());
            // A flow that has enough still gets a slow pull whenever it has been in turn.
            let slow_pulls = PULL_UNITS * self.packets;
            assert!(unused <= self.most / UNIT_BYTES + slow_pulls);
        }
        let total: u64 = self.flows.iter().map(Flow::granted).sum();
        assert_eq!(total, self.granted);
        if let Some(first) = self.first {
            // Those before the last pull have had their time.
            let passed = self.now.saturating_sub(first);
            let bytes = Rate::from_mbps(99_000).bytes_begun_in(passed) + 1;
            assert!(self.before * UNIT_BYTES <= bytes);
        }
    }
}

proptest! {
    #[test]
    fn credits_are_conserved(
        most in 1..1_000_000_u64,
        steps in prop::collection::vec(step(), 1..400),
    ) {
        let mut model = Model::new(most);
        for step in steps {
            model.step(step);
            model.check();
        }
        // Once nothing is lost any more, everything is sent.
        for _ in 0..20_000 {
            if model.senders.iter().all(|sender| sender.left() == 0) {
                return Ok(());
            }
            for flow in 0..FLOWS {
                model.step(Step::Send(flow, Arrival::Whole));
                model.request_to_send(flow);
            }
            model.step(Step::Pull(true));
            model.check();
        }
        let left = model.senders.map(|sender| (sender.credit, sender.left()));
        prop_assert!(false, "{left:?}");
    }

    /// With the same to ask for, no flow gets two pulls more than another.
    #[test]
    fn flows_that_ask_take_turns(asked in prop::collection::vec(1..4_u64, 2..FLOWS)) {
        let mut flows = [Flow::new(1 << 20); FLOWS];
        let mut pacer = Pacer::new(Rate::from_gbps(400));
        for number in 0..asked.len() {
            pacer.on_target(&mut flows[..], number as u32, Time::ZERO, 100 * PULL_UNITS);
        }
        for _ in 0..50 * asked.len() {
            let now = pacer.next_timer();
            pacer.on_timer(&mut flows[..], now);
            let granted = || flows[..asked.len()].iter().map(Flow::granted);
            prop_assert!(granted().max() <= granted().min().map(|least| least + PULL_UNITS));
        }
    }
}
