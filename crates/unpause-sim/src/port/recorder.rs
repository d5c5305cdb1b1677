//! What a switch keeps to say why it sent PAUSE.

use std::collections::VecDeque;

use unpause_protocols::units::Time;

use super::mirror::Mirror;
use crate::causes::{CauseRecord, FlowShare, Holder, Wait};

/// Flows told of by name, of those with most bytes of the ingress and of those with most in the queue.
const LARGEST: usize = 4;

/// What a switch keeps.
#[derive(Debug)]
pub struct Recorder {
    /// By (ingress port, class): the XOFF that is in force.
    open: Vec<Option<Open>>,
    /// By (egress port, class).
    queues: Vec<Watched>,
    causes: Vec<CauseRecord>,
    waits: Vec<Wait>,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    cause: usize,
    /// Frames that had found no headroom before.
    dropped: u64,
}

#[derive(Clone, Debug, Default)]
struct Watched {
    mirror: Mirror,
    stops: VecDeque<Stop>,
    /// What came until then has been counted as held back.
    counted: Time,
}

/// A time for which an egress was paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// From then.
    pub start: Time,
    /// [`Time::NEVER`] while it is.
    end: Time,
    /// When the PAUSE that was in force last had left the peer.
    pub sent: Time,
}

/// For how long, and by which PAUSE, an egress was paused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Paused {
    /// Whether it is now.
    pub now: bool,
    /// How long in all.
    pub time: Time,
    /// When the last PAUSE left the peer.
    pub sent: Option<Time>,
}

impl Recorder {
    /// Of a switch with so many (port, class).
    pub fn new(places: usize) -> Self {
        Self {
            open: vec![None; places],
            queues: vec![Watched::default(); places],
            causes: Vec::new(),
            waits: Vec::new(),
        }
    }

    /// Whether the XOFF of ingress `index` is known.
    pub fn is_open(&self, index: usize) -> bool {
        self.open[index].is_some()
    }

    /// Ingress `index` has gone to XOFF; before, `dropped` frames had found no headroom.
    pub fn on_xoff(&mut self, index: usize, cause: CauseRecord, dropped: u64) {
        let at = self.causes.len();
        self.causes.push(cause);
        self.open[index] = Some(Open { cause: at, dropped });
    }

    /// Ingress `index` has gone to XON, or the run has ended.
    pub fn on_xon(&mut self, index: usize, now: Time, dropped: u64) -> Option<&mut CauseRecord> {
        let open = self.open[index].take()?;
        let cause = &mut self.causes[open.cause];
        cause.until = now;
        cause.dropped_packets = dropped - open.dropped;
        Some(cause)
    }

    /// A PAUSE that left the peer at `sent` stops egress `index`, or goes on to do so.
    pub fn on_stop(&mut self, index: usize, now: Time, sent: Time) {
        let stops = &mut self.queues[index].stops;
        match stops.back_mut() {
            Some(stop) if stop.end.is_never() => stop.sent = sent,
            _ => stops.push_back(Stop {
                start: now,
                end: Time::NEVER,
                sent,
            }),
        }
    }

    /// Egress `index` may go on; what came before `oldest` has left it.
    pub fn on_go(&mut self, index: usize, now: Time, oldest: Time) -> Option<Stop> {
        let stops = &mut self.queues[index].stops;
        while stops.front().is_some_and(|stop| stop.end < oldest) {
            stops.pop_front();
        }
        let stop = stops.back_mut().filter(|stop| stop.end.is_never())?;
        stop.end = now;
        Some(*stop)
    }

    /// How egress `index` has been paused since the packet came that has waited longest.
    pub fn paused(&self, index: usize, oldest: Time, now: Time) -> Paused {
        let mut found = Paused::default();
        for stop in self.queues[index].stops.iter().rev() {
            if stop.end <= oldest {
                break;
            }
            found.now |= stop.end.is_never();
            found.time += stop.end.min(now) - stop.start.max(oldest).min(now);
            found.sent = found.sent.or(Some(stop.sent));
        }
        found
    }

    /// What egress queue `index` holds.
    pub fn mirror(&mut self, index: usize) -> &mut Mirror {
        &mut self.queues[index].mirror
    }

    /// Until when what came into egress queue `index` has been counted as held back.
    pub fn counted(&mut self, index: usize) -> &mut Time {
        &mut self.queues[index].counted
    }

