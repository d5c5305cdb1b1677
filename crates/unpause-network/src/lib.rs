//! A fabric of unpause as a network that C and C++ programs drive: `include/unpause_network.h`, which cbindgen makes of
//! this crate, and the libraries `libunpause_network.a` and `.so`.
//!
//! A network is a number, so that one that was closed, or never opened, is told from others. It belongs to the thread that
//! opened it: all calls and all callbacks are on that thread. Every function answers a [`unpause_network_status`], and
//! [`unpause_network_error`] says in words what was wrong; then nothing has changed. No panic leaves the library.
//!
//! # Safety
//!
//! Every function requires the same: a pointer is null, which is reported, or points to a value of its type (for results,
//! to space for one) that nothing else uses during the call; a string ends with a zero. A callback gets the pointer that
//! was registered with it, which is never dereferenced.
#![allow(non_camel_case_types, reason = "the names are C's")]
#![allow(clippy::missing_safety_doc, reason = "it is the same for all, above")]
#![deny(clippy::undocumented_unsafe_blocks)]

mod network;
mod status;
mod streams;

use std::ffi::{CStr, OsStr, c_char, c_void};
use std::path::Path;

use unpause_protocols::units::Time;

use network::{Call, Network};
pub use network::{unpause_network_callback, unpause_network_completion};
pub use status::*;
use status::{Failure, answer, fail};
use unpause_network_status as Status;

/// How a network is opened; all zeros is what a null pointer means, but for `priority`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct unpause_network_options {
    /// Which of the scenario's schemes; null if it has one.
    pub scheme: *const c_char,
    /// Instead of the scenario's duration, with its unit ("10ms"); null to leave it.
    pub duration: *const c_char,
    /// Priority of messages; -1 for the default, 3.
    pub priority: i32,
    /// When a receive is done: an `unpause_network_completion`.
    pub completion: u32,
}

/// Opens a network from a scenario file: its topology, its switches and one of its schemes; traffic that it has continues
/// beside the messages. Null options are the default ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_network_open(
    scenario: *const c_char,
    options: *const unpause_network_options,
    network: *mut u64,
) -> unpause_network_status {
    answer(|| {
        if network.is_null() {
            return Err(fail(Status::NullPointer, "`network` is null"));
        }
        // SAFETY: `scenario` is null or a string that ends with a zero, as the crate asks for; `text` requires no more.
        let path = unsafe { text(scenario, "scenario") }?;
        let options = if options.is_null() {
            network::Options::default()
        } else {
            // SAFETY: they are not null, and lead to options whose strings are as the crate asks for.
            unsafe { read(&*options) }?
        };
        let opened = Network::open(Path::new(OsStr::new(path)), options)?;
        // SAFETY: it is not null, so there is room for a number, as the crate asks for.
        unsafe { network.write(network::keep(opened)) };
        Ok(())
    })
}

/// How many hosts there are: ranks are numbers from 0 on, in the order of the topology.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_network_ranks(
    network: u64,
    ranks: *mut u32,
) -> unpause_network_status {
    answer(|| {
        // SAFETY: `ranks` is null or leads to room for a number that nobody else uses, as the crate asks for.
        let place = unsafe { place(ranks, "ranks") }?;
        *place = network::with(network, |it| Ok(it.ranks()))?;
        Ok(())
    })
}

/// Sends a message now. `callback`, which may be null, is called with `argument` when the sender has the acknowledgement of
/// all of it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_network_send(
    network: u64,
    src: u32,
    dst: u32,
    tag: u64,
    bytes: u64,
    callback: unpause_network_callback,
    argument: *mut c_void,
) -> unpause_network_status {
    answer(|| {
        let call = callback.map(|function| Call { function, argument });
        network::with(network, |it| it.send((src, dst, tag), bytes, call))
    })
}

/// Calls `callback` when this many more bytes of that tag have come from `src` to `dst`: the bytes of one tag between two ranks
/// are a stream, of which receives take theirs in the order in which they were posted, whatever the sizes of messages. Of
/// bytes that are there already, it is called from `unpause_network_run`, at the same time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_network_receive(
    network: u64,
    dst: u32,
    src: u32,
    tag: u64,
    bytes: u64,
    callback: unpause_network_callback,
    argument: *mut c_void,
) -> unpause_network_status {
    answer(|| {
        let function = callback.ok_or_else(|| fail(Status::NullPointer, "`callback` is null"))?;
        let call = Call { function, argument };
        network::with(network, |it| it.receive((src, dst, tag), bytes, call))
    })
}

