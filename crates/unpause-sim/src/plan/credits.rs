//! What must be so where receivers grant credits.

use unpause_protocols::congestion_control;
use unpause_protocols::loss_recovery::Config as Recovery;
use unpause_protocols::units::Time;

use crate::config::Config;
use crate::config::invalid::{Invalid, Subject, bytes};
use crate::fabric::NodeKind;
use crate::fabric::packet::SENT_BITS;

/// What gives credits, and their base RTT.
fn fields(config: &Config) -> (&'static str, &'static str) {
    match config.scheme.roce {
        congestion_control::Config::Nscc(_) => ("scheme.nscc.credits", "scheme.nscc.base_rtt"),
        _ => ("scheme.congestion_control", "scheme.rccc.base_rtt"),
    }
}

/// The most credit that a flow may have, bytes: pull targets have few bits in packets.
pub const MOST_CREDIT: u64 = 1 << 27;

/// Refuses what credits cannot do, or not yet.
///
/// # Errors
///
/// The field at fault, and why.
pub(super) fn check(config: &Config, links_of: &[u32]) -> Result<(), Invalid> {
    let Some(credits) = &config.scheme.credits else {
        return Ok(());
    };
    let (by, base_rtt) = fields(config);
    if config.scheme.loss_recovery == Recovery::GoBackN {
        let message =
            "a credit is for a single packet, and go-back-N resends packets that have arrived";
        return Err(Invalid::new(by, message)
            .label("receivers grant credits")
            .and("scheme.loss_recovery", "go-back-N")
            .help("set loss_recovery = \"selective-repeat\" in the scheme"));
    }
    let law = &config.scheme.roce;
    if !matches!(
        law,
        congestion_control::Config::None | congestion_control::Config::Nscc(_)
    ) {
        let message = "credits go with NSCC, or alone";
        return Err(Invalid::new("scheme.roce", message).label("another law"));
    }
    if !config.jobs.is_empty() {
        let message = "receiver credits are for flows, not for connections of jobs";
        return Err(Invalid::new(by, message)
            .label("receivers grant credits")
            .help("use congestion_control = \"nscc\" without credits, or [[traffic]]"));
    }
    let last = Time::from_ps(1 << SENT_BITS);
    if config.stop >= last {
        let message = "with credits a run cannot be that long";
        return Err(Invalid::new("stop", message)
            .label(format!("must be shorter than {last}"))
            .and(
                by,
                "a packet has few bits for when it was sent, beside its pull target",
            ));
    }
    if let Some(host) = links_of
        .iter()
        .zip(&config.fabric.nodes)
        .position(|(links, kind)| *kind == NodeKind::Host && *links > 1)
    {
        let message = "has several links, and credits of a host are for one";
        return Err(Invalid::new(by, message).of(Subject::Host(host as u32)));
    }
    check_rtt(config, base_rtt, credits.base_rtt)
}

fn check_rtt(config: &Config, field: &'static str, rtt: Option<Time>) -> Result<(), Invalid> {
    let Some(base_rtt) = rtt else {
        return Ok(());
    };
    if base_rtt == Time::ZERO {
        return Err(Invalid::zero(field).label("no flow would have credit"));
    }
    let fastest = config.fabric.links.iter().map(|link| link.rate).max();
    let most = fastest.map_or(0, |rate| rate.bytes_in(base_rtt));
    if most / 2 * 3 <= MOST_CREDIT {
        return Ok(());
    }
    Err(
        Invalid::new(field, "a flow would have too much credit").label(format!(
            "{base_rtt} x line rate x 1.5 is more than {}",
            bytes(MOST_CREDIT)
        )),
    )
}
