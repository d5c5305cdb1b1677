//! Sessions that are interrupted while no flow has ended.

use std::ops::ControlFlow;

use unpause_protocols::units::Time;
use unpause_sim::Error;
use unpause_sim::session::What;
use unpause_sim::traffic::FlowSettings;

use super::{Program, as_scenario, idle_star, message, open};
use crate::common::*;

/// Messages sent afterwards start where the run is, not at the last completion.
#[test]
fn who_has_stopped_it_may_send() {
    let mut config = idle_star(3);
    config.stop = ms(40);
    let mut program = Program::new(&config, 1, 0, 1);
    let mut session = open(&config);
    let mut send = |session: &mut unpause_sim::session::Session, src, bytes| {
        let it = message(src, 3, bytes);
        session.send(it).expect("it goes");
        program.sent.push((session.now(), it));
    };
    send(&mut session, 1, 100_000_000);
    let stopped = session.advance_watched(None, &mut || ControlFlow::Break(()));
    assert_eq!(stopped, Err(Error::Interrupted));
    assert!(session.now() > Time::ZERO, "windows have passed");
    send(&mut session, 2, 1_000);
    let mut delivered = Vec::new();
    while let Some(it) = session.advance(None).expect("hosts are linked") {
        if let What::Delivered(id, _) = it.what {
            delivered.push(id);
        }
    }
    assert_eq!(delivered, [1, 0]);
    let closed = session.soonest_end();
    let driven = session.finish(None).expect("hosts are linked");
    let flow = FlowSettings::default();
    let listed = run(&as_scenario(&config, flow, &program, &driven, closed));
    assert!(driven == listed, "it is the same run");
}
