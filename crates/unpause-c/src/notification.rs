//! Messages to senders, and the notification points that send them.

use unpause_protocols::notification::{Notification, QcnFeedback};
use unpause_protocols::notification_point::NotificationPoint;
use unpause_protocols::units::Time;

use crate::config::{Config, unpause_config};
use crate::status::{guard, room, unpause_status};
use crate::storage::{Storage, change, create, look};

/// Later than everything: a timer that is off, a round-trip time that was not measured.
pub const UNPAUSE_NEVER: u64 = u64::MAX;

/// The content of a notification to the sender of a flow.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum unpause_notification_kind {
    /// There is none.
    None,
    /// DCQCN's CNP: the flow had marked packets.
    Cnp,
    /// PCN's CNP: increase.
    PcnIncrease,
    /// PCN's CNP: decrease to `rec_rate`.
    PcnDecrease,
    /// A congestion notification message of 802.1Qau.
    Qcn,
}

/// A message to the sender of a flow.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct unpause_notification {
    /// An `unpause_notification_kind`.
    pub kind: u32,
    /// PCN's receive rate in units of the notification point's `rec_rate_unit`; else 0.
    pub rec_rate: u32,
    /// QCN: equilibrium less present queue length in bytes; else 0.
    pub q_offset: i32,
    /// QCN: present queue length less that of the sample before, in bytes; else 0.
    pub q_delta: i32,
    /// QCN: quantised feedback, 0 to 63; else 0.
    pub qfb: u8,
}

use unpause_notification_kind as Kind;

impl From<Option<Notification>> for unpause_notification {
    fn from(notification: Option<Notification>) -> Self {
        let of = |kind: Kind, rec_rate| Self {
            kind: kind as u32,
            rec_rate,
            q_offset: 0,
            q_delta: 0,
            qfb: 0,
        };
        match notification {
            None => of(Kind::None, 0),
            Some(Notification::Cnp) => of(Kind::Cnp, 0),
            Some(Notification::Pcn {
                congested,
                rec_rate,
            }) => {
                let kind = if congested {
                    Kind::PcnDecrease
                } else {
                    Kind::PcnIncrease
                };
                of(kind, rec_rate)
            }
            Some(Notification::Qcn(QcnFeedback {
                qfb,
                q_offset,
                q_delta,
            })) => Self {
                q_offset,
                q_delta,
                qfb,
                ..of(Kind::Qcn, 0)
            },
        }
    }
}

impl unpause_notification {
    pub(crate) fn message(&self) -> Result<Option<Notification>, unpause_status> {
        const NONE: u32 = Kind::None as u32;
        const CNP: u32 = Kind::Cnp as u32;
        const PCN_INCREASE: u32 = Kind::PcnIncrease as u32;
        const PCN_DECREASE: u32 = Kind::PcnDecrease as u32;
        const QCN: u32 = Kind::Qcn as u32;
        let &Self {
            kind,
            rec_rate,
            q_offset,
            q_delta,
            qfb,
        } = self;
        Ok(match kind {
            NONE => None,
            CNP => Some(Notification::Cnp),
            PCN_INCREASE => Some(Notification::Pcn {
                congested: false,
                rec_rate: 0,
            }),
            PCN_DECREASE => Some(Notification::Pcn {
                congested: true,
                rec_rate,
            }),
            QCN if qfb < 64 => Some(Notification::Qcn(QcnFeedback {
                qfb,
                q_offset,
                q_delta,
            })),
            _ => return Err(unpause_status::OutOfRange),
        })
    }
}

/// The notification point of one flow, at its receiver.
#[repr(C)]
pub struct unpause_notification_point {
    opaque: [u64; 16],
}

impl Storage for unpause_notification_point {
    type State = NotificationPoint;
    const MAGIC: u64 = 0x756e_7061_7573_6502;
}

/// A flow of which nothing has arrived yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_notification_point_create(
    point: *mut unpause_notification_point,
    config: *const unpause_config,
) -> unpause_status {
    // SAFETY: `config` is as the crate requires; `look` requires no more.
    let state = || match unsafe { look(config)? } {
        Config::NotificationPoint(config) => Ok(NotificationPoint::new(config)),
        _ => Err(unpause_status::WrongKind),
    };
    // SAFETY: `point` is as the crate requires; `create` requires no more.
    unsafe { create(point, state) }
}

/// A data packet of the flow has arrived, marked Congestion Experienced or not; `notification` is what to
/// send.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_notification_point_on_data(
    point: *mut unpause_notification_point,
    now_ps: u64,
    bytes: u32,
    ce: bool,
    notification: *mut unpause_notification,
) -> unpause_status {
    // SAFETY: `point` and `notification` are as the crate requires; `change` and `room` require no more.
    unsafe {
        change(point, |point| {
            let out = room(notification)?;
            out.write(point.on_data(Time::from_ps(now_ps), bytes, ce).into());
            Ok(())
        })
    }
}

/// Call when the timer is due; `notification` is what to send.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_notification_point_on_timer(
    point: *mut unpause_notification_point,
    now_ps: u64,
    notification: *mut unpause_notification,
) -> unpause_status {
    // SAFETY: `point` and `notification` are as the crate requires; `change` and `room` require no more.
    unsafe {
        change(point, |point| {
            let out = room(notification)?;
            out.write(point.on_timer(Time::from_ps(now_ps)).into());
            Ok(())
        })
    }
}

/// When the timer is due; `UNPAUSE_NEVER` when it is off.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_notification_point_next_timer(
    point: *const unpause_notification_point,
    timer_ps: *mut u64,
) -> unpause_status {
    guard(|| {
        // SAFETY: `point` and `timer_ps` are as the crate requires; `look` and `room` require no more.
        let (point, out) = unsafe { (look(point)?, room(timer_ps)?) };
        out.write(point.next_timer().as_ps());
        Ok(())
    })
}
