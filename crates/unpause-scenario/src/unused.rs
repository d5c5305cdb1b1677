//! Settings that no run of the file has a use for.

use unpause_sim::traffic::Transport;

use crate::run::Run;
use crate::text::document::Table;
use crate::text::error::{Checked, Problem};

/// Refuses what has no effect in any of `runs`; schemes may differ in transport and traffic. `root` is
/// the file as it is written.
pub(crate) fn check(root: &Table<'_>, runs: &[Run]) -> Checked<()> {
    let tcp = runs.iter().any(|run| run.config.uses(Transport::Tcp));
    let traffic = runs.iter().flat_map(|run| &run.config.traffic);
    let random = traffic.into_iter().any(|spec| spec.is_random());
    const WINDOW_LAW: &str =
        "remove it, or give a [[scheme]] congestion_control or tcp = \"dctcp\" (newreno, ecn-tcp)";
    for (key, used, why, help) in [
        ("tcp", tcp, "no flow is TCP", WINDOW_LAW),
        ("pias", tcp, "no flow is TCP", WINDOW_LAW),
        (
            "load_scale",
            random,
            "no traffic comes at random times",
            "remove it, or give an entry `mean_interval`, `rate` or `load`",
        ),
    ] {
        if let Some(value) = root.get_ref().get(key).filter(|_| !used) {
            return Problem::new(format!("`{key}` has no effect"))
                .at(value.span(), why)
                .help(help)
                .err();
        }
    }
    Ok(())
}
