//! NSCC replays what flows of the reference simulator were told, and has its windows after each ACK and NACK.

use unpause_protocols::congestion_control::nscc::{Ack, Nack, Nscc, Params};
use unpause_protocols::units::{Rate, Time};

/// The round trip of a full packet and its ACK on the longest path of the empty fat-tree.
const NETWORK_RTT: Time = Time::from_ps(14_022_720);

fn params() -> Params {
    Params::for_network(NETWORK_RTT, Rate::from_gbps(100), 4150, 4086, true)
}

/// A decimal number of microseconds, to the picosecond.
fn microseconds(text: &str) -> Time {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let part: u64 = format!("{part:0<6}").parse().expect("digits");
    let whole: u64 = whole.parse().expect("digits");
    Time::from_ps(whole * 1_000_000 + part)
}

/// A permutation of 16 hosts, 100 Gb/s, 1 us a link, REPS: the window stays at its largest. The delays of ACKs without a
/// round trip of their own are the averages that the reference keeps, here to six digits.
#[test]
fn a_permutation_leaves_the_window_open() {
    let mut flow = Nscc::new(&params(), NETWORK_RTT);
    let (mut acks, mut averages) = (0, 0);
    for row in include_str!("data/nscc_perm16.csv").lines().skip(1) {
        let field: Vec<&str> = row.split(',').collect();
        let number = |index: usize| field[index].parse::<u64>().expect("a number");
        let rtt = Some(Time::from_ps(number(7))).filter(|rtt| *rtt > Time::ZERO);
        let before = flow.average_delay();
        flow.on_ack(&Ack {
            marked: number(5) == 1,
            rtt,
            ..Ack::at(microseconds(field[1]), number(4), number(9))
        });
        assert_eq!(flow.window(), number(8), "{row}");
        if rtt.is_none() {
            let expected = microseconds(field[6]).as_ps();
            assert!(before.as_ps().abs_diff(expected) <= 5, "{before:?}: {row}");
            averages += 1;
        }
        acks += 1;
    }
    assert_eq!((acks, averages), (490, 84));
}

/// Replays the events of the reference, and compares its state after each, to the byte and the picosecond.
fn replay(rows: &str, params: &Params) -> [usize; 3] {
    let mut flow = Nscc::new(params, params.network_rtt);
    let mut events = [0; 3];
    for row in rows.lines().skip(1) {
        let (kind, numbers) = row.split_once(',').expect("a kind");
        let numbers: Vec<u64> = numbers
            .split(',')
            .map(|value| value.parse().expect("a number"))
            .collect();
        let [
            now,
            bytes,
            marked,
            rtt,
            credited,
            in_flight,
            window,
            average,
        ] = numbers[..]
        else {
            panic!("{row}");
        };
        let rtt = Some(Time::from_ps(rtt)).filter(|rtt| *rtt > Time::ZERO);
        let now = Time::from_ps(now);
        match kind {
            "ack" => {
                events[0] += 1;
                flow.on_ack(&Ack {
                    marked: marked == 1,
                    rtt,
                    ..Ack::at(now, bytes, in_flight)
                });
            }
            "nack" => {
                events[1] += 1;
                flow.on_nack(&Nack {
                    now,
                    bytes,
                    rtt,
                    credited: credited == 1,
                    in_flight,
                });
            }
            other => {
                assert_eq!(other, "timeout");
                events[2] += 1;
                flow.on_timeout(bytes);
            }
        }
        assert_eq!(flow.window(), window, "{row}");
        assert_eq!(flow.average_delay(), Time::from_ps(average), "{row}");
    }
    events
}

/// 15 hosts to one start together: trims, quick adapt, decreases and every increase but the fast one.
#[test]
fn an_incast() {
    let rows = include_str!("data/nscc_incast.csv");
    assert_eq!(replay(rows, &params()), [123, 56, 0]);
}

/// The same at four times the rate.
#[test]
fn an_incast_at_400_gbps() {
    let network_rtt = Time::from_ps(12_505_680);
    let params = Params::for_network(network_rtt, Rate::from_gbps(400), 4150, 4086, true);
    let rows = include_str!("data/nscc_incast_400g.csv");
    assert_eq!(replay(rows, &params), [123, 151, 0]);
}

/// The incast again while receivers grant credits: trims at the last switch leave the window.
#[test]
fn an_incast_with_credits() {
    let rows = include_str!("data/nscc_with_credits.csv");
    assert_eq!(replay(rows, &params()), [78, 64, 0]);
}

/// A flow that has to share its only path.
#[test]
fn one_path() {
    let rows = include_str!("data/nscc_one_path.csv");
    assert_eq!(replay(rows, &params()), [379, 18, 0]);
}

/// Two paths, short queues and no trimming.
#[test]
fn timeouts() {
    let params = Params::for_network(NETWORK_RTT, Rate::from_gbps(100), 4150, 4086, false);
    let rows = include_str!("data/nscc_timeouts.csv");
    assert_eq!(replay(rows, &params), [355, 0, 30]);
}

/// Alone in the network, from a window of 10 packets: fast increase.
#[test]
fn a_small_window() {
    let params = Params {
        initial_window: 41_500,
        ..params()
    };
    let rows = include_str!("data/nscc_small_window.csv");
    assert_eq!(replay(rows, &params), [67, 0, 0]);
}
