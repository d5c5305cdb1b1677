//! The state of selective repeat at a host, beside its flows. Under go-back-N there is none.

use rand_core::Rng;
use unpause_protocols::congestion_control::receiver_credits::sender::{Credit, Demand};
use unpause_protocols::loss_recovery::go_back_n::{GoBack, InOrder};
use unpause_protocols::loss_recovery::selective_repeat::{self, OutOfOrder, SelectiveRepeat};
use unpause_protocols::loss_recovery::{Config, LossRecovery, Reassembly, Reception, numbers};
use unpause_protocols::units::{Rate, Time};

use super::sprayed::Sprayed;
use crate::fabric::packet::Packet;
use crate::fabric::{NodeId, PortId};
use crate::plan::Plan;
use crate::plan::recovery::{MOST_PACKETS, window_packets};

/// A bitmap.
type Words = Box<[u64]>;

/// The loss recovery of a sender.
pub type Recovery<'a> = LossRecovery<'a, Words>;

/// Selective repeat at the senders of a host, by slot.
#[derive(Debug, Default)]
pub struct Selective {
    senders: Vec<Option<SelectiveRepeat<Words>>>,
    /// Paths of sprayed flows.
    sprayed: Vec<Option<Sprayed>>,
    /// Credit of flows that need it.
    credits: Vec<Option<Credited>>,
}

/// Selective repeat at the receivers of a host, by slot: the packets that they keep out of order.
#[derive(Debug, Default)]
pub struct Reassemblies(Vec<Option<OutOfOrder<Words>>>);

/// `T` if `plan` repairs losses by selective repeat.
pub fn if_selective<T: Default>(plan: &Plan<'_>) -> Option<Box<T>> {
    match plan.config.scheme.loss_recovery {
        Config::GoBackN => None,
        Config::SelectiveRepeat(_) => Some(Box::default()),
    }
}

/// The credit of a flow at its sender.
#[derive(Debug)]
struct Credited {
    credit: Credit,
    packet_bytes: u32,
    base_rtt: Time,
    /// When it last asked for credit.
    asked_at: Option<Time>,
    /// When it first did, if no credit has come since.
    waits_since: Option<Time>,
}

impl Credited {
    /// The pull target of a flow with this demand, and this many packets to be sent again.
    fn target(&self, repairs: u32, demand: Demand) -> u64 {
        self.credit.pull_target(&Demand {
            repairs: u64::from(repairs) * u64::from(self.packet_bytes),
            ..demand
        })
    }
}

/// Puts something at a place of a list that may be shorter.
fn put<T>(list: &mut Vec<Option<T>>, place: usize, it: T) {
    if list.len() <= place {
        list.resize_with(place + 1, || None);
    }
    list[place] = Some(it);
}

/// The highest rate at which a flow can leave a host: that of its fastest link, or of all of them if flows are sprayed.
fn fastest(src: NodeId, plan: &Plan<'_>) -> Rate {
    let links = plan.ports.transmitters_of(src).iter();
    let rates = links.map(|link| link.speed.rate());
    if plan.config.host.sprays() {
        Rate::from_bps(rates.map(Rate::as_bps).sum())
    } else {
        rates.max().unwrap_or(Rate::ZERO)
    }
}

/// The window of a flow that leaves at this rate, in packets, and an empty bitmap for it.
fn window(params: &selective_repeat::Params, rate: Rate, plan: &Plan<'_>) -> (u32, Words) {
    let packets = window_packets(params, rate, plan.config);
    let packets = packets.min(MOST_PACKETS.into()) as u32;
    (packets, vec![0; selective_repeat::words(packets)].into())
}

impl Selective {
    /// A flow with this source port begins at the sender in `slot`, with this line rate.
    pub fn send_from(&mut self, slot: usize, (rate, port): (Rate, u16), plan: &Plan<'_>) {
        if let Config::SelectiveRepeat(params) = &plan.config.scheme.loss_recovery {
            let (packets, bits) = window(params, rate, plan);
            let trims = plan.config.switch.trimming;
            let trims = trims.map(|_| [bits.clone(), bits.clone()]);
            let may_pass = plan.sprays() || trims.is_some();
            let mut it = SelectiveRepeat::new(params, packets, may_pass, bits);
            if let Some(trims) = trims {
                it = it.with_trims(trims);
            }
            put(&mut self.senders, slot, it);
            if let Some(credit) = self.credits.get_mut(slot) {
                *credit = None;
            }
            if let Some(it) = Sprayed::of(port, packets, plan) {
                put(&mut self.sprayed, slot, it);
            }
        }
    }

    /// The flow in `slot`, whose packets have this many bytes, needs credit: at most `most` bytes in a round trip.
    pub fn credit(&mut self, slot: usize, packet_bytes: u32, (base_rtt, most): (Time, u64)) {
        let it = Credited {
            credit: Credit::new(most.max(packet_bytes.into()), packet_bytes),
            packet_bytes,
            base_rtt,
            asked_at: None,
            waits_since: None,
        };
        put(&mut self.credits, slot, it);
    }

    fn credited(&mut self, slot: u32) -> Option<(&mut Credited, &mut SelectiveRepeat<Words>)> {
        let credit = self.credits.get_mut(slot as usize)?.as_mut()?;
        Some((credit, self.senders.get_mut(slot as usize)?.as_mut()?))
    }

    /// The sender in `slot` has sent a packet of this many bytes: takes them off its credit; answers its pull target, if it
    /// needs credit. `demand`: what it has to send but for what was lost.
    pub fn spend(
        &mut self,
        (slot, flow): (u32, &mut numbers::Sender),
        bytes: u32,
        demand: Demand,
    ) -> Option<u64> {
        let (it, repair) = self.credited(slot)?;
        it.credit.on_sent(bytes);
        repair.hold(flow, !it.credit.may_send());
        Some(it.target(repair.repairs(flow), demand))
    }

