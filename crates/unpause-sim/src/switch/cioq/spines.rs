//! Leaves and spines: frames cross as cells, requests and grants as small messages.
//!
//! A frame goes by one spine, the next in turn whose link is free and which has room; frames of a queue
//! that overtake one another are put in order again at the leaf of their output. A spine keeps cells of
//! an input until the buffer of their output has room for them, and its input tells the leaf when it has
//! room again. The output serves cells in order of arrival. Messages wait for the cell or message under
//! way and for nothing else.

use std::collections::VecDeque;

use slab::Slab;
use unpause_protocols::units::Time;

use super::voq::{Arrival, Shape, Voq};
use crate::config::{CioqConfig, SpinesConfig};
use crate::engine::heap::{Entry, Heap};
use crate::fabric::packet::Packet;

/// Bytes of a request or grant.
const MESSAGE_BYTES: u64 = 10;

// Kinds of events, in the upper bits of the key; below them, which link.
const CREDIT: u32 = 0;
const UP_FREE: u32 = 1;
const DOWN_FREE: u32 = 2;
const CELL_AT_SPINE: u32 = 3;
const MESSAGE_AT_SPINE: u32 = 4;
const CELL_AT_LEAF: u32 = 5;
const MESSAGE_AT_LEAF: u32 = 6;
const KIND_SHIFT: u32 = 28;

/// A frame in flight.
#[derive(Debug)]
struct Frame {
    packet: Packet,
    voq: Voq,
    head: u32,
    /// Which one of its queue it is.
    number: u32,
}

/// The link of a leaf to a spine.
#[derive(Clone, Debug, Default)]
struct Up {
    busy_until: Time,
    /// An event is pending for when it is free.
    ready: bool,
    /// The frame that it carries, and cells still to go.
    train: Option<(u32, u32)>,
    /// Cells that the spine has room for.
    credits: u32,
    messages: VecDeque<u32>,
}

/// The link of a spine to a leaf, with the cells that wait for it: the first ones in the buffer of this
/// output, the others at the inputs by which they came.
#[derive(Clone, Debug, Default)]
struct Down {
    busy_until: Time,
    ready: bool,
    /// Cells, and the uplink of each.
    cells: VecDeque<(u32, u32)>,
    messages: VecDeque<u32>,
}

#[derive(Clone, Debug, Default)]
struct Leaf {
    /// Granted frames that wait for a link.
    waiting: VecDeque<u32>,
    /// The next spine to try, for frames and for messages.
    next_up: usize,
    next_message: usize,
}

/// Order of the frames of a queue.
#[derive(Clone, Debug, Default)]
struct Order {
    sent: u32,
    due: u32,
    early: Vec<(u32, Packet)>,
}

/// The fabric.
#[derive(Debug)]
pub struct Spines {
    shape: Shape,
    hosts_per_leaf: usize,
    spines: usize,
    buffer_cells: usize,
    cell_bytes: u32,
    cell_time: Time,
    message_time: Time,
    /// From the last bit on a link until the other end has it ready.
    cell_hop: Time,
    message_hop: Time,
    /// By leaf, then spine.
    up: Vec<Up>,
    /// By leaf, then spine.
    down: Vec<Down>,
    leaves: Vec<Leaf>,
    frames: Slab<Frame>,
    /// By queue.
    order: Vec<Order>,
    events: Heap,
    /// Outputs that have not been fetched.
    out: VecDeque<(Time, Arrival)>,
}

impl Spines {
    /// An empty fabric. A cell crosses it in `config.latency`, a message in half of that, serialisation
    /// included.
    pub fn new(config: &CioqConfig, spines: &SpinesConfig, shape: Shape) -> Self {
        let cell_time = spines.rate.time_for(u64::from(config.cell_bytes));
        let message_time = spines.rate.time_for(MESSAGE_BYTES);
        let hop = |crossing: u64, own: Time| {
            let hop = Time::from_ps(crossing / 2).saturating_sub(own);
            hop.max(Time::from_ps(1))
        };
        let latency = config.latency.as_ps();
        let count = usize::from(spines.count);
        let hosts_per_leaf = usize::from(spines.hosts_per_leaf);
        let leaves = shape.ports.div_ceil(hosts_per_leaf);
        let up = Up {
            credits: u32::from(spines.buffer_cells),
            ..Up::default()
        };
        Self {
            shape,
            hosts_per_leaf,
            spines: count,
            buffer_cells: usize::from(spines.buffer_cells),
            cell_bytes: config.cell_bytes,
            cell_time,
            message_time,
            cell_hop: hop(latency, cell_time),
            message_hop: hop(latency / 2, message_time),
            up: vec![up; leaves * count],
            down: vec![Down::default(); leaves * count],
            leaves: vec![Leaf::default(); leaves],
            frames: Slab::new(),
            order: vec![Order::default(); shape.ports * shape.ports * shape.classes],
            events: Heap::default(),
            out: VecDeque::new(),
        }
    }