    /// A flow has waited.
    pub fn on_wait(&mut self, wait: Wait) {
        self.waits.push(wait);
    }

    /// What it has recorded.
    pub fn into_records(self) -> (Vec<CauseRecord>, Vec<Wait>) {
        (self.causes, self.waits)
    }
}

/// What an ingress has in an egress queue, and what else is there, flow by flow.
#[derive(Debug, Default)]
pub struct Held {
    /// By flow.
    flows: Vec<FlowShare>,
}

impl Held {
    /// Adds bytes of the ingress, and of all.
    pub fn add(&mut self, flow: u32, bytes: u64, queue_bytes: u64) {
        let at = self.flows.binary_search_by_key(&Some(flow), |it| it.flow);
        let at = at.unwrap_or_else(|at| {
            let share = FlowShare {
                flow: Some(flow),
                flows: 1,
                bytes: 0,
                queue_bytes: 0,
            };
            self.flows.insert(at, share);
            at
        });
        self.flows[at].bytes += bytes;
        self.flows[at].queue_bytes += queue_bytes;
    }

    /// Bytes of the ingress.
    pub fn bytes(&self) -> u64 {
        self.flows.iter().map(|flow| flow.bytes).sum()
    }

    /// Bytes of all.
    pub fn queue_bytes(&self) -> u64 {
        self.flows.iter().map(|flow| flow.queue_bytes).sum()
    }

    /// The largest flows, and the others together; the others alone, who have nothing, if there is none.
    pub fn into_shares(mut self) -> Vec<FlowShare> {
        let flows = &mut self.flows;
        let most_in_queue = |it: &FlowShare| (std::cmp::Reverse(it.queue_bytes), it.flow);
        let most_of_ingress = |it: &FlowShare| (std::cmp::Reverse(it.bytes), it.flow);
        flows.sort_unstable_by_key(most_of_ingress);
        let first = LARGEST.min(flows.len());
        flows[first..].sort_unstable_by_key(most_in_queue);
        let rest = flows.split_off((2 * LARGEST).min(flows.len()));
        if !rest.is_empty() || flows.is_empty() {
            flows.push(FlowShare {
                flow: None,
                flows: rest.len() as u32,
                bytes: rest.iter().map(|it| it.bytes).sum(),
                queue_bytes: rest.iter().map(|it| it.queue_bytes).sum(),
            });
        }
        self.flows
    }
}

/// An egress without anything in it.
pub fn blank(at: Time) -> Holder {
    Holder {
        at,
        egress: None,
        bytes: 0,
        queue_bytes: 0,
        inputs: 0,
        senders: 0,
        input_bps: 0,
        is_paused: false,
        paused: Time::ZERO,
        sent: None,
        paused_by: None,
        flows: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_are_told_by_name_and_nothing_is_lost() {
        let mut held = Held::default();
        for flow in 0..20 {
            held.add(flow, u64::from(flow), u64::from(100 - flow));
        }
        let shares = held.into_shares();
        let named: Vec<u32> = shares.iter().filter_map(|it| it.flow).collect();
        assert_eq!(named, [19, 18, 17, 16, 0, 1, 2, 3]);
        let rest = shares[8];
        assert_eq!((rest.flow, rest.flows), (None, 12));
        assert_eq!(shares.iter().map(|it| it.bytes).sum::<u64>(), 190);
        let all = shares.iter().map(|it| it.queue_bytes).sum::<u64>();
        assert_eq!(all, 2000 - 190);
    }

    #[test]
    fn a_pause_counts_from_when_the_oldest_packet_came() {
        let us = Time::from_us;
        let mut recorder = Recorder::new(1);
        recorder.on_stop(0, us(10), us(9));
        recorder.on_stop(0, us(15), us(14));
        assert_eq!(
            recorder.on_go(0, us(20), us(0)).map(|it| it.sent),
            Some(us(14))
        );
        recorder.on_stop(0, us(30), us(29));
        let paused = |oldest| {
            let it = recorder.paused(0, us(oldest), us(34));
            (it.now, it.time, it.sent)
        };
        assert_eq!(paused(12), (true, us(12), Some(us(29))));
        assert_eq!(paused(20), (true, us(4), Some(us(29))));
        assert_eq!(paused(33), (true, us(1), Some(us(29))));
    }
}
