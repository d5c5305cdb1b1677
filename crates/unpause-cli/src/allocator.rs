//! The allocator of the program and of the Python package: MiMalloc, and a sentence where memory is refused.

use std::alloc::{GlobalAlloc, Layout};
use std::io::Write;

use mimalloc::MiMalloc;
use unpause_scenario::machine;

/// Blocks from this size on count for [`machine::full`]: smaller ones do not decide whether a run goes on.
const LARGE: usize = 16 << 20;

/// MiMalloc. Where it gets no memory, the process ends with a sentence and exit code 1: Rust would abort it, and nothing may
/// unwind from an allocator.
pub struct Allocator;

// SAFETY: blocks and layouts are MiMalloc's own; a null pointer is never returned.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller answers for the layout.
        checked(unsafe { MiMalloc.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller answers for the layout.
        checked(unsafe { MiMalloc.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller answers for the block, which is MiMalloc's.
        unsafe { MiMalloc.dealloc(block, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller answers for the block, which is MiMalloc's, and for the size.
        checked(unsafe { MiMalloc.realloc(block, layout, size) }, size)
    }
}

#[inline]
fn checked(block: *mut u8, size: usize) -> *mut u8 {
    if block.is_null() {
        refused(size);
    }
    if size >= LARGE {
        machine::note_block(size as u64);
    }
    block
}

/// Ends the process, without memory.
#[cold]
fn refused(size: usize) -> ! {
    let mut text = [0; 200];
    let mut rest = &mut text[..];
    let _ = write!(
        rest,
        "error: out of memory: {} MB more are not to be had\nhint: fewer samples, recorded packets, flows or runs at a time; finished runs are kept\n",
        size.div_ceil(1_000_000)
    );
    let left = rest.len();
    let _ = std::io::stderr().write_all(&text[..text.len() - left]);
    end()
}

/// Ends the process at once: what runs at an orderly exit may need memory.
#[cfg(unix)]
fn end() -> ! {
    // SAFETY: it takes a number, and returns nothing.
    unsafe { libc::_exit(1) }
}

#[cfg(not(unix))]
fn end() -> ! {
    std::process::exit(1)
}
