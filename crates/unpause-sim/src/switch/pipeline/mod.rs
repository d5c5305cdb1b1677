//! Switch with one packet processor behind its ingress FIFOs, as in the CaPFC paper (IFIP Networking
//! 2016, section II).
//!
//! The processor serves ingress ports in turn, decides on the way out, and puts a packet into its
//! egress queue after a fixed latency. Nothing can wait between: if the queue is full, [`Exit`] says
//! whether the packet is dropped or everything stops. An ingress counts a packet from reception until
//! it is in its egress queue.

mod balance;
mod egress;
mod ingress;
mod memory;
mod processor;
mod record;

use rand_xoshiro::Xoshiro256PlusPlus;
use unpause_protocols::flow_control::capfc::{self, Input};
use unpause_protocols::flow_control::pfc::Action;
use unpause_protocols::scheduler::Scheduler;
use unpause_protocols::units::{Rate, Time};

use crate::config::{Exit, PipelineConfig};
use crate::engine::heap::{Entry, Heap};
use crate::engine::window::Window;
use crate::engine::wire::GlobalPort;
use crate::fabric::{NodeId, PortId};
use crate::packet::{Kind, Packet};
use crate::plan::Plan;
use crate::rng;
use crate::sampling;
use crate::sampling::Sampling;
use crate::switch::egress::{Port, Queue};
use crate::switch::pause::{Parts, Pausing};
use crate::switch::schedule;
use crate::throttle::Reactions;

use balance::Balancer;
use ingress::Ingress;
use memory::Memory;
use processor::Processor;

/// The switch.
#[derive(Debug)]
pub struct Pipeline {
    id: NodeId,
    first_port: GlobalPort,
    classes: usize,
    thresholds: capfc::IngressParams,
    exit: Exit,
    ports: Vec<Port>,
    /// By port; none where the most urgent class always goes first.
    schedulers: Vec<Scheduler>,
    /// By port, then class.
    queues: Vec<Queue>,
    /// By port, then class: how often the queue stopped the processor, and for how long.
    stalls: Vec<(u64, Time)>,
    /// By port, then class: who filled the queue; none but with CaPFC.
    watchers: Vec<capfc::Egress<Box<[Input]>>>,
    /// By port, then class.
    ingress: Vec<Ingress>,
    memory: Memory,
    processor: Processor,
    balancer: Option<Balancer>,
    /// Inputs of which a queue has just set or cleared the mark.
    touched: Vec<PortId>,
    /// Arrivals of this window and ports that become free.
    events: Heap,
    timers: Heap,
    reactions: Reactions,
    sampling: Sampling,
    sampled_ports: Vec<PortId>,
    rng: Xoshiro256PlusPlus,
}

// Keys of events: arrivals before ports that become free, each by port.
const ARRIVAL: u32 = 0;
const READY: u32 = 1 << 16;

impl Pipeline {
    /// An empty switch.
    pub fn new(id: NodeId, config: &PipelineConfig, plan: &Plan<'_>) -> Self {
        let transmitters = plan.ports.transmitters_of(id);
        let ports = transmitters.len();
        let classes = plan.classes.count();
        let mut rng = rng::of_node(plan.config.seed, id);
        let mut queues = Vec::with_capacity(ports * classes);
        let mut ingress = Vec::with_capacity(ports * classes);
        for transmitter in transmitters {
            let rate = Rate::from_bps(8_000_000_000_000 / transmitter.ps_per_byte);
            let pause = plan.config.switch.pfc.params.pause_duration(rate);
            for class in 0..classes as u8 {
                queues.push(Queue::new(class, rate, ports, plan, &mut rng));
                ingress.push(Ingress {
                    pause,
                    ..Ingress::default()
                });
            }
        }
        let watcher = || capfc::Egress::new(vec![Input::default(); ports].into_boxed_slice());
        let watched = match config.exit {
            Exit::Capfc(_) => ports * classes,
            Exit::Drop | Exit::Stop => 0,
        };
        let sampled_ports = sampling::sampled_ports(id, plan);
        Self {
            id,
            first_port: plan.ports.of(id).start,
            classes,
            thresholds: config.ingress,
            exit: config.exit,
            ports: vec![Port::default(); ports],
            schedulers: schedule::schedulers(ports, plan),
            queues,
            stalls: vec![(0, Time::ZERO); ports * classes],
            watchers: (0..watched).map(|_| watcher()).collect(),
            ingress,
            memory: Memory::new(config.memory, ports, classes),
            processor: Processor::new(config, ports),
            balancer: config.balancing.map(|it| Balancer::new(it, plan)),
            touched: Vec::new(),
            events: Heap::default(),
            timers: Heap::default(),
            reactions: Reactions::default(),
            sampling: sampling::of_ports(&sampled_ports, plan),
            sampled_ports,
            rng,
        }
    }

