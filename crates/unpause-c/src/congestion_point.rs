//! Congestion points.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use unpause_protocols::congestion_point::{CongestionPoint, Packet, Queue, Verdict};
use unpause_protocols::notification::Notification;
use unpause_protocols::units::Time;

use crate::config::{Config, unpause_config};
use crate::notification::unpause_notification;
use crate::status::{read, room, unpause_status};
use crate::storage::{Storage, change, create, look};

/// The properties of a packet that a congestion point reads.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct unpause_packet {
    /// When it entered the queue.
    pub enqueued_at_ps: u64,
    /// Size, as the queue counts it.
    pub bytes: u32,
    /// It may be marked: its ECN field is not Not-ECT.
    pub ect: bool,
}

/// The queue of one (egress port, priority).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct unpause_queue {
    /// Bytes waiting.
    pub bytes: u64,
    /// Packets waiting.
    pub packets: u32,
}

/// The decision about the current packet.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum unpause_verdict_kind {
    /// Nothing.
    Pass,
    /// Set Congestion Experienced.
    MarkCe,
    /// Drop it.
    Drop,
    /// Leave it as it is, and send `notification` to its source; with `mode` "input-occupancy-det" or "-rand"
    /// to that of another packet in the buffer.
    Notify,
}

/// The decision about the current packet.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct unpause_verdict {
    /// An `unpause_verdict_kind`.
    pub kind: u32,
    /// With `UNPAUSE_VERDICT_KIND_NOTIFY`; else of kind none.
    pub notification: unpause_notification,
}

use unpause_verdict_kind as Kind;

impl From<Verdict> for unpause_verdict {
    fn from(verdict: Verdict) -> Self {
        let (kind, notification) = match verdict {
            // What is recorded, and where, is no matter of this library.
            Verdict::Pass | Verdict::Record => (Kind::Pass, None),
            Verdict::MarkCe => (Kind::MarkCe, None),
            Verdict::Drop => (Kind::Drop, None),
            Verdict::Notify(feedback) => (Kind::Notify, Some(Notification::Qcn(feedback))),
        };
        Self {
            kind: kind as u32,
            notification: notification.into(),
        }
    }
}

impl From<&unpause_packet> for Packet {
    fn from(packet: &unpause_packet) -> Self {
        Self {
            bytes: packet.bytes,
            ect: packet.ect,
            enqueued_at: Time::from_ps(packet.enqueued_at_ps),
        }
    }
}

impl From<unpause_queue> for Queue {
    fn from(queue: unpause_queue) -> Self {
        Self {
            bytes: queue.bytes,
            packets: queue.packets,
        }
    }
}

/// The congestion point of one (egress port, priority).
#[repr(C)]
pub struct unpause_congestion_point {
    opaque: [u64; 32],
}

/// A congestion point and what it draws from.
pub(crate) struct State {
    point: CongestionPoint,
    rng: Xoshiro256PlusPlus,
}

impl Storage for unpause_congestion_point {
    type State = State;
    const MAGIC: u64 = 0x756e_7061_7573_6503;
}

/// A congestion point with an empty queue. What it draws follows from `seed` alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_congestion_point_create(
    point: *mut unpause_congestion_point,
    config: *const unpause_config,
    seed: u64,
) -> unpause_status {
    // SAFETY: `config` is as the crate requires; `look` requires no more.
    let state = || match unsafe { look(config)? } {
        Config::CongestionPoint(config) => {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let point = CongestionPoint::new(config, &mut rng);
            Ok(State { point, rng })
        }
        _ => Err(unpause_status::WrongKind),
    };
    // SAFETY: `point` is as the crate requires; `create` requires no more.
    unsafe { create(point, state) }
}

/// A packet has joined the queue; `queue` includes it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_congestion_point_on_enqueue(
    point: *mut unpause_congestion_point,
    now_ps: u64,
    packet: *const unpause_packet,
    queue: unpause_queue,
    verdict: *mut unpause_verdict,
) -> unpause_status {
    // SAFETY: `point`, `packet` and `verdict` are as the crate requires; `change`, `read` and `room` require no more.
    unsafe {
        change(point, |State { point, rng }| {
            let (packet, out) = (read(packet)?.into(), room(verdict)?);
            let now = Time::from_ps(now_ps);
            out.write(point.on_enqueue(now, &packet, queue.into(), rng).into());
            Ok(())
        })
    }
}

/// A packet has been taken for transmission; `queue` is what stays behind.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_congestion_point_on_dequeue(
    point: *mut unpause_congestion_point,
    now_ps: u64,
    packet: *const unpause_packet,
    queue: unpause_queue,
    verdict: *mut unpause_verdict,
) -> unpause_status {
    // SAFETY: `point`, `packet` and `verdict` are as the crate requires; `change`, `read` and `room` require no more.
    unsafe {
        change(point, |State { point, rng }| {
            let (packet, out) = (read(packet)?.into(), room(verdict)?);
            let now = Time::from_ps(now_ps);
            out.write(point.on_dequeue(now, &packet, queue.into(), rng).into());
            Ok(())
        })
    }
}

/// The peer's PAUSE has taken effect on the queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_congestion_point_on_pause(
    point: *mut unpause_congestion_point,
    now_ps: u64,
) -> unpause_status {
    // SAFETY: `point` is as the crate requires; `change` requires no more.
    unsafe {
        change(point, |state| {
            state.point.on_pause(Time::from_ps(now_ps));
            Ok(())
        })
    }
}

/// The queue may transmit again: XON, or a PAUSE that ran out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_congestion_point_on_resume(
    point: *mut unpause_congestion_point,
    now_ps: u64,
    queue: unpause_queue,
) -> unpause_status {
    // SAFETY: `point` is as the crate requires; `change` requires no more.
    unsafe {
        change(point, |state| {
            state.point.on_resume(Time::from_ps(now_ps), queue.into());
            Ok(())
        })
    }
}