/// Calls `callback` after `delay_ps` picoseconds, from `unpause_network_run` even if that is zero. Calls of one instant come in
/// the order in which they were asked for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_network_schedule(
    network: u64,
    delay_ps: u64,
    callback: unpause_network_callback,
    argument: *mut c_void,
) -> unpause_network_status {
    answer(|| {
        let function = callback.ok_or_else(|| fail(Status::NullPointer, "`callback` is null"))?;
        let call = Call { function, argument };
        network::with(network, |it| {
            it.schedule(Time::from_ps(delay_ps), call);
            Ok(())
        })
    })
}

/// Picoseconds since the start.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_network_time(
    network: u64,
    ps: *mut u64,
) -> unpause_network_status {
    answer(|| {
        // SAFETY: `ps` is null or leads to room for a number that nobody else uses, as the crate asks for.
        let place = unsafe { place(ps, "ps") }?;
        *place = network::with(network, |it| Ok(it.now().as_ps()))?;
        Ok(())
    })
}

/// Runs until nothing is left to wait for, the scenario's duration is over, or a callback has called
/// `unpause_network_stop`; calls callbacks meanwhile, which may send, receive and schedule.
#[unsafe(no_mangle)]
pub extern "C" fn unpause_network_run(network: u64) -> unpause_network_status {
    answer(|| network::run(network, None))
}

/// The same, but no further than `ps` picoseconds after the start, that instant included.
#[unsafe(no_mangle)]
pub extern "C" fn unpause_network_run_until(network: u64, ps: u64) -> unpause_network_status {
    answer(|| network::run(network, Some(Time::from_ps(ps))))
}

/// Has `unpause_network_run` return when the callback that calls this does; it can be called again.
#[unsafe(no_mangle)]
pub extern "C" fn unpause_network_stop(network: u64) -> unpause_network_status {
    answer(|| {
        network::with(network, |it| {
            it.stop();
            Ok(())
        })
    })
}

/// How many messages are under way, and how many receives wait: of a run that has come to its end, both should be zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_network_pending(
    network: u64,
    messages: *mut u64,
    receives: *mut u64,
) -> unpause_network_status {
    answer(|| {
        // SAFETY: `messages` is null or leads to room for a number that nobody else uses, as the crate asks for.
        let first = unsafe { place(messages, "messages") }?;
        // SAFETY: `receives` is null or leads to room for a number that nobody else uses, as the crate asks for.
        let second = unsafe { place(receives, "receives") }?;
        (*first, *second) = network::with(network, |it| Ok(it.pending()))?;
        Ok(())
    })
}

/// Closes a network, which is none afterwards. Writes its results into a directory, as `unpause run` does, unless that is null. A
/// callback cannot do so: it calls `unpause_network_stop`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_network_close(
    network: u64,
    directory: *const c_char,
) -> unpause_network_status {
    answer(|| {
        let directory = if directory.is_null() {
            None
        } else {
            // SAFETY: it is a string that ends with a zero, as the crate asks for; `text` requires no more.
            Some(Path::new(unsafe { text(directory, "directory") }?))
        };
        network::close(network, directory)
    })
}

/// # Safety
///
/// `pointer` is null or leads to a value that nobody else uses.
unsafe fn place<'a, T>(pointer: *mut T, name: &str) -> Result<&'a mut T, Failure> {
    // SAFETY: it is null or leads to a value that nobody else uses, which the caller answers for.
    let place = unsafe { pointer.as_mut() };
    place.ok_or_else(|| fail(Status::NullPointer, format!("`{name}` is null")))
}

/// # Safety
///
/// `pointer` is null or leads to a string that ends with a zero and stays as it is.
unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return Err(fail(Status::NullPointer, format!("`{name}` is null")));
    }
    // SAFETY: it is not null, and ends with a zero, which the caller answers for.
    let text = unsafe { CStr::from_ptr(pointer) }.to_str();
    text.map_err(|_| fail(Status::OutOfRange, format!("`{name}` is not UTF-8")))
}

/// # Safety
///
/// Its strings are null or end with a zero.
unsafe fn read(options: &unpause_network_options) -> Result<network::Options, Failure> {
    let of = |pointer: *const c_char, name| {
        if pointer.is_null() {
            return Ok(None);
        }
        // SAFETY: the strings of options are as the crate asks for; `text` requires no more.
        unsafe { text(pointer, name) }.map(|text| Some(text.to_owned()))
    };
    let priority = match options.priority {
        -1 => None,
        priority => Some(u8::try_from(priority).map_err(|_| {
            fail(
                Status::OutOfRange,
                format!("priority {priority}: -1 for the default, or 0 to 7"),
            )
        })?),
    };
    let completion = options.completion;
    let completion = unpause_network_completion::of(completion).ok_or_else(|| {
        fail(
            Status::OutOfRange,
            format!("there is no completion {completion}"),
        )
    })?;
    Ok(network::Options {
        scheme: of(options.scheme, "scheme")?,
        duration: of(options.duration, "duration")?,
        priority,
        completion,
    })
}
