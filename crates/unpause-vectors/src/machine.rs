//! A mechanism that is told events of [`Event`], and the numbers that it draws.

use std::convert::Infallible;

use rand_core::{SeedableRng, TryRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use unpause_protocols::by_name::Config;
use unpause_protocols::congestion_control::nscc::{self, Nack, Nscc};
use unpause_protocols::congestion_control::{
    Ack, CongestionControl, Hop, Loss, Mechanism as _, Path,
};
use unpause_protocols::congestion_point::{CongestionPoint, Packet, Queue, Verdict};
use unpause_protocols::flow_control::pfc::{self, Action, Change, Egress, Ingress};
use unpause_protocols::notification_point::NotificationPoint;
use unpause_protocols::spraying::{Echo, Spraying};
use unpause_protocols::units::{Rate, Time};

use crate::event::{Answer, Event, Message};

/// A generator that keeps what is drawn, for those who implement the mechanism.
pub struct Draws {
    inner: Xoshiro256PlusPlus,
    drawn: Vec<u32>,
}

impl Draws {
    fn new(seed: u64) -> Self {
        Self {
            inner: Xoshiro256PlusPlus::seed_from_u64(seed),
            drawn: Vec::new(),
        }
    }

    /// Takes the numbers drawn since the last call.
    pub fn take(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.drawn)
    }
}

impl TryRng for Draws {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let Ok(drawn) = self.inner.try_next_u32();
        self.drawn.push(drawn);
        Ok(drawn)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let Ok(low) = self.try_next_u32();
        let Ok(high) = self.try_next_u32();
        Ok(u64::from(low) | u64::from(high) << 32)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for chunk in bytes.chunks_mut(4) {
            let Ok(drawn) = self.try_next_u32();
            chunk.copy_from_slice(&drawn.to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}

/// The position of a mechanism, and its side: PFC has two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It has one.
    Only,
    /// PFC at the port that asks for PAUSE.
    Ingress,
    /// PFC at the port that obeys.
    Egress,
}

/// A state machine of any kind.
pub struct Machine {
    state: State,
    /// The source of its random numbers.
    pub draws: Draws,
}

enum State {
    CongestionPoint(CongestionPoint),
    NotificationPoint(NotificationPoint),
    CongestionControl(Box<CongestionControl>),
    Ingress {
        ingress: Ingress,
        params: pfc::Params,
        pause: Time,
    },
    Egress {
        egress: Egress,
        quantum: Time,
    },
    Spraying(Spraying),
    SprayedWindow(Box<Nscc>),
}

impl Machine {
    /// One that has heard nothing yet, on a link of `line_rate` with full packets of `packet_bytes`; what it
    /// draws follows from `seed`.
    pub fn new(config: &Config, side: Side, line_rate: Rate, packet_bytes: u32, seed: u64) -> Self {
        let mut draws = Draws::new(seed);
        let state = match config {
            Config::CongestionPoint(config) => {
                State::CongestionPoint(CongestionPoint::new(config, &mut draws))
            }
            Config::NotificationPoint(config) => {
                State::NotificationPoint(NotificationPoint::new(config))
            }
            Config::CongestionControl(config) => {
                let path = Path::new(line_rate, packet_bytes);
                State::CongestionControl(Box::new(CongestionControl::new(config, &path)))
            }
            Config::FlowControl(params) if side == Side::Egress => {
                let _ = params;
                State::Egress {
                    egress: Egress::new(),
                    quantum: pfc::quantum(line_rate),
                }
            }
            Config::FlowControl(params) => State::Ingress {
                ingress: Ingress::new(),
                params: *params,
                pause: params.pause_duration(line_rate),
            },
            Config::Spraying(config) => State::Spraying(Spraying::new(config)),
            Config::SprayedWindow(params) => {
                State::SprayedWindow(Box::new(Nscc::new(params, params.network_rtt)))
            }
        };
        Self { state, draws }
    }

    /// The answer before any event.
    pub fn at_first(&self) -> Answer {
        match &self.state {
            State::CongestionPoint(_) | State::Spraying(_) => Answer::Nothing {},
            State::SprayedWindow(nscc) => bounds(nscc),
            State::NotificationPoint(point) => sends(point, Message::None),
            State::CongestionControl(law) => allows(law),
            State::Ingress { ingress, .. } => asks(ingress, Action::None),
            State::Egress { egress, .. } => obeys(egress, Change::None),
        }
    }

