//! Window-based senders: bounds, timers, and transfers that end whatever the network does.

use super::{fraction, time};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use unpause_protocols::congestion_control::{Config, CongestionControl, cubic, dctcp};
use unpause_protocols::loss_recovery::newreno::{self, Ack, State};
use unpause_protocols::loss_recovery::{echo, rto};
use unpause_protocols::units::{Rate, Time};

fn params() -> impl Strategy<Value = newreno::Params> {
    let counts = (1..3000_u32, 0..20_u32, 0..6_u32, 0..12_u32);
    let burst = (prop::option::of(0..5_u32), prop::option::of(0..50_u32));
    let times = (time(), time(), time(), time());
    (counts, any::<bool>(), burst, any::<bool>(), times).prop_map(
        |(counts, limited_transmit, (max_burst, tso), grow_only_if_limiting, times)| {
            newreno::Params {
                mss: counts.0,
                initial_window: counts.1,
                duplicate_threshold: counts.2,
                limited_transmit,
                max_burst,
                tso,
                grow_only_if_limiting,
                retries: counts.3,
                rto: rto::Params {
                    min: times.0,
                    max: times.1,
                    granularity: times.2,
                    initial_rtt: times.3,
                },
            }
        },
    )
}

fn with(tcp: newreno::Params) -> impl Strategy<Value = (Config, newreno::Params)> {
    prop_oneof![
        Just((Config::NewReno(Default::default()), tcp)),
        Just((Config::EcnTcp(Default::default()), tcp)),
        (any::<u8>(), fraction()).prop_map(move |(g_log2, alpha_init)| {
            let params = dctcp::Params { g_log2, alpha_init };
            (Config::Dctcp(params), tcp)
        }),
        (fraction(), fraction(), any::<bool>(), any::<bool>()).prop_map(
            move |(c, beta, fast_convergence, ecn)| {
                let params = cubic::Params {
                    c,
                    beta,
                    fast_convergence,
                    ecn,
                };
                (Config::Cubic(params), tcp)
            }
        ),
        Just((Config::Swift(Default::default()), tcp)),
    ]
}

fn sender(config: &Config, params: &newreno::Params) -> newreno::Sender<CongestionControl> {
    let path = params.path(Rate::from_gbps(10));
    newreno::Sender::new(params, CongestionControl::new(config, &path))
}

#[derive(Clone, Debug)]
enum Event {
    /// An ACK of this many bytes more than the last, fewer when negative.
    Ack(i64, bool, Option<Time>),
    Rtt(Time),
    Write,
    Timer,
    Send(u8),
}

fn event() -> impl Strategy<Value = Event> {
    let step = prop_oneof![Just(0), 0..5000_i64, -5000..50_000_i64, any::<i64>()];
    prop_oneof![
        6 => (step, any::<bool>(), prop::option::of(time()))
            .prop_map(|(step, ece, rtt)| Event::Ack(step, ece, rtt)),
        1 => time().prop_map(Event::Rtt),
        1 => Just(Event::Write),
        2 => Just(Event::Timer),
        4 => any::<u8>().prop_map(Event::Send),
    ]
}

