//! `congestion_control` and `tcp` of `[[scheme]]`: a file for each value.

mod choice;
mod congestion_control;
mod cubic;
mod dcqcn;
mod dcqcn_names;
mod dctcp;
mod dctcp_rate;
mod ecn_tcp;
mod hpcc;
mod newreno;
mod none;
mod nscc;
mod pcn;
mod pint;
mod power_tcp;
mod qcn;
mod rccc;
mod red_by_rate;
mod swift;
mod theta_power_tcp;
mod timely;

pub(crate) use choice::{Chosen, SchemeKeys, congestion_control, window_law};
pub(crate) use congestion_control::BaseRtt;
pub use congestion_control::CongestionControl;

/// Every value of `congestion_control`, in the order of a list of them.
pub const CONGESTION_CONTROLS: [CongestionControl; 17] = [
    CongestionControl::of::<none::PfcAlone>(),
    CongestionControl::of::<qcn::Qcn>(),
    CongestionControl::of::<dcqcn::Dcqcn>(),
    CongestionControl::of::<timely::Timely>(),
    CongestionControl::of::<pcn::Pcn>(),
    CongestionControl::of::<swift::Swift>(),
    CongestionControl::of::<hpcc::Hpcc>(),
    CongestionControl::of::<pint::Pint>(),
    CongestionControl::of::<power_tcp::PowerTcp>(),
    CongestionControl::of::<theta_power_tcp::ThetaPowerTcp>(),
    CongestionControl::of::<nscc::Nscc>(),
    CongestionControl::of::<rccc::Rccc>(),
    CongestionControl::of::<dctcp_rate::DctcpRate>(),
    CongestionControl::of::<newreno::NewReno>(),
    CongestionControl::of::<ecn_tcp::EcnTcp>(),
    CongestionControl::of::<dctcp::Dctcp>(),
    CongestionControl::of::<cubic::Cubic>(),
];
