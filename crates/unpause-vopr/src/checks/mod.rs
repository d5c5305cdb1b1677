//! Properties of the results of any run. Each check answers with one line that names the violation.

mod cbfc;
mod cut_through;
mod delays;
mod facts;
mod job_sums;
mod jobs;
mod limits;
mod link_events;
mod packets;
mod pfc;
mod replay;
mod service;
mod storms;
mod totals;

use unpause_sim::config::Config;
use unpause_sim::results::Results;

pub use facts::Answer;

/// A check of the results of a run.
pub type Check = fn(&Config, &Results) -> Answer;

/// All checks of results, by name.
pub const CHECKS: [(&str, Check); 34] = [
    ("conservation", totals::conservation),
    ("flows", totals::flows),
    ("delays", delays::delays),
    ("retries", totals::retries),
    ("ideal", totals::no_faster_than_ideal),
    ("notifications", totals::notifications),
    ("marks", totals::marks),
    ("deadlock", totals::deadlock),
    ("pauses", limits::pauses),
    ("cbfc", cbfc::cbfc),
    ("rates", limits::rates),
    ("shapers", limits::shapers),
    ("buffers", limits::buffers),
    ("lossless", limits::lossless),
    ("series", limits::series),
    ("packets", packets::packets),
    ("order", packets::order),
    ("delivery", replay::delivery),
    ("limits", replay::limits),
    ("storms", storms::storms),
    ("again", replay::again),
    ("cut_through", cut_through::cut_through),
    ("service", service::service),
    ("held", pfc::held),
    ("emptied", pfc::emptied),
    ("refresh", pfc::refresh),
    ("xon", pfc::xon),
    ("beyond_xoff", pfc::beyond_xoff),
    ("messages", jobs::messages),
    ("ranks", jobs::ranks),
    ("job_failures", jobs::failures),
    ("critical", jobs::critical),
    ("collectives", job_sums::collectives),
    ("job_links", job_sums::links),
];

/// Those of runs in which links fail. All others replay packets over links that never do.
const WITH_EVENTS: [(&str, Check); 16] = [
    ("conservation", totals::conservation),
    ("flows", totals::flows),
    ("delays", delays::delays),
    ("retries", totals::retries),
    ("marks", totals::marks),
    ("losses", link_events::losses),
    ("storms", storms::storms),
    ("silence", link_events::silence),
    ("capacity", link_events::capacity),
    ("messages", jobs::messages),
    ("ranks", jobs::ranks),
    ("job_failures", jobs::failures),
    ("critical", jobs::critical),
    ("collectives", job_sums::collectives),
    ("job_links", job_sums::links),
    ("pauses", limits::pauses),
];

/// The first check that fails, and what it says.
pub fn broken(config: &Config, results: &Results) -> Option<(&'static str, String)> {
    let checks: &[(&str, Check)] = if config.events.is_empty() {
        &CHECKS
    } else {
        &WITH_EVENTS
    };
    checks.iter().find_map(|(name, check)| {
        let answer = check(config, results);
        answer.err().map(|what| (*name, what))
    })
}
