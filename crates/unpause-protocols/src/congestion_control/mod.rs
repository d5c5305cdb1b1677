//! How the sender of a flow sets its rate and its window.
//!
//! One state machine per flow: a law. What it says, its owner honours: packets leave no faster than
//! [`Mechanism::rate`], and no more bytes are in flight than [`Mechanism::window`]. A law that sets one of
//! them leaves the other open. It learns of losses from [`crate::loss_recovery`], which repairs them and
//! knows no law.

use rand_core::Rng;

use crate::dispatch::mechanisms;
use crate::notification::Notification;
use crate::parameters::named;
use crate::units::{Fraction, Rate, Time};

pub mod cubic;
pub mod dcqcn;
pub mod dcqcn_nic;
pub mod dctcp;
pub mod dctcp_rate;
pub mod ecn_tcp;
pub mod hpcc;
mod mechanism;
pub mod newreno;
pub mod nscc;
pub mod nscc_sender;
pub mod pcn;
pub mod pint;
pub mod power_tcp;
pub mod qcn;
pub mod receiver_credits;
pub mod swift;
pub mod theta_power_tcp;
pub mod timely;

pub use mechanism::{Ack, Hop, LineRate, Loss, Mechanism, Path, Settings};

mechanisms! {
    ($)
    /// The congestion control of one flow.
    CongestionControl:
    /// No reaction: always line rate.
    None(LineRate),
    /// PCN: down to the receive rate at once, up faster and faster.
    Pcn(pcn::Pcn),
    /// QCN: 802.1Qau's rate limiter.
    Qcn(qcn::Qcn),
    /// DCQCN: a cut by a running estimate of congestion, then QCN's recovery.
    Dcqcn(dcqcn::Dcqcn),
    /// DCQCN as NICs have it: a clock for each step.
    DcqcnNic(dcqcn_nic::DcqcnNic),
    /// TIMELY: the gradient of the round-trip time.
    Timely(timely::Timely),
    /// HPCC: what switches write into packets.
    Hpcc(hpcc::Hpcc),
    /// HPCC with PINT: the use of the busiest port.
    Pint(pint::Pint),
    /// PowerTCP: the power of the busiest port, by what switches write into packets.
    PowerTcp(power_tcp::PowerTcp),
    /// θ-PowerTCP: the same by round-trip times.
    ThetaPowerTcp(theta_power_tcp::ThetaPowerTcp),
    /// NSCC: Ultra Ethernet's window by delay and marks.
    Nscc(nscc_sender::NsccSender),
    /// DCTCP by rate.
    DctcpRate(dctcp_rate::DctcpRate),
    /// Swift: a window that keeps the delay at a target, below a packet by its rate.
    Swift(swift::Swift),
    /// NewReno: halves the window at a loss.
    NewReno(newreno::NewReno),
    /// ECN TCP: halves it at a mark, too.
    EcnTcp(ecn_tcp::EcnTcp),
    /// CUBIC: a window that grows with the time since the last loss.
    Cubic(cubic::Cubic),
    /// DCTCP: cuts it by half the share of marked bytes.
    Dctcp(dctcp::Dctcp),
}

