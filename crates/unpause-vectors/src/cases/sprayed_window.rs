//! Cases of NSCC.

use rand_core::Rng;
use unpause_protocols::by_name::Config;
use unpause_protocols::congestion_control::nscc::Params;

use crate::event::Event;
use crate::machine::Side;
use crate::script::{BEGINNINGS, Case, Script, chance};

const RANDOM: usize = 600;
const US: u64 = 1_000_000;
/// Networks are no longer than this, so that cases can reckon: 1 ms.
const LONGEST: u64 = 1_000 * US;

/// The parameters that the cases need.
struct Network {
    rtt_ps: u64,
    target_ps: u64,
    packet: u64,
}

pub fn cases(config: &Config, params: &Params) -> Vec<Case> {
    let network = Network {
        rtt_ps: params.network_rtt.as_ps().clamp(2, LONGEST),
        target_ps: params.target_delay.as_ps().min(LONGEST),
        packet: u64::from(params.packet_bytes),
    };
    let mut cases = Vec::new();
    delays(config, &network, &mut cases);
    periods(config, &network, &mut cases);
    quick_adapt(config, &network, &mut cases);
    fast_increase(config, &network, &mut cases);
    shrink(config, &network, &mut cases);
    for (when, beginning) in BEGINNINGS {
        random(config, &network, when, beginning, &mut cases);
    }
    cases
}

impl Network {
    fn ack(&self, now_ps: u64, bytes: u64, delay_ps: u64, ce: bool) -> Event {
        Event::Acknowledged {
            now_ps,
            rtt_ps: Some(self.rtt_ps.saturating_add(delay_ps)),
            bytes,
            ce,
            kept_255ths: u8::MAX,
            in_flight_bytes: 20 * self.packet,
        }
    }
    fn trimmed(&self, now_ps: u64) -> Event {
        Event::Trimmed {
            now_ps,
            rtt_ps: None,
            bytes: self.packet,
            credited: false,
            in_flight_bytes: 10 * self.packet,
        }
    }
    /// A flow whose window has room above, by timeouts.
    fn start(&self, name: impl Into<String>, config: &Config) -> Script {
        let mut script = Script::new(name, config, Side::Only);
        for _ in 0..20 {
            script.tell(Event::TimedOut { bytes: self.packet });
        }
        script
    }
}

/// Delays a picosecond beside the target, a microsecond and four targets, with and without marks.
fn delays(config: &Config, network: &Network, cases: &mut Vec<Case>) {
    let mut script = network.start("delays beside thresholds", config);
    let mut now = network.rtt_ps;
    for ce in [false, true] {
        for delay in [US, network.target_ps, 4 * network.target_ps] {
            for beside in [delay.saturating_sub(1), delay, delay + 1] {
                for _ in 0..10 {
                    now += US / 2;
                    script.tell(network.ack(now, network.packet, beside, ce));
                }
            }
        }
    }
    script.end(cases);
}

/// Increases take effect after 8 packets or a network RTT, to a byte and a picosecond; decreases after a base RTT.
fn periods(config: &Config, network: &Network, cases: &mut Vec<Case>) {
    let mut script = network.start("8 packets to the byte", config);
    let now = 3 * network.rtt_ps;
    script.tell(network.ack(now, 1, network.target_ps, false));
    for bytes in [8 * network.packet, 1, 8 * network.packet - 1, 1, 1] {
        script.tell(network.ack(now, bytes, network.target_ps, false));
    }
    script.end(cases);
    for ce in [false, true] {
        let name = format!(
            "a round trip to the picosecond{}",
            if ce { ", marked" } else { "" }
        );
        let mut script = network.start(name, config);
        let mut now = 3 * network.rtt_ps;
        for _ in 0..40 {
            script.tell(network.ack(now, 1, 3 * network.target_ps, ce));
        }
        for after in [
            network.rtt_ps - 1,
            1,
            1,
            network.rtt_ps,
            1,
            3 * network.rtt_ps,
        ] {
            now += after;
            script.tell(network.ack(now, network.packet, 3 * network.target_ps, ce));
        }
        script.end(cases);
    }
}

