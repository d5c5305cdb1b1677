//! A run that another program drives: it sends messages, and is told when they have been delivered.
//!
//! Completions come in order of time. Those of one instant come in this order: messages whose sender knows that all has
//! arrived, by the order in which they were sent; messages delivered, by the same; timers, by the order in which they
//! were set. Who is told of a completion may send at that very instant.
//!
//! The results are those of a run whose [`Config::traffic`] has the same messages as one more entry of
//! [`TrafficSpec::Flows`], bit for bit.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::ops::ControlFlow;

use self_cell::self_cell;
use unpause_protocols::units::Time;

use crate::Error;
use crate::config::invalid::Invalid;
use crate::config::{Config, NodeId, NodeKind, Skipping};
use crate::engine::log::Ended;
use crate::fabric::rng::mix;
use crate::outcome::results::Results;
use crate::plan::Plan;
use crate::run::assign_shards;
use crate::run::worker::driven::{Driven, Reached};
use crate::traffic::{Ending, FlowSettings, FlowSpec, TrafficSpec, Transport};

self_cell! {
    struct Planned {
        owner: Config,
        #[covariant]
        dependent: Plan,
    }
}

/// Taken when the run is closed.
type Drive<'p> = Option<Driven<'p>>;

self_cell! {
    struct Running {
        owner: Planned,
        #[not_covariant]
        dependent: Drive,
    }
}

/// The options of a session, and the settings of its messages.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The settings that all messages share.
    pub flow: FlowSettings,
    /// It is told when all of a message has been acknowledged.
    pub acknowledged: bool,
    /// It is told when all of a message has been delivered.
    pub delivered: bool,
}

impl Default for Options {
    /// Both, of flows with the settings that are the default.
    fn default() -> Self {
        Self {
            flow: FlowSettings::default(),
            acknowledged: true,
            delivered: true,
        }
    }
}

/// A message to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Sending host.
    pub src: NodeId,
    /// Receiving host.
    pub dst: NodeId,
    /// Payload bytes.
    pub bytes: u64,
    /// The caller's own; its completions have it.
    pub tag: u64,
    /// Messages from one host to another of the same connection take the same path where there are several. `None`: the
    /// path is drawn anew for each message. Congestion control starts anew with each message in any case.
    pub connection: Option<u32>,
}

/// A completion: the event, and its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// When.
    pub time: Time,
    /// What.
    pub what: What,
}

/// The event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The sender of a message knows that all of it has arrived.
    Sent(u32, Message),
    /// The last byte of a message has arrived in order.
    Delivered(u32, Message),
    /// A timer is due: its number, and the caller's own.
    Timer(u64, u64),
}

/// A run that another program drives, on the thread that calls.
pub struct Session {
    running: Running,
    options: Options,
    entry: u16,
    now: Time,
    over: bool,
    /// Messages of which something is still to be told, and how often.
    open: BTreeMap<u32, (Message, u8)>,
    messages: u64,
    timers: BinaryHeap<Reverse<(Time, u64, u64)>>,
    timers_set: u64,
    ready: VecDeque<Completion>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("now", &self.now)
            .field("open", &self.open.len())
            .finish_non_exhaustive()
    }
}

impl Session {
    /// Begins a run of `config`, at time zero. Its own traffic continues beside the messages; the run ends at
    /// [`Config::stop`] at the latest.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if the configuration cannot be run, or not be driven.
    pub fn open(mut config: Config, options: Options) -> Result<Self, Error> {
        if !config.following.is_empty() {
            let message = "flows that follow others cannot be in a session";
            let invalid = Invalid::new("traffic", message);
            return Err(invalid
                .help("send them when the session is told of the flow before")
                .into());
        }
        if !config.jobs.is_empty() {
            let message = "jobs cannot be in a session";
            return Err(Invalid::new("jobs", message).into());
        }
        if config.host.retry_count.is_some() {
            let message = "flows that give up cannot be in a session, which waits for them";
            return Err(Invalid::new("host.retry_count", message).into());
        }
        let nodes = (0..).zip(&config.fabric.nodes);
        let mut hosts = nodes.filter(|(_, kind)| **kind == NodeKind::Host);
        let (Some((a, _)), Some((b, _))) = (hosts.next(), hosts.next()) else {
            return Err(Invalid::new("fabric.nodes", "a session needs two hosts").into());
        };
        let entry = config.traffic.len() as u16;
        // It stands for all that will be sent, of the same priority and transport, and never starts.
        let never = FlowSpec {
            start: Time::NEVER,
            size_bytes: Some(1),
            ..options.flow.flow(a, b)
        };
        config.traffic.push(TrafficSpec::Flows(vec![never]));
        config.skipping = Skipping::Never;
        let planned = Planned::try_new(config, |config| plan(config, entry, &options))?;
        let running = Running::try_new(planned, |planned| {
            Driven::new(planned.borrow_dependent()).map(Some)
        })?;
        Ok(Self {
            running,
            options,
            entry,
            now: Time::ZERO,
            over: false,
            open: BTreeMap::new(),
            messages: 0,
            timers: BinaryHeap::new(),
            timers_set: 0,
            ready: VecDeque::new(),
        })
    }

