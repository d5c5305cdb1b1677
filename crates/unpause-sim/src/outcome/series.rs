//! Samples of ports that are written during a run, so that memory does not grow with its length.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::outcome::results::PortSample;

/// Takes samples in order: by (time, node, port, priority).
pub type Samples<'a> = dyn Fn(Vec<PortSample>) + Sync + 'a;

/// Sorts samples.
pub fn in_order(mut samples: Vec<PortSample>) -> Vec<PortSample> {
    samples.sort_unstable_by_key(|s| (s.time, s.node, s.port, s.priority));
    samples
}

/// Puts together what threads have sampled up to the same window.
pub struct Merge<'a> {
    threads: usize,
    sink: &'a Samples<'a>,
    /// By window: how many threads have been here, and what they left.
    parts: Mutex<BTreeMap<u64, (usize, Vec<PortSample>)>>,
}

impl<'a> Merge<'a> {
    /// For this many threads.
    pub fn new(threads: usize, sink: &'a Samples<'a>) -> Self {
        Self {
            threads,
            sink,
            parts: Mutex::default(),
        }
    }

    /// Takes what a thread has sampled since it was last here, up to the start of window `window`.
    ///
    /// Threads are never more than a window apart, so parts are complete in their order.
    pub fn put(&self, window: u64, samples: Vec<PortSample>) {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let (threads, all) = parts.entry(window).or_default();
        *threads += 1;
        all.extend(samples);
        if *threads == self.threads
            && let Some((_, all)) = parts.remove(&window)
        {
            (self.sink)(in_order(all));
        }
    }
}