/// The end of a period of a round trip and a target, with a trim in it or a very late packet.
fn quick_adapt(config: &Config, network: &Network, cases: &mut Vec<Case>) {
    for (name, is_trimmed) in [("trims", true), ("very late packets", false)] {
        let mut script = network.start(format!("quick adapt after {name}"), config);
        let mut now = network.rtt_ps;
        let delay = 4 * network.target_ps + u64::from(!is_trimmed);
        script.tell(network.ack(now, network.packet, network.target_ps, false));
        for beside in [0, 1, 2] {
            if is_trimmed {
                script.tell(network.trimmed(now + 1));
            }
            now += network.rtt_ps + network.target_ps + beside;
            script.tell(network.ack(now, 3 * network.packet, delay, true));
            // What was in flight is ignored, but what is not marked is not.
            for _ in 0..9 {
                script.tell(network.ack(now, network.packet, delay, true));
                script.tell(network.trimmed(now));
            }
            script.tell(network.ack(now, network.packet, 0, false));
        }
        script.end(cases);
    }
}

fn fast_increase(config: &Config, network: &Network, cases: &mut Vec<Case>) {
    let mut script = network.start("an empty network", config);
    let mut now = network.rtt_ps;
    for step in 0..120 {
        now += US / 4;
        let delay = if step % 50 == 49 { US } else { step % 2 };
        script.tell(network.ack(now, 4 * network.packet, delay, step % 30 == 29));
    }
    // The base RTT falls, and with it the largest window.
    for shorter in [1, 1000, US, network.rtt_ps - 1] {
        now += US;
        let rtt_ps = Some(network.rtt_ps.saturating_sub(shorter));
        script.tell(Event::Acknowledged {
            now_ps: now,
            rtt_ps,
            bytes: network.packet,
            ce: false,
            kept_255ths: u8::MAX,
            in_flight_bytes: 0,
        });
    }
    script.end(cases);
}

/// Penalties, trims with credits, and timeouts until a packet is left.
fn shrink(config: &Config, network: &Network, cases: &mut Vec<Case>) {
    let mut script = network.start("what takes from the window", config);
    let now_ps = network.rtt_ps;
    for kept_255ths in [255, 254, 128, 1, 0] {
        script.tell(Event::Acknowledged {
            now_ps,
            rtt_ps: None,
            bytes: 1_000,
            ce: true,
            kept_255ths,
            in_flight_bytes: 0,
        });
    }
    for credited in [true, false] {
        script.tell(Event::Trimmed {
            now_ps,
            rtt_ps: Some(network.rtt_ps - 1),
            bytes: network.packet,
            credited,
            in_flight_bytes: 0,
        });
    }
    for _ in 0..80 {
        script.tell(Event::TimedOut {
            bytes: network.packet,
        });
    }
    script.tell(Event::TimedOut { bytes: u64::MAX });
    script.end(cases);
}

fn random(config: &Config, network: &Network, when: &str, beginning: u64, cases: &mut Vec<Case>) {
    let mut script = Script::new(format!("random, {when}"), config, Side::Only);
    let (mut rng, mut now) = (chance(), beginning + 1);
    // Calm at first, then crowded.
    for step in 0..RANDOM {
        let crowded = (step / 100) % 2 == 1;
        now += u64::from(rng.next_u32()) % (2 * US);
        let most = network.target_ps * if crowded { 5 } else { 1 };
        let delay = (u64::from(rng.next_u32()) * (most >> 8)) >> 24;
        let known = rng.next_u32() % 8 != 0;
        let rtt_ps = known.then_some(network.rtt_ps + delay);
        let in_flight_bytes = u64::from(rng.next_u32() % 40) * network.packet;
        match rng.next_u32() % 40 {
            0 => script.tell(Event::TimedOut {
                bytes: network.packet,
            }),
            1..5 if crowded => script.tell(Event::Trimmed {
                now_ps: now,
                rtt_ps,
                bytes: network.packet,
                credited: rng.next_u32() % 4 == 0,
                in_flight_bytes,
            }),
            _ => script.tell(Event::Acknowledged {
                now_ps: now,
                rtt_ps,
                bytes: u64::from(rng.next_u32() % 5) * network.packet,
                ce: rng.next_u32() % if crowded { 2 } else { 10 } == 0,
                kept_255ths: if rng.next_u32() % 50 == 0 {
                    200
                } else {
                    u8::MAX
                },
                in_flight_bytes,
            }),
        };
    }
    script.end(cases);
}
