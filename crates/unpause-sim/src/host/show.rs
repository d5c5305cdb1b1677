//! What of a host moves on with time.

use slab::Slab;
use unpause_protocols::congestion_control::Mechanism as _;
use unpause_protocols::ledger::Ledger;

use super::receiver::Receiver;
use super::sender::{Carries, Pace, Sender};
use super::state::{Class, Counters, Host, Nic, first_start};
use super::tcp::Tcp;
use crate::engine::ring::Ring;
use crate::fabric::rng;
use crate::plan::Plan;

impl Host {
    /// Shows its state.
    pub fn show<L: Ledger>(&mut self, plan: &Plan<'_>, ledger: &mut L) {
        if !self.may_repeat() {
            return ledger.refuse();
        }
        self.show_own(plan.config.host.ack_every, ledger);
        if let Some(ranks) = &mut self.ranks {
            ranks.show(plan, ledger);
        }
        if !self.others.is_empty() {
            let number = self.number;
            ledger.same(u64::from(number));
            let resting = (0..).zip(&mut self.others);
            let resting = resting.filter(|(nic, _)| *nic != number);
            resting.for_each(|(_, nic)| nic.show(ledger));
        }
        self.set_start();
        self.set_rare();
    }

    /// Shows it without ranks and resting NICs.
    fn show_own<L: Ledger>(&mut self, ack_every: u32, ledger: &mut L) {
        let Self {
            id: _,
            rare_at: _,
            has_link_credits: _,
            hpcc_nic: _,
            delays: _,
            has_shares: _,
            timers,
            senders,
            receivers,
            nic,
            pending_pauses,
            sampling,
            starts,
            selective: _,
            credits: _,
            // It is that of `starts` or `ranks`.
            start_at: _,
            notified,
            rng,
            flow_interval: _,
            buffer: _,
            delayed: _,
            tcp: _,
            expiries: _,
            waiting,
            retries: _,
            ranks: _,
            number: _,
            others: _,
        } = self;
        timers.show(ledger);
        show_all(senders, ledger, |it, ledger| it.show(ack_every, ledger));
        show_all(receivers, ledger, Receiver::show);
        nic.show(ledger);
        pending_pauses.show(ledger);
        ledger.deadline(sampling.at);
        ledger.same(starts.len() as u64);
        ledger.same(waiting.as_ref().map_or(0, |it| it.left()));
        ledger.deadline(first_start(starts));
        ledger.same(notified.len() as u64);
        notified.iter_mut().for_each(|it| it.show(ledger));
        rng::show(rng, ledger);
    }

    /// Nothing is in use whose state is not shown.
    fn may_repeat(&self) -> bool {
        let known = !self.hpcc_nic && !self.has_shares;
        let known = known && self.buffer.is_none() && self.delayed.is_empty();
        let known = known && self.nic.stopped_by.is_empty() && self.retries.is_none();
        let known = known && self.nic.replies.iter().all(Ring::is_empty);
        known && self.tcp.is_idle() && self.selective.is_none()
    }
}

impl Nic {
    /// Shows its state.
    fn show<L: Ledger>(&mut self, ledger: &mut L) {
        let Self {
            end,
            port: _,
            at,
            pacing,
            control,
            classes,
            acks,
            // Of HPCC's NIC.
            list: _,
            served: _,
            timer_at: _,
            // Where PAUSE is explained: the second grows only where the first is kept.
            stopped_by: _,
            waits: _,
            // Of TCP.
            replies: _,
            shares: _,
        } = self;
        end.show(false, ledger);
        ledger.earliest(at);
        pacing.show(ledger);
        control.show(ledger);
        classes.iter_mut().for_each(|it| it.show(ledger));
        acks.iter_mut().for_each(|ring| ring.show(ledger));
    }
}