    /// Tells it what happened.
    ///
    /// # Panics
    /// The event is none of its kind: a defect of the case.
    pub fn tell(&mut self, event: &Event) -> Answer {
        match &mut self.state {
            State::CongestionPoint(point) => tell_point(point, event, &mut self.draws),
            State::NotificationPoint(point) => match *event {
                Event::Data { now_ps, bytes, ce } => {
                    let message = point.on_data(Time::from_ps(now_ps), bytes, ce);
                    sends(point, message.into())
                }
                Event::Timer { now_ps } => {
                    let message = point.on_timer(Time::from_ps(now_ps));
                    sends(point, message.into())
                }
                _ => unreachable!("{event:?} of a notification point"),
            },
            State::CongestionControl(law) => {
                tell_law(law, event, &mut self.draws);
                allows(law)
            }
            State::Ingress {
                ingress,
                params,
                pause,
            } => {
                let action = tell_ingress(ingress, event, params, *pause);
                asks(ingress, action)
            }
            State::Egress { egress, quantum } => {
                let change = match *event {
                    Event::Frame { now_ps, quanta } => {
                        let pause = quantum.as_ps().saturating_mul(u64::from(quanta));
                        egress.on_frame(Time::from_ps(now_ps), Time::from_ps(pause))
                    }
                    Event::Timer { now_ps } => egress.on_timer(Time::from_ps(now_ps)),
                    _ => unreachable!("{event:?} of an egress"),
                };
                obeys(egress, change)
            }
            State::Spraying(flow) => tell_spraying(flow, event, &mut self.draws),
            State::SprayedWindow(nscc) => {
                tell_nscc(nscc, event);
                bounds(nscc)
            }
        }
    }
}

fn tell_point(point: &mut CongestionPoint, event: &Event, draws: &mut Draws) -> Answer {
    let queue = |bytes, packets| Queue { bytes, packets };
    let verdict = match *event {
        Event::Enqueue {
            now_ps,
            bytes,
            ect,
            queue_bytes,
            queue_packets,
        } => {
            let now = Time::from_ps(now_ps);
            let packet = Packet {
                bytes,
                ect,
                enqueued_at: now,
            };
            point.on_enqueue(now, &packet, queue(queue_bytes, queue_packets), draws)
        }
        Event::Dequeue {
            now_ps,
            bytes,
            ect,
            enqueued_at_ps,
            queue_bytes,
            queue_packets,
        } => {
            let packet = Packet {
                bytes,
                ect,
                enqueued_at: Time::from_ps(enqueued_at_ps),
            };
            let now = Time::from_ps(now_ps);
            point.on_dequeue(now, &packet, queue(queue_bytes, queue_packets), draws)
        }
        Event::Pause { now_ps } => {
            point.on_pause(Time::from_ps(now_ps));
            return Answer::Nothing {};
        }
        Event::Resume {
            now_ps,
            queue_bytes,
            queue_packets,
        } => {
            point.on_resume(Time::from_ps(now_ps), queue(queue_bytes, queue_packets));
            return Answer::Nothing {};
        }
        _ => unreachable!("{event:?} of a congestion point"),
    };
    let (verdict, message) = match verdict {
        // What telemetry records is its port's.
        Verdict::Pass | Verdict::Record => ("pass", None),
        Verdict::MarkCe => ("mark-ce", None),
        Verdict::Drop => ("drop", None),
        Verdict::Notify(feedback) => {
            let message = unpause_protocols::notification::Notification::Qcn(feedback);
            ("notify", Some(Some(message).into()))
        }
    };
    Answer::Verdict { verdict, message }
}

fn tell_law(law: &mut CongestionControl, event: &Event, draws: &mut Draws) {
    match *event {
        Event::Notification { now_ps, message } => {
            if let Some(message) = Option::from(message) {
                law.on_notification(Time::from_ps(now_ps), &message, draws);
            }
        }
        Event::Sent {
            now_ps,
            bytes,
            backlogged,
        } => law.on_sent(Time::from_ps(now_ps), bytes, backlogged, draws),
        Event::Timer { now_ps } => law.on_timer(Time::from_ps(now_ps), draws),
        Event::Recovered { at_most_bytes } => law.on_recovered(at_most_bytes),
        Event::Loss {
            now_ps,
            loss,
            in_flight_bytes,
            window_bytes,
        } => {
            let loss = match loss {
                "mark" => Loss::Mark,
                "packet" => Loss::Packet,
                _ => Loss::Timeout {
                    again: loss == "timeout-again",
                    window: window_bytes,
                },
            };
            law.on_loss(Time::from_ps(now_ps), loss, in_flight_bytes);
        }
        Event::Ack {
            now_ps,
            rtt_ps,
            bytes,
            acknowledged_bytes,
            sent_bytes,
            ce,
            may_grow,
            ref hops,
        } => {
            let telemetry: Vec<Hop> = hops
                .iter()
                .map(|hop| Hop {
                    time: Time::from_ps(hop.time_ps),
                    tx_bytes: hop.tx_bytes,
                    queue_bytes: hop.queue_bytes,
                    rate: Rate::from_bps(hop.rate_bps),
                })
                .collect();
            law.on_ack(&Ack {
                rtt: rtt_ps.map(Time::from_ps),
                bytes,
                ce,
                acknowledged: acknowledged_bytes,
                sent: sent_bytes,
                may_grow,
                telemetry: &telemetry,
                ..Ack::at(Time::from_ps(now_ps))
            });
        }
        _ => unreachable!("{event:?} of a congestion control"),
    }
}

fn tell_ingress(ingress: &mut Ingress, event: &Event, params: &pfc::Params, pause: Time) -> Action {
    match *event {
        Event::Admit {
            now_ps,
            bytes,
            xoff_bytes,
        } => ingress.on_admit(Time::from_ps(now_ps), bytes, xoff_bytes, pause, params),
        Event::Release {
            now_ps,
            bytes,
            xon_bytes,
        } => ingress.on_release(Time::from_ps(now_ps), bytes, xon_bytes),
        Event::Timer { now_ps } => ingress.on_timer(Time::from_ps(now_ps), pause, params),
        _ => unreachable!("{event:?} of an ingress"),
    }
}

fn tell_spraying(flow: &mut Spraying, event: &Event, draws: &mut Draws) -> Answer {
    match *event {
        Event::Next { now_ps } => Answer::Chooses {
            value: flow.next(Time::from_ps(now_ps), draws),
        },
        Event::Echo {
            now_ps,
            value,
            echo,
        } => {
            let echo = match echo {
                "clear" => Echo::Clear,
                "marked" => Echo::Marked,
                "lost" => Echo::Lost,
                _ => Echo::Timeout,
            };
            flow.on_echo(Time::from_ps(now_ps), value, echo);
            Answer::Nothing {}
        }
        _ => unreachable!("{event:?} of spraying"),
    }
}

fn tell_nscc(flow: &mut Nscc, event: &Event) {
    match *event {
        Event::Acknowledged {
            now_ps,
            rtt_ps,
            bytes,
            ce,
            kept_255ths,
            in_flight_bytes,
        } => flow.on_ack(&nscc::Ack {
            now: Time::from_ps(now_ps),
            bytes,
            marked: ce,
            rtt: rtt_ps.map(Time::from_ps),
            penalty: (kept_255ths < u8::MAX).then_some(kept_255ths),
            in_flight: in_flight_bytes,
        }),
        Event::Trimmed {
            now_ps,
            rtt_ps,
            bytes,
            credited,
            in_flight_bytes,
        } => flow.on_nack(&Nack {
            now: Time::from_ps(now_ps),
            bytes,
            rtt: rtt_ps.map(Time::from_ps),
            credited,
            in_flight: in_flight_bytes,
        }),
        Event::TimedOut { bytes } => flow.on_timeout(bytes),
        _ => unreachable!("{event:?} of a sprayed flow's window"),
    }
}

fn bounds(flow: &Nscc) -> Answer {
    Answer::Bounds {
        window_bytes: flow.window(),
        base_rtt_ps: flow.base_rtt().as_ps(),
        average_delay_ps: flow.average_delay().as_ps(),
    }
}

fn due(timer: Time) -> Option<u64> {
    (!timer.is_never()).then(|| timer.as_ps())
}

fn sends(point: &NotificationPoint, message: Message) -> Answer {
    Answer::Sends {
        message,
        timer_ps: due(point.next_timer()),
    }
}

fn allows(law: &CongestionControl) -> Answer {
    let ssthresh = law.ssthresh();
    Answer::Allows {
        rate_bps: law.rate().as_bps(),
        window_bytes: law.window(),
        ssthresh_bytes: (ssthresh != u64::MAX).then_some(ssthresh),
        burst_bytes: law.burst_bytes(),
        timer_ps: due(law.next_timer()),
    }
}

fn asks(ingress: &Ingress, action: Action) -> Answer {
    Answer::Asks {
        action: match action {
            Action::None => "none",
            Action::Xoff => "xoff",
            Action::Xon => "xon",
        },
        held_bytes: ingress.bytes(),
        is_xoff: ingress.is_xoff(),
        timer_ps: due(ingress.next_timer()),
    }
}

fn obeys(egress: &Egress, change: Change) -> Answer {
    Answer::Obeys {
        change: match change {
            Change::None => "none",
            Change::Paused => "paused",
            Change::Resumed => "resumed",
        },
        is_paused: egress.is_paused(),
        timer_ps: due(egress.next_timer()),
    }
}
