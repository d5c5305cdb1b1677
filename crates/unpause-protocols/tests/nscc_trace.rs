//! NSCC replays what flows of the reference simulator were told, and has its windows after each ACK and NACK.

use unpause_protocols::congestion_control::nscc::{Ack, Nscc, Params};
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
