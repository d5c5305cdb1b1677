//! NSCC at the sender of a flow.
//!
//! # What it does
//!
//! Runs [`super::nscc`] as a law among the others: counts what is in flight, and tells it of ACKs, trimmed packets and
//! timeouts.
//!
//! # Source
//!
//! That of [`super::nscc`].
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `base_rtt` | time | that of the flow's path | uet-htsim: that of the longest path, with a packet's time at every hop |
//! | `target_delay` | time | 3/4 of `base_rtt` if switches trim, otherwise `base_rtt` | uet-htsim |
//! | `gate` | power of two | 3 | uet-htsim: quick adapt below an eighth of the largest window |
//! | `credited` | - | false | with [`super::receiver_credits`] |
//!
//! # Departures
//!
//! - Unless `base_rtt` is set, each flow has the constants of its own path, not of the longest.
//! - A timeout takes one packet off the window, however many are sent again.
//! - No window penalty of receivers.

use super::nscc::{self, Nack, Nscc};
use super::{Ack, Loss, Mechanism, Path, Settings};
use crate::units::{Rate, Time};

/// Parameters of NSCC; the rest of [`nscc::Params`] is that of the flow's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Round trip of a full packet through the empty network; `None`: that of the flow's path.
    pub base_rtt: Option<Time>,
    /// Queueing delay that it aims at; `None`: 3/4 of the base RTT where switches trim, else all of it.
    pub target_delay: Option<Time>,
    /// Quick adapt acts if less than the largest window, divided by two to the power of this, has arrived in a period.
    pub gate: u32,
    /// Receivers give credits, which slow senders where the last switch trims: then the window does not shrink.
    pub credited: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            base_rtt: None,
            target_delay: None,
            gate: 3,
            credited: false,
        }
    }
}

impl Settings for Params {
    fn reads_path(&self) -> bool {
        self.base_rtt.is_none()
    }
}

/// The base RTT if neither the parameters nor the path say one.
const USUAL_RTT: Time = Time::from_us(12);

/// A flow under NSCC.
#[derive(Clone, Debug)]
pub struct NsccSender {
    law: Nscc,
    line_rate: Rate,
    packet_bytes: u32,
    credited: bool,
    in_flight: u64,
}

impl NsccSender {
    /// A flow that starts, with its largest window.
    pub fn new(params: &Params, path: &Path) -> Self {
        let of_path = match path.base_rtt {
            Time::ZERO => USUAL_RTT,
            known => known,
        };
        let base_rtt = params.base_rtt.unwrap_or(of_path);
        let packet_bytes = path.packet_bytes;
        let of_network = nscc::Params::for_network(
            base_rtt,
            path.line_rate,
            packet_bytes,
            path.payload_bytes,
            path.trims,
        );
        let all = nscc::Params {
            target_delay: params.target_delay.unwrap_or(of_network.target_delay),
            quick_adapt_gate: params.gate,
            initial_window: path.initial_window,
            ..of_network
        };
        Self {
            law: Nscc::new(&all, base_rtt),
            line_rate: path.line_rate,
            packet_bytes,
            credited: params.credited,
            in_flight: 0,
        }
    }

    /// The round trip from the beginning of a packet: `rtt` is without the time that sending it took.
    fn whole(&self, rtt: Time) -> Time {
        let sending = self.line_rate.time_for(self.packet_bytes.into());
        rtt.saturating_add(sending)
    }
}

impl Mechanism for NsccSender {
    #[inline]
    fn rate(&self) -> Rate {
        self.line_rate
    }

    #[inline]
    fn window(&self) -> Option<u64> {
        Some(self.law.window())
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.in_flight = self.in_flight.saturating_sub(ack.bytes);
        self.law.on_ack(&nscc::Ack {
            marked: ack.ce,
            rtt: ack.rtt.map(|rtt| self.whole(rtt)),
            ..nscc::Ack::at(ack.now, ack.bytes, self.in_flight)
        });
    }

