//! What of a switch moves on with time.

use unpause_protocols::ledger::Ledger;

use super::chassis::{Chassis, Model};
use crate::fabric::rng;

impl<M: Model> Chassis<M> {
    /// Shows its state.
    pub fn show<L: Ledger>(&mut self, ledger: &mut L) {
        let Self {
            id: _,
            classes: _,
            ports,
            queues,
            egress,
            ingress,
            ingress_totals,
            input_points,
            meters,
            lossy_packets: _,
            schedulers,
            ready,
            timers,
            pending_pauses,
            watchdogs,
            slow_path: _,
            balance,
            never_pauses: _,
            lossless: _,
            pfc_to_queue: _,
            has_link_credits: _,
            looked_at: _,
            looks_at_leaving: _,
            shapers,
            sampling,
            sampled_ports: _,
            // It changes where it is sampled.
            histogram: _,
            causes,
            rng,
            model,
        } = self;
        model.show(ledger);
        let known = input_points.is_empty() && meters.is_empty() && schedulers.is_empty();
        let known = known && causes.is_none() && watchdogs.is_none() && shapers.is_none();
        if !known || balance.is_some() {
            return ledger.refuse();
        }
        ports.iter_mut().for_each(|it| it.show(ledger));
        queues.iter_mut().for_each(|it| it.show(ledger));
        egress.iter_mut().for_each(|it| it.show(ledger));
        ingress.iter_mut().for_each(|it| it.show(ledger));
        ingress_totals.iter_mut().for_each(|it| it.show(ledger));
        ready.show(ledger);
        timers.show(ledger);
        pending_pauses.show(ledger);
        // Of what is sampled not all is shown.
        ledger.deadline(sampling.at);
        rng::show(rng, ledger);
    }
}
