//! Laws: rates and windows within bounds, timers that move on.

use super::{fraction, rate, rng, time};
use congestion_control::{Config, cubic, dcqcn, dcqcn_nic, pcn, qcn, swift, timely};
use proptest::prelude::*;
use unpause_protocols::by_name;
use unpause_protocols::congestion_control::{
    self, Ack, CongestionControl, Loss, Mechanism as _, Path, Settings as _,
};
use unpause_protocols::notification::{Notification, QcnFeedback};
use unpause_protocols::units::{Fraction, Rate, Time};

#[derive(Clone, Debug)]
enum Event {
    Notify(Notification),
    Ack(Time),
    Loss(Loss, u64),
    Sent(u32, bool),
    Timer,
}

fn notification() -> impl Strategy<Value = Notification> {
    let feedback = (any::<u8>(), any::<i32>(), any::<i32>());
    prop_oneof![
        Just(Notification::Cnp),
        (any::<bool>(), any::<u32>()).prop_map(|(congested, rec_rate)| Notification::Pcn {
            congested,
            rec_rate
        }),
        (0..100_000_u32).prop_map(|rec_rate| Notification::Pcn {
            congested: true,
            rec_rate
        }),
        feedback.prop_map(|(qfb, q_offset, q_delta)| Notification::Qcn(QcnFeedback {
            qfb,
            q_offset,
            q_delta
        })),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        notification().prop_map(Event::Notify),
        time().prop_map(Event::Ack),
        (loss(), any::<u64>()).prop_map(|(loss, in_flight)| Event::Loss(loss, in_flight)),
        (any::<u32>(), any::<bool>()).prop_map(|(bytes, more)| Event::Sent(bytes, more)),
        Just(Event::Timer),
    ]
}

fn pcn_params() -> impl Strategy<Value = pcn::Params> {
    (fraction(), fraction(), rate(), rate()).prop_map(|(w_min, w_max, min_rate, rec_rate_unit)| {
        pcn::Params {
            w_min,
            w_max,
            min_rate,
            rec_rate_unit,
        }
    })
}

fn qcn_params() -> impl Strategy<Value = qcn::Params> {
    let cut = (any::<u8>(), fraction());
    let cycles = (any::<u32>(), any::<bool>(), any::<u64>(), time());
    (cut, cycles, rate(), rate(), rate()).prop_map(|(cut, cycles, ai, hai, min_rate)| qcn::Params {
        gd_log2: cut.0,
        min_decrease_factor: cut.1,
        fr_threshold: cycles.0,
        fr_strict: cycles.1,
        byte_reset: cycles.2,
        time_reset: cycles.3,
        rate_ai: ai,
        rate_hai: hai,
        min_rate,
    })
}

fn dcqcn_params() -> impl Strategy<Value = dcqcn::Params> {
    let alpha = (fraction(), fraction(), any::<bool>(), time());
    let cycles = (time(), any::<u64>(), any::<u32>(), any::<bool>());
    (alpha, cycles, rate(), rate(), rate()).prop_map(|(alpha, cycles, ai, hai, min_rate)| {
        dcqcn::Params {
            g: alpha.0,
            alpha_init: alpha.1,
            alpha_order: if alpha.2 {
                dcqcn::AlphaOrder::CutFirst
            } else {
                dcqcn::AlphaOrder::UpdateFirst
            },
            alpha_timer: alpha.3,
            increase_timer: cycles.0,
            byte_counter: (cycles.1 % 8 > 0).then_some(cycles.1),
            fr_threshold: cycles.2,
            clamp_target: cycles.3,
            rate_ai: ai,
            rate_hai: hai,
            min_rate,
            cnp_on_ack: false,
        }
    })
}

fn timely_params() -> impl Strategy<Value = timely::Params> {
    let base = prop::sample::select(vec![
        timely::Params::per_packet(),
        timely::Params::segment(),
        timely::Params::patched(),
        timely::Params::hpcc(),
    ]);
    let times = (time(), time(), time());
    (base, fraction(), fraction(), times, rate(), rate()).prop_map(
        |(base, ewma, beta, times, delta, min_rate)| timely::Params {
            ewma,
            beta,
            t_low: times.0,
            t_high: times.1,
            min_rtt: times.2,
            delta,
            min_rate,
            ..base
        },
    )
}

