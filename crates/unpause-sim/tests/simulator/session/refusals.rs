//! Flows that cannot be sent, and runs that cannot be driven.

use unpause_sim::Error;
use unpause_sim::config::NodeKind;
use unpause_sim::session::{Options, Refused, Session};
use unpause_sim::traffic::{Ending, Following, Matching, TrafficSpec};

use super::*;

#[test]
fn what_cannot_be_sent_is_refused() {
    let mut session = open(&idle_star(2));
    let refused = |session: &mut Session, it| session.send(it).expect_err("it is refused");
    assert_eq!(
        refused(&mut session, message(0, 1, 1)),
        Refused::NotAHost(0)
    );
    assert_eq!(
        refused(&mut session, message(1, 9, 1)),
        Refused::NotAHost(9)
    );
    assert_eq!(
        refused(&mut session, message(1, 1, 1)),
        Refused::ToItself(1)
    );
    assert_eq!(refused(&mut session, message(1, 2, 0)), Refused::NoBytes);
    let large = refused(&mut session, message(1, 2, 1 << 50));
    assert!(
        matches!(large, Refused::TooLarge { most, .. } if most > 1 << 41),
        "{large}"
    );
    // More than 32 bits of bytes are no matter.
    session.send(message(1, 2, 5 << 30)).expect("it goes");
    let results = session.finish(None).expect("hosts are linked");
    assert_eq!(results.flows.len(), 1);
}

#[test]
fn hosts_that_nothing_links_cannot_send_to_one_another() {
    let mut config = idle_star(2);
    config
        .fabric
        .nodes
        .extend([NodeKind::Switch, NodeKind::Host]);
    config.fabric.links.push(unpause_sim::config::Link {
        a: 3,
        b: 4,
        rate: gbps(100),
        delay: us(1),
    });
    let mut session = open(&config);
    let refused = session.send(message(1, 4, 1)).expect_err("no way");
    assert!(
        refused.to_string().contains("no path from host 1 to 4"),
        "{refused}"
    );
    session.send(message(1, 2, 1)).expect("it goes on");
    assert!(next(&mut session).is_some());
}

#[test]
fn flows_that_follow_others_are_not_driven() {
    let mut config = idle_star(2);
    let first = TrafficSpec::Flows(vec![sized(1, 2, 10)]);
    config.traffic = vec![first, TrafficSpec::Flows(vec![sized(2, 1, 10)])];
    config.following = vec![Following {
        entry: 1,
        after: vec![0],
        ending: Ending::Delivered,
        matching: Matching::All,
    }];
    let Err(Error::Invalid(why)) = Session::open(config, Options::default()) else {
        panic!("it is refused")
    };
    assert_eq!(
        why.message,
        "flows that follow others cannot be in a session"
    );
}
