//! CaPFC: which inputs are marked, and that PAUSE and resume alternate.

use std::collections::BTreeSet;

use capfc::{Egress, EgressParams, Ingress, IngressParams, Input, Stop};
use pfc::Action;
use proptest::prelude::*;
use unpause_protocols::flow_control::{capfc, pfc};
use unpause_protocols::units::{Fraction, Time};

use super::time;

const PORTS: usize = 6;

fn stop() -> impl Strategy<Value = Stop> {
    prop_oneof![
        Just(Stop::Max),
        Just(Stop::Calibrate { cut: Fraction::ONE }),
        (1..100_u64).prop_map(|cut| Stop::Calibrate {
            cut: Fraction::of(cut, 100)
        }),
    ]
}

fn params() -> impl Strategy<Value = EgressParams> {
    (2_000..30_000_u64, 0..30_000_u64, 0..30_000_u64, stop()).prop_map(|(xoff, xon, warn, stop)| {
        EgressParams {
            xoff,
            xon: xon.min(xoff),
            warn: warn.min(xoff),
            stop,
        }
    })
}

/// A packet from an input, or the departure of one.
fn events() -> impl Strategy<Value = Vec<(bool, usize, u32)>> {
    prop::collection::vec((prop::bool::weighted(0.6), 0..PORTS, 64..1501_u32), 0..300)
}

proptest! {
    #[test]
    fn marks_are_what_was_reported_and_end_at_xon(params in params(), events in events()) {
        let mut egress = Egress::new([Input::default(); PORTS]);
        let mut marked = BTreeSet::new();
        let mut bytes = 0;
        for (enqueue, input, size) in events {
            if enqueue {
                bytes += u64::from(size);
                let mut told = Vec::new();
                egress.on_enqueue(input, size, &params, |it| told.push(it));
                prop_assert!(told.is_empty() || bytes > params.xoff);
                for it in told {
                    prop_assert!(marked.insert(it), "input {} was marked already", it);
                    prop_assert!(egress.inputs()[it].packets > 0, "it sent nothing");
                }
                prop_assert!(bytes <= params.xoff || !marked.is_empty());
            } else {
                let size = u64::from(size).min(bytes);
                bytes -= size;
                egress.on_dequeue(size as u32, &params, |it| {
                    assert!(marked.remove(&it), "input {it} was not marked");
                });
                prop_assert!(bytes > params.xon || marked.is_empty());
                prop_assert!(
                    bytes > params.warn || egress.inputs().iter().all(|input| input.packets == 0)
                );
            }
            prop_assert_eq!(egress.bytes(), bytes);
            let bits: BTreeSet<usize> =
                (0..PORTS).filter(|&it| egress.inputs()[it].marked).collect();
            prop_assert_eq!(&bits, &marked);
        }
    }

    /// The inputs that Stop-Calibrate marks make up the cut; without the smallest of them they do not.
    #[test]
    fn calibrate_marks_the_shortest_prefix(
        cut in 1..101_u64,
        senders in prop::collection::vec(0..PORTS, 1..60),
    ) {
        let params = EgressParams {
            xoff: 1_000 * senders.len() as u64 - 1,
            xon: 0,
            warn: 0,
            stop: Stop::Calibrate { cut: Fraction::of(cut, 100) },
        };
        let mut egress = Egress::new([Input::default(); PORTS]);
        let mut marked = Vec::new();
        for &input in &senders {
            egress.on_enqueue(input, 1_000, &params, |it| marked.push(it));
        }
        let count = |it: &usize| u64::from(egress.inputs()[*it].packets);
        let total = senders.len() as u64;
        let sum = |inputs: &[usize]| inputs.iter().map(count).sum::<u64>();
        prop_assert!(marked.is_sorted_by_key(|marked| std::cmp::Reverse(count(marked))));
        prop_assert!(100 * sum(&marked) >= cut * total);
        prop_assert!(100 * sum(&marked[..marked.len() - 1]) < cut * total);
        let smallest = marked.iter().map(count).min();
        for it in (0..PORTS).filter(|it| !marked.contains(it)) {
            prop_assert!(Some(count(&it)) <= smallest);
        }
        if cut == 100 {
            prop_assert_eq!(sum(&marked), total);
            prop_assert!(marked.iter().all(|it| count(it) > 0));
        }
    }

    #[test]
    fn an_ingress_alternates_xoff_and_xon_with_its_decision(
        pause in time(),
        events in prop::collection::vec((time(), 0..5_u8, any::<u16>()), 0..200),
    ) {
        let frames = pfc::Params::default();
        let params = IngressParams::default();
        let mut ingress = Ingress::new();
        let (mut full, mut marks) = (false, 0_u32);
        for (now, kind, bytes) in events {
            let was_xoff = ingress.is_xoff();
            let bytes = u32::from(bytes);
            let action = match kind {
                0 => ingress.on_admit(now, bytes, &params, pause, &frames),
                1 => ingress.on_release(now, bytes, &params, pause, &frames),
                2 => {
                    marks += 1;
                    ingress.on_mark(now, pause, &frames)
                }
                3 => {
                    marks = marks.saturating_sub(1);
                    ingress.on_clear(now, pause, &frames)
                }
                _ => ingress.on_timer(now, pause, &frames),
            };
            full = match ingress.bytes() {
                held if held >= params.xoff => true,
                held if held <= params.xon => false,
                _ => full,
            };
            prop_assert_eq!(ingress.is_xoff(), full || marks > 0);
            match action {
                Action::Xoff if kind == 4 => prop_assert!(was_xoff && ingress.is_xoff()),
                Action::Xoff => prop_assert!(!was_xoff && ingress.is_xoff()),
                Action::Xon => prop_assert!(was_xoff && !ingress.is_xoff()),
                Action::None => prop_assert_eq!(was_xoff, ingress.is_xoff()),
            }
            prop_assert!(ingress.is_xoff() || ingress.next_timer().is_never());
        }
    }
}

/// Whatever the owner says of inputs that it has not.
#[test]
fn an_unknown_input_is_not_counted() {
    let params = EgressParams {
        xoff: 0,
        ..EgressParams::default()
    };
    let mut egress = Egress::new([Input::default(); 2]);
    egress.on_enqueue(7, 50_000, &params, |_| panic!("nobody to mark"));
    egress.on_dequeue(50_000, &params, |_| panic!("nobody was marked"));
    assert_eq!(egress.bytes(), 0);
    let mut ingress = Ingress::new();
    let frames = pfc::Params::default();
    assert_eq!(
        ingress.on_clear(Time::ZERO, Time::ZERO, &frames),
        Action::None
    );
}
