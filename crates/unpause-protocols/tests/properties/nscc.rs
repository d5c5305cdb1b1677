//! NSCC: bounds of the window, whatever the network says.

use super::{rate, time};
use proptest::prelude::*;
use unpause_protocols::congestion_control::nscc::{Ack, Nack, Nscc, Params};
use unpause_protocols::units::Time;

#[derive(Clone, Debug)]
enum Event {
    Ack(Ack),
    Nack(Nack),
    Timeout(u64),
}

fn bytes() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0..100_000_u64, 1 => any::<u64>()]
}

fn event() -> impl Strategy<Value = Event> {
    let rtt = || prop::option::of(time());
    let ack = (time(), bytes(), any::<bool>(), rtt(), any::<Option<u8>>()).prop_flat_map(
        |(now, bytes, marked, rtt, penalty)| {
            self::bytes().prop_map(move |in_flight| {
                Event::Ack(Ack {
                    now,
                    bytes,
                    marked,
                    rtt,
                    penalty,
                    in_flight,
                })
            })
        },
    );
    let nack = (time(), bytes(), rtt(), any::<bool>(), bytes()).prop_map(
        |(now, bytes, rtt, credited, in_flight)| {
            Event::Nack(Nack {
                now,
                bytes,
                rtt,
                credited,
                in_flight,
            })
        },
    );
    prop_oneof![6 => ack, 2 => nack, 1 => bytes().prop_map(Event::Timeout)]
}

proptest! {
    /// A packet at least, and never more than at the start, which is the largest window.
    #[test]
    fn the_window_of_nscc_stays_within_its_bounds(
        (network_rtt, base_rtt) in (time(), time()),
        host_rate in rate(),
        (payload, trimming) in (0..100_000_u32, any::<bool>()),
        target in prop::option::of(time()),
        gate in any::<u32>(),
        events in prop::collection::vec(event(), 1..200),
    ) {
        let packet = payload + 64;
        let mut params = Params::for_network(network_rtt, host_rate, packet, payload, trimming);
        params.target_delay = target.unwrap_or(params.target_delay);
        params.quick_adapt_gate = gate;
        let mut flow = Nscc::new(&params, base_rtt);
        let most = flow.window();
        let mut lowest = base_rtt;
        for event in events {
            let rtt = match &event {
                Event::Ack(ack) => ack.rtt,
                Event::Nack(nack) => nack.rtt,
                Event::Timeout(_) => None,
            };
            let before = flow.window();
            match event {
                Event::Ack(ack) => flow.on_ack(&ack),
                Event::Nack(nack) => {
                    flow.on_nack(&nack);
                    prop_assert!(flow.window() <= before);
                }
                Event::Timeout(bytes) => {
                    flow.on_timeout(bytes);
                    prop_assert_eq!(flow.window(), before.saturating_sub(bytes).max(packet.into()));
                }
            }
            lowest = lowest.min(rtt.unwrap_or(Time::NEVER));
            prop_assert_eq!(flow.base_rtt(), lowest);
            prop_assert!((u64::from(packet)..=most).contains(&flow.window()));
        }
    }
}
