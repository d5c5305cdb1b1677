//! Receivers: few and sensible notifications.

use super::{rate, time};
use notification_point::{Config, dcqcn, pcn};
use proptest::prelude::*;
use unpause_protocols::notification::Notification;
use unpause_protocols::notification_point::{self, NotificationPoint};
use unpause_protocols::units::Time;

fn config() -> impl Strategy<Value = Config> {
    prop_oneof![
        Just(Config::None),
        Just(Config::Pcn(pcn::Params::default())),
        (time(), any::<u32>(), rate()).prop_map(
            |(period, congested_above_percent, rec_rate_unit)| Config::Pcn(pcn::Params {
                period,
                congested_above_percent,
                rec_rate_unit,
            })
        ),
        (time(), any::<bool>()).prop_map(|(cnp_interval, np_poll)| Config::Dcqcn(dcqcn::Params {
            cnp_interval,
            np_poll
        })),
    ]
}

proptest! {
    #[test]
    fn no_order_of_events_panics_and_a_decrease_names_a_rate(
        config in config(),
        events in prop::collection::vec((time(), any::<bool>(), any::<u32>(), any::<bool>()), 0..60),
    ) {
        let mut np = NotificationPoint::new(&config);
        for (now, is_timer, bytes, ce) in events {
            let answer = if is_timer { np.on_timer(now) } else { np.on_data(now, bytes, ce) };
            match answer {
                Some(Notification::Pcn { congested, rec_rate }) => {
                    prop_assert_eq!(congested, rec_rate > 0);
                }
                Some(Notification::Cnp) | None => {}
                Some(Notification::Qcn(_)) => prop_assert!(false, "QCN has no notification point"),
            }
        }
    }

    #[test]
    fn timers_move_on_and_stop_once_the_flow_is_silent(
        config in config(),
        gaps in prop::collection::vec(0..200_000_000_u64, 1..50),
    ) {
        let mut np = NotificationPoint::new(&config);
        let mut now = Time::ZERO;
        for gap in gaps {
            now += Time::from_ps(gap);
            let mut timers = 0;
            while np.next_timer() <= now && timers < 100 {
                let due = np.next_timer();
                np.on_timer(due);
                prop_assert!(np.next_timer() > due);
                timers += 1;
            }
            np.on_data(now, 1000, true);
        }
        np.on_timer(np.next_timer());
        np.on_timer(np.next_timer());
        prop_assert_eq!(np.next_timer(), Time::NEVER);
    }

    #[test]
    fn dcqcn_sends_at_most_one_cnp_per_interval(
        np_poll in any::<bool>(),
        gaps in prop::collection::vec((0..30_000_000_u64, any::<bool>()), 0..200),
    ) {
        let params = dcqcn::Params { np_poll, ..dcqcn::Params::default() };
        let mut np = NotificationPoint::new(&Config::Dcqcn(params));
        let (mut now, mut last) = (Time::ZERO, None);
        for (gap, ce) in gaps {
            now += Time::from_ps(gap);
            let due = np.next_timer();
            let polled = if due <= now { np.on_timer(due).map(|_| due) } else { None };
            let answered = np.on_data(now, 1000, ce).map(|_| now);
            for sent in [polled, answered].into_iter().flatten() {
                if let Some(last) = last {
                    prop_assert!(sent - last >= params.cnp_interval);
                }
                last = Some(sent);
            }
        }
    }
}