    /// The pull target with which the sender in `slot` asks for credit, if it has none, has something to send, and has not
    /// asked in this round trip.
    pub fn ask(
        &mut self,
        now: Time,
        (slot, flow): (u32, &numbers::Sender),
        demand: Demand,
    ) -> Option<u64> {
        let (it, repair) = self.credited(slot)?;
        let early = it.asked_at.is_some_and(|at| now < at + it.base_rtt);
        if early || !repair.is_held() || !flow.has_left() {
            return None;
        }
        it.asked_at = Some(now);
        it.waits_since.get_or_insert(now);
        Some(it.target(repair.repairs(flow), demand))
    }

    /// Since when the sender in `slot` has asked for credit in vain, with something to send.
    pub fn awaits_credit(&mut self, slot: u32, flow: &numbers::Sender) -> Option<Time> {
        let (it, repair) = self.credited(slot)?;
        it.waits_since
            .filter(|_| repair.is_held() && flow.has_left())
    }

    /// A pull has come to the sender in `slot`: this many units have been granted.
    pub fn on_pull(&mut self, slot: u32, flow: &mut numbers::Sender, granted: u64) {
        if let Some((it, repair)) = self.credited(slot) {
            it.credit.on_pull(granted);
            it.waits_since = None;
            repair.hold(flow, !it.credit.may_send());
        }
    }

    fn sprayed(&mut self, slot: u32) -> Option<&mut Sprayed> {
        self.sprayed.get_mut(slot as usize)?.as_mut()
    }

    /// The paths of the flow at the sender in `slot`, if it is sprayed.
    pub fn paths_of(&self, slot: u32) -> Option<&Sprayed> {
        self.sprayed.get(slot as usize)?.as_ref()
    }

    /// The sender in `slot` sends a packet by `nic`: chooses its path if the flow is sprayed. `timeouts`: how often it has timed
    /// out.
    #[inline(never)]
    pub fn spray<R: Rng>(
        &mut self,
        now: Time,
        (slot, nic, timeouts): (u32, PortId, u64),
        packet: &mut Packet,
        rng: &mut R,
    ) {
        if let Some(sprayed) = self.sprayed(slot) {
            sprayed.send(now, (nic, timeouts), packet, rng);
        }
    }

    /// The sender in `slot` receives an ACK or a NAK: tells the flow's law about the path.
    #[inline(never)]
    fn on_feedback(&mut self, now: Time, slot: u32, feedback: &Packet) -> Recovery<'_> {
        if let Some(sprayed) = self.sprayed(slot) {
            sprayed.on_feedback(now, feedback);
        }
        if let Some((it, repair)) = self.credited(slot) {
            it.credit.on_feedback();
            repair.hold_from_now(!it.credit.may_send());
        }
        self.sender(slot)
    }

    #[inline(never)]
    fn sender(&mut self, slot: u32) -> Recovery<'_> {
        let sender = self.senders.get_mut(slot as usize);
        let sender = sender.and_then(Option::as_mut);
        LossRecovery::SelectiveRepeat(sender.expect("it is there while its flow is"))
    }
}

impl Reassemblies {
    /// A flow from host `src` is to arrive at the receiver in `slot`, by whichever NIC it leaves: there is room for the
    /// window of the fastest.
    pub fn receive_at(&mut self, slot: usize, src: NodeId, plan: &Plan<'_>) {
        if let Config::SelectiveRepeat(params) = &plan.config.scheme.loss_recovery {
            let (packets, bits) = window(params, fastest(src, plan), plan);
            put(&mut self.0, slot, OutOfOrder::new(packets, bits));
        }
    }

    /// Packets that have not arrived at the receiver in `slot`.
    pub fn missing(&self, slot: usize, flow: &numbers::Receiver) -> Option<u32> {
        Some(self.0.get(slot)?.as_ref()?.missing(flow))
    }

    /// A packet has arrived at the receiver in `slot`.
    #[inline(never)]
    fn on_data(
        &mut self,
        slot: usize,
        flow: &mut numbers::Receiver,
        now: Time,
        number: u32,
    ) -> Reception {
        let receiver = self.0.get_mut(slot).and_then(Option::as_mut);
        let receiver = receiver.expect("it is there while its flow is");
        receiver.on_data(flow, now, number)
    }
}

/// The loss recovery of the sender in `slot`.
#[inline(always)]
pub fn recovery(selective: &mut Option<Box<Selective>>, slot: u32, timeout: Time) -> Recovery<'_> {
    match selective {
        None => LossRecovery::GoBackN(GoBack { timeout }),
        Some(selective) => selective.sender(slot),
    }
}

/// The same when an ACK or a NAK arrives.
#[inline(always)]
pub fn on_feedback<'a>(
    selective: &'a mut Option<Box<Selective>>,
    slot: u32,
    timeout: Time,
    (now, feedback): (Time, &Packet),
) -> Recovery<'a> {
    match selective {
        None => LossRecovery::GoBackN(GoBack { timeout }),
        Some(selective) => selective.on_feedback(now, slot, feedback),
    }
}

/// Packet `number` has arrived at the receiver in `slot`. `again`: a gap is reported again after this time.
#[inline(always)]
pub fn on_data(
    reassemblies: &mut Option<Box<Reassemblies>>,
    (slot, flow): (u32, &mut numbers::Receiver),
    now: Time,
    number: u32,
    again: Option<Time>,
) -> Reception {
    match reassemblies {
        None => InOrder { again }.on_data(flow, now, number),
        Some(reassemblies) => reassemblies.on_data(slot as usize, flow, now, number),
    }
}
