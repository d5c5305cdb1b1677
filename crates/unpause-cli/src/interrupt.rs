//! Ctrl-C: the first ends the run in order, the second at once.

use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Starts to listen.
pub fn listen() {
    INTERRUPTED.store(false, Ordering::Relaxed);
    // Fails if there is a handler already: ours, from an earlier command of this process.
    let _ = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
}

/// True since Ctrl-C.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}
