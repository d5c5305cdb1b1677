//! The trace of `tests/trace.c`, through Rust's interface.

mod sprayed;

use std::ffi::CStr;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use unpause_protocols::by_name::{self, Kind};
use unpause_protocols::congestion_control::{
    self, Ack, CongestionControl, Hop, Loss, Mechanism, Path,
};
use unpause_protocols::congestion_point::{
    self, CongestionPoint, Packet, Queue, Verdict, dctcp_red, faults, wred,
};
use unpause_protocols::flow_control::pfc;
use unpause_protocols::notification::{Notification, QcnFeedback};
use unpause_protocols::notification_point::{self, NotificationPoint};
use unpause_protocols::units::{Fraction, Rate, Time};
use unpause_wire::{
    Aeth, Body, Bth, CnpPayload, Dscp, Ecn, Ethernet, Frame, Ipv4, MacAddress, Opcode, Pause, Pfc,
    RoceBody, Syndrome,
};

/// The random generator of the C library for a seed.
pub fn generator(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

/// The trace's own numbers, and a digest of the answers.
struct Run {
    state: u64,
    hash: u64,
}

impl Run {
    fn new() -> Self {
        Self {
            state: 1,
            hash: 14_695_981_039_346_656_037,
        }
    }

    fn draw(&mut self) -> u64 {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.state >> 33
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.draw().is_multiple_of(n)
    }

    fn note(&mut self, value: u64) {
        self.hash = (self.hash ^ value).wrapping_mul(1_099_511_628_211);
    }

    fn note_notification(&mut self, it: Option<Notification>) {
        let (kind, rec_rate, feedback) = match it {
            None => (0, 0, None),
            Some(Notification::Cnp) => (1, 0, None),
            Some(Notification::Pcn {
                congested,
                rec_rate,
            }) => (2 + u64::from(congested), rec_rate, None),
            Some(Notification::Qcn(feedback)) => (4, 0, Some(feedback)),
        };
        self.note(kind);
        self.note(rec_rate.into());
        self.note(feedback.map_or(0, |feedback| feedback.qfb.into()));
        self.note(feedback.map_or(0, |feedback| (feedback.q_offset as u32).into()));
        self.note(feedback.map_or(0, |feedback| (feedback.q_delta as u32).into()));
    }
}

fn congestion_point(name: &str, config: &congestion_point::Config) -> String {
    let mut run = Run::new();
    let rng = &mut generator(7);
    let mut point = CongestionPoint::new(config, rng);
    let mut waiting = std::collections::VecDeque::new();
    let mut queue = Queue {
        bytes: 0,
        packets: 0,
    };
    let (mut now, mut marks) = (Time::ZERO, 0);
    for event in 0..20_000 {
        now += Time::from_ps(run.draw() % 3_000_000);
        match event % 97 {
            0 => point.on_pause(now),
            5 => point.on_resume(now, queue),
            _ => {}
        }
        let verdict = if waiting.is_empty() || run.draw() % 1000 < 505 {
            let packet = Packet {
                enqueued_at: now,
                bytes: 64 + (run.draw() % 1437) as u32,
                ect: !run.one_in(8),
            };
            waiting.push_back(packet);
            queue.bytes += u64::from(packet.bytes);
            queue.packets += 1;
            point.on_enqueue(now, &packet, queue, rng)
        } else {
            let packet = waiting.pop_front().expect("it is not empty");
            queue.bytes -= u64::from(packet.bytes);
            queue.packets -= 1;
            point.on_dequeue(now, &packet, queue, rng)
        };
        marks += u32::from(verdict == Verdict::MarkCe);
        let (kind, notification) = match verdict {
            Verdict::Pass | Verdict::Record => (0, None),
            Verdict::MarkCe => (1, None),
            Verdict::Drop => (2, None),
            Verdict::Notify(feedback) => (3, Some(Notification::Qcn(feedback))),
        };
        run.note(kind);
        run.note_notification(notification);
    }
    format!("congestion point {name}: {marks} marks, {:016x}", run.hash)
}

fn notification_point(name: &str, config: &notification_point::Config) -> String {
    let mut run = Run::new();
    let mut point = NotificationPoint::new(config);
    let (mut now, mut sent) = (Time::ZERO, 0);
    for event in 0..20_000 {
        now += Time::from_ps(run.draw() % 2_000_000);
        if event % 500 == 0 {
            now += Time::from_us(130);
        }
        while point.next_timer() <= now {
            let notification = point.on_timer(point.next_timer());
            run.note_notification(notification);
            sent += u32::from(notification.is_some());
        }
        let ce = event / 1000 % 2 == 0 || run.one_in(4);
        let notification = point.on_data(now, 1000, ce);
        run.note_notification(notification);
        sent += u32::from(notification.is_some());
    }
    format!("notification point {name}: {sent} sent, {:016x}", run.hash)
}

fn notification(run: &mut Run) -> Option<Notification> {
    let kind = run.draw() % 5;
    let rec_rate = (run.draw() % 10_000_000) as u32;
    let qfb = (run.draw() % 64) as u8;
    let q_offset = -((run.draw() % 50_000) as i32);
    let q_delta = (run.draw() % 5000) as i32;
    match kind {
        0 => None,
        1 => Some(Notification::Cnp),
        2 => Some(Notification::Pcn {
            congested: false,
            rec_rate: 0,
        }),
        3 => Some(Notification::Pcn {
            congested: true,
            rec_rate,
        }),
        _ => Some(Notification::Qcn(QcnFeedback {
            qfb,
            q_offset,
            q_delta,
        })),
    }
}

fn event(
    law: &mut CongestionControl,
    run: &mut Run,
    rng: &mut Xoshiro256PlusPlus,
    now: Time,
    sent: &mut u64,
) {
    match run.draw() % 16 {
        0..8 => {
            let rtt = Time::from_ps(10_000_000 + run.draw() % 200_000_000);
            let hop = |tx_bytes, queue_bytes, gbps| Hop {
                time: now,
                tx_bytes,
                queue_bytes,
                rate: Rate::from_gbps(gbps),
            };
            let hops = [hop(*sent, run.draw() % 20_000, 10), hop(3 * *sent, 0, 40)];
            let rtt = (!run.one_in(4)).then_some(rtt);
            let ce = run.one_in(3);
            law.on_ack(&Ack {
                now,
                rtt,
                bytes: 1000,
                ce,
                acknowledged: *sent,
                sent: *sent + 20_000,
                may_grow: !run.one_in(4),
                telemetry: &hops,
                digest: None,
            });
        }
        8..11 => {
            if let Some(notification) = notification(run) {
                law.on_notification(now, &notification, rng);
            }
        }
        11..15 => {
            *sent += 1000;
            law.on_sent(now, 1000, !run.one_in(8), rng);
        }
        _ if run.one_in(8) => {
            let window = 20_000;
            let loss = match run.draw() % 4 {
                0 => Loss::Mark,
                1 => Loss::Packet,
                again => Loss::Timeout {
                    again: again == 3,
                    window,
                },
            };
            law.on_loss(now, loss, 15_000);
            law.on_recovered(1_000_000);
        }
        _ => {}
    }
}

fn congestion_control(name: &str, config: &congestion_control::Config) -> String {
    let mut run = Run::new();
    let rng = &mut generator(7);
    let path = Path {
        initial_window: 10_000,
        ..Path::new(Rate::from_gbps(10), 1000)
    };
    let mut law = CongestionControl::new(config, &path);
    let (mut now, mut sent) = (Time::ZERO, 0);
    for _ in 0..20_000 {
        now += Time::from_ps(run.draw() % 3_000_000);
        while law.next_timer() <= now {
            law.on_timer(law.next_timer(), rng);
        }
        event(&mut law, &mut run, rng, now, &mut sent);
        run.note(law.rate().as_bps());
        run.note(law.window().unwrap_or(u64::MAX));
        run.note(law.ssthresh());
        run.note(law.next_timer().as_ps());
        run.note(law.burst_bytes().unwrap_or(0).into());
        run.note(law.is_ecn_capable().into());
    }
    let rate = law.rate().as_bps();
    format!("congestion control {name}: {rate} bit/s, {:016x}", run.hash)
}

fn pfc() -> String {
    use pfc::{Action, Change, Egress, Ingress, Params, PauseTime};
    let action = |it: Action| match it {
        Action::None => 0,
        Action::Xoff => 1,
        Action::Xon => 2,
    };
    let change = |it: Change| match it {
        Change::None => 0,
        Change::Paused => 1,
        Change::Resumed => 2,
    };
    let params = Params {
        pause_time: PauseTime::Quanta(400),
        ..Params::default()
    };
    let pause = params.pause_duration(Rate::from_gbps(10));
    let mut run = Run::new();
    let (mut ingress, mut egress) = (Ingress::new(), Egress::new());
    let (mut now, mut held) = (Time::ZERO, 0);
    for _ in 0..20_000 {
        now += Time::from_ps(run.draw() % 3_000_000);
        run.note(action(ingress.on_timer(now, pause, &params)));
        run.note(change(egress.on_timer(now)));
        let asked = if held < 1000 || run.one_in(2) {
            held += 1000;
            ingress.on_admit(now, 1000, 50_000, pause, &params)
        } else {
            held -= 1000;
            ingress.on_release(now, 1000, 48_000)
        };
        run.note(action(asked));
        run.note(ingress.bytes());
        run.note(ingress.next_timer().as_ps());
        run.note(ingress.is_xoff().into());
        match asked {
            Action::None => {}
            Action::Xoff => run.note(change(egress.on_frame(now, pause))),
            Action::Xon => run.note(change(egress.on_frame(now, Time::ZERO))),
        }
        run.note(egress.next_timer().as_ps());
        run.note(egress.is_paused().into());
    }
    format!("pfc: {held} bytes, {:016x}", run.hash)
}

/// A line for each mechanism, in the order of the library's lists.
pub fn all() -> Vec<String> {
    let kinds = [
        Kind::CongestionPoint,
        Kind::NotificationPoint,
        Kind::CongestionControl,
    ];
    let line = |(name, config): (&CStr, by_name::Config)| {
        let name = name.to_str().expect("names are ASCII");
        match config {
            by_name::Config::CongestionPoint(it) => congestion_point(name, &set(it)),
            by_name::Config::NotificationPoint(it) => notification_point(name, &it),
            by_name::Config::CongestionControl(it) => congestion_control(name, &it),
            _ => unreachable!("of these kinds"),
        }
    };
    let all = kinds.into_iter().flat_map(by_name::Config::all);
    let mut lines: Vec<String> = all.map(line).collect();
    lines.push(pfc());
    lines.extend(sprayed::all());
    lines
}

/// Other parameters where the trace would not show anything by default.
fn set(config: congestion_point::Config) -> congestion_point::Config {
    use congestion_point::Config as Point;
    match config {
        Point::DctcpRed(_) => Point::DctcpRed(dctcp_red::Params {
            threshold: dctcp_red::Threshold::Bytes(20_000),
        }),
        Point::Wred(_) => Point::Wred(wred::Params {
            kmin: 5_000,
            kmax: 60_000,
            pmax: Fraction::of(1, 10),
        }),
        Point::Faults(_) => {
            let mut faults = faults::Params::random(Fraction::of(1, 100));
            faults.mark[5] = 77;
            Point::Faults(faults)
        }
        other => other,
    }
}

/// The lines that `tests/trace.c` prints for each kind of frame: its fields, and the bytes that `unpause-wire` builds.
pub fn frames() -> Vec<String> {
    let payload: Vec<u8> = (0..300u16).map(|at| at as u8).collect();
    let mut vector = [0; 8];
    (vector[0], vector[3]) = (100, 65_535);
    let acknowledgement = |syndrome| RoceBody::Ack(Aeth { syndrome, msn: 5 });
    let roce = |body| Body::Roce {
        ip: Ipv4 {
            dscp: Dscp::class_selector(3),
            ecn: Ecn::Ce,
            identification: 0,
            dont_fragment: true,
            ttl: 64,
            source: [10, 0, 0, 1].into(),
            destination: [10, 0, 0, 9].into(),
        },
        source_port: 50_000,
        bth: Bth::to(2, 77),
        body,
    };
    let opcode = Opcode::SEND_MIDDLE;
    let data = RoceBody::Data {
        opcode,
        payload: &payload,
    };
    let enabled = 8;
    let bodies = [
        (
            Body::Pause(Pause { quanta: 100 }),
            "ecn 0 rec_rate 0 psn 0 msn 0 classes 0 quanta 100 0 payload 0",
        ),
        (
            Body::Pfc(Pfc {
                enabled,
                quanta: vector,
            }),
            "ecn 0 rec_rate 0 psn 0 msn 0 classes 8 quanta 100 65535 payload 0",
        ),
        (
            roce(data),
            "ecn 3 rec_rate 0 psn 77 msn 0 classes 0 quanta 0 0 payload 300",
        ),
        (
            roce(acknowledgement(Syndrome::Ack { credits: 31 })),
            "ecn 3 rec_rate 0 psn 77 msn 5 classes 0 quanta 0 0 payload 0",
        ),
        (
            roce(acknowledgement(Syndrome::SEQUENCE_ERROR)),
            "ecn 3 rec_rate 0 psn 77 msn 5 classes 0 quanta 0 0 payload 0",
        ),
        (
            roce(RoceBody::Cnp(CnpPayload::with_rec_rate(123_456))),
            "ecn 3 rec_rate 123456 psn 77 msn 0 classes 0 quanta 0 0 payload 0",
        ),
    ];
    let line = |(kind, (body, fields)): (usize, (Body<'_>, &str))| {
        let control = matches!(body, Body::Pause(_) | Body::Pfc(_));
        let destination = if control {
            MacAddress::MAC_CONTROL
        } else {
            MacAddress::local(9)
        };
        let ethernet = Ethernet {
            destination,
            source: MacAddress::local(1),
            tag: None,
        };
        let frame = Frame {
            ethernet,
            cn_tag: None,
            body,
        };
        let mut bytes = vec![0; 2000];
        let length = frame.build(&mut bytes).expect("it fits");
        let hex: String = bytes[..length]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!("frame {kind}: kind {kind} {fields}: {hex}")
    };
    bodies.into_iter().enumerate().map(line).collect()
}
