//! Jobs that fail: their ranks elsewhere learn of it.

use unpause_protocols::units::Time;

use super::Shard;
use crate::plan::Plan;

impl Shard {
    /// Connections of jobs have given up in the last window: all ranks of these jobs stop, after the notice.
    #[cold]
    pub(super) fn report_failures(&mut self, plan: &Plan<'_>) {
        let new = self.log.job_failures[self.failures..].to_vec();
        self.failures += new.len();
        for failure in new {
            let jobs = &plan.config.jobs;
            let Some(job) = jobs.iter().position(|it| it.entry == failure.entry) else {
                continue;
            };
            let at = failure.stops;
            self.stop_ranks(plan, job, at);
            for host in &jobs[job].hosts {
                let to = usize::from(self.shard_of[*host as usize]);
                if to == usize::from(self.index) {
                    continue;
                }
                self.first_sent.add(plan.schedule.outer.of(*host), at);
                let failed = &mut self.outboxes[to].failed;
                if failed.last() != Some(&(job, at)) {
                    failed.push((job, at));
                }
            }
        }
    }

    /// The ranks of job number `job` in this shard stop at this time.
    pub(super) fn stop_ranks(&mut self, plan: &Plan<'_>, job: usize, at: Time) {
        for &host in &plan.config.jobs[job].hosts {
            if self.owns(host) {
                self.host(host).stop_rank(at, job);
                self.calendar.wake(host, at);
            }
        }
    }
}
