//! How long a queue becomes before PFC stops its senders.

use crate::import::sonic::model::{ConfigDb, Threshold};
use crate::text::count::count;

/// What a sender's priority group may hold before it asks for PAUSE.
#[derive(Clone, Copy, Debug)]
enum Share {
    /// So much times what is free.
    Alpha(f64),
    /// Bytes.
    Bytes(f64),
}

/// Those who can send to a queue, through other ports of the switch, those that fill it most first.
#[derive(Clone, Debug)]
pub(super) struct Senders {
    pool: String,
    /// Of the pool, bytes.
    pub(super) size: u64,
    shares: Vec<(Share, u64)>,
}

impl Senders {
    /// Senders of a priority to a port.
    pub(super) fn of(db: &ConfigDb, to: &str, priority: u8) -> Option<Self> {
        let mut senders: Option<Self> = None;
        for (port, qos) in db.pfc_ports() {
            if port == to || port == "global" || !qos.pfc.contains(&priority) {
                continue;
            }
            let group = db.group_of(port, priority);
            let Some((_, Some(profile))) = db.lossless(port, group) else {
                continue;
            };
            let Some((name, pool)) = db.pool_of(profile) else {
                continue;
            };
            let (Some(size), Some(threshold)) = (&pool.size, &profile.threshold) else {
                continue;
            };
            let share = match threshold.value {
                Threshold::Dynamic(power) => Share::Alpha(f64::powi(2.0, power as i32)),
                Threshold::Static(bytes) => Share::Bytes(bytes as f64),
            };
            let reserved = profile.size.as_ref().map_or(0, |size| size.value);
            let xoff = profile.xoff.as_ref().map_or(0, |xoff| xoff.value);
            // Some switches count the headroom as reserved.
            let reserved = if reserved < xoff {
                reserved
            } else {
                reserved - xoff
            };
            let it = senders.get_or_insert_with(|| Self {
                pool: name.to_owned(),
                size: size.value,
                shares: Vec::new(),
            });
            if it.pool == name {
                it.shares.push((share, reserved));
            }
        }
        if let Some(it) = &mut senders {
            let size = it.size as f64;
            let alone = |share: &Share| match share {
                Share::Alpha(alpha) => size * alpha / (1.0 + alpha),
                Share::Bytes(bytes) => bytes.min(size),
            };
            it.shares
                .sort_by(|(a, _), (b, _)| alone(b).total_cmp(&alone(a)));
        }
        senders
    }

    /// How many there are.
    pub(super) fn number(&self) -> usize {
        self.shares.len()
    }

    /// How long the queue becomes before PFC stops `number` of them, bytes.
    pub(super) fn fill(&self, number: usize) -> u64 {
        let (mut alphas, mut bytes, mut reserved) = (0.0, 0.0, 0);
        for (share, own) in self.shares.iter().take(number) {
            reserved += own;
            match share {
                Share::Alpha(alpha) => alphas += alpha,
                Share::Bytes(of) => bytes += of,
            }
        }
        let size = self.size as f64;
        let bytes = f64::min(bytes, size);
        let shared = bytes + (size - bytes) * alphas / (1.0 + alphas);
        shared as u64 + reserved
    }

    /// The fewest senders with which the queue becomes longer than `bytes`.
    pub(super) fn fewest(&self, bytes: u64) -> Option<usize> {
        (1..=self.number()).find(|number| self.fill(*number) > bytes)
    }

    /// How [`fill`](Self::fill) is computed.
    pub(super) fn arithmetic(&self, number: usize) -> String {
        let total = count(self.fill(number));
        let (pool, size) = (&self.pool, count(self.size));
        let first = self.shares[0].0;
        let alike = self
            .shares
            .iter()
            .take(number)
            .all(|(share, _)| match (share, first) {
                (Share::Alpha(a), Share::Alpha(b)) => *a == b,
                (Share::Bytes(a), Share::Bytes(b)) => *a == b,
                _ => false,
            });
        let reserved: u64 = self.shares.iter().take(number).map(|(_, own)| own).sum();
        let and = match reserved {
            0 => String::new(),
            reserved => format!(" + {} reserved", count(reserved)),
        };
        match first {
            Share::Alpha(alpha) if alike => format!(
                "{number} of {} senders: n alpha B / (1 + n alpha){and}, n = {number}, alpha = {alpha}, B = {size} of {pool}: {total} B",
                self.number()
            ),
            Share::Bytes(bytes) if alike => format!(
                "{number} of {} senders: {number} x {}{and}, no more than {size} of {pool}: {total} B",
                self.number(),
                count(bytes as u64)
            ),
            _ => format!(
                "{number} of {} senders, each with its own threshold, of {size} of {pool}{and}: {total} B",
                self.number()
            ),
        }
    }
}