    /// Where the run is.
    pub fn now(&self) -> Time {
        self.now
    }

    /// True when the run has come to its end: [`Config::stop`], or a deadlock that was looked for.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Messages of which something is still to be told.
    pub fn open_messages(&self) -> usize {
        self.open.len()
    }

    /// Sends a message, which starts now; returns its number, which is that of the flow in the results.
    ///
    /// # Errors
    ///
    /// Why it cannot be sent; the session continues as if it had not been asked.
    pub fn send(&mut self, message: Message) -> Result<u32, Refused> {
        let Message {
            src, dst, bytes, ..
        } = message;
        if self.over {
            return Err(Refused::Over(self.now));
        }
        self.check(&message)?;
        let settings = &self.options.flow;
        let spec = FlowSpec {
            group: self.entry,
            size_bytes: Some(bytes),
            start: self.now,
            priority: settings.priority_of(Some(bytes)),
            source_port: self.source_port(&message),
            ..settings.flow(src, dst)
        };
        let added = self.drive(|driven| driven.add(spec));
        let id = added.map_err(|error| Refused::NoWay(error.to_string()))?;
        self.messages += 1;
        let told = u8::from(self.options.acknowledged) + u8::from(self.options.delivered);
        if told > 0 {
            self.open.insert(id, (message, told));
        }
        Ok(id)
    }

    fn check(&self, message: &Message) -> Result<(), Refused> {
        let config = self.config();
        for host in [message.src, message.dst] {
            if config.fabric.nodes.get(host as usize) != Some(&NodeKind::Host) {
                return Err(Refused::NotAHost(host));
            }
        }
        if message.src == message.dst {
            return Err(Refused::ToItself(message.src));
        }
        if self.options.flow.transport == Transport::Roce {
            if message.bytes == 0 {
                return Err(Refused::NoBytes);
            }
            let most = config.host.most_bytes();
            if message.bytes > most {
                return Err(Refused::TooLarge {
                    bytes: message.bytes,
                    most,
                });
            }
        }
        if self.messages >= MOST_MESSAGES {
            return Err(Refused::TooMany);
        }
        Ok(())
    }

    /// A source port of a message: 0xC000 with 14 bits of entropy, as generators choose it.
    fn source_port(&self, message: &Message) -> u16 {
        let pair = u64::from(message.src) << 32 | u64::from(message.dst);
        let which = match message.connection {
            Some(connection) => u64::from(connection) << 1,
            None => self.messages << 1 | 1,
        };
        0xC000 | (mix(mix(pair ^ self.config().seed) ^ mix(which)) >> 50) as u16
    }

    /// Sets a timer for `delay` from now, which may be zero; answers its number. `tag` is the caller's own.
    pub fn schedule(&mut self, delay: Time, tag: u64) -> u64 {
        let number = self.timers_set;
        self.timers_set += 1;
        let at = self.now.saturating_add(delay);
        self.timers.push(Reverse((at, number, tag)));
        number
    }

    /// Goes on to the next completion, and is then at its time. Answers `None` at `until` if there is none up to then,
    /// that instant included; and where nothing is left to wait for, or the run is over, wherever that is.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if a flow of the configuration has no way to its receiver.
    pub fn advance(&mut self, until: Option<Time>) -> Result<Option<Completion>, Error> {
        self.advance_watched(until, &mut || ControlFlow::Continue(()))
    }