proptest! {
    #[test]
    fn windows_stay_in_bounds_whatever_happens(
        (config, params) in params().prop_flat_map(with),
        written in prop_oneof![0..100_000_u64, any::<u64>()],
        events in prop::collection::vec((time(), event()), 0..200),
    ) {
        let mut tcp = sender(&config, &params);
        let mss = u64::from(params.mss);
        let mut sent = 0;
        for (now, event) in events {
            match event {
                Event::Ack(step, ece, rtt) => {
                    let number = tcp.acknowledged().saturating_add_signed(step);
                    tcp.on_ack(now, &Ack { number, ece, rtt });
                }
                Event::Rtt(rtt) => tcp.on_rtt(rtt),
                Event::Write => tcp.on_write(),
                Event::Timer => tcp.on_timer(now),
                Event::Send(most) => {
                    for _ in 0..most {
                        let Some(segment) = tcp.next_segment(now, written) else {
                            break;
                        };
                        prop_assert!(segment.bytes > 0 && segment.bytes <= params.mss);
                        prop_assert!(segment.start >= tcp.acknowledged());
                        prop_assert!(segment.end() <= written);
                        prop_assert_eq!(segment.retransmission, segment.start < sent);
                        prop_assert!(!(segment.retransmission && (segment.ect || segment.cwr)));
                        sent = sent.max(segment.end());
                    }
                }
            }
            prop_assert!(tcp.cwnd() >= mss);
            prop_assert!(tcp.ssthresh() >= mss);
            prop_assert!(tcp.acknowledged() <= sent);
            prop_assert!(tcp.acknowledged() + tcp.in_flight() <= sent);
            let idle = tcp.acknowledged() == sent || tcp.has_given_up();
            prop_assert!(!idle || tcp.next_timer().is_never());
            prop_assert!(tcp.timeouts() <= params.retries.saturating_add(1));
        }
    }

    #[test]
    fn timers_move_on_until_the_sender_gives_up(
        (config, params) in params().prop_flat_map(with),
    ) {
        let mut tcp = sender(&config, &params);
        tcp.next_segment(Time::ZERO, 1).unwrap();
        for _ in 0..=params.retries {
            let due = tcp.next_timer();
            if due.is_never() {
                break;
            }
            tcp.on_timer(due);
            prop_assert!(tcp.next_timer() > due);
            tcp.next_segment(due, 1);
        }
        prop_assert!(tcp.has_given_up() || tcp.next_timer().is_never());
    }

    /// A network that drops, marks and delays as it likes, but not forever.
    #[test]
    fn a_transfer_ends_and_everything_arrives(
        (config, params) in newreno_for_transfers().prop_flat_map(with),
        size in 0..200_000_u64,
        fates in prop::collection::vec((any::<u8>(), 1..300_u64), 1..300),
    ) {
        let mut tcp = sender(&config, &params);
        let mut receiver = Receiver::new(&config);
        let mut network: BTreeMap<(Time, u64), Flight> = BTreeMap::new();
        let mut fates = fates.into_iter();
        let (mut now, mut sequence, mut segments) = (Time::ZERO, 0, 0_u64);
        loop {
            while let Some(segment) = tcp.next_segment(now, size) {
                let (kind, delay) = fates.next().unwrap_or((255, 50));
                segments += 1;
                sequence += 1;
                let arrival = (now + Time::from_us(delay), sequence);
                if kind >= 64 {
                    let ce = segment.ect && kind < 128;
                    let (start, end, cwr) = (segment.start, segment.end(), segment.cwr);
                    network.insert(arrival, Flight::Data { start, end, ce, cwr, sent: now });
                }
            }
            let Some(entry) = network.first_entry().filter(|entry| entry.key().0 < tcp.next_timer())
            else {
                let due = tcp.next_timer();
                if due.is_never() {
                    break;
                }
                now = now.max(due);
                tcp.on_timer(now);
                continue;
            };
            now = now.max(entry.key().0);
            match entry.remove() {
                Flight::Data { start, end, ce, cwr, sent } => {
                    sequence += 1;
                    let ack = Flight::Ack { ack: receiver.on_data(start, end, ce, cwr), sent };
                    network.insert((now + Time::from_us(20), sequence), ack);
                }
                Flight::Ack { ack: (number, ece), sent } => {
                    let rtt = Some(now - sent);
                    tcp.on_ack(now, &Ack { number, ece, rtt });
                }
            }
            prop_assert!(segments < 100_000, "no end");
        }
        prop_assert!(!tcp.has_given_up());
        prop_assert_eq!(tcp.acknowledged(), size);
        prop_assert_eq!(receiver.next, size);
        prop_assert!(tcp.state() != State::Loss || size == 0 || tcp.in_flight() == 0);
    }
}

enum Flight {
    Data {
        start: u64,
        end: u64,
        ce: bool,
        cwr: bool,
        sent: Time,
    },
    Ack {
        ack: (u64, bool),
        sent: Time,
    },
}

fn newreno_for_transfers() -> impl Strategy<Value = newreno::Params> {
    (params(), 1..3000_u64).prop_map(|(params, min_us)| newreno::Params {
        mss: params.mss.max(200),
        retries: u32::MAX - 1,
        rto: rto::Params {
            min: Time::from_us(min_us),
            ..rto::Params::default()
        },
        ..params
    })
}

/// Keeps what comes early.
struct Receiver {
    next: u64,
    early: BTreeSet<(u64, u64)>,
    echo: echo::Echo,
}

impl Receiver {
    fn new(config: &Config) -> Self {
        Self {
            next: 0,
            early: BTreeSet::new(),
            echo: echo::Echo::new(echo::Mode::of(config)),
        }
    }
    fn on_data(&mut self, start: u64, end: u64, ce: bool, cwr: bool) -> (u64, bool) {
        self.early.insert((start, end));
        while let Some((start, end)) = self.early.first().copied() {
            if start > self.next {
                break;
            }
            self.next = self.next.max(end);
            self.early.pop_first();
        }
        (self.next, self.echo.on_data(ce, cwr))
    }
}