// For C and the test vectors. PINT's numbers are their owner's, and NSCC is a kind of its own there.
named! {
    congestion_control:
    c"pcn" Pcn of pcn { w_min, w_max, min_rate, rec_rate_unit },
    c"qcn" Qcn of qcn {
        gd_log2, min_decrease_factor, fr_threshold, fr_strict, byte_reset, time_reset, rate_ai, rate_hai, min_rate
    },
    c"dcqcn" Dcqcn of dcqcn {
        g, alpha_init, alpha_order, alpha_timer, increase_timer, byte_counter, fr_threshold, clamp_target, rate_ai,
        rate_hai, min_rate, cnp_on_ack
    },
    c"dcqcn-nic" DcqcnNic of dcqcn_nic {
        g, alpha_timer, cut_interval, increase_timer, fr_threshold, clamp_target, rate_ai, rate_hai, min_rate,
        cnp_on_ack
    },
    c"timely" Timely of timely {
        variant, ewma, t_low, t_high, min_rtt, delta, beta, hai_after, hai_factor, hai_delta, segment_bytes,
        min_rate
    },
    c"hpcc" Hpcc of hpcc {
        base_rtt, window, per_path, fixed_window, u_target, mi_thresh, fast_react, multi_rate, sample_feedback,
        tx_unit, queue_unit, unknown_rate, rate_ai, min_rate
    },
    c"powertcp" PowerTcp of power_tcp { base_rtt, gamma, rate_ai, min_rate },
    c"theta-powertcp" ThetaPowerTcp of theta_power_tcp { base_rtt, gamma, rate_ai, min_rate },
    c"dctcp-rate" DctcpRate of dctcp_rate { g_log2, rate_ai, min_rate },
    c"swift" Swift of swift {
        base_target, fs_range, fs_min_cwnd, fs_max_cwnd, ai, beta, max_mdf, min_cwnd, retx_reset_threshold
    },
    c"newreno" NewReno of newreno {},
    c"ecn-tcp" EcnTcp of ecn_tcp {},
    c"cubic" Cubic of cubic { c, beta, fast_convergence, ecn },
    c"dctcp" Dctcp of dctcp { g_log2, alpha_init },
    without Pint, Nscc
}

impl Settings for Config {
    fn reads_telemetry(&self) -> bool {
        ask!(self, false, it => it.reads_telemetry())
    }
    fn reads_path(&self) -> bool {
        ask!(self, false, it => it.reads_path())
    }
    fn least_rate(&self) -> Option<Rate> {
        ask!(self, None, it => it.least_rate())
    }
}

impl CongestionControl {
    /// A flow that starts on `path`.
    pub fn new(config: &Config, path: &Path) -> Self {
        build!(config, LineRate(path.line_rate), path)
    }
}

impl Mechanism for CongestionControl {
    #[inline]
    fn rate(&self) -> Rate {
        dispatch!(self, it => it.rate())
    }
    #[inline]
    fn window(&self) -> Option<u64> {
        dispatch!(self, it => it.window())
    }
    #[inline]
    fn ssthresh(&self) -> u64 {
        dispatch!(self, it => it.ssthresh())
    }
    #[inline]
    fn is_ecn_capable(&self) -> bool {
        dispatch!(self, it => it.is_ecn_capable())
    }
    #[inline]
    fn burst_bytes(&self) -> Option<u32> {
        dispatch!(self, it => it.burst_bytes())
    }
    #[inline]
    fn digests(&self) -> Option<Fraction> {
        dispatch!(self, it => it.digests())
    }
    #[inline]
    fn hears_acks(&self) -> bool {
        dispatch!(self, it => it.hears_acks())
    }
    #[inline]
    fn hears_sent(&self) -> bool {
        dispatch!(self, it => it.hears_sent())
    }
    #[inline]
    fn on_ack(&mut self, ack: &Ack<'_>) {
        dispatch!(self, it => it.on_ack(ack))
    }
    #[inline]
    fn on_notification<R: Rng>(&mut self, now: Time, notification: &Notification, rng: &mut R) {
        dispatch!(self, it => it.on_notification(now, notification, rng))
    }
    #[inline]
    fn on_loss(&mut self, now: Time, loss: Loss, in_flight: u64) {
        dispatch!(self, it => it.on_loss(now, loss, in_flight))
    }
    #[inline]
    fn on_recovered(&mut self, at_most: u64) {
        dispatch!(self, it => it.on_recovered(at_most))
    }
    #[inline]
    fn on_sent<R: Rng>(&mut self, now: Time, bytes: u32, backlogged: bool, rng: &mut R) {
        dispatch!(self, it => it.on_sent(now, bytes, backlogged, rng))
    }
    #[inline]
    fn on_timer<R: Rng>(&mut self, now: Time, rng: &mut R) {
        dispatch!(self, it => it.on_timer(now, rng))
    }
    #[inline]
    fn next_timer(&self) -> Time {
        dispatch!(self, it => it.next_timer())
    }
}
