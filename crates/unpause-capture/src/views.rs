//! One packet, seen at several interfaces.
//!
//! A packet that one interface shows twice was sent twice. So a packet was sent as often as the interface that
//! saw it most often shows it; the other interfaces show further views of it.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::time::Duration;

/// Where a packet was seen: an interface, and the hops that it may still take, which tell the views of files
/// that were merged apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct View {
    pub interface: (u32, u32),
    pub hops_left: u8,
}

struct Sightings {
    last: Duration,
    most: u32,
    by_view: Vec<(View, u32)>,
}

/// Packets of the last while.
pub(crate) struct Views<K> {
    within: Duration,
    seen: HashMap<K, Sightings>,
    /// When packets were first seen, or looked at again, in the order of the file.
    order: VecDeque<(Duration, K)>,
}

impl<K: Copy + Eq + Hash> Views<K> {
    /// Packets that come again later than this are others.
    pub(crate) fn new(within: Duration) -> Self {
        Self {
            within,
            seen: HashMap::new(),
            order: VecDeque::new(),
        }
    }

    /// Whether it is seen for the first time since it was sent.
    pub(crate) fn is_first(&mut self, packet: K, view: View, time: Duration) -> bool {
        self.forget(time);
        let known = self.seen.entry(packet).or_insert_with(|| {
            self.order.push_back((time, packet));
            Sightings {
                last: time,
                most: 0,
                by_view: Vec::new(),
            }
        });
        known.last = known.last.max(time);
        let at = known.by_view.iter().position(|(of, _)| *of == view);
        let at = at.unwrap_or_else(|| {
            known.by_view.push((view, 0));
            known.by_view.len() - 1
        });
        known.by_view[at].1 += 1;
        let is_first = known.by_view[at].1 > known.most;
        known.most = known.most.max(known.by_view[at].1);
        is_first
    }

    /// Forgets what was seen long before `now`.
    fn forget(&mut self, now: Duration) {
        while let Some(&(at, packet)) = self.order.front() {
            if now.saturating_sub(at) <= self.within {
                return;
            }
            self.order.pop_front();
            let last = self.seen.get(&packet).map(|known| known.last);
            match last.filter(|last| now.saturating_sub(*last) <= self.within) {
                Some(last) => self.order.push_back((last, packet)),
                None => {
                    self.seen.remove(&packet);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_counts_as_often_as_one_interface_shows_it() {
        let mut views = Views::new(Duration::from_millis(1));
        let at = |interface, hops_left| View {
            interface: (interface, 0),
            hops_left,
        };
        let us = Duration::from_micros;
        assert!(views.is_first(7, at(0, 64), us(0)));
        assert!(!views.is_first(7, at(1, 64), us(3)));
        assert!(!views.is_first(7, at(0, 63), us(4)));
        // Sent again, and lost before interface 1.
        assert!(views.is_first(7, at(0, 64), us(900)));
        assert!(!views.is_first(7, at(1, 64), us(1800)));
        assert!(views.is_first(8, at(1, 64), us(1801)));
        // Another with the same number, much later.
        assert!(views.is_first(7, at(1, 64), us(5000)));
        assert_eq!(views.seen.len(), 1);
    }
}
