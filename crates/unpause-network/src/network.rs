//! Networks, and the loop that calls callbacks.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::c_void;
use std::path::Path;

use unpause_protocols::units::Time;
use unpause_scenario::session::{Sending, Session, SessionOptions};
use unpause_scenario::{Error, quantity};
use unpause_sim::session::What;

use crate::status::{Failure, fail};
use crate::streams::{Key, Streams};
use crate::unpause_network_status as Status;

/// A callback; null for none.
pub type unpause_network_callback = Option<unsafe extern "C" fn(argument: *mut c_void)>;

/// When a receive is done.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum unpause_network_completion {
    /// When the last byte has arrived.
    #[default]
    Delivered,
    /// When the sender has the acknowledgement of the last byte.
    Ack,
}

impl unpause_network_completion {
    /// Of that number.
    pub(crate) fn of(number: u32) -> Option<Self> {
        [Self::Delivered, Self::Ack]
            .into_iter()
            .find(|it| *it as u32 == number)
    }
}

/// A callback with its argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub function: unsafe extern "C" fn(argument: *mut c_void),
    pub argument: *mut c_void,
}

/// How a network is opened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub scheme: Option<String>,
    pub duration: Option<String>,
    pub priority: Option<u8>,
    pub completion: unpause_network_completion,
}

/// A network that is open.
pub(crate) struct Network {
    session: Session,
    completion: unpause_network_completion,
    streams: Streams<Call>,
    /// Callbacks for acknowledged messages.
    sent: BTreeMap<u32, Call>,
    timers: BTreeMap<u64, Call>,
    /// Callbacks that are due now.
    ready: VecDeque<Call>,
    stopped: bool,
    running: bool,
}

thread_local! {
    /// The networks of this thread, and the number of the next one.
    static NETWORKS: RefCell<(BTreeMap<u64, Network>, u64)> = const { RefCell::new((BTreeMap::new(), 1)) };
}

/// Keeps a network; answers its number.
pub(crate) fn keep(network: Network) -> u64 {
    NETWORKS.with_borrow_mut(|(networks, next)| {
        let number = *next;
        *next += 1;
        networks.insert(number, network);
        number
    })
}

/// Does something with a network.
pub(crate) fn with<T>(
    number: u64,
    with: impl FnOnce(&mut Network) -> Result<T, Failure>,
) -> Result<T, Failure> {
    NETWORKS.with_borrow_mut(|(networks, _)| match networks.get_mut(&number) {
        Some(network) => with(network),
        None => Err(none(number)),
    })
}

fn none(number: u64) -> Failure {
    let message = format!(
        "there is no network {number} on this thread: it was never opened, it was closed, or another thread has it"
    );
    fail(Status::NoNetwork, message)
}

/// Runs a network up to `until`, and calls what is to be called.
pub(crate) fn run(number: u64, until: Option<Time>) -> Result<(), Failure> {
    with(number, |network| {
        if network.running {
            return Err(fail(
                Status::InCallback,
                "a callback cannot run the network: it runs already",
            ));
        }
        (network.running, network.stopped) = (true, false);
        Ok(())
    })?;
    let end = loop {
        match with(number, |network| network.next(until)) {
            Ok(Some(call)) => {
                // Nothing of the network is borrowed: the callback may use it.
                // SAFETY: whoever handed over the function may have it called with this argument, as the crate asks for.
                unsafe { (call.function)(call.argument) };
            }
            Ok(None) => break Ok(()),
            Err(failure) => break Err(failure),
        }
    };
    with(number, |network| {
        network.running = false;
        Ok(())
    })?;
    end
}

/// Closes a network, and writes what was measured.
pub(crate) fn close(number: u64, directory: Option<&Path>) -> Result<(), Failure> {
    let network = NETWORKS.with_borrow_mut(|(networks, _)| {
        let network = networks.get(&number).ok_or_else(|| none(number))?;
        if network.running {
            return Err(fail(
                Status::InCallback,
                "a callback cannot close the network: call unpause_network_stop, and close it when unpause_network_run has returned",
            ));
        }
        Ok(networks.remove(&number))
    })?;
    let (Some(network), Some(directory)) = (network, directory) else {
        return Ok(());
    };
    let outcome = network.session.finish(None).map_err(of_scenario)?;
    let written = outcome.write(directory);
    written
        .map(drop)
        .map_err(|error| fail(Status::NotWritten, error.explain()))
}

