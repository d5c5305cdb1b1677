//! Events and answers of a mechanism: each is a line of a file of vectors.
//!
//! Field names have the unit in them. A time of `null` is a timer that is off, or an RTT that was not
//! measured; a window of `null` is none.

use serde::Serialize;
use serde_json::{Map, Value};
use unpause_protocols::notification::{Notification, QcnFeedback};

/// Where a mechanism starts: the first line of a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Create {
    /// As `unpause vectors` lists it: `congestion-control`.
    pub kind: &'static str,
    /// Of PFC, which end of the link: `ingress` sends PAUSE, `egress` obeys it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub side: Option<&'static str>,
    /// Its name.
    pub mechanism: String,
    /// Every parameter that is set, in the unit that `unpause vectors --parameters` says; choices by name.
    pub parameters: Map<String, Value>,
    /// Rate of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_rate_bps: Option<u64>,
    /// Payload of a full packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_bytes: Option<u32>,
}

/// The content of a notification to the sender of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "notification", rename_all = "kebab-case")]
pub enum Message {
    /// There is none.
    None,
    /// DCQCN's CNP.
    Cnp,
    /// PCN's CNP: increase.
    PcnIncrease,
    /// PCN's CNP: decrease.
    PcnDecrease {
        /// The receive rate in units of `rec_rate_unit`.
        rec_rate: u32,
    },
    /// A congestion notification message of 802.1Qau.
    Qcn {
        /// Quantised feedback, 0 to 63.
        qfb: u8,
        /// Equilibrium less present queue length.
        q_offset_bytes: i32,
        /// Present queue length less that of the sample before.
        q_delta_bytes: i32,
    },
}

impl From<Option<Notification>> for Message {
    fn from(it: Option<Notification>) -> Self {
        match it {
            None => Self::None,
            Some(Notification::Cnp) => Self::Cnp,
            Some(Notification::Pcn {
                congested: false, ..
            }) => Self::PcnIncrease,
            Some(Notification::Pcn { rec_rate, .. }) => Self::PcnDecrease { rec_rate },
            Some(Notification::Qcn(QcnFeedback {
                qfb,
                q_offset,
                q_delta,
            })) => Self::Qcn {
                qfb,
                q_offset_bytes: q_offset,
                q_delta_bytes: q_delta,
            },
        }
    }
}

impl From<Message> for Option<Notification> {
    fn from(it: Message) -> Self {
        Some(match it {
            Message::None => return None,
            Message::Cnp => Notification::Cnp,
            Message::PcnIncrease => Notification::Pcn {
                congested: false,
                rec_rate: 0,
            },
            Message::PcnDecrease { rec_rate } => Notification::Pcn {
                congested: true,
                rec_rate,
            },
            Message::Qcn {
                qfb,
                q_offset_bytes,
                q_delta_bytes,
            } => Notification::Qcn(QcnFeedback {
                qfb,
                q_offset: q_offset_bytes,
                q_delta: q_delta_bytes,
            }),
        })
    }
}

/// In-band telemetry that a switch on the path wrote into a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Hop {
    /// When the packet left.
    pub time_ps: u64,
    /// Bytes that the port had sent until then.
    pub tx_bytes: u64,
    /// Bytes in its queue.
    pub queue_bytes: u64,
    /// Rate of its link.
    pub rate_bps: u64,
}

