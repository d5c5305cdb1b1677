//! Mechanisms and their parameters by name, as numbers.
//!
//! The header of C and the test vectors are made of these lists. The names of parameters are those of the
//! fields of each mechanism's `Params`, as in scenario files.

use core::ffi::CStr;

use crate::congestion_control::nscc;
use crate::flow_control::pfc;
use crate::{congestion_control, congestion_point, notification_point, spraying};

mod fields;

use crate::parameters::Parameters as _;
pub use crate::parameters::{Parameter, Visitor};

/// A kind of mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Marks, drops or reports packets at a switch queue.
    CongestionPoint,
    /// Feedback from the receiver of a flow to its sender.
    NotificationPoint,
    /// How the sender of a flow sets its rate and its window.
    CongestionControl,
    /// Who may transmit at all: PFC.
    FlowControl,
    /// The path of each packet of a flow.
    Spraying,
    /// How the sender of a sprayed flow sets its window: NSCC.
    SprayedWindow,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 6] = [
        Self::CongestionPoint,
        Self::NotificationPoint,
        Self::CongestionControl,
        Self::FlowControl,
        Self::Spraying,
        Self::SprayedWindow,
    ];

    /// Such as `congestion-point`.
    pub fn name(self) -> &'static str {
        match self {
            Self::CongestionPoint => "congestion-point",
            Self::NotificationPoint => "notification-point",
            Self::CongestionControl => "congestion-control",
            Self::FlowControl => "flow-control",
            Self::Spraying => "spraying",
            Self::SprayedWindow => "sprayed-window",
        }
    }
}

/// Any mechanism with its parameters.
#[derive(Clone, Debug)]
pub enum Config {
    /// Of a switch queue.
    CongestionPoint(congestion_point::Config),
    /// Of a flow's receiver.
    NotificationPoint(notification_point::Config),
    /// Of a flow's sender.
    CongestionControl(congestion_control::Config),
    /// Of both ends of a link.
    FlowControl(pfc::Params),
    /// Of a flow's sender.
    Spraying(spraying::Config),
    /// Of a sprayed flow's sender.
    SprayedWindow(nscc::Params),
}

impl Config {
    /// The first mechanism of a kind for whose name `is` holds, with its defaults.
    pub fn find(kind: Kind, mut is: impl FnMut(&CStr) -> bool) -> Option<(&'static CStr, Self)> {
        match kind {
            Kind::CongestionPoint => congestion_point::named()
                .find(|(name, _)| is(name))
                .map(|(name, it)| (name, Self::CongestionPoint(it))),
            Kind::NotificationPoint => notification_point::named()
                .find(|(name, _)| is(name))
                .map(|(name, it)| (name, Self::NotificationPoint(it))),
            Kind::CongestionControl => congestion_control::named()
                .find(|(name, _)| is(name))
                .map(|(name, it)| (name, Self::CongestionControl(it))),
            Kind::FlowControl => {
                is(c"pfc").then(|| (c"pfc", Self::FlowControl(pfc::Params::default())))
            }
            Kind::Spraying => spraying::named()
                .find(|(name, _)| is(name))
                .map(|(name, it)| (name, Self::Spraying(it))),
            Kind::SprayedWindow => {
                is(c"nscc").then(|| (c"nscc", Self::SprayedWindow(nscc::Params::default())))
            }
        }
    }

    /// Every mechanism of a kind, with its defaults.
    pub fn all(kind: Kind) -> impl Iterator<Item = (&'static CStr, Self)> {
        (0_usize..).map_while(move |before| {
            let mut seen = 0;
            Self::find(kind, |_| {
                seen += 1;
                seen > before
            })
        })
    }

    /// Calls `visitor` with one parameter after the other, always in the same order.
    pub fn visit(&mut self, visitor: Visitor<'_>) {
        match self {
            Self::CongestionPoint(it) => congestion_point::visit(it, visitor),
            Self::NotificationPoint(it) => notification_point::visit(it, visitor),
            Self::CongestionControl(it) => congestion_control::visit(it, visitor),
            Self::FlowControl(it) => it.visit(visitor),
            Self::Spraying(it) => spraying::visit(it, visitor),
            Self::SprayedWindow(it) => it.visit(visitor),
        }
    }

    /// Calls `call` with the parameter whose name satisfies `is`, and returns its result; `None` if there is no such parameter.
    pub fn parameter<T>(
        &mut self,
        mut is: impl FnMut(&CStr) -> bool,
        mut call: impl FnMut(Parameter<'_>) -> T,
    ) -> Option<T> {
        let mut answer = None;
        self.visit(&mut |parameter| {
            if is(parameter.name) {
                answer = Some(call(parameter));
            }
        });
        answer
    }
}