    fn on_loss(&mut self, now: Time, loss: Loss, in_flight: u64) {
        let packet = u64::from(self.packet_bytes);
        match loss {
            Loss::Trim {
                bytes,
                rtt,
                last_hop,
            } => {
                let bytes = u64::from(bytes);
                self.law.on_nack(&Nack {
                    now,
                    bytes,
                    rtt: rtt.map(|rtt| self.whole(rtt)),
                    credited: self.credited && last_hop,
                    in_flight,
                });
                self.in_flight = in_flight.saturating_sub(bytes);
            }
            Loss::Packet | Loss::Timeout { .. } => {
                self.law.on_timeout(packet);
                self.in_flight = in_flight.saturating_sub(packet);
            }
            // The ACK has told of it.
            Loss::Mark => {}
        }
    }

    #[inline]
    fn on_sent<R: rand_core::Rng>(
        &mut self,
        _now: Time,
        bytes: u32,
        _backlogged: bool,
        _rng: &mut R,
    ) {
        self.in_flight = self.in_flight.saturating_add(bytes.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    const PACKET: u32 = 4150;

    fn flow(trims: bool) -> NsccSender {
        let mut path = Path::new(Rate::from_gbps(100), PACKET);
        path.payload_bytes = 4086;
        path.base_rtt = Time::from_ps(14_022_720);
        path.trims = trims;
        NsccSender::new(&Params::default(), &path)
    }

    /// 1.5 BDP, 4,150 bytes a packet.
    #[test]
    fn windows_follow_from_the_path() {
        assert_eq!(flow(true).window(), Some(262_926));
        assert_eq!(flow(true).rate(), Rate::from_gbps(100));
        let capped = Path {
            initial_window: 50_000,
            ..Path::new(Rate::from_gbps(100), PACKET)
        };
        let flow = NsccSender::new(&Params::default(), &capped);
        assert_eq!(flow.window(), Some(50_000));
    }

    /// Packets in flight count, trimmed ones no longer do; quick adapt ignores the marks of packets in flight.
    #[test]
    fn trimmed_packets_are_not_in_flight() {
        let mut flow = flow(true);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        for _ in 0..3 {
            flow.on_sent(Time::ZERO, PACKET, true, &mut rng);
        }
        flow.on_ack(&Ack {
            bytes: u64::from(PACKET),
            ..Ack::at(Time::from_us(20))
        });
        assert_eq!(flow.in_flight, 2 * u64::from(PACKET));
        let loss = Loss::Trim {
            bytes: PACKET,
            rtt: None,
            last_hop: false,
        };
        flow.on_loss(Time::from_us(21), loss, flow.in_flight);
        assert_eq!(flow.in_flight, u64::from(PACKET));
        assert_eq!(flow.window(), Some(262_926 - u64::from(PACKET)));
    }

    /// The round trip counts from the beginning of the packet: 332 ns of sending it.
    #[test]
    fn sending_a_packet_is_part_of_its_round_trip() {
        let mut flow = flow(true);
        let rtt = |us| Some(Time::from_us(us));
        flow.on_ack(&Ack {
            rtt: rtt(5),
            ..Ack::at(Time::from_us(20))
        });
        assert_eq!(flow.law.base_rtt(), Time::from_ns(5_332));
        let half = Time::from_us(4).saturating_add(Time::from_ns(332));
        flow.on_loss(
            Time::from_us(21),
            Loss::Trim {
                bytes: PACKET,
                rtt: rtt(4),
                last_hop: true,
            },
            0,
        );
        assert_eq!(flow.law.base_rtt(), half);
    }

    /// 3/4 where switches trim: a queue of 12 us is late, and marked that shrinks the window in one case only.
    #[test]
    fn the_target_is_less_where_switches_trim() {
        let after = |trims| {
            let mut flow = flow(trims);
            for _ in 0..400 {
                let delay = Time::from_us(12);
                let sending = Rate::from_gbps(100).time_for(PACKET.into());
                flow.on_ack(&Ack {
                    ce: true,
                    rtt: Some(Time::from_ps(14_022_720) + delay - sending),
                    ..Ack::at(Time::from_us(100))
                });
            }
            flow.window()
        };
        assert!(after(true) < after(false));
    }
}