fn loss() -> impl Strategy<Value = Loss> {
    let timeout = (any::<bool>(), any::<u64>());
    let timeout = timeout.prop_map(|(again, window)| Loss::Timeout { again, window });
    prop_oneof![Just(Loss::Mark), Just(Loss::Packet), timeout]
}

fn packets() -> impl Strategy<Value = swift::Packets> {
    (any::<u32>(), any::<u32>()).prop_map(|(n, d)| swift::Packets::of(n.into(), d.into()))
}

fn swift_params() -> impl Strategy<Value = swift::Params> {
    let scaling = (time(), time(), packets(), packets());
    let steps = (packets(), fraction(), fraction(), packets(), 0..4_u32);
    (scaling, steps).prop_map(|(scaling, steps)| swift::Params {
        base_target: scaling.0,
        fs_range: scaling.1,
        fs_min_cwnd: scaling.2,
        fs_max_cwnd: scaling.3,
        ai: steps.0,
        beta: steps.1,
        max_mdf: steps.2,
        min_cwnd: steps.3,
        retx_reset_threshold: steps.4,
    })
}

fn cubic_params() -> impl Strategy<Value = cubic::Params> {
    (fraction(), fraction(), any::<bool>(), any::<bool>()).prop_map(
        |(c, beta, fast_convergence, ecn)| cubic::Params {
            c,
            beta,
            fast_convergence,
            ecn,
        },
    )
}

/// Each law with its defaults.
fn by_name() -> impl Strategy<Value = Config> {
    let laws = by_name::Config::all(by_name::Kind::CongestionControl);
    let laws = laws.map(|(_, law)| match law {
        by_name::Config::CongestionControl(law) => law,
        _ => unreachable!("a law is a congestion control"),
    });
    prop::sample::select(laws.collect::<Vec<_>>())
}

/// Every law with its defaults, and some with any parameters.
fn config() -> impl Strategy<Value = Config> {
    prop_oneof![
        pcn_params().prop_map(Config::Pcn),
        qcn_params().prop_map(Config::Qcn),
        dcqcn_params().prop_map(Config::Dcqcn),
        dcqcn_params().prop_map(|params| {
            let nic = dcqcn_nic::Params {
                g: params.g,
                alpha_timer: params.alpha_timer,
                cut_interval: params.alpha_timer,
                increase_timer: params.increase_timer,
                fr_threshold: params.fr_threshold,
                clamp_target: params.clamp_target,
                rate_ai: params.rate_ai,
                rate_hai: params.rate_hai,
                min_rate: params.min_rate,
                cnp_on_ack: true,
            };
            Config::DcqcnNic(nic)
        }),
        timely_params().prop_map(Config::Timely),
        swift_params().prop_map(Config::Swift),
        cubic_params().prop_map(Config::Cubic),
        Just(Config::Pint(Default::default())),
        Just(Config::Nscc(Default::default())),
        by_name(),
    ]
}

fn ack(now: Time, rtt: Time) -> Ack<'static> {
    Ack {
        rtt: Some(rtt),
        bytes: 1000,
        acknowledged: 1000,
        sent: 1000,
        ..Ack::at(now)
    }
}

