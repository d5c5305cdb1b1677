//! Cases of senders.

use rand_core::Rng;
use unpause_protocols::by_name::Config;
use unpause_protocols::congestion_control::{self, CongestionControl, Mechanism, Path, Settings};
use unpause_protocols::units::{Rate, Time};

use crate::event::{Event, Hop, Message};
use crate::machine::Side;
use crate::script::{BEGINNINGS, Case, LINE_RATE_BPS, PACKET_BYTES, Script, chance, value};

const US: u64 = 1_000_000;
const RANDOM: usize = 400;
/// Timers that a case lets run out one after the other.
const TIMERS: usize = 60;

/// The events that a law reads: it is given no others, as in the simulator.
struct Hears {
    messages: Vec<Message>,
    acks: bool,
    sent: bool,
    window: bool,
    telemetry: bool,
}

impl Hears {
    fn of(law: &congestion_control::Config) -> Self {
        let path = Path::new(Rate::from_bps(LINE_RATE_BPS), PACKET_BYTES);
        let mut state = CongestionControl::new(law, &path);
        let messages = messages(law);
        // Some count bytes only once they have cut their rate.
        if let Some(strongest) = messages.first().and_then(|message| Option::from(*message)) {
            state.on_notification(Time::ZERO, &strongest, &mut chance());
        }
        Self {
            messages,
            acks: state.hears_acks(),
            sent: state.hears_sent(),
            window: state.window().is_some(),
            telemetry: law.reads_telemetry(),
        }
    }
}

/// The messages of a law's own kind, the strongest first.
fn messages(law: &congestion_control::Config) -> Vec<Message> {
    use congestion_control::Config;
    match law {
        Config::Pcn(_) => [
            0,
            1,
            1_000,
            2_499_000,
            20_000_000,
            39_999_999,
            40_000_000,
            u32::MAX,
        ]
        .into_iter()
        .map(|rec_rate| Message::PcnDecrease { rec_rate })
        .chain([Message::PcnIncrease])
        .collect(),
        Config::Qcn(_) => [63, 62, 32, 8, 1, 0]
            .into_iter()
            .map(|qfb| Message::Qcn {
                qfb,
                q_offset_bytes: -26_000,
                q_delta_bytes: 1_000 * i32::from(qfb),
            })
            .collect(),
        Config::Dcqcn(_) | Config::DcqcnNic(_) => vec![Message::Cnp],
        // No message changes anything for any other.
        _ => Vec::new(),
    }
}

pub fn cases(config: &Config, law: &congestion_control::Config) -> Vec<Case> {
    let hears = Hears::of(law);
    let mut cases = Vec::new();
    let mut script = Script::new("nothing but its timers", config, Side::Only);
    script.run_timers(u64::MAX, 5);
    script.end(&mut cases);
    with_messages(config, &hears, &mut cases);
    if hears.sent {
        counted_bytes(config, &hears, &mut cases);
    }
    if hears.acks {
        round_trips(config, &hears, &mut cases);
        marks(config, &hears, &mut cases);
    }
    if hears.telemetry {
        telemetry(config, &mut cases);
    }
    if hears.window {
        losses(config, &hears, &mut cases);
    }
    for (when, beginning) in BEGINNINGS {
        random(config, &hears, when, beginning, &mut cases);
    }
    cases
}

fn notification(now_ps: u64, message: Message) -> Event {
    Event::Notification { now_ps, message }
}

fn with_messages(config: &Config, hears: &Hears, cases: &mut Vec<Case>) {
    let Some(&strongest) = hears.messages.first() else {
        return;
    };
    let mut script = Script::new(
        "every message, the weakest first, 50 us apart",
        config,
        Side::Only,
    );
    for (step, message) in hears.messages.iter().rev().enumerate() {
        let now_ps = step as u64 * 50 * US;
        script.run_timers(now_ps, TIMERS);
        script.tell(notification(now_ps, *message));
    }
    script.end(cases);

    in_pairs(config, hears, cases);
    for message in &hears.messages {
        let text = serde_json::to_value(message).unwrap_or_default();
        let what = text["notification"].as_str().unwrap_or_default();
        let number = text["rec_rate"].as_u64().or(text["qfb"].as_u64());
        let number = number.map_or_else(String::new, |number| format!(" {number}"));
        let name = format!("100 times {what}{number}, then timers");
        let mut script = Script::new(name, config, Side::Only);
        // From a rate below the line's, so that an increase shows.
        script.tell(notification(0, strongest));
        for step in 1..=100 {
            script.run_timers(step * 10 * US, TIMERS);
            script.tell(notification(step * 10 * US, *message));
        }
        script.run_timers(u64::MAX, TIMERS);
        script.end(cases);
    }

    let mut script = Script::new("a message when a timer is due", config, Side::Only);
    script.tell(notification(0, strongest));
    for _ in 0..10 {
        let Some(due) = script.timer_ps() else { break };
        script.run_timers(due, TIMERS);
        script.tell(notification(due, strongest));
    }
    // Late by many periods: one call runs all that are due.
    if let Some(due) = script.timer_ps() {
        script.tell(Event::Timer {
            now_ps: due + 100_000 * US,
        });
        script.tell(notification(due + 100_000 * US, strongest));
    }
    script.end(cases);
}