    fn leaf_of(&self, port: u16) -> usize {
        usize::from(port) / self.hosts_per_leaf
    }

    /// Sends a request, or a grant, by the next spine in turn.
    pub fn send_message(&mut self, now: Time, voq: Voq, is_grant: bool) {
        let from = self.leaf_of(if is_grant { voq.output } else { voq.input });
        let leaf = &mut self.leaves[from];
        let link = from * self.spines + leaf.next_message;
        leaf.next_message = (leaf.next_message + 1) % self.spines;
        let message = (self.shape.index(voq) as u32) << 1 | u32::from(is_grant);
        self.up[link].messages.push_back(message);
        self.pump_up(now, link);
    }

    /// Sends a frame.
    pub fn inject(&mut self, now: Time, voq: Voq, head: u32, packet: &Packet) {
        let order = &mut self.order[self.shape.index(voq)];
        let number = order.sent;
        order.sent += 1;
        let slot = self.frames.insert(Frame {
            packet: *packet,
            voq,
            head,
            number,
        });
        let leaf = self.leaf_of(voq.input);
        self.leaves[leaf].waiting.push_back(slot as u32);
        self.assign(now, leaf);
    }

    /// When something happens next.
    #[inline]
    pub fn next_time(&self) -> Time {
        match self.out.front() {
            Some((time, _)) => *time,
            None => self.events.next_time(),
        }
    }

    /// The output of the event that is due, if it has one.
    pub fn step(&mut self) -> Option<Arrival> {
        if let Some((_, arrival)) = self.out.pop_front() {
            return Some(arrival);
        }
        let event = self.events.pop()?;
        let now = event.time();
        let link = (event.key() & !(u32::MAX << KIND_SHIFT)) as usize;
        let payload = event.payload();
        match event.key() >> KIND_SHIFT {
            CREDIT => {
                self.up[link].credits += 1;
                self.pump_up(now, link);
                self.assign(now, link / self.spines);
            }
            UP_FREE => self.on_up_free(now, link),
            DOWN_FREE => {
                self.down[link].ready = false;
                self.pump_down(now, link);
            }
            CELL_AT_SPINE => self.on_cell_at_spine(now, link, payload),
            MESSAGE_AT_SPINE => {
                let voq = self.shape.voq((payload >> 1) as usize);
                let to = if payload & 1 == 1 {
                    voq.input
                } else {
                    voq.output
                };
                let down = self.leaf_of(to) * self.spines + link % self.spines;
                self.down[down].messages.push_back(payload);
                self.pump_down(now, down);
            }
            CELL_AT_LEAF => self.on_frame(now, payload),
            MESSAGE_AT_LEAF => {
                let voq = self.shape.voq((payload >> 1) as usize);
                return Some(if payload & 1 == 1 {
                    Arrival::Grant(voq)
                } else {
                    Arrival::Request(voq)
                });
            }
            _ => debug_assert!(false, "there are seven kinds of events"),
        }
        self.out.pop_front().map(|(_, arrival)| arrival)
    }

    fn at(&mut self, time: Time, kind: u32, link: usize, payload: u32) {
        let key = kind << KIND_SHIFT | link as u32;
        self.events.push(Entry::new(time, key, payload));
    }

    /// Gives waiting frames of a leaf to links that carry none and have room at their spines.
    fn assign(&mut self, now: Time, leaf: usize) {
        while let Some(&slot) = self.leaves[leaf].waiting.front() {
            let start = self.leaves[leaf].next_up;
            let links = (0..self.spines).map(|turn| (start + turn) % self.spines);
            let free = links.map(|spine| leaf * self.spines + spine).find(|&link| {
                let up = &self.up[link];
                up.train.is_none() && up.credits > 0
            });
            let Some(link) = free else { return };
            self.leaves[leaf].waiting.pop_front();
            self.leaves[leaf].next_up = (link % self.spines + 1) % self.spines;
            let bytes = u32::from(self.frames[slot as usize].packet.bytes);
            self.up[link].train = Some((slot, bytes.div_ceil(self.cell_bytes)));
            self.pump_up(now, link);
        }
    }