proptest! {
    #[test]
    fn rates_stay_between_the_minimum_and_line_rate_and_windows_above_a_packet(
        config in config(),
        line_rate in rate(),
        events in prop::collection::vec((time(), event()), 0..60),
    ) {
        let mut rng = rng();
        let mut rp = CongestionControl::new(&config, &Path::new(line_rate, 1000));
        let least = config.least_rate().map_or(line_rate, |rate| rate.min(line_rate));
        prop_assert!((least..=line_rate).contains(&rp.rate()));
        for (now, event) in events {
            match event {
                Event::Notify(notification) => rp.on_notification(now, &notification, &mut rng),
                Event::Ack(rtt) => rp.on_ack(&ack(now, rtt)),
                Event::Loss(loss, in_flight) => rp.on_loss(now, loss, in_flight),
                Event::Sent(bytes, more) => rp.on_sent(now, bytes, more, &mut rng),
                Event::Timer => rp.on_timer(now, &mut rng),
            }
            prop_assert!((least..=line_rate).contains(&rp.rate()));
            prop_assert!(rp.window().is_none_or(|bytes| bytes >= 1000));
        }
    }

    /// A law that starts otherwise is left out here, with its source.
    #[test]
    fn flows_start_at_line_rate(config in config(), line_rate in rate()) {
        let law = CongestionControl::new(&config, &Path::new(line_rate, 1000));
        prop_assert_eq!(law.rate(), line_rate);
    }

    #[test]
    fn what_a_law_does_not_hear_leaves_it_as_it_was(
        config in config(),
        events in prop::collection::vec((time(), event(), any::<bool>()), 0..60),
    ) {
        let mut rng = rng();
        let mut rp = CongestionControl::new(&config, &Path::new(Rate::from_gbps(40), 1000));
        for (now, event, ce) in events {
            match event {
                Event::Notify(notification) => rp.on_notification(now, &notification, &mut rng),
                Event::Ack(rtt) => {
                    let before = format!("{rp:?}");
                    rp.on_ack(&Ack { ce, ..ack(now, rtt) });
                    let after = format!("{rp:?}");
                    prop_assert!(rp.hears_acks() || after == before);
                }
                Event::Loss(loss, in_flight) => rp.on_loss(now, loss, in_flight),
                Event::Sent(bytes, more) => {
                    let (heard, before) = (rp.hears_sent(), (format!("{rp:?}"), rng.clone()));
                    rp.on_sent(now, bytes, more, &mut rng);
                    let after = (format!("{rp:?}"), rng.clone());
                    prop_assert!(heard || after == before);
                }
                Event::Timer => rp.on_timer(now, &mut rng),
            }
        }
    }

    #[test]
    fn timers_move_on(
        config in config(),
        notifications in prop::collection::vec(notification(), 1..10),
    ) {
        let mut rng = rng();
        let mut rp = CongestionControl::new(&config, &Path::new(Rate::from_gbps(40), 1000));
        for notification in notifications {
            rp.on_notification(Time::from_us(10), &notification, &mut rng);
        }
        for _ in 0..100 {
            let due = rp.next_timer();
            if due.is_never() {
                break;
            }
            rp.on_timer(due, &mut rng);
            prop_assert!(rp.next_timer() > due);
        }
    }

    #[test]
    fn pcn_never_speeds_up_on_a_decrease_nor_slows_down_on_an_increase(
        params in pcn_params(),
        line_rate in rate(),
        notifications in prop::collection::vec((any::<bool>(), any::<u32>()), 0..200),
    ) {
        let mut rng = rng();
        let mut rp = pcn::Pcn::new(&params, &Path::new(line_rate, 1000));
        let w_min = params.w_min.min(params.w_max);
        for (congested, rec_rate) in notifications {
            let (rate, weight) = (rp.rate(), rp.weight());
            let notification = Notification::Pcn { congested, rec_rate };
            rp.on_notification(Time::ZERO, &notification, &mut rng);
            if congested {
                prop_assert!(rp.rate() <= rate);
                prop_assert_eq!(rp.weight(), w_min);
            } else {
                prop_assert!(rp.rate() >= rate);
                prop_assert!(rp.weight() >= weight);
            }
            prop_assert!(rp.weight() >= w_min && rp.weight() <= params.w_max);
        }
    }

    #[test]
    fn dcqcn_alpha_stays_a_fraction(
        params in dcqcn_params(),
        cnps in prop::collection::vec(time(), 0..50),
    ) {
        let mut rng = rng();
        let mut rp = dcqcn::Dcqcn::new(&params, &Path::new(Rate::from_gbps(40), 1000));
        for now in cnps {
            rp.on_notification(now, &Notification::Cnp, &mut rng);
            prop_assert!(rp.alpha() <= Fraction::ONE);
        }
    }

    #[test]
    fn a_mechanism_ignores_the_notifications_of_others(
        foreign in notification(),
    ) {
        let configs = [
            Config::Pcn(pcn::Params::default()),
            Config::Qcn(qcn::Params::default()),
            Config::Dcqcn(dcqcn::Params::default()),
        ];
        for config in configs {
            let own = matches!(
                (&config, &foreign),
                (Config::Pcn(_), Notification::Pcn { .. })
                    | (Config::Qcn(_), Notification::Qcn(_))
                    | (Config::Dcqcn(_), Notification::Cnp)
            );
            let mut rp = CongestionControl::new(&config, &Path::new(Rate::from_gbps(40), 1000));
            rp.on_notification(Time::ZERO, &foreign, &mut rng());
            prop_assert!(own || rp.rate() == Rate::from_gbps(40));
        }
    }
}
