//! Locks and atomic numbers: those of the standard library, or loom's where it explores all their
//! interleavings (`make loom`).

#[cfg(loom)]
pub use loom::{
    hint::spin_loop,
    sync::{
        Condvar, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence},
    },
    thread::yield_now,
};

#[cfg(not(loom))]
pub use std::{
    hint::spin_loop,
    sync::{
        Condvar, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence},
    },
    thread::yield_now,
};

use std::sync::PoisonError;

/// Locks a mutex that nobody can have poisoned: no thread outlives a panic of another.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits to be notified. As [`lock`], of a mutex that nobody can have poisoned.
pub fn sleep<'l, T>(condition: &Condvar, guard: MutexGuard<'l, T>) -> MutexGuard<'l, T> {
    condition
        .wait(guard)
        .unwrap_or_else(PoisonError::into_inner)
}
