//! How long a queue becomes before PFC stops its senders.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::chips;
use crate::model::{ConfigDb, Threshold};
use unpause_import::buffers::{Share, fewest, fill};
use unpause_text::count::{count, counted};

/// Someone who can send to a queue, through a port of the switch.
#[derive(Clone, Debug)]
struct Sender {
    port: String,
    share: Share,
    /// Bytes.
    reserved: u64,
    /// Headroom, bytes.
    xoff: u64,
}

/// Those who can send to a queue, through other ports of the switch, those that fill it most first.
#[derive(Clone, Debug)]
pub(super) struct Senders {
    pool: String,
    /// Of the pool, bytes.
    pub(super) size: u64,
    /// Bytes of the shared headroom pool, if there is one.
    headroom: Option<u64>,
    shares: Vec<Sender>,
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
                Threshold::Static(bytes) => Share::Bytes(bytes),
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
                headroom: pool.xoff.as_ref().map(|xoff| xoff.value),
                shares: Vec::new(),
            });
            if it.pool == name {
                it.shares.push(Sender {
                    port: port.to_owned(),
                    share,
                    reserved,
                    xoff,
                });
            }
        }
        if let Some(it) = &mut senders {
            let size = it.size;
            let alone = |of: &Sender| fill(size, &[of.share]);
            it.shares.sort_by_key(|of| Reverse(alone(of)));
        }
        senders
    }

    /// The same if the pool's size includes its shared headroom; none if it has none, or is known to exclude it.
    pub(super) fn with_headroom_within(&self, db: &ConfigDb) -> Option<Self> {
        let headroom = self.headroom.filter(|it| *it > 0)?;
        (!chips::adds_headroom(db)).then(|| Self {
            size: self.size.saturating_sub(headroom),
            ..self.clone()
        })
    }

    /// How many there are.
    pub(super) fn number(&self) -> usize {
        self.shares.len()
    }

    /// How long the queue becomes before PFC stops `number` of them, bytes.
    pub(super) fn fill(&self, number: usize) -> u64 {
        let senders = &self.shares[..number.min(self.shares.len())];
        let shares: Vec<Share> = senders.iter().map(|it| it.share).collect();
        fill(self.size, &shares) + senders.iter().map(|it| it.reserved).sum::<u64>()
    }

    /// The bytes that `number` of them still send after XOFF: those of `late` for each port, as far as there is headroom.
    pub(super) fn late(&self, number: usize, late: &BTreeMap<String, u64>) -> u64 {
        let senders = self.shares.iter().take(number);
        let each = senders.map(|it| late.get(&it.port).map_or(0, |bytes| *bytes.min(&it.xoff)));
        each.sum::<u64>()
            .min(self.headroom.filter(|it| *it > 0).unwrap_or(u64::MAX))
    }

    /// The name of the field that says when they are stopped.
    pub(super) fn threshold(&self) -> &'static str {
        let is_alpha = |it: &Sender| matches!(it.share, Share::Alpha(_));
        match (
            self.shares.iter().any(is_alpha),
            self.shares.iter().all(is_alpha),
        ) {
            (true, true) => "dynamic_th",
            (true, false) => "dynamic_th or static_th",
            (false, _) => "static_th",
        }
    }

    /// The fewest senders with which the queue becomes longer than `bytes`.
    pub(super) fn fewest(&self, bytes: u64) -> Option<usize> {
        fewest(self.number(), bytes, |number| self.fill(number))
    }

    /// How [`fill`](Self::fill) is computed.
    pub(super) fn arithmetic(&self, number: usize) -> String {
        let total = count(self.fill(number));
        let (pool, size) = (&self.pool, count(self.size));
        let first = self.shares[0].share;
        let those = &self.shares[..number];
        let alike = those.iter().all(|it| it.share == first);
        let reserved: u64 = those.iter().map(|it| it.reserved).sum();
        let and = match reserved {
            0 => String::new(),
            reserved => format!(" + {} reserved", count(reserved)),
        };
        let of = format!("{number} of {}", counted(self.number(), "sender"));
        match first {
            Share::Alpha(alpha) if alike => format!(
                "{of}: n alpha B / (1 + n alpha){and}, n = {number}, alpha = {alpha}, B = {size} of {pool}: {total} B"
            ),
            Share::Bytes(bytes) if alike => format!(
                "{of}: {number} x {}{and}, no more than {size} of {pool}: {total} B",
                count(bytes)
            ),
            _ => format!("{of}, each with its own threshold, of {size} of {pool}{and}: {total} B"),
        }
    }
}
