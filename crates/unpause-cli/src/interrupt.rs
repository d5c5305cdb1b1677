//! Ctrl-C and SIGTERM at any moment: a line, and the exit code that shells expect.
//!
//! Code that can end in order asks [`interrupted`]; everything else ends at once, and so does
//! anything at the second signal.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};

use crate::output::complain;

/// Exit code after Ctrl-C.
pub const CTRL_C: u8 = 130;

static CAUGHT: AtomicI32 = AtomicI32::new(0);
static IN_ORDER: AtomicBool = AtomicBool::new(false);
static CHILD: AtomicU32 = AtomicU32::new(0);

/// Starts to listen.
pub fn listen() {
    CAUGHT.store(0, Ordering::Relaxed);
    IN_ORDER.store(false, Ordering::Relaxed);
    #[cfg(unix)]
    unix::listen();
}

/// From now on, the first signal is answered by who asks [`interrupted`].
pub fn end_in_order() {
    IN_ORDER.store(true, Ordering::Relaxed);
}

/// True since the first signal.
pub fn interrupted() -> bool {
    CAUGHT.load(Ordering::Relaxed) != 0
}

/// The exit code of a process that a signal ended: 130, or 143 after SIGTERM.
pub fn code() -> u8 {
    match CAUGHT.load(Ordering::Relaxed) {
        0 => CTRL_C,
        signal => u8::try_from(128 + signal).unwrap_or(CTRL_C),
    }
}

/// The process that answers signals in place of this one; its exit code is ours.
pub fn answered_by(child: u32) {
    CHILD.store(child, Ordering::Relaxed);
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::sync::Once;

    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    pub fn listen() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else {
                return;
            };
            std::thread::spawn(move || signals.forever().for_each(answer));
        });
    }

    fn answer(signal: i32) {
        let is_first = CAUGHT.swap(signal, Ordering::Relaxed) == 0;
        if is_first && IN_ORDER.load(Ordering::Relaxed) {
            return;
        }
        let child = CHILD.load(Ordering::Relaxed) as i32;
        if is_first && child != 0 {
            // Ctrl-C goes to it, too; a SIGTERM is for this process alone.
            if let Some(child) = rustix::process::Pid::from_raw(child).filter(|_| signal == SIGTERM)
            {
                let _ = rustix::process::kill_process(child, rustix::process::Signal::TERM);
            }
            return;
        }
        complain!("interrupted");
        std::process::exit(code().into());
    }
}
