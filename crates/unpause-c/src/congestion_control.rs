//! Congestion control of one flow.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use unpause_protocols::congestion_control::hpcc::MOST_HOPS;
use unpause_protocols::congestion_control::{Ack, CongestionControl, Hop, Loss, Mechanism, Path};
use unpause_protocols::units::{Rate, Time};

use crate::config::{Config, unpause_config};
use crate::notification::unpause_notification;
use crate::status::{guard, read, room, unpause_status};
use crate::storage::{Storage, change, create, look};

/// In-band telemetry that a switch on the path writes into a packet when it leaves.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct unpause_hop {
    /// When.
    pub time_ps: u64,
    /// Bytes that the port had sent until then.
    pub tx_bytes: u64,
    /// Bytes in its queue.
    pub queue_bytes: u64,
    /// Rate of its link.
    pub rate_bps: u64,
}

/// No window: any number of bytes may be in flight.
pub const UNPAUSE_NO_WINDOW: u64 = u64::MAX;
/// The most hops that an acknowledgement may have, which is the room of this interface. Laws may read fewer: HPCC and PowerTCP
/// read the first five.
pub const UNPAUSE_MOST_HOPS: usize = 16;

const _: () = assert!(UNPAUSE_MOST_HOPS >= MOST_HOPS);

/// An acknowledgement.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct unpause_ack {
    /// When it came.
    pub now_ps: u64,
    /// How long after its packet or burst was sent, less the time that sending took; `UNPAUSE_NEVER` if that
    /// was not measured.
    pub rtt_ps: u64,
    /// Bytes that it acknowledges; of a duplicate, those of the packet that caused it.
    pub bytes: u64,
    /// All bytes of the flow before this one have arrived, these included.
    pub acknowledged: u64,
    /// The byte sent next: the first never sent, or after going back one that is sent again.
    pub sent: u64,
    /// Telemetry of the hops, in order; may be null if they write none.
    pub hops: *const unpause_hop,
    /// How many, at most `UNPAUSE_MOST_HOPS`.
    pub hop_count: usize,
    /// It tells of a mark.
    pub ce: bool,
    /// The window may grow: it has held the sender back, and no loss is being repaired.
    pub may_grow: bool,
}

/// How the network said that it is overloaded.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum unpause_loss {
    /// By a mark, the first of a round trip: to be answered like a loss.
    Mark,
    /// By a lost packet; later ones have arrived.
    Packet,
    /// By silence: the retransmission timer has run out.
    Timeout,
    /// By silence, as before: nothing was acknowledged since.
    TimeoutAgain,
}

/// Limits of a sender.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct unpause_allowance {
    /// Packets leave no faster.
    pub rate_bps: u64,
    /// No more bytes are in flight; `UNPAUSE_NO_WINDOW`: any number.
    pub window_bytes: u64,
    /// Where slow start ends; the largest number before the first congestion, or if there is none.
    pub ssthresh_bytes: u64,
    /// When to call `unpause_congestion_control_on_timer`; `UNPAUSE_NEVER` when no timer runs.
    pub timer_ps: u64,
    /// Send bursts of this many bytes at line rate, pace and measure per burst; 0: per packet.
    pub burst_bytes: u32,
    /// Send data ECN-capable over TCP, because marks are answered.
    pub ecn_capable: bool,
}

/// The congestion control of one flow, at its sender.
#[repr(C)]
pub struct unpause_congestion_control {
    opaque: [u64; 64],
}

/// A law and what it draws from.
pub(crate) struct State {
    law: CongestionControl,
    rng: Xoshiro256PlusPlus,
}

impl Storage for unpause_congestion_control {
    type State = State;
    const MAGIC: u64 = 0x756e_7061_7573_6504;
}

/// A flow that starts on a port of `line_rate_bps` with full packets of `packet_bytes`; `initial_window` in
/// bytes, `UNPAUSE_NO_WINDOW` leaves it to the mechanism. What it draws follows from `seed` alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_congestion_control_create(
    control: *mut unpause_congestion_control,
    config: *const unpause_config,
    line_rate_bps: u64,
    packet_bytes: u32,
    initial_window: u64,
    seed: u64,
) -> unpause_status {
    // SAFETY: `config` is as the crate requires; `look` requires no more.
    let state = || match unsafe { look(config)? } {
        Config::CongestionControl(config) => {
            let path = Path {
                initial_window,
                ..Path::new(Rate::from_bps(line_rate_bps), packet_bytes)
            };
            Ok(State {
                law: CongestionControl::new(config, &path),
                rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            })
        }
        _ => Err(unpause_status::WrongKind),
    };
    // SAFETY: `control` is as the crate requires; `create` requires no more.
    unsafe { create(control, state) }
}

/// The limits of the sender now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_congestion_control_allowance(
    control: *const unpause_congestion_control,
    allowance: *mut unpause_allowance,
) -> unpause_status {
    guard(|| {
        // SAFETY: `control` and `allowance` are as the crate requires; `look` and `room` require no more.
        let (State { law, .. }, out) = unsafe { (look(control)?, room(allowance)?) };
        out.write(unpause_allowance {
            rate_bps: law.rate().as_bps(),
            window_bytes: law.window().unwrap_or(UNPAUSE_NO_WINDOW),
            ssthresh_bytes: law.ssthresh(),
            timer_ps: law.next_timer().as_ps(),
            burst_bytes: law.burst_bytes().unwrap_or(0),
            ecn_capable: law.is_ecn_capable(),
        });
        Ok(())
    })
}

