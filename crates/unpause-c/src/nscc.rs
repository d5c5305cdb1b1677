//! NSCC: the window of a sprayed flow.

use unpause_protocols::congestion_control::nscc::{Ack, Nack, Nscc};
use unpause_protocols::units::Time;

use crate::config::{Config, unpause_config};
use crate::status::{guard, read, room, unpause_status};
use crate::storage::{Storage, change, create, look};

/// An acknowledgement, as NSCC receives it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct unpause_nscc_ack {
    /// When it came.
    pub now_ps: u64,
    /// Time since the packet that caused it was sent; `UNPAUSE_NEVER` if not known, as after a retransmission.
    pub rtt_ps: u64,
    /// By how much the bytes have grown that the receiver says it has received.
    pub bytes: u64,
    /// Bytes in flight, without those acknowledged.
    pub in_flight: u64,
    /// Share of the window for these bytes that the receiver leaves to the sender, in 255ths; 255: all of it.
    pub kept: u8,
    /// The packet that caused it was marked.
    pub marked: bool,
}

/// A switch has trimmed a packet, and its receiver says so.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct unpause_nscc_nack {
    /// When it came.
    pub now_ps: u64,
    /// Time since the packet was sent; `UNPAUSE_NEVER` if not known.
    pub rtt_ps: u64,
    /// Size of the packet as it was sent.
    pub bytes: u64,
    /// Bytes in flight, with those of the packet.
    pub in_flight: u64,
    /// The last switch has trimmed it, and the receiver's credits slow the senders: the window need not shrink.
    pub credited: bool,
}

/// The state of NSCC.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct unpause_nscc_state {
    /// No more bytes are in flight.
    pub window_bytes: u64,
    /// The shortest round trip seen.
    pub base_rtt_ps: u64,
    /// The average queuing delay.
    pub average_delay_ps: u64,
}

/// NSCC at the sender of one flow.
#[repr(C)]
pub struct unpause_nscc {
    opaque: [u64; 36],
}

impl Storage for unpause_nscc {
    type State = Nscc;
    const MAGIC: u64 = 0x756e_7061_7573_6508;
}

fn rtt(ps: u64) -> Option<Time> {
    let rtt = Time::from_ps(ps);
    (!rtt.is_never()).then_some(rtt)
}

/// A flow that has sent nothing, on a path of this round trip or less. `config` is one of `UNPAUSE_KIND_SPRAYED_WINDOW`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_nscc_create(
    nscc: *mut unpause_nscc,
    config: *const unpause_config,
    base_rtt_ps: u64,
) -> unpause_status {
    // SAFETY: `config` is as the crate requires; `look` requires no more.
    let state = || match unsafe { look(config)? } {
        Config::SprayedWindow(params) => Ok(Nscc::new(params, Time::from_ps(base_rtt_ps))),
        _ => Err(unpause_status::WrongKind),
    };
    // SAFETY: `nscc` is as the crate requires; `create` requires no more.
    unsafe { create(nscc, state) }
}

/// Its state now, above all its window.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_nscc_ask(
    nscc: *const unpause_nscc,
    state: *mut unpause_nscc_state,
) -> unpause_status {
    guard(|| {
        // SAFETY: `nscc` and `state` are as the crate requires; `look` and `room` require no more.
        let (nscc, out) = unsafe { (look(nscc)?, room(state)?) };
        out.write(unpause_nscc_state {
            window_bytes: nscc.window(),
            base_rtt_ps: nscc.base_rtt().as_ps(),
            average_delay_ps: nscc.average_delay().as_ps(),
        });
        Ok(())
    })
}

/// An acknowledgement has come.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_nscc_on_ack(
    nscc: *mut unpause_nscc,
    ack: *const unpause_nscc_ack,
) -> unpause_status {
    // SAFETY: `nscc` and `ack` are as the crate requires; `change` and `read` require no more.
    unsafe {
        change(nscc, |nscc| {
            let ack = read(ack)?;
            nscc.on_ack(&Ack {
                now: Time::from_ps(ack.now_ps),
                bytes: ack.bytes,
                marked: ack.marked,
                rtt: rtt(ack.rtt_ps),
                penalty: (ack.kept < u8::MAX).then_some(ack.kept),
                in_flight: ack.in_flight,
            });
            Ok(())
        })
    }
}

/// A switch has trimmed a packet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_nscc_on_nack(
    nscc: *mut unpause_nscc,
    nack: *const unpause_nscc_nack,
) -> unpause_status {
    // SAFETY: `nscc` and `nack` are as the crate requires; `change` and `read` require no more.
    unsafe {
        change(nscc, |nscc| {
            let nack = read(nack)?;
            nscc.on_nack(&Nack {
                now: Time::from_ps(nack.now_ps),
                bytes: nack.bytes,
                rtt: rtt(nack.rtt_ps),
                credited: nack.credited,
                in_flight: nack.in_flight,
            });
            Ok(())
        })
    }
}

/// The retransmission timer of a packet of this size has run out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_nscc_on_timeout(
    nscc: *mut unpause_nscc,
    bytes: u64,
) -> unpause_status {
    // SAFETY: `nscc` is as the crate requires; `change` requires no more.
    unsafe {
        change(nscc, |nscc| {
            nscc.on_timeout(bytes);
            Ok(())
        })
    }
}