    /// The same; `watch` is called now and then, and may stop it.
    ///
    /// # Errors
    ///
    /// As [`Self::advance`], and [`Error::Interrupted`] if `watch` asked for it; the session can then continue.
    pub fn advance_watched(
        &mut self,
        until: Option<Time>,
        watch: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Option<Completion>, Error> {
        let until = until.unwrap_or(Time::NEVER).max(self.now);
        loop {
            if let Some(completion) = self.ready.pop_front() {
                return Ok(Some(completion));
            }
            let timer = self.timers.peek().map_or(Time::NEVER, |it| it.0.0);
            let limit = timer.min(until);
            let idle = limit.is_never() && self.open.is_empty();
            if idle || self.over {
                return Ok(None);
            }
            match self.drive(|driven| driven.run_to(limit, watch))? {
                Reached::Ended(at) => {
                    self.now = at;
                    self.tell();
                }
                Reached::Over(at) => {
                    (self.now, self.over) = (at, true);
                }
                Reached::Interrupted(at) => {
                    self.now = self.now.max(at);
                    return Err(Error::Interrupted);
                }
                Reached::Limit => {
                    self.now = limit;
                    if timer > limit {
                        return Ok(None);
                    }
                    let set = self.timers.pop();
                    return Ok(set.map(|Reverse((time, number, tag))| Completion {
                        time,
                        what: What::Timer(number, tag),
                    }));
                }
            }
        }
    }

    /// Makes completions of what has ended now.
    fn tell(&mut self) {
        let time = self.now;
        for Ended { flow, ending } in self.drive(|driven| driven.take_ended()) {
            let Some((message, left)) = self.open.get_mut(&flow) else {
                continue;
            };
            let message = *message;
            *left -= 1;
            if *left == 0 {
                self.open.remove(&flow);
            }
            let what = match ending {
                Ending::Acknowledged => What::Sent(flow, message),
                Ending::Delivered => What::Delivered(flow, message),
            };
            self.ready.push_back(Completion { time, what });
        }
    }

    /// Packets that have gone over a link.
    pub fn packet_hops(&mut self) -> u64 {
        self.drive(|driven| driven.packet_hops())
    }

    /// The soonest that the run can be closed: when the smallest frame that is sent now over the shortest link has
    /// arrived, in whole nanoseconds.
    pub fn soonest_end(&mut self) -> Time {
        let ahead = self.drive(|driven| driven.ahead());
        Time::from_ns((self.now + ahead).as_ps() / 1000 + 1)
    }

    /// Closes the run at `at`, or as [soon](Self::soonest_end) as it can be; nobody is told of completions up to then.
    /// The results are those of a run that ends then.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if a flow of the configuration has no way to its receiver.
    pub fn finish(mut self, at: Option<Time>) -> Result<Results, Error> {
        let soonest = self.soonest_end();
        let at = at.map_or(soonest, |at| at.max(soonest));
        self.running.with_dependent_mut(|_, driven| {
            driven.take().expect("a session is closed once").finish(at)
        })
    }

    /// The configuration that is simulated, the entry of the messages included.
    pub fn config(&self) -> &Config {
        self.running.borrow_owner().borrow_owner()
    }

    fn drive<T>(&mut self, with: impl FnOnce(&mut Driven<'_>) -> T) -> T {
        self.running.with_dependent_mut(|_, driven| {
            with(driven.as_mut().expect("a session is closed once"))
        })
    }
}

/// The plan of a run that is driven: what is told, and where windows have to end for that.
fn plan<'c>(config: &'c Config, entry: u16, options: &Options) -> Result<Plan<'c>, Error> {
    let mut plan = Plan::new(config)?;
    let asked = [
        (Ending::Acknowledged, options.acknowledged),
        (Ending::Delivered, options.delivered),
    ];
    let endings = asked.into_iter().filter(|(_, asked)| *asked);
    plan.followers
        .drive(entry, endings.map(|(ending, _)| ending));
    let nodes = &config.fabric.nodes;
    plan.schedule
        .for_driver(&plan.ports, |node| nodes[node as usize] == NodeKind::Host);
    assign_shards(&mut plan, &vec![0; nodes.len()]);
    Ok(plan)
}

/// Flows have numbers of 32 bits.
const MOST_MESSAGES: u64 = 1 << 31;

/// Why a message cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// There is no such host.
    #[error("node {0} is no host")]
    NotAHost(NodeId),
    /// It would go nowhere.
    #[error("host {0} cannot send to itself")]
    ToItself(NodeId),
    /// RoCE has nothing to send.
    #[error("a message over RoCE needs at least 1 byte")]
    NoBytes,
    /// A message has too many packets.
    #[error(
        "a message of {bytes} bytes, at most {most} are possible: split it, or raise host.payload"
    )]
    TooLarge {
        /// Its bytes.
        bytes: u64,
        /// So many are possible.
        most: u64,
    },
    /// There have been too many.
    #[error("more than 2147483648 messages in one session")]
    TooMany,
    /// There are no links between them.
    #[error("{0}")]
    NoWay(String),
    /// The run has ended.
    #[error("the run has ended at {} ns: nothing is sent any more", .0.as_ps() / 1000)]
    Over(Time),
}