fn of_scenario(error: Error) -> Failure {
    fail(Status::Scenario, error.explain())
}

impl Network {
    /// Opens one.
    pub fn open(path: &Path, options: Options) -> Result<Self, Failure> {
        let duration = options.duration.as_deref().map(quantity::parse_duration);
        let duration = duration
            .transpose()
            .map_err(|why| fail(Status::OutOfRange, format!("duration: {why}")))?;
        let options_of_session = SessionOptions {
            scheme: options.scheme,
            duration,
            priority: options.priority,
            ..SessionOptions::default()
        };
        let session = Session::open(path, &options_of_session).map_err(of_scenario)?;
        Ok(Self {
            session,
            completion: options.completion,
            streams: Streams::default(),
            sent: BTreeMap::new(),
            timers: BTreeMap::new(),
            ready: VecDeque::new(),
            stopped: false,
            running: false,
        })
    }

    pub fn ranks(&self) -> u32 {
        self.session.hosts().count() as u32
    }

    pub fn now(&self) -> Time {
        self.session.now()
    }

    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Messages under way, and receives that wait.
    pub fn pending(&self) -> (u64, u64) {
        (
            self.session.open_messages() as u64,
            self.streams.waiting() as u64,
        )
    }

    fn check(&self, rank: u32) -> Result<(), Failure> {
        let ranks = self.ranks();
        if rank < ranks {
            return Ok(());
        }
        let message = format!("there is no rank {rank}: this fabric has {ranks}, numbered from 0");
        Err(fail(Status::UnknownRank, message))
    }

    pub fn send(&mut self, key: Key, bytes: u64, call: Option<Call>) -> Result<(), Failure> {
        let (src, dst, tag) = key;
        self.check(src)?;
        self.check(dst)?;
        let sending = Sending {
            src: src as usize,
            dst: dst as usize,
            bytes,
            tag,
            connection: Some(0),
        };
        let sent = self.session.send(sending);
        let number = sent.map_err(|error| fail(Status::Refused, error.to_string()))?;
        self.streams.send(key, number, bytes);
        if let Some(call) = call {
            self.sent.insert(number, call);
        }
        Ok(())
    }

    pub fn receive(&mut self, key: Key, bytes: u64, call: Call) -> Result<(), Failure> {
        self.check(key.0)?;
        self.check(key.1)?;
        if let Some(call) = self.streams.receive(key, bytes, call) {
            // Not from here: who posts it may not be ready for the answer.
            self.schedule(Time::ZERO, call);
        }
        Ok(())
    }

    pub fn schedule(&mut self, delay: Time, call: Call) {
        let timer = self.session.schedule(delay, 0);
        self.timers.insert(timer, call);
    }

    /// The next callback; `None` if the run is to return.
    fn next(&mut self, until: Option<Time>) -> Result<Option<Call>, Failure> {
        loop {
            if self.stopped {
                return Ok(None);
            }
            if let Some(call) = self.ready.pop_front() {
                return Ok(Some(call));
            }
            let advanced = self.session.advance(until).map_err(of_scenario)?;
            let Some(completion) = advanced else {
                return Ok(None);
            };
            let (number, message, is_sent) = match completion.what {
                What::Timer(number, _) => {
                    self.ready.extend(self.timers.remove(&number));
                    continue;
                }
                What::Sent(number, message) => (number, message, true),
                What::Delivered(number, message) => (number, message, false),
            };
            if is_sent {
                self.ready.extend(self.sent.remove(&number));
            }
            if is_sent == (self.completion == unpause_network_completion::Ack) {
                let rank = |node| self.session.number(node) as u32;
                let key = (rank(message.src), rank(message.dst), message.tag);
                self.ready.extend(self.streams.arrive(key, number));
            }
        }
    }
}
