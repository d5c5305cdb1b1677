//! Mechanisms and their parameters by name, as numbers.
//!
//! The header of C and the test vectors are made of these lists. The names of parameters are those of the
//! fields of each mechanism's `Params`, as in scenario files.

use core::ffi::CStr;

use crate::congestion_control::nscc;
use crate::flow_control::pfc;
use crate::{congestion_control, congestion_point, notification_point, spraying};

mod parameters;

use parameters::Parameters as _;
pub use parameters::{Parameter, Visitor};

/// A kind of mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What a switch queue does to a packet.
    CongestionPoint,
    /// What the receiver of a flow says back.
    NotificationPoint,
    /// How the sender of a flow sets its rate and its window.
    CongestionControl,
    /// Who may transmit at all: PFC.
    FlowControl,
    /// What path each packet of a flow takes.
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

/// The mechanisms of one kind by name, and their parameters; a variant left out does not compile. PINT
/// is `without`: its state is of ports, and what it writes into packets their owner's. So is NSCC, a kind of its own.
macro_rules! mechanisms {
    ($of:ident, $visit:ident for $module:ident: None, $($name:literal $Variant:ident,)+ $(without $($Absent:ident),+)?) => {
        fn $of() -> impl Iterator<Item = (&'static CStr, $module::Config)> {
            use $module::Config;
            let all = [(c"none", Config::None), $(($name, Config::$Variant(Default::default())),)+];
            all.into_iter()
        }

        fn $visit(config: &mut $module::Config, visitor: Visitor<'_>) {
            match config {
                $module::Config::None $($(| $module::Config::$Absent(_))+)? => {}
                $($module::Config::$Variant(params) => params.visit(visitor),)+
            }
        }
    };
}

mechanisms! {
    congestion_points, visit_congestion_point for congestion_point: None,
    c"np-ecn" NpEcn,
    c"red" Red,
    c"wred" Wred,
    c"qcn" Qcn,
    c"dctcp-red" DctcpRed,
    c"tcn" Tcn,
    c"codel" Codel,
    c"ecn-sharp" EcnSharp,
    c"ecn-sharp-tofino" Tofino,
    c"telemetry" Telemetry,
    c"faults" Faults,
    without Pint
}

mechanisms! {
    notification_points, visit_notification_point for notification_point: None,
    c"pcn" Pcn,
    c"dcqcn" Dcqcn,
}

mechanisms! {
    congestion_controls, visit_congestion_control for congestion_control: None,
    c"pcn" Pcn,
    c"qcn" Qcn,
    c"dcqcn" Dcqcn,
    c"dcqcn-nic" DcqcnNic,
    c"timely" Timely,
    c"hpcc" Hpcc,
    c"powertcp" PowerTcp,
    c"theta-powertcp" ThetaPowerTcp,
    c"dctcp-rate" DctcpRate,
    c"swift" Swift,
    c"newreno" NewReno,
    c"ecn-tcp" EcnTcp,
    c"cubic" Cubic,
    c"dctcp" Dctcp,
    without Pint, Nscc
}

mechanisms! {
    sprayings, visit_spraying for spraying: None,
    c"oblivious" Oblivious,
    c"bitmap" Bitmap,
    c"reps" Reps,
}

impl Config {
    /// The first mechanism of a kind for whose name `is` holds, with its defaults.
    pub fn find(kind: Kind, mut is: impl FnMut(&CStr) -> bool) -> Option<(&'static CStr, Self)> {
        match kind {
            Kind::CongestionPoint => congestion_points()
                .find(|(name, _)| is(name))
                .map(|(name, it)| (name, Self::CongestionPoint(it))),
            Kind::NotificationPoint => notification_points()
                .find(|(name, _)| is(name))
                .map(|(name, it)| (name, Self::NotificationPoint(it))),
            Kind::CongestionControl => congestion_controls()
                .find(|(name, _)| is(name))
                .map(|(name, it)| (name, Self::CongestionControl(it))),
            Kind::FlowControl => {
                is(c"pfc").then(|| (c"pfc", Self::FlowControl(pfc::Params::default())))
            }
            Kind::Spraying => sprayings()
                .find(|(name, _)| is(name))
                .map(|(name, it)| (name, Self::Spraying(it))),
            Kind::SprayedWindow => {
                is(c"nscc").then(|| (c"nscc", Self::SprayedWindow(nscc::Params::default())))
            }
        }
    }

    /// Calls `visitor` with one parameter after the other, always in the same order.
    pub fn visit(&mut self, visitor: Visitor<'_>) {
        match self {
            Self::CongestionPoint(it) => visit_congestion_point(it, visitor),
            Self::NotificationPoint(it) => visit_notification_point(it, visitor),
            Self::CongestionControl(it) => visit_congestion_control(it, visitor),
            Self::FlowControl(it) => it.visit(visitor),
            Self::Spraying(it) => visit_spraying(it, visitor),
            Self::SprayedWindow(it) => it.visit(visitor),
        }
    }

    /// What `call` answers of the parameter for whose name `is` holds; `None` if there is none.
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
