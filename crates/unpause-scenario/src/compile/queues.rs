//! The queues of a port.

use std::ops::Range;

use unpause_sim::config::{HostConfig, SwitchConfig};

use crate::sections::file::Sections;
use crate::sections::switch;
use crate::sections::switch::scheduler::{Scheduled, Scheduler, check_queues, scheduler};
use crate::text::keys::Written;
use unpause_text::error::Checked;

/// How ports share priorities, and where that is said.
pub(crate) struct Queues<'a> {
    pub scheduled: Scheduled,
    table: &'a Written<Scheduler>,
}

impl<'a> Queues<'a> {
    /// Of these sections.
    pub fn of(sections: &'a Sections, host: &HostConfig, switch: &SwitchConfig) -> Checked<Self> {
        let table = &sections.switch.scheduler;
        let outputs = switch::frames_wait_at_outputs(switch);
        Ok(Self {
            scheduled: scheduler(table, host, outputs)?,
            table,
        })
    }

    /// Every one of `used`, at `place`, has a queue.
    pub fn check(&self, used: u8, place: Range<usize>) -> Checked<()> {
        check_queues(&self.scheduled, self.table, used, place)
    }
}