    /// When it first has something to do.
    pub fn first_event(&self) -> Time {
        self.sampling.at
    }

    #[inline]
    fn index(&self, port: PortId, class: u8) -> usize {
        port as usize * self.classes + class as usize
    }

    /// A packet has arrived at port `from`.
    fn receive(&mut self, now: Time, packet: &Packet, from: PortId, window: &mut Window<'_, '_>) {
        let class = window.plan.classes.of(packet.priority());
        let lossless = window.plan.classes.is_lossless(class);
        let index = self.index(from, class);
        let ingress = &mut self.ingress[index];
        let size = u64::from(packet.bytes);
        if !self.memory.admit(index, ingress.control.bytes(), size) {
            ingress.dropped_packets += u64::from(lossless);
            window.log.counts.dropped_packets += self.queues[index].count_drop(packet);
            return;
        }
        let frames = &window.plan.config.switch.pfc.params;
        let bytes = u32::from(packet.bytes);
        let pause = ingress.pause;
        let action = ingress
            .control
            .on_admit(now, bytes, &self.thresholds, pause, frames);
        ingress.max_bytes = ingress.max_bytes.max(ingress.control.bytes());
        self.processor.arrive(packet, from);
        self.decided(now, from, class, action, window);
        if self.processor.next_service() <= now {
            self.serve(now, window);
        }
    }

    /// The ingress (`from`, `class`) has decided; only lossless priorities have PAUSE.
    #[inline]
    fn decided(
        &mut self,
        now: Time,
        from: PortId,
        class: u8,
        action: Action,
        window: &mut Window<'_, '_>,
    ) {
        if action == Action::None || !window.plan.classes.is_lossless(class) {
            return;
        }
        let index = self.index(from, class);
        // A repeated XOFF is the timer's.
        self.ingress[index].pause_events += u64::from(action == Action::Xoff);
        self.request_pfc(now, from, class, action, window);
    }

    /// The processor takes a packet and finds its way out.
    fn serve(&mut self, now: Time, window: &mut Window<'_, '_>) {
        let packet = self.processor.serve();
        let routing = &window.plan.routing;
        let to = match &self.balancer {
            Some(balancer) => {
                let class = window.plan.classes.of(packet.priority());
                let choices = routing.choices(self.id, packet.dst);
                balancer.choose(choices, class, &self.queues, &mut self.rng)
            }
            None => routing.port(self.id, packet.src, packet.dst, packet.source_port),
        };
        let to = to.expect("traffic without a way is rejected before the run");
        self.processor.process(now, packet, to);
    }

    /// A packet comes out of the processor.
    fn exit(&mut self, now: Time, window: &mut Window<'_, '_>) {
        let Some(head) = self.processor.head() else {
            return;
        };
        let (packet, to) = (head.packet, head.to);
        let class = window.plan.classes.of(packet.priority());
        let index = self.index(to, class);
        let size = u64::from(packet.bytes);
        let fits = self.memory.fits(to, self.queues[index].bytes, size);
        if !fits && self.exit == Exit::Stop && window.plan.classes.is_lossless(class) {
            self.stalls[index].0 += 1;
            return self.processor.stall(now);
        }
        self.processor.exit();
        self.release(now, &packet, class, window);
        if fits {
            self.enqueue(now, &packet, to, class, window);
        } else {
            self.memory.free(self.index(packet.ingress, class), size);
            window.log.counts.dropped_packets += self.queues[index].count_drop(&packet);
        }
    }