/// After each message each other one: what one leaves behind shows in the next.
fn in_pairs(config: &Config, hears: &Hears, cases: &mut Vec<Case>) {
    let mut script = Script::new("messages in all pairs", config, Side::Only);
    let mut now_ps = 0;
    for first in &hears.messages {
        for second in &hears.messages {
            for message in [first, first, second, first] {
                now_ps += 50 * US;
                script.run_timers(now_ps, TIMERS);
                script.tell(notification(now_ps, *message));
            }
        }
    }
    script.end(cases);
}

/// Bytes sent up to one before a counter's end, to its end, and beyond.
fn counted_bytes(config: &Config, hears: &Hears, cases: &mut Vec<Case>) {
    let named = |name| value(config, name, &["1", "1, 0 for none"]);
    let counter = named("byte_counter").or(named("byte_reset"));
    let Some(counter) = counter.and_then(|bytes| u32::try_from(bytes).ok()) else {
        return;
    };
    let mut script = Script::new("bytes sent around the counter's end", config, Side::Only);
    if let Some(&strongest) = hears.messages.first() {
        script.tell(notification(0, strongest));
    }
    let mut now_ps = US;
    for bytes in [counter - 1, 1, 1, counter - 2, 1, counter, counter / 2] {
        for backlogged in [true, false] {
            script.run_timers(now_ps, TIMERS);
            script.tell(Event::Sent {
                now_ps,
                bytes,
                backlogged,
            });
            now_ps += 5 * US;
        }
    }
    script.end(cases);
}

/// An acknowledgement of one full packet, 20 packets before the byte sent next.
fn ack(now_ps: u64, rtt_ps: Option<u64>, number: u64, ce: bool, hops: Vec<Hop>) -> Event {
    let bytes = u64::from(PACKET_BYTES);
    Event::Ack {
        now_ps,
        rtt_ps,
        bytes,
        acknowledged_bytes: number * bytes,
        sent_bytes: (number + 20) * bytes,
        ce,
        may_grow: true,
        hops,
    }
}

/// Hops that say nothing new, for laws that need some.
fn calm(hears: &Hears, now_ps: u64) -> Vec<Hop> {
    let hop = Hop {
        time_ps: now_ps,
        tx_bytes: now_ps / 1_000,
        queue_bytes: 0,
        rate_bps: LINE_RATE_BPS,
    };
    if hears.telemetry {
        vec![hop]
    } else {
        Vec::new()
    }
}

/// RTTs around every threshold, one not measured, and a ramp up and down.
fn round_trips(config: &Config, hears: &Hears, cases: &mut Vec<Case>) {
    let names = ["min_rtt", "t_low", "t_high", "base_target", "base_rtt"];
    let mut rtts = vec![None, Some(1), Some(20 * US)];
    for name in names {
        let at = value(config, name, &["ps"]).filter(|at| *at > 0);
        rtts.extend(at.into_iter().flat_map(|at| [at - 1, at, at + 1].map(Some)));
    }
    let ramp = (1..=30).chain((1..30).rev());
    rtts.extend(ramp.map(|step: u64| Some(20 * step * US)));
    let mut script = Script::new("round trips around thresholds", config, Side::Only);
    let mut now_ps = 1_000 * US;
    for (number, rtt) in rtts.into_iter().enumerate() {
        now_ps += 10 * US;
        script.run_timers(now_ps, TIMERS);
        let hops = calm(hears, now_ps);
        script.tell(ack(now_ps, rtt, number as u64 + 1, false, hops));
    }
    script.end(cases);
}

/// Round trips of 20 packets, of which none, one, half and all are marked, each several times.
fn marks(config: &Config, hears: &Hears, cases: &mut Vec<Case>) {
    let mut script = Script::new("shares of marked packets", config, Side::Only);
    let (mut now_ps, mut number) = (1_000 * US, 0);
    for marked in [0, 1, 10, 20, 20, 20, 0, 0] {
        for packet in 0..20 {
            now_ps += US;
            number += 1;
            script.run_timers(now_ps, TIMERS);
            let hops = calm(hears, now_ps);
            script.tell(ack(now_ps, Some(30 * US), number, packet < marked, hops));
        }
    }
    script.end(cases);
}