/// Shows what is in a slab, and where.
fn show_all<T, L: Ledger>(slab: &mut Slab<T>, ledger: &mut L, show: impl Fn(&mut T, &mut L)) {
    ledger.same(slab.len() as u64);
    for (slot, it) in slab {
        ledger.same(slot as u64);
        show(it, ledger);
    }
}

impl Class {
    fn show<L: Ledger>(&mut self, ledger: &mut L) {
        let Self {
            counters,
            ready,
            pause,
        } = self;
        counters.show(ledger);
        ledger.same(ready.len() as u64);
        ready.iter().for_each(|slot| ledger.same((*slot).into()));
        pause.show(ledger);
    }
}

impl Counters {
    fn show<L: Ledger>(&mut self, ledger: &mut L) {
        let Self {
            tx_packets,
            tx_bytes,
        } = self;
        ledger.total(tx_packets);
        ledger.total(tx_bytes);
    }
}

impl Tcp {
    /// True if it has never had a flow.
    fn is_idle(&self) -> bool {
        let Self {
            senders,
            receivers,
            pool,
            qdisc: _,
        } = self;
        senders.is_empty() && receivers.is_empty() && pool.is_empty()
    }
}

impl Pace {
    fn show<L: Ledger>(&mut self, ledger: &mut L) {
        match self {
            Self::Idle => ledger.same(0),
            Self::Ready => ledger.same(1),
            Self::Until(at) => {
                ledger.same(2);
                ledger.time(at);
            }
        }
    }
}

impl Sender {
    /// Shows its state. A law that learns of what goes and comes moves on as nobody knows; another one has not been told
    /// anything if there was no loss, no notification, and no timer of its own.
    fn show<L: Ledger>(&mut self, ack_every: u32, ledger: &mut L) {
        let Self {
            flow,
            class: _,
            recorded: _,
            priority: _,
            telemetry,
            pace,
            next_start,
            timer_at,
            recovery,
            windowed: _,
            hears_acks: _,
            hears_sent,
            burst_over,
            rate_change: _,
            source_port: _,
            full_bytes: _,
            last_bytes,
            packet_bytes: _,
            dst: _,
            receiver_slot: _,
            sent_bytes,
            burst_start,
            burst_bytes,
            burst_limit: _,
            stop,
            available,
            offered: _,
            law_timer,
            spaced_bytes,
            spacing,
            rate,
            limit: _,
            speed: _,
            law,
            retransmitted,
            timeouts,
            notifications,
            window: _,
            acknowledged_at,
            silent_since,
            carries,
            tells: _,
        } = self;
        if *carries == Carries::Datagrams || *hears_sent || law.hears_acks() || *telemetry != 0 {
            return ledger.refuse();
        }
        for value in [
            u64::from(*flow),
            *retransmitted + *timeouts + *notifications,
            rate.as_bps(),
            *burst_bytes,
            *spaced_bytes,
            spacing.as_ps(),
            u64::from(*silent_since) << 32 | u64::from(*last_bytes) << 1 | u64::from(*burst_over),
            // Which packets are to be acknowledged.
            u64::from(recovery.next() % ack_every),
        ] {
            ledger.same(value);
        }
        ledger.deadline((*law_timer).min(*stop));
        pace.show(ledger);
        for time in [next_start, timer_at, burst_start, available] {
            ledger.time(time);
        }
        ledger.time(acknowledged_at);
        ledger.total(sent_bytes);
        recovery.show(*flow, ledger);
    }
}

impl Receiver {
    /// Shows its state.
    fn show<L: Ledger>(&mut self, ledger: &mut L) {
        let Self {
            flow,
            sender_slot,
            recovery,
            timer_at,
            notification_point,
            spec: _,
            payload_bytes: _,
            short_bytes,
        } = self;
        ledger.same(u64::from(*flow) << 32 | u64::from(*sender_slot));
        ledger.total(short_bytes);
        recovery.show(*flow, ledger);
        ledger.time(timer_at);
        notification_point.show(ledger);
    }
}
