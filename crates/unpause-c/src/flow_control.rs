//! PFC.

use unpause_protocols::flow_control::pfc::{self, Action, Change, Egress, Ingress, Params};
use unpause_protocols::units::{Rate, Time};

use crate::config::{Config, unpause_config};
use crate::status::{guard, room, unpause_status};
use crate::storage::{Storage, change, create, look};

/// The frame to send upstream now.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum unpause_pfc_action {
    /// None.
    None,
    /// A PAUSE of `unpause_pfc_ingress_state.pause_quanta`.
    Xoff,
    /// A PAUSE of time zero.
    Xon,
}

/// Effect of an event on a transmitter.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum unpause_pfc_change {
    /// Nothing that the queue need know.
    None,
    /// It must stop after the frame being sent.
    Paused,
    /// It may transmit again.
    Resumed,
}

/// State of an ingress.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct unpause_pfc_ingress_state {
    /// Bytes held.
    pub bytes: u64,
    /// When to call `unpause_pfc_ingress_on_timer`; `UNPAUSE_NEVER` while the peer may send.
    pub timer_ps: u64,
    /// How long a PAUSE asks for, as its frame says it.
    pub pause_quanta: u16,
    /// The peer has been told to stop.
    pub is_xoff: bool,
}

/// State of a transmitter.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct unpause_pfc_egress_state {
    /// When to call `unpause_pfc_egress_on_timer`; `UNPAUSE_NEVER` when no pause runs.
    pub timer_ps: u64,
    /// It must not send.
    pub is_paused: bool,
}

/// Accounting of one (ingress port, priority): the sender of PAUSE.
#[repr(C)]
pub struct unpause_pfc_ingress {
    opaque: [u64; 12],
}

/// An ingress and what it asks for.
pub(crate) struct Sender {
    ingress: Ingress,
    params: Params,
    pause: Time,
    quanta: u16,
}

impl Storage for unpause_pfc_ingress {
    type State = Sender;
    const MAGIC: u64 = 0x756e_7061_7573_6505;
}

/// One (egress port, priority): the transmitter that is stopped.
#[repr(C)]
pub struct unpause_pfc_egress {
    opaque: [u64; 6],
}

/// An egress and the length of a quantum on its link.
pub(crate) struct Transmitter {
    egress: Egress,
    quantum: Time,
}

impl Storage for unpause_pfc_egress {
    type State = Transmitter;
    const MAGIC: u64 = 0x756e_7061_7573_6506;
}

impl From<Action> for unpause_pfc_action {
    fn from(action: Action) -> Self {
        match action {
            Action::None => Self::None,
            Action::Xoff => Self::Xoff,
            Action::Xon => Self::Xon,
        }
    }
}

impl From<Change> for unpause_pfc_change {
    fn from(change: Change) -> Self {
        match change {
            Change::None => Self::None,
            Change::Paused => Self::Paused,
            Change::Resumed => Self::Resumed,
        }
    }
}

/// An ingress on a link of this speed that holds nothing. `config` is one of `UNPAUSE_KIND_FLOW_CONTROL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_pfc_ingress_create(
    ingress: *mut unpause_pfc_ingress,
    config: *const unpause_config,
    link_rate_bps: u64,
) -> unpause_status {
    // SAFETY: `config` is as the crate requires; `look` requires no more.
    let state = || match unsafe { look(config)? } {
        Config::FlowControl(params) => {
            let rate = Rate::from_bps(link_rate_bps);
            let pause = params.pause_duration(rate);
            let quanta = pause.as_ps().div_ceil(pfc::quantum(rate).as_ps().max(1));
            Ok(Sender {
                ingress: Ingress::new(),
                params: *params,
                pause,
                quanta: quanta.try_into().unwrap_or(u16::MAX),
            })
        }
        _ => Err(unpause_status::WrongKind),
    };
    // SAFETY: `ingress` is as the crate requires; `create` requires no more.
    unsafe { create(ingress, state) }
}

/// A packet has been admitted; above `xoff_bytes` its ingress asks for PAUSE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_pfc_ingress_on_admit(
    ingress: *mut unpause_pfc_ingress,
    now_ps: u64,
    bytes: u32,
    xoff_bytes: u64,
    action: *mut unpause_pfc_action,
) -> unpause_status {
    // SAFETY: `ingress` and `action` are as the crate requires; `change` and `room` require no more.
    unsafe {
        change(ingress, |it| {
            let out = room(action)?;
            let now = Time::from_ps(now_ps);
            out.write(
                it.ingress
                    .on_admit(now, bytes, xoff_bytes, it.pause, &it.params)
                    .into(),
            );
            Ok(())
        })
    }
}