    fn on_up_free(&mut self, now: Time, link: usize) {
        self.up[link].ready = false;
        if let Some((slot, 0)) = self.up[link].train {
            self.up[link].train = None;
            let Frame { voq, head, .. } = self.frames[slot as usize];
            self.out.push_back((now, Arrival::Left { voq, head }));
            self.assign(now, link / self.spines);
        }
        self.pump_up(now, link);
    }

    /// Sends a message, or the next cell of the frame if the spine has room, if the link is free.
    fn pump_up(&mut self, now: Time, link: usize) {
        let up = &mut self.up[link];
        if up.busy_until <= now && !up.ready {
            if let Some(message) = up.messages.pop_front() {
                up.busy_until = now + self.message_time;
                let arrival = up.busy_until + self.message_hop;
                self.at(arrival, MESSAGE_AT_SPINE, link, message);
            } else if let Some((slot, left)) = &mut up.train
                && up.credits > 0
                && *left > 0
            {
                up.credits -= 1;
                *left -= 1;
                // Cells keep to one way; the last one brings the frame.
                let cell = *slot << 1 | u32::from(*left == 0);
                up.busy_until = now + self.cell_time;
                let arrival = up.busy_until + self.cell_hop;
                self.at(arrival, CELL_AT_SPINE, link, cell);
            }
        }
        let up = &mut self.up[link];
        let more = !up.messages.is_empty()
            || matches!(up.train, Some((_, left)) if left == 0 || up.credits > 0);
        if more && !up.ready {
            up.ready = true;
            let free = up.busy_until;
            self.at(free, UP_FREE, link, 0);
        }
    }

    fn on_cell_at_spine(&mut self, now: Time, from: usize, cell: u32) {
        let output = self.frames[(cell >> 1) as usize].voq.output;
        let to = self.leaf_of(output) * self.spines + from % self.spines;
        let down = &mut self.down[to];
        down.cells.push_back((cell, from as u32));
        debug_assert!(
            down.cells.len() <= self.buffer_cells * (self.leaves.len() + 1),
            "a spine holds no more than its buffers of inputs and of this output"
        );
        if down.cells.len() <= self.buffer_cells {
            self.at(now + self.cell_hop, CREDIT, from, 0);
        }
        self.pump_down(now, to);
    }

    /// Sends a message, or the cell that has come first, if the link is free.
    fn pump_down(&mut self, now: Time, link: usize) {
        let down = &mut self.down[link];
        if down.busy_until <= now && !down.ready {
            if let Some(message) = down.messages.pop_front() {
                down.busy_until = now + self.message_time;
                let arrival = down.busy_until + self.message_hop;
                self.at(arrival, MESSAGE_AT_LEAF, link, message);
            } else if let Some((cell, _)) = down.cells.pop_front() {
                down.busy_until = now + self.cell_time;
                let arrival = down.busy_until + self.cell_hop;
                // A cell moves from its input to the buffer of this output.
                let moved = down.cells.get(self.buffer_cells - 1).map(|cell| cell.1);
                if let Some(from) = moved {
                    self.at(now + self.cell_hop, CREDIT, from as usize, 0);
                }
                if cell & 1 == 1 {
                    self.at(arrival, CELL_AT_LEAF, link, cell >> 1);
                }
            }
        }
        let down = &mut self.down[link];
        if !(down.ready || down.messages.is_empty() && down.cells.is_empty()) {
            down.ready = true;
            let free = down.busy_until;
            self.at(free, DOWN_FREE, link, 0);
        }
    }

    /// A frame is complete; it comes out when those before it have.
    fn on_frame(&mut self, now: Time, slot: u32) {
        let Frame {
            packet,
            voq,
            number,
            ..
        } = self.frames.remove(slot as usize);
        let order = &mut self.order[self.shape.index(voq)];
        order.early.push((number, packet));
        while let Some(at) = order.early.iter().position(|early| early.0 == order.due) {
            let (_, packet) = order.early.swap_remove(at);
            order.due += 1;
            self.out.push_back((now, Arrival::Frame { voq, packet }));
        }
    }
}
