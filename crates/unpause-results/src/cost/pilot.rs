//! How far this machine comes with a run in a short time.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;
use unpause_protocols::units::Time;

use crate::run::Run;

/// A window of a run takes as long as this many packet-hops.
const WINDOW_HOPS: u64 = 5;

/// How far the beginning of a run came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reached {
    /// Simulated time.
    pub until: Time,
    /// That was all.
    pub is_whole: bool,
    /// CPU time before anything moved.
    pub setup: Duration,
}

/// How far a run comes with about `most` packet-hops on one thread; none if it cannot be run.
pub(super) fn until(run: &Run, most: u64) -> Option<Reached> {
    let cpu = ThreadTime::now();
    let mut first = None;
    let mut now = Time::ZERO;
    let ended = unpause_sim::run_sequential(&run.config, 1, &mut |at| {
        now = at.now;
        first.get_or_insert_with(|| cpu.elapsed());
        if at.packet_hops + WINDOW_HOPS * at.windows >= most {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    let setup = first.unwrap_or_else(|| cpu.elapsed());
    match ended {
        Ok(_) => Some(Reached {
            until: run.config.stop,
            is_whole: true,
            setup,
        }),
        Err(unpause_sim::Error::Interrupted) if now > Time::ZERO => Some(Reached {
            until: now,
            is_whole: false,
            setup,
        }),
        Err(_) => None,
    }
}

/// A part of a run, on one thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beginning {
    /// Packets that went over a link.
    pub packet_hops: u64,
    /// Windows.
    pub windows: u64,
    /// CPU time.
    pub time: Duration,
}

/// The beginning of a run, with this many shards but on one thread, for about `long`; none if it cannot be run, or is
/// over at once.
pub fn beginning(run: &Run, shares: usize, long: Duration) -> Option<Beginning> {
    // Of this thread alone: what else the machine does is not the run's.
    let cpu = ThreadTime::now();
    let mut first = None;
    let mut last = Beginning::default();
    let ended = unpause_sim::run_sequential(&run.config, shares, &mut |at| {
        last = Beginning {
            packet_hops: at.packet_hops,
            windows: at.windows,
            time: cpu.elapsed(),
        };
        let (_, began) = *first.get_or_insert((last, Instant::now()));
        match began.elapsed() < long {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    if let Ok(results) = ended {
        last = Beginning {
            packet_hops: results.totals.packet_hops,
            windows: results.totals.windows.0,
            time: cpu.elapsed(),
        };
    }
    let (first, _) = first?;
    Some(Beginning {
        packet_hops: last.packet_hops - first.packet_hops,
        windows: last.windows - first.windows,
        time: last.time.saturating_sub(first.time),
    })
}
