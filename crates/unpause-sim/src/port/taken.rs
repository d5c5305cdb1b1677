//! Who has the memory that a threshold depends on.

use unpause_protocols::units::Time;

use super::causes::{distinct, rates};
use super::chassis::{Chassis, Model};
use super::records::recorder::Recorder;
use crate::fabric::PortId;
use crate::outcome::causes::{Held, Holder, Taken};
use crate::plan::Plan;

impl<M: Model> Chassis<M> {
    /// Where XOFF of ingress (`from`, `class`) moves with free memory, and would be at twice what the ingress holds or
    /// more if only the queue that holds most of that were there: the egress queue with the most memory, and what it
    /// holds. `holders` are those of the ingress, most first.
    pub(super) fn taken(
        &self,
        causes: &mut Recorder,
        now: Time,
        (from, class): (PortId, u8),
        holders: &[Holder],
        plan: &Plan<'_>,
    ) -> Option<(Taken, Holder)> {
        let own = self.index(holders.first()?.egress?, class);
        let held: u64 = holders.iter().map(|it| it.bytes).sum();
        let others = || (0..self.queues.len()).filter(|index| *index != own);
        let free: u64 = others().map(|index| self.queues[index].bytes).sum();
        let xoff = M::xoff_with(self, self.index(from, class), free)?;
        let share = 1.0 - held as f64 / xoff.max(1) as f64;
        let most = |a: &usize, b: &usize| {
            let (one, other) = (&self.queues[*a], &self.queues[*b]);
            one.bytes.cmp(&other.bytes).then(b.cmp(a))
        };
        let largest = others().max_by(most)?;
        if share < 0.5 || self.queues[largest].bytes <= self.queues[own].bytes {
            return None;
        }
        let port = (largest / self.classes) as PortId;
        let holder = self.taker(causes, now, (port, largest), plan);
        Some((Taken { port, share }, holder))
    }

    /// What is in egress queue `index` of `port`, none of it of the ingress that is asked about.
    fn taker(
        &self,
        causes: &mut Recorder,
        now: Time,
        (port, index): (PortId, usize),
        plan: &Plan<'_>,
    ) -> Holder {
        let parts = self.parts(causes, now, index, None);
        let mut held = Held::default();
        for part in parts {
            held.add(part.flow, 0, part.bytes);
        }
        let inputs = distinct(parts.iter().map(|part| part.ingress));
        let transmitters = plan.ports.transmitters_of(self.id);
        Holder {
            egress: Some(port),
            queue_bytes: held.queue_bytes(),
            inputs: inputs.len() as u32,
            input_bps: rates(
                inputs
                    .iter()
                    .map(|port| transmitters[usize::from(*port)].peer_port),
                now,
                plan,
            ),
            senders: distinct(parts.iter().map(|part| part.src)).len() as u32,
            flows: held.into_shares(),
            ..Holder::empty(now)
        }
    }
}