/// The event.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// Congestion point: a packet has joined the queue, which includes it.
    Enqueue {
        /// When.
        now_ps: u64,
        /// Its size.
        bytes: u32,
        /// It may be marked.
        ect: bool,
        /// Bytes waiting.
        queue_bytes: u64,
        /// Packets waiting.
        queue_packets: u32,
    },
    /// Congestion point: a packet has been taken for transmission; the queue is what stays behind.
    Dequeue {
        /// When.
        now_ps: u64,
        /// Its size.
        bytes: u32,
        /// It may be marked.
        ect: bool,
        /// When it joined the queue.
        enqueued_at_ps: u64,
        /// Bytes waiting.
        queue_bytes: u64,
        /// Packets waiting.
        queue_packets: u32,
    },
    /// Congestion point: a PAUSE holds the queue from now on.
    Pause {
        /// When.
        now_ps: u64,
    },
    /// Congestion point: the queue may send again.
    Resume {
        /// When.
        now_ps: u64,
        /// Bytes waiting.
        queue_bytes: u64,
        /// Packets waiting.
        queue_packets: u32,
    },
    /// Notification point: a packet of the flow has arrived.
    Data {
        /// When.
        now_ps: u64,
        /// Its size.
        bytes: u32,
        /// It is marked.
        ce: bool,
    },
    /// The timer is due.
    Timer {
        /// When it was due, or later.
        now_ps: u64,
    },
    /// Congestion control: a message has come.
    Notification {
        /// When.
        now_ps: u64,
        /// The content.
        #[serde(flatten)]
        message: Message,
    },
    /// Congestion control: an acknowledgement has come.
    Ack {
        /// When.
        now_ps: u64,
        /// Of its packet, without the time that sending took.
        rtt_ps: Option<u64>,
        /// Bytes that it acknowledges.
        bytes: u64,
        /// All bytes of the flow before this one have arrived.
        acknowledged_bytes: u64,
        /// The byte sent next.
        sent_bytes: u64,
        /// It tells of a mark.
        ce: bool,
        /// The window has held the sender back, and no loss is being repaired.
        may_grow: bool,
        /// Telemetry of the switches, in order.
        hops: Vec<Hop>,
    },
    /// Congestion control: bytes were sent.
    Sent {
        /// When.
        now_ps: u64,
        /// How many.
        bytes: u32,
        /// There is more to send.
        backlogged: bool,
    },
    /// Congestion control: there was a loss.
    Loss {
        /// When.
        now_ps: u64,
        /// `mark`, `packet`, `timeout` or `timeout-again`.
        loss: &'static str,
        /// Bytes not acknowledged.
        in_flight_bytes: u64,
        /// The window until then.
        window_bytes: u64,
    },
    /// Congestion control: the lost packet is repaired.
    Recovered {
        /// A larger window would let a burst go.
        at_most_bytes: u64,
    },
    /// PFC's ingress: a packet has been admitted.
    Admit {
        /// When.
        now_ps: u64,
        /// Its size.
        bytes: u32,
        /// Above this the ingress asks for PAUSE.
        xoff_bytes: u64,
    },
    /// PFC's ingress: a packet leaves.
    Release {
        /// When.
        now_ps: u64,
        /// Its size.
        bytes: u32,
        /// At this or below the peer may go on.
        xon_bytes: u64,
    },
    /// PFC's egress: a PAUSE takes effect.
    Frame {
        /// When.
        now_ps: u64,
        /// For how long, in times of 512 bits; 0 is XON.
        quanta: u16,
    },
    /// Spraying: a packet is sent.
    Next {
        /// When.
        now_ps: u64,
    },
    /// Spraying: something has come back of a packet, or nothing in time.
    Echo {
        /// When.
        now_ps: u64,
        /// The packet's entropy value.
        value: u16,
        /// `clear`, `marked`, `lost` or `timeout`.
        echo: &'static str,
    },
    /// Sprayed window: an acknowledgement has come.
    Acknowledged {
        /// When.
        now_ps: u64,
        /// Of the packet that caused it, if anybody knows.
        rtt_ps: Option<u64>,
        /// By how much the bytes have grown that have arrived.
        bytes: u64,
        /// That packet was marked.
        ce: bool,
        /// Share of these bytes that the receiver leaves to the sender, in 255ths.
        kept_255ths: u8,
        /// Bytes in flight, without those acknowledged.
        in_flight_bytes: u64,
    },
    /// Sprayed window: a packet was trimmed.
    Trimmed {
        /// When that is known.
        now_ps: u64,
        /// Of the packet, if anybody knows.
        rtt_ps: Option<u64>,
        /// Its size.
        bytes: u64,
        /// At the last switch, while the receiver gives credits.
        credited: bool,
        /// Bytes in flight, with those of the packet.
        in_flight_bytes: u64,
    },
    /// Sprayed window: the retransmission timer of a packet has run out.
    TimedOut {
        /// Its size.
        bytes: u64,
    },
}

/// The answer of a mechanism.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Answer {
    /// Nothing is asked of it.
    Nothing {},
    /// Of a congestion point.
    Verdict {
        /// `pass`, `mark-ce`, `drop` or `notify`.
        verdict: &'static str,
        /// With `notify`, what is sent.
        #[serde(flatten)]
        message: Option<Message>,
    },
    /// Of a notification point.
    Sends {
        /// The message to send.
        #[serde(flatten)]
        message: Message,
        /// When its timer is due.
        timer_ps: Option<u64>,
    },
    /// Of a congestion control.
    Allows {
        /// Packets leave no faster.
        rate_bps: u64,
        /// No more bytes are in flight.
        window_bytes: Option<u64>,
        /// Where slow start ends.
        ssthresh_bytes: Option<u64>,
        /// Send bursts of this many bytes at line rate.
        burst_bytes: Option<u32>,
        /// When its timer is due.
        timer_ps: Option<u64>,
    },
    /// Of PFC's ingress.
    Asks {
        /// The frame to send: `none`, `xoff` or `xon`.
        action: &'static str,
        /// Bytes held.
        held_bytes: u64,
        /// The peer has been told to stop.
        is_xoff: bool,
        /// When its timer is due.
        timer_ps: Option<u64>,
    },
    /// Of PFC's egress.
    Obeys {
        /// `none`, `paused` or `resumed`.
        change: &'static str,
        /// It must not send.
        is_paused: bool,
        /// When its timer is due.
        timer_ps: Option<u64>,
    },
    /// Of a way to spray.
    Chooses {
        /// The entropy value of the packet.
        value: u16,
    },
    /// Of a sprayed flow's window.
    Bounds {
        /// No more bytes are in flight.
        window_bytes: u64,
        /// The shortest round trip seen.
        base_rtt_ps: u64,
        /// The average queuing delay.
        average_delay_ps: u64,
    },
}

impl Answer {
    /// When the timer is due, if one runs.
    pub fn timer_ps(&self) -> Option<u64> {
        match *self {
            Self::Sends { timer_ps, .. }
            | Self::Allows { timer_ps, .. }
            | Self::Asks { timer_ps, .. }
            | Self::Obeys { timer_ps, .. } => timer_ps,
            Self::Nothing {}
            | Self::Verdict { .. }
            | Self::Chooses { .. }
            | Self::Bounds { .. } => None,
        }
    }

    /// Its fields.
    pub fn fields(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields,
            _ => unreachable!("every answer is an object"),
        }
    }
}
