//! Status codes, and the barrier that stops panics.

use core::ffi::{CStr, c_char};
#[cfg(feature = "std")]
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The result of a call. If it is not `UNPAUSE_STATUS_OK`, nothing has changed and no result was written,
/// except after `UNPAUSE_STATUS_PANIC`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum unpause_status {
    /// Done.
    Ok,
    /// A pointer is null.
    NullPointer,
    /// The storage is not aligned as its type asks.
    Unaligned,
    /// The storage holds no such state: `…_create` was not called on it, or failed.
    NotCreated,
    /// There is no mechanism of this kind and name.
    UnknownMechanism,
    /// The mechanism has no parameter of this name, or none with this number.
    UnknownParameter,
    /// The value is more than the parameter, the argument or the field of a frame can hold, or none of its
    /// choices.
    OutOfRange,
    /// The configuration is one of another kind of mechanism.
    WrongKind,
    /// The bytes are no well-formed frame, or a checksum is wrong.
    Malformed,
    /// The frame is well-formed, as far as it was read, but of a protocol or with a tag that
    /// `unpause_frame` has no place for.
    UnknownFrame,
    /// The buffer is too short for the frame.
    BufferTooShort,
    /// A fault of the library; the state that it was called with must be created anew.
    Panic,
}

impl unpause_status {
    fn text(self) -> &'static CStr {
        match self {
            Self::Ok => c"ok",
            Self::NullPointer => c"a pointer is null",
            Self::Unaligned => c"the storage is not aligned",
            Self::NotCreated => c"the storage holds no state of this kind: it was not created",
            Self::UnknownMechanism => c"no mechanism of this kind has this name",
            Self::UnknownParameter => c"the mechanism has no such parameter",
            Self::OutOfRange => c"a value is out of range",
            Self::WrongKind => c"the configuration is one of another kind of mechanism",
            Self::Malformed => c"the bytes are no well-formed frame",
            Self::UnknownFrame => c"the frame is of a protocol that is not spoken here",
            Self::BufferTooShort => c"the buffer is too short for the frame",
            Self::Panic => c"a fault of the library",
        }
    }

    /// Every status by its number.
    const ALL: [Self; 12] = [
        Self::Ok,
        Self::NullPointer,
        Self::Unaligned,
        Self::NotCreated,
        Self::UnknownMechanism,
        Self::UnknownParameter,
        Self::OutOfRange,
        Self::WrongKind,
        Self::Malformed,
        Self::UnknownFrame,
        Self::BufferTooShort,
        Self::Panic,
    ];
}

/// A sentence for a status, for people; never null.
#[unsafe(no_mangle)]
pub extern "C" fn unpause_status_text(status: u32) -> *const c_char {
    let known = unpause_status::ALL.get(status as usize);
    known.map_or(c"no such status", |it| it.text()).as_ptr()
}

/// Runs `call` and turns its end, a panic included, into a status.
#[cfg(feature = "std")]
pub(crate) fn guard(call: impl FnOnce() -> Result<(), unpause_status>) -> unpause_status {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => unpause_status::Ok,
        Ok(Err(status)) => status,
        Err(_) => unpause_status::Panic,
    }
}

/// Runs `call` and turns its end into a status; a panic goes to [`unpause_panic`].
#[cfg(not(feature = "std"))]
pub(crate) fn guard(call: impl FnOnce() -> Result<(), unpause_status>) -> unpause_status {
    match call() {
        Ok(()) => unpause_status::Ok,
        Err(status) => status,
    }
}

/// Reads the value behind `pointer`.
///
/// # Safety
/// As the crate says.
pub(crate) unsafe fn read<'a, T>(pointer: *const T) -> Result<&'a T, unpause_status> {
    if !pointer.is_aligned() {
        return Err(unpause_status::Unaligned);
    }
    // SAFETY: it is aligned; null is answered, and else it leads to a value of its type, as the crate asks for.
    unsafe { pointer.as_ref() }.ok_or(unpause_status::NullPointer)
}

/// Where a result goes; taken before anything is done, so that a null pointer changes nothing.
///
/// # Safety
/// As the crate says.
pub(crate) unsafe fn room<'a, T>(
    pointer: *mut T,
) -> Result<&'a mut core::mem::MaybeUninit<T>, unpause_status> {
    if !pointer.is_aligned() {
        return Err(unpause_status::Unaligned);
    }
    // SAFETY: it is aligned; null is answered, and else it leads to room for a value, which nobody else uses.
    unsafe { pointer.cast::<core::mem::MaybeUninit<T>>().as_mut() }
        .ok_or(unpause_status::NullPointer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_list() {
        for (number, status) in unpause_status::ALL.iter().enumerate() {
            assert_eq!(*status as usize, number);
        }
    }

    #[test]
    fn a_panic_becomes_a_status() {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let status = guard(|| panic!("on purpose"));
        std::panic::set_hook(hook);
        assert_eq!(status, unpause_status::Panic);
    }
}