    /// A packet no longer counts at its ingress.
    fn release(&mut self, now: Time, packet: &Packet, class: u8, window: &mut Window<'_, '_>) {
        let index = self.index(packet.ingress, class);
        let ingress = &mut self.ingress[index];
        let frames = &window.plan.config.switch.pfc.params;
        let pause = ingress.pause;
        let bytes = u32::from(packet.bytes);
        let action = ingress
            .control
            .on_release(now, bytes, &self.thresholds, pause, frames);
        self.decided(now, packet.ingress, class, action, window);
    }

    /// There is more room at an egress: goes on if the next packet was waiting for it.
    fn resume(&mut self, now: Time, plan: &Plan<'_>) {
        let Some(head) = self.processor.head() else {
            return;
        };
        let class = plan.classes.of(head.packet.priority());
        let index = self.index(head.to, class);
        let size = u64::from(head.packet.bytes);
        if self.memory.fits(head.to, self.queues[index].bytes, size)
            && let Some(since) = self.processor.resume(now)
        {
            self.stalls[index].1 += now - since;
        }
    }

    /// When the next event other than an arrival is due.
    fn next_own(&self) -> Time {
        self.events.next_time().min(self.next_other())
    }

    /// The same without ports that become free.
    #[inline]
    fn next_other(&self) -> Time {
        self.processor
            .next_service()
            .min(self.processor.next_exit())
            .min(self.reactions.next_time())
            .min(self.timers.next_time())
            .min(self.sampling.at)
    }

    /// Executes the first of what is due at `now`, if it is not an arrival nor a free port.
    fn on_other(&mut self, now: Time, window: &mut Window<'_, '_>) {
        if self.processor.next_service() == now {
            self.serve(now, window);
        } else if self.processor.next_exit() == now {
            self.exit(now, window);
        } else if self.reactions.next_time() == now {
            if let Some(reaction) = self.reactions.pop() {
                self.obey(now, reaction, window);
            }
        } else if self.timers.next_time() == now {
            self.on_timer(now, window);
        } else {
            self.sampling.at = now + self.sampling.interval;
            self.on_sample(now, window.plan, window.log);
        }
    }

    /// Executes every event before the window's end; answers when the next one is due.
    fn run_events(&mut self, window: &mut Window<'_, '_>) -> Time {
        let end = window.end;
        let range = self.first_port..self.first_port + self.ports.len() as u32;
        for (port, &head) in window.wires.heads(range).iter().enumerate() {
            if head < end {
                self.events.push(Entry::new(head, ARRIVAL | port as u32, 0));
            }
        }
        loop {
            let other = self.next_other();
            let Some(entry) = self.events.peek().filter(|entry| entry.time() <= other) else {
                if other >= end {
                    return self.next_own();
                }
                window.log.counts.events += 1;
                self.on_other(other, window);
                continue;
            };
            let now = entry.time();
            if now >= end {
                return self.next_own();
            }
            window.log.counts.events += 1;
            let port = entry.key() as PortId;
            if entry.key() & READY == 0 {
                let (packet, next) = window.wires.pop(self.first_port + u32::from(port));
                if next < end {
                    let entry = Entry::new(next, ARRIVAL | u32::from(port), 0);
                    self.events.replace_top(entry);
                } else {
                    self.events.pop();
                }
                if packet.kind == Kind::Pfc {
                    self.on_pfc(now, port, &packet, window);
                } else {
                    self.receive(now, &packet, port, window);
                }
            } else {
                self.events.pop();
                self.ports[port as usize].ready = false;
                self.send_next(now, port, window);
            }
        }
    }
}

impl Pausing for Pipeline {
    type Ingress = Ingress;

    fn parts(&mut self) -> Parts<'_, Ingress> {
        Parts {
            id: self.id,
            first_port: self.first_port,
            classes: self.classes,
            ports: &mut self.ports,
            queues: &mut self.queues,
            ingress: &mut self.ingress,
            timers: &mut self.timers,
            reactions: &mut self.reactions,
        }
    }
    fn send_next(&mut self, now: Time, port: PortId, window: &mut Window<'_, '_>) {
        self.send_next(now, port, window);
    }
    fn schedule_ready(&mut self, port: PortId) {
        self.schedule_ready(port);
    }
}
