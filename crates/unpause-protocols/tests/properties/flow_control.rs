//! PFC: PAUSE and resume in alternation.

use super::{rate, time};
use pfc::{Action, Change, Egress, Ingress, Params};
use proptest::prelude::*;
use unpause_protocols::flow_control::pfc;
use unpause_protocols::units::Time;

proptest! {
    #[test]
    fn ingress_alternates_xoff_and_xon_whatever_happens(
        ns3 in any::<bool>(),
        pause in time(),
        events in prop::collection::vec((time(), 0..3_u8, any::<u32>(), any::<u64>()), 0..100),
    ) {
        let params = if ns3 { Params::ns3_rdma() } else { Params::default() };
        let mut ingress = Ingress::new();
        for (now, kind, bytes, threshold) in events {
            let (was_xoff, before) = (ingress.is_xoff(), ingress.bytes());
            let threshold = threshold >> 30;
            let action = match kind {
                0 => ingress.on_admit(now, bytes, threshold, pause, &params),
                1 => ingress.on_release(now, bytes, threshold),
                _ => ingress.on_timer(now, pause, &params),
            };
            match action {
                Action::Xoff => prop_assert!(ingress.is_xoff() && ingress.bytes() > 0),
                Action::Xon => prop_assert!(was_xoff && !ingress.is_xoff()),
                Action::None => prop_assert_eq!(was_xoff, ingress.is_xoff()),
            }
            prop_assert!(kind != 1 || ingress.bytes() == before.saturating_sub(u64::from(bytes)));
            prop_assert!(ingress.is_xoff() || ingress.next_timer().is_never());
        }
    }

    #[test]
    fn ingress_refreshes_move_on(pause in time(), ns3 in any::<bool>()) {
        let params = if ns3 { Params::ns3_rdma() } else { Params::default() };
        let mut ingress = Ingress::new();
        ingress.on_admit(Time::ZERO, 1000, 0, pause, &params);
        for _ in 0..100 {
            let due = ingress.next_timer();
            if due.is_never() {
                break;
            }
            prop_assert_eq!(ingress.on_timer(due, pause, &params), Action::Xoff);
            prop_assert!(ingress.next_timer() > due);
        }
    }

    #[test]
    fn egress_alternates_paused_and_resumed_whatever_happens(
        events in prop::collection::vec((time(), any::<bool>(), time()), 0..100),
    ) {
        let mut egress = Egress::new();
        for (now, is_timer, pause) in events {
            let was_paused = egress.is_paused();
            let change = if is_timer { egress.on_timer(now) } else { egress.on_frame(now, pause) };
            match change {
                Change::Paused => prop_assert!(!was_paused && egress.is_paused()),
                Change::Resumed => prop_assert!(was_paused && !egress.is_paused()),
                Change::None => prop_assert_eq!(was_paused, egress.is_paused()),
            }
            prop_assert!(egress.is_paused() || egress.next_timer().is_never());
        }
    }

    #[test]
    fn headroom_grows_with_the_cable_and_never_panics(
        rate in rate(),
        short in time(),
        long in time(),
        mtu in any::<u64>(),
    ) {
        let (short, long) = (short.min(long), short.max(long));
        let reaction = pfc::reaction_time(rate);
        let bytes = |propagation| pfc::headroom(rate, propagation, mtu, 84, reaction);
        prop_assert!(bytes(short) <= bytes(long));
    }
}
