//! From entries to one stream of flows in order of start.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use unpause_protocols::units::Time;

use super::following::Following;
use super::jitter::Jitter;
use super::random::Stream;
use super::spec::{
    Arrivals, BurstFlows, FlowSpec, Interval, Pairs, Pattern, Receivers, Size, TrafficSpec,
};
use crate::fabric::{Fabric, NodeId};

/// All flows of a run, by start, then entry, then order within the entry. Endless if an entry is:
/// the reader stops at the end of its run.
#[derive(Debug)]
pub struct Traffic<'a> {
    sources: Vec<Source<'a>>,
    /// The next flow of each entry that has one.
    heads: Vec<Option<FlowSpec>>,
    /// Start of each head, and its entry.
    order: BinaryHeap<Reverse<(Time, u16)>>,
}

impl<'a> Traffic<'a> {
    /// The flows of `specs` in `fabric`, for a run seeded with `seed`. `Err` says which entry cannot
    /// be generated, and why.
    pub fn new(specs: &'a [TrafficSpec], fabric: &Fabric, seed: u64) -> Result<Self, String> {
        Self::without((specs, &[]), fabric, seed, &[])
    }

    /// The same without the flows of entries that follow others: those that have a start of their own. Those of the entries named
    /// start later, each by a random time up to that.
    ///
    /// # Errors
    ///
    /// As [`Traffic::new`].
    pub fn without(
        (specs, jitters): (&'a [TrafficSpec], &[(u16, Time)]),
        fabric: &Fabric,
        seed: u64,
        following: &[Following],
    ) -> Result<Self, String> {
        let mut traffic = Self {
            sources: Vec::with_capacity(specs.len()),
            heads: vec![None; specs.len()],
            order: BinaryHeap::with_capacity(specs.len()),
        };
        for (index, spec) in specs.iter().enumerate() {
            let group = u16::try_from(index).map_err(|_| "more than 65536 traffic entries")?;
            spec.validate(fabric)
                .map_err(|reason| format!("traffic entry {index}: {reason}"))?;
            let source = Source::new(spec, group, seed);
            let jitter = jitters.iter().find(|(entry, _)| *entry == group);
            traffic.sources.push(match jitter {
                Some((_, most)) => {
                    Source::Late(Box::new(source), Box::new(Jitter::new(*most, seed, group)))
                }
                None => source,
            });
            if following.iter().all(|it| it.entry != group) {
                traffic.advance(group);
            }
        }
        Ok(traffic)
    }

    /// Fetches the next flow of an entry.
    fn advance(&mut self, group: u16) {
        let head = self.sources[usize::from(group)].next();
        if let Some(flow) = &head {
            self.order.push(Reverse((flow.start, group)));
        }
        self.heads[usize::from(group)] = head.map(|flow| FlowSpec { group, ..flow });
    }
}

impl Iterator for Traffic<'_> {
    type Item = FlowSpec;

    fn next(&mut self) -> Option<FlowSpec> {
        let Reverse((_, group)) = self.order.pop()?;
        let flow = self.heads[usize::from(group)].take();
        self.advance(group);
        flow
    }
}

