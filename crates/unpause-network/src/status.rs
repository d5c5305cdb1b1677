//! Status codes, and the barrier that stops panics.

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The result of a call. If it is not `UNPAUSE_NETWORK_STATUS_OK`, nothing has changed, except after
/// `UNPAUSE_NETWORK_STATUS_PANIC`; `unpause_network_error` says it in words.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum unpause_network_status {
    /// Done.
    Ok,
    /// A pointer is null.
    NullPointer,
    /// There is no such network on this thread: it was never opened, it was closed, or another thread has it.
    NoNetwork,
    /// The scenario cannot be read, or not be driven.
    Scenario,
    /// There is no such rank.
    UnknownRank,
    /// The message cannot be sent.
    Refused,
    /// A value is out of range.
    OutOfRange,
    /// A callback cannot do that.
    InCallback,
    /// Results cannot be written.
    NotWritten,
    /// A fault of the library; the network has to be closed.
    Panic,
}

/// Why a call has failed.
pub(crate) struct Failure {
    status: unpause_network_status,
    message: String,
}

pub(crate) fn fail(status: unpause_network_status, message: impl Into<String>) -> Failure {
    Failure {
        status,
        message: message.into(),
    }
}

thread_local! {
    static MESSAGE: RefCell<CString> = RefCell::default();
}

/// In words why the last call on this thread failed that did; empty if none has. It stays until the next one that fails.
#[unsafe(no_mangle)]
pub extern "C" fn unpause_network_error() -> *const c_char {
    MESSAGE.with_borrow(|message| message.as_ptr())
}

/// The status of a call, whose message is kept.
pub(crate) fn answer(call: impl FnOnce() -> Result<(), Failure>) -> unpause_network_status {
    let failure = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => return unpause_network_status::Ok,
        Ok(Err(failure)) => failure,
        Err(_) => fail(
            unpause_network_status::Panic,
            "a fault of the library: please report it with the scenario",
        ),
    };
    let message = failure.message.replace('\0', " ");
    MESSAGE.set(CString::new(message).unwrap_or_default());
    failure.status
}