/// Ports that idle, are used to the target, beyond it, and have a queue; one whose counter of bytes wraps,
/// one that is replaced by another, and two ports.
fn telemetry(config: &Config, cases: &mut Vec<Case>) {
    let mut script = Script::new("telemetry of one port and of two", config, Side::Only);
    let (mut now_ps, mut tx_bytes, mut number) = (1_000 * US, 0_u64, 0);
    for (percent, queue_bytes) in [
        (0, 0),
        (50, 0),
        (95, 0),
        (96, 0),
        (100, 0),
        (100, 50_000),
        (100, 10_000_000),
        (20, 0),
    ] {
        for _ in 0..25 {
            now_ps += 2 * US;
            number += 1;
            // 5 bytes a nanosecond at 40 Gb/s.
            tx_bytes += 5 * 2_000 * percent / 100;
            script.run_timers(now_ps, TIMERS);
            let hop = Hop {
                time_ps: now_ps,
                tx_bytes,
                queue_bytes,
                rate_bps: LINE_RATE_BPS,
            };
            let idle = Hop {
                tx_bytes: tx_bytes / 3,
                queue_bytes: queue_bytes / 2,
                rate_bps: 4 * LINE_RATE_BPS,
                ..hop
            };
            let hops = if percent < 96 {
                vec![hop]
            } else {
                vec![hop, idle]
            };
            script.tell(ack(now_ps, Some(13 * US), number, false, hops));
        }
        // Beyond what 20 bits count in units of 128 bytes.
        tx_bytes += 1 << 27;
    }
    script.end(cases);
}

fn loss(now_ps: u64, loss: &'static str) -> Event {
    Event::Loss {
        now_ps,
        loss,
        in_flight_bytes: 20_000,
        window_bytes: 20_000,
    }
}

fn losses(config: &Config, hears: &Hears, cases: &mut Vec<Case>) {
    let mut script = Script::new("losses, repairs and growth", config, Side::Only);
    let (mut now_ps, mut number) = (1_000 * US, 0);
    for what in ["packet", "mark", "timeout", "timeout-again", "packet"] {
        for _ in 0..30 {
            now_ps += 20 * US;
            number += 1;
            script.run_timers(now_ps, TIMERS);
            let hops = calm(hears, now_ps);
            script.tell(ack(now_ps, Some(20 * US), number, false, hops));
        }
        script.tell(loss(now_ps, what));
        if what == "packet" {
            script.tell(Event::Recovered {
                at_most_bytes: 12_000,
            });
        }
    }
    script.end(cases);
}

fn random(config: &Config, hears: &Hears, when: &str, beginning: u64, cases: &mut Vec<Case>) {
    let mut script = Script::new(format!("random, {when}"), config, Side::Only);
    let (mut rng, mut now_ps, mut number) = (chance(), beginning, 0);
    for _ in 0..RANDOM {
        now_ps += u64::from(rng.next_u32()) % (40 * US);
        script.run_timers(now_ps, TIMERS);
        let draw = rng.next_u32();
        match rng.next_u32() % 16 {
            0..5 if !hears.messages.is_empty() => {
                let message = hears.messages[draw as usize % hears.messages.len()];
                script.tell(notification(now_ps, message));
            }
            5..9 if hears.sent => {
                script.tell(Event::Sent {
                    now_ps,
                    bytes: 64 + draw % 1_437,
                    backlogged: draw % 8 != 0,
                });
            }
            15 if hears.window => {
                let what = ["packet", "mark", "timeout", "timeout-again"][draw as usize % 4];
                script.tell(loss(now_ps, what));
            }
            14 if hears.window => {
                script.tell(Event::Recovered {
                    at_most_bytes: u64::from(draw % 100_000),
                });
            }
            _ if hears.acks => {
                number += 1;
                let rtt = (draw % 8 != 0).then(|| 10 * US + u64::from(draw) % (200 * US));
                let hops = calm(hears, now_ps);
                script.tell(ack(now_ps, rtt, number, draw % 3 == 0, hops));
            }
            _ => {}
        }
    }
    script.end(cases);
}

#[cfg(test)]
mod tests {
    use super::*;
    use unpause_protocols::by_name::Kind;

    #[test]
    fn laws_without_messages_do_not_hear_any() {
        let all = [
            Message::Cnp,
            Message::PcnIncrease,
            Message::PcnDecrease { rec_rate: 1_000 },
            Message::Qcn {
                qfb: 63,
                q_offset_bytes: -26_000,
                q_delta_bytes: 63_000,
            },
        ];
        let mut deaf = 0;
        for (name, config) in Config::all(Kind::CongestionControl) {
            let Config::CongestionControl(law) = &config else {
                unreachable!("a law is a congestion control");
            };
            if !messages(law).is_empty() {
                continue;
            }
            deaf += 1;
            let path = Path::new(Rate::from_bps(LINE_RATE_BPS), PACKET_BYTES);
            let mut state = CongestionControl::new(law, &path);
            let before = format!("{state:?}");
            for message in all.iter().filter_map(|it| Option::from(*it)) {
                state.on_notification(Time::ZERO, &message, &mut chance());
                assert_eq!(format!("{state:?}"), before, "{name:?}: {message:?}");
            }
        }
        assert!(deaf > 5);
    }
}