/// Flows of one entry, in order of start.
#[derive(Debug)]
enum Source<'a> {
    Sorted(std::slice::Iter<'a, FlowSpec>),
    /// Positions left, by start.
    Unsorted(&'a [FlowSpec], std::vec::IntoIter<u32>),
    Generated(Box<Generator<'a>>),
    /// Each of another source later.
    Late(Box<Source<'a>>, Box<Jitter>),
}

impl<'a> Source<'a> {
    fn new(spec: &'a TrafficSpec, group: u16, seed: u64) -> Self {
        match spec {
            TrafficSpec::Flows(flows) if flows.is_sorted_by_key(|flow| flow.start) => {
                Self::Sorted(flows.iter())
            }
            TrafficSpec::Flows(flows) => {
                let mut order: Vec<u32> = (0..flows.len() as u32).collect();
                order.sort_by_key(|&i| flows[i as usize].start);
                Self::Unsorted(flows, order.into_iter())
            }
            TrafficSpec::Pattern(pattern) => {
                Self::Generated(Box::new(Generator::new(pattern, Stream::new(seed, group))))
            }
        }
    }

    fn next(&mut self) -> Option<FlowSpec> {
        match self {
            Self::Sorted(flows) => flows.next().copied(),
            Self::Unsorted(flows, order) => order.next().map(|i| flows[i as usize]),
            Self::Generated(generator) => generator.next(),
            Self::Late(source, jitter) => jitter.next(|| source.next()),
        }
    }
}

/// Makes one event after the other, and the flows of each.
#[derive(Debug)]
struct Generator<'a> {
    random: Stream,
    pattern: &'a Pattern,
    arrivals: Arrivals,
    /// Of a permutation: the receiver of the sender at the same position. Of an incast: its hosts, the
    /// senders of the current event first, shuffled a little further at each event.
    order: Vec<NodeId>,
    /// The receiver of the current event of an incast.
    receiver: NodeId,
    /// Time of the current event.
    now: Time,
    events: u64,
    flows: u64,
    /// Flows of the current event: made, and all.
    made: usize,
    due: usize,
}

impl<'a> Generator<'a> {
    fn new(pattern: &'a Pattern, mut random: Stream) -> Self {
        let order = match &pattern.pairs {
            Pairs::Random {
                from,
                to: Receivers::Permutation,
                ..
            } => derangement(from, &mut random),
            Pairs::Incast { from, .. } => from.clone(),
            Pairs::Burst { .. } | Pairs::Random { .. } => Vec::new(),
        };
        Self {
            random,
            pattern,
            arrivals: pattern.arrivals,
            order,
            receiver: 0,
            now: pattern.arrivals.start,
            events: 0,
            flows: 0,
            made: 0,
            due: 0,
        }
    }

    fn next(&mut self) -> Option<FlowSpec> {
        if self.arrivals.max_flows.is_some_and(|max| self.flows >= max) {
            return None;
        }
        if self.made == self.due {
            self.next_event()?;
        }
        let (src, dst) = self.pair(self.made);
        self.made += 1;
        self.flows += 1;
        let size_bytes = self.pattern.size.as_ref().map(|size| match size {
            Size::Fixed(bytes) => *bytes,
            Size::Cdf(cdf) => cdf.inverse(self.random.unit()),
        });
        let mut stop = self.now.saturating_add(self.pattern.lifetime);
        if size_bytes.is_none() {
            stop = stop.min(self.arrivals.stop);
        }
        Some(FlowSpec {
            size_bytes,
            start: self.now,
            stop,
            priority: self.pattern.flow.priority_of(size_bytes),
            source_port: self.random.source_port(),
            ..self.pattern.flow.flow(src, dst)
        })
    }

    /// Advances to the next event; `None` if there is none.
    fn next_event(&mut self) -> Option<()> {
        if self
            .arrivals
            .max_events
            .is_some_and(|max| self.events >= max)
        {
            return None;
        }
        let interval = match self.arrivals.interval {
            Interval::Fixed(_) if self.events == 0 => Time::ZERO,
            Interval::Fixed(period) => period,
            Interval::Exponential { events_per_second } => {
                // Saturates, so that a rate near zero means never.
                Time::from_ps((self.random.exponential() / events_per_second * 1e12 + 0.5) as u64)
            }
        };
        self.now = self.now.saturating_add(interval);
        if self.now >= self.arrivals.stop {
            // Stay past the end, whatever is asked again.
            self.arrivals.max_events = Some(0);
            return None;
        }
        self.events += 1;
        self.made = 0;
        self.due = self.begin();
        Some(())
    }

    /// Draws what an event has in common, returns how many flows it starts.
    fn begin(&mut self) -> usize {
        match &self.pattern.pairs {
            Pairs::Burst { from, flows, .. } => match *flows {
                BurstFlows::PerHost(flows) => from.len() * flows as usize,
                BurstFlows::InAll(flows) => flows as usize,
            },
            Pairs::Random {
                synchronised: false,
                ..
            } => 1,
            Pairs::Random { from, .. } => from.len(),
            Pairs::Incast {
                to,
                senders: (least, most),
                ..
            } => {
                self.receiver = to[self.random.below(to.len())];
                let count = *least as usize + self.random.below((*most - *least) as usize + 1);
                choose(&mut self.order, count, self.receiver, &mut self.random);
                count
            }
        }
    }

    /// Sender and receiver of flow `i` of the event.
    fn pair(&mut self, i: usize) -> (NodeId, NodeId) {
        let random = &mut self.random;
        match &self.pattern.pairs {
            Pairs::Burst { from, to, flows } => match *flows {
                BurstFlows::PerHost(flows) => (from[i / flows as usize], *to),
                BurstFlows::InAll(_) => (from[i % from.len()], *to),
            },
            Pairs::Random {
                from,
                to,
                synchronised,
            } => {
                let i = if *synchronised {
                    i
                } else {
                    random.below(from.len())
                };
                let src = from[i];
                let dst = match to {
                    Receivers::Permutation => self.order[i],
                    Receivers::Any(to) => draw(to, random, |dst| dst != src),
                    Receivers::BehindOtherSwitch { to, switch_of } => {
                        let switch = |host: NodeId| switch_of[host as usize];
                        draw(to, random, |dst| switch(dst) != switch(src))
                    }
                };
                (src, dst)
            }
            Pairs::Incast { .. } => (self.order[i], self.receiver),
        }
    }
}

/// A random one of `hosts` that is `eligible`, each such as likely as another; there must be one.
fn draw(hosts: &[NodeId], random: &mut Stream, eligible: impl Fn(NodeId) -> bool) -> NodeId {
    loop {
        let host = hosts[random.below(hosts.len())];
        if eligible(host) {
            return host;
        }
    }
}

/// Shuffles `pool` so that its first `count` members are random ones other than `except`.
fn choose(pool: &mut [NodeId], count: usize, except: NodeId, random: &mut Stream) {
    let mut end = pool.len();
    if let Some(position) = pool.iter().position(|&node| node == except) {
        end -= 1;
        pool.swap(position, end);
    }
    for i in 0..count {
        pool.swap(i, i + random.below(end - i));
    }
}

/// A random order of `hosts` in which none stays in its place, each such order as likely as another:
/// shuffled until none does, which takes e = 2.7 shuffles on average.
fn derangement(hosts: &[NodeId], random: &mut Stream) -> Vec<NodeId> {
    let mut order = hosts.to_vec();
    loop {
        for i in (1..order.len()).rev() {
            order.swap(i, random.below(i + 1));
        }
        if order.iter().zip(hosts).all(|(a, b)| a != b) {
            return order;
        }
    }
}
