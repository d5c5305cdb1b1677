//! States in the caller's memory.

use crate::status::{guard, unpause_status};

/// Memory of the caller's that holds a state: an opaque struct of the header.
pub(crate) trait Storage: Sized {
    /// The state.
    type State;
    /// The beginning of the memory once it has a state.
    const MAGIC: u64;
}

#[repr(C)]
struct Held<T> {
    magic: u64,
    state: T,
}

/// Makes the state and writes it to `place`.
///
/// # Safety
/// As the crate says.
pub(crate) unsafe fn create<S: Storage>(
    place: *mut S,
    state: impl FnOnce() -> Result<S::State, unpause_status>,
) -> unpause_status {
    const {
        assert!(
            size_of::<Held<S::State>>() <= size_of::<S>(),
            "the struct is too small"
        );
        assert!(align_of::<Held<S::State>>() <= align_of::<S>());
        assert!(!core::mem::needs_drop::<S::State>(), "nobody ends it");
    }
    guard(|| {
        check(place)?;
        let magic = S::MAGIC;
        let state = state()?;
        // SAFETY: `place` is aligned and not null, has room for a `Held` (asserted above), and is the caller's alone.
        unsafe { place.cast::<Held<S::State>>().write(Held { magic, state }) };
        Ok(())
    })
}

/// Calls `call` with the state at `place`. After a panic the state counts as not created.
///
/// # Safety
/// As the crate says.
pub(crate) unsafe fn change<S: Storage>(
    place: *mut S,
    call: impl FnOnce(&mut S::State) -> Result<(), unpause_status>,
) -> unpause_status {
    let status = guard(|| {
        // SAFETY: what this function asks for is what `held` asks for.
        let held = unsafe { held(place)? }.cast_mut();
        // SAFETY: `held` has found the magic number that `create` wrote with a state of this type; nobody else
        // uses it.
        let held = unsafe { &mut *held };
        call(&mut held.state)
    });
    if status == unpause_status::Panic {
        // SAFETY: `call` has run, so `held` has found `place` aligned, not null and created.
        unsafe { place.cast::<u64>().write(0) };
    }
    status
}

/// The state at `place`, to look at.
///
/// # Safety
/// As the crate says.
pub(crate) unsafe fn look<'a, S: Storage>(place: *const S) -> Result<&'a S::State, unpause_status> {
    // SAFETY: `held` has found the magic number that `create` wrote with a state of this type.
    Ok(unsafe { &(*held(place)?).state })
}

fn check<S>(place: *const S) -> Result<(), unpause_status> {
    if place.is_null() {
        return Err(unpause_status::NullPointer);
    }
    if !place.is_aligned() {
        return Err(unpause_status::Unaligned);
    }
    Ok(())
}

/// # Safety
/// As the crate says.
unsafe fn held<S: Storage>(place: *const S) -> Result<*const Held<S::State>, unpause_status> {
    check(place)?;
    // SAFETY: `place` is aligned and not null, and leads to memory that `create` or C has written.
    if unsafe { place.cast::<u64>().read() } != S::MAGIC {
        return Err(unpause_status::NotCreated);
    }
    Ok(place.cast())
}