/// A packet admitted earlier starts to leave, or is discarded; at `xon_bytes` the peer may go on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_pfc_ingress_on_release(
    ingress: *mut unpause_pfc_ingress,
    now_ps: u64,
    bytes: u32,
    xon_bytes: u64,
    action: *mut unpause_pfc_action,
) -> unpause_status {
    // SAFETY: `ingress` and `action` are as the crate requires; `change` and `room` require no more.
    unsafe {
        change(ingress, |it| {
            let out = room(action)?;
            let now = Time::from_ps(now_ps);
            out.write(it.ingress.on_release(now, bytes, xon_bytes).into());
            Ok(())
        })
    }
}

/// Repeats the PAUSE when it is time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_pfc_ingress_on_timer(
    ingress: *mut unpause_pfc_ingress,
    now_ps: u64,
    action: *mut unpause_pfc_action,
) -> unpause_status {
    // SAFETY: `ingress` and `action` are as the crate requires; `change` and `room` require no more.
    unsafe {
        change(ingress, |it| {
            let out = room(action)?;
            out.write(
                it.ingress
                    .on_timer(Time::from_ps(now_ps), it.pause, &it.params)
                    .into(),
            );
            Ok(())
        })
    }
}

/// The state of the ingress now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_pfc_ingress_ask(
    ingress: *const unpause_pfc_ingress,
    state: *mut unpause_pfc_ingress_state,
) -> unpause_status {
    guard(|| {
        // SAFETY: `ingress` and `state` are as the crate requires; `look` and `room` require no more.
        let (it, out) = unsafe { (look(ingress)?, room(state)?) };
        out.write(unpause_pfc_ingress_state {
            bytes: it.ingress.bytes(),
            timer_ps: it.ingress.next_timer().as_ps(),
            pause_quanta: it.quanta,
            is_xoff: it.ingress.is_xoff(),
        });
        Ok(())
    })
}

/// A transmitter on a link of this speed that may send.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_pfc_egress_create(
    egress: *mut unpause_pfc_egress,
    link_rate_bps: u64,
) -> unpause_status {
    let state = || {
        Ok(Transmitter {
            egress: Egress::new(),
            quantum: pfc::quantum(Rate::from_bps(link_rate_bps)),
        })
    };
    // SAFETY: `egress` is as the crate requires; `create` requires no more.
    unsafe { create(egress, state) }
}

/// A PAUSE for its priority takes effect; 0 quanta are XON.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_pfc_egress_on_frame(
    egress: *mut unpause_pfc_egress,
    now_ps: u64,
    quanta: u16,
    result: *mut unpause_pfc_change,
) -> unpause_status {
    // SAFETY: `egress` and `result` are as the crate requires; `change` and `room` require no more.
    unsafe {
        change(egress, |it| {
            let out = room(result)?;
            let pause = it.quantum.as_ps().saturating_mul(u64::from(quanta));
            let now = Time::from_ps(now_ps);
            out.write(it.egress.on_frame(now, Time::from_ps(pause)).into());
            Ok(())
        })
    }
}

/// Ends a pause that has run out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_pfc_egress_on_timer(
    egress: *mut unpause_pfc_egress,
    now_ps: u64,
    result: *mut unpause_pfc_change,
) -> unpause_status {
    // SAFETY: `egress` and `result` are as the crate requires; `change` and `room` require no more.
    unsafe {
        change(egress, |it| {
            let out = room(result)?;
            out.write(it.egress.on_timer(Time::from_ps(now_ps)).into());
            Ok(())
        })
    }
}

/// The state of the transmitter now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_pfc_egress_ask(
    egress: *const unpause_pfc_egress,
    state: *mut unpause_pfc_egress_state,
) -> unpause_status {
    guard(|| {
        // SAFETY: `egress` and `state` are as the crate requires; `look` and `room` require no more.
        let (it, out) = unsafe { (look(egress)?, room(state)?) };
        out.write(unpause_pfc_egress_state {
            timer_ps: it.egress.next_timer().as_ps(),
            is_paused: it.egress.is_paused(),
        });
        Ok(())
    })
}

/// The longest that 802.3 lets a peer take to react to a PAUSE.
#[unsafe(no_mangle)]
pub extern "C" fn unpause_pfc_reaction_time_ps(rate_bps: u64) -> u64 {
    pfc::reaction_time(Rate::from_bps(rate_bps)).as_ps()
}

/// Bytes that can still arrive once XOFF has been decided, over a cable of so much propagation delay; sizes
/// are those on the wire.
#[unsafe(no_mangle)]
pub extern "C" fn unpause_pfc_headroom_bytes(
    rate_bps: u64,
    propagation_ps: u64,
    mtu_bytes: u64,
    pfc_frame_bytes: u64,
    reaction_ps: u64,
) -> u64 {
    let (rate, propagation) = (Rate::from_bps(rate_bps), Time::from_ps(propagation_ps));
    pfc::headroom(
        rate,
        propagation,
        mtu_bytes,
        pfc_frame_bytes,
        Time::from_ps(reaction_ps),
    )
}