/// A notification has arrived; those of other mechanisms are ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_congestion_control_on_notification(
    control: *mut unpause_congestion_control,
    now_ps: u64,
    notification: *const unpause_notification,
) -> unpause_status {
    // SAFETY: `control` and `notification` are as the crate requires; `change` and `read` require no more.
    unsafe {
        change(control, |State { law, rng }| {
            if let Some(message) = read(notification)?.message()? {
                law.on_notification(Time::from_ps(now_ps), &message, rng);
            }
            Ok(())
        })
    }
}

/// # Safety
/// As the crate says.
unsafe fn hops(
    ack: &unpause_ack,
    room: &mut [Hop; UNPAUSE_MOST_HOPS],
) -> Result<usize, unpause_status> {
    let count = ack.hop_count;
    let room = room.get_mut(..count).ok_or(unpause_status::OutOfRange)?;
    if count > 0 {
        // SAFETY: `ack.hops` is as the crate requires; `read` requires no more.
        unsafe { read(ack.hops)? };
        // SAFETY: it is aligned and not null, and leads to this many hops, as the crate asks for.
        let hops = unsafe { core::slice::from_raw_parts(ack.hops, count) };
        for (room, hop) in room.iter_mut().zip(hops) {
            *room = Hop {
                time: Time::from_ps(hop.time_ps),
                tx_bytes: hop.tx_bytes,
                queue_bytes: hop.queue_bytes,
                rate: Rate::from_bps(hop.rate_bps),
            };
        }
    }
    Ok(count)
}

/// An acknowledgement has arrived. What it says of a loss, tell afterwards by
/// `unpause_congestion_control_on_loss`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_congestion_control_on_ack(
    control: *mut unpause_congestion_control,
    ack: *const unpause_ack,
) -> unpause_status {
    // SAFETY: `control` and `ack` are as the crate requires; `change`, `read` and `hops` require no more.
    unsafe {
        change(control, |State { law, .. }| {
            let ack = read(ack)?;
            let mut telemetry = [Hop {
                time: Time::ZERO,
                tx_bytes: 0,
                queue_bytes: 0,
                rate: Rate::ZERO,
            }; UNPAUSE_MOST_HOPS];
            let count = hops(ack, &mut telemetry)?;
            let rtt = Time::from_ps(ack.rtt_ps);
            law.on_ack(&Ack {
                rtt: (!rtt.is_never()).then_some(rtt),
                bytes: ack.bytes,
                ce: ack.ce,
                acknowledged: ack.acknowledged,
                sent: ack.sent,
                may_grow: ack.may_grow,
                telemetry: &telemetry[..count],
                ..Ack::at(Time::from_ps(ack.now_ps))
            });
            Ok(())
        })
    }
}

/// There was a loss, an `unpause_loss`, while this many bytes were in flight; `window` is that in force until
/// then, of use in timeouts alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_congestion_control_on_loss(
    control: *mut unpause_congestion_control,
    now_ps: u64,
    loss: u32,
    in_flight: u64,
    window: u64,
) -> unpause_status {
    const MARK: u32 = unpause_loss::Mark as u32;
    const PACKET: u32 = unpause_loss::Packet as u32;
    const TIMEOUT: u32 = unpause_loss::Timeout as u32;
    const AGAIN: u32 = unpause_loss::TimeoutAgain as u32;
    // SAFETY: `control` is as the crate requires; `change` requires no more.
    unsafe {
        change(control, |State { law, .. }| {
            let loss = match loss {
                MARK => Loss::Mark,
                PACKET => Loss::Packet,
                TIMEOUT | AGAIN => Loss::Timeout {
                    again: loss == AGAIN,
                    window,
                },
                _ => return Err(unpause_status::OutOfRange),
            };
            law.on_loss(Time::from_ps(now_ps), loss, in_flight);
            Ok(())
        })
    }
}

/// A lost packet is repaired. A window above `at_most` bytes would let a burst go.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_congestion_control_on_recovered(
    control: *mut unpause_congestion_control,
    at_most: u64,
) -> unpause_status {
    // SAFETY: `control` is as the crate requires; `change` requires no more.
    unsafe {
        change(control, |State { law, .. }| {
            law.on_recovered(at_most);
            Ok(())
        })
    }
}

/// The flow has sent `bytes`; `backlogged` when it has more to send.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_congestion_control_on_sent(
    control: *mut unpause_congestion_control,
    now_ps: u64,
    bytes: u32,
    backlogged: bool,
) -> unpause_status {
    // SAFETY: `control` is as the crate requires; `change` requires no more.
    unsafe {
        change(control, |State { law, rng }| {
            law.on_sent(Time::from_ps(now_ps), bytes, backlogged, rng);
            Ok(())
        })
    }
}

/// Runs every timer due at or before `now_ps`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_congestion_control_on_timer(
    control: *mut unpause_congestion_control,
    now_ps: u64,
) -> unpause_status {
    // SAFETY: `control` is as the crate requires; `change` requires no more.
    unsafe {
        change(control, |State { law, rng }| {
            law.on_timer(Time::from_ps(now_ps), rng);
            Ok(())
        })
    }
}
