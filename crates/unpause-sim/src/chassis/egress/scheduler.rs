//! Which class of a port sends next, where that is not simply the most urgent.

use unpause_protocols::scheduler::{self, QUEUES, Scheduler, dwrr};

use super::Queue;
use crate::plan::Plan;

/// A scheduler for each of `ports`; none for strict priority, which needs no state.
pub fn schedulers(ports: usize, plan: &Plan<'_>) -> Vec<Scheduler> {
    match &plan.config.switch.scheduler {
        scheduler::Config::Strict(_) => Vec::new(),
        scheduler::Config::Dwrr(params) => {
            let params = scheduler::Config::Dwrr(of_classes(params, plan));
            (0..ports).map(|_| Scheduler::new(&params)).collect()
        }
    }
}

/// Parameters by class instead of by priority, with control packets before all others.
fn of_classes(params: &dwrr::Params, plan: &Plan<'_>) -> dwrr::Params {
    let mut of_class = dwrr::Params {
        quantum: [1; QUEUES],
        group: [0; QUEUES],
    };
    for class in 0..plan.classes.count() {
        let priority = usize::from(plan.classes.priority(class as u8));
        of_class.quantum[class] = params.quantum[priority];
        of_class.group[class] = params.group[priority].min(u8::MAX - 1);
    }
    of_class.group[usize::from(plan.classes.control)] = u8::MAX;
    of_class
}

/// The class that the scheduler of a port picks out of the `eligible`, of which there is one at least;
/// `queues` are the port's, by class.
#[inline(never)]
pub fn pick(scheduler: &mut Scheduler, queues: &[Queue], eligible: u8) -> u8 {
    let head = |class: u8| queues[usize::from(class)].packets.head_bytes();
    let picked = scheduler.next(eligible, head);
    picked.expect("classes with packets were reported to the scheduler")
}

/// How urgent a class is: those that take turns are as urgent as one another.
pub fn urgency(class: u8, plan: &Plan<'_>) -> u8 {
    match &plan.config.switch.scheduler {
        scheduler::Config::Strict(_) => class,
        scheduler::Config::Dwrr(params) => of_classes(params, plan).group[usize::from(class)],
    }
}
