//! Settings that no run of the file has a use for.

use std::ops::Range;

use toml::de::DeTable;
use unpause_protocols::congestion_point::Config::{self, Red, Wred};
use unpause_protocols::loss_recovery;
use unpause_sim::config;
use unpause_sim::traffic::Transport;

use crate::text::document::Table;
use unpause_results::run::Run;
use unpause_text::error::{Checked, Problem};

/// Refuses settings of marking in some queues if no scheme marks there so.
fn check_marking(root: &Table<'_>, runs: &[Run]) -> Checked<()> {
    let by_length = |run: &Run| matches!(run.config.scheme.congestion_point, Red(_) | Wred(_));
    let at_queues = |run: &Run| match &run.config.scheme.congestion_point {
        Config::None => false,
        Config::Qcn(params) => !params.mode.at_input(),
        _ => true,
    };
    let overrides = root.get_ref().get("override");
    let tables = overrides.and_then(|it| it.get_ref().as_array());
    let tables = tables.into_iter().flatten();
    let tables = tables.filter_map(|it| it.get_ref().as_table());
    let written = |key: &'static str| {
        let find = move |table: &DeTable<'_>| Some(table.get(key)?.span());
        tables.clone().filter_map(find).next()
    };
    const MARKS: &str =
        "remove it, or add a [[scheme]] with congestion_control = \"dcqcn\" or marking = \"red\"";
    for (key, has_effect, why) in [
        (
            "kmin",
            runs.iter().any(by_length),
            "no scheme marks by queue length",
        ),
        (
            "marking",
            runs.iter().any(at_queues),
            "no scheme has congestion points at queues",
        ),
    ] {
        if let Some(place) = written(key).filter(|_| !has_effect) {
            return Problem::new(format!("`{key}` has no effect"))
                .at(place, why)
                .help(MARKS)
                .err();
        }
    }
    Ok(())
}

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
            "no traffic has random times",
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
    check_roce(root, runs)?;
    let host = root.get_ref().get("host");
    let host = host.and_then(|it| it.get_ref().as_table());
    let several = |run: &Run| run.config.data_priorities().count_ones() > 1;
    if let Some(value) = host.and_then(|it| it.get("ets"))
        && !runs.iter().any(several)
    {
        return Problem::new("`ets` has no effect")
            .at(value.span(), "all data has one priority")
            .help("remove it, or set `priority` in [[traffic]]")
            .err();
    }
    let jobs = runs.iter().any(|run| !run.config.jobs.is_empty());
    let probes = root.get_ref().get("probes");
    let probes = probes.and_then(|it| it.get_ref().as_table());
    if let Some(value) = probes.and_then(|it| it.get("job_links"))
        && value.get_ref().as_bool() == Some(true)
        && !jobs
    {
        return Problem::new("`job_links` has no effect")
            .at(value.span(), "there is no [[job]]")
            .help("remove it, or add a [[job]]")
            .err();
    }
    check_marking(root, runs)?;
    let mut recoveries = runs.iter().map(|run| &run.config.scheme.loss_recovery);
    if recoveries.any(|it| *it == loss_recovery::Config::GoBackN) {
        Ok(())
    } else {
        check_host(root)
    }
}

/// Notes the `tcp` of a scheme beside another congestion control, while no flow is TCP.
pub(crate) fn note_idle_laws(root: &Table<'_>, runs: &mut [Run]) {
    let schemes = root.get_ref().get("scheme");
    let schemes = schemes.and_then(|it| it.get_ref().as_array());
    let schemes = schemes.into_iter().flatten();
    let laws: Vec<&str> = schemes
        .filter_map(|scheme| {
            let scheme = scheme.get_ref().as_table()?;
            scheme.get("tcp")?;
            scheme.get("name")?.get_ref().as_str()
        })
        .collect();
    for run in runs {
        if laws.contains(&&run.scheme[..]) && !run.config.uses(Transport::Tcp) {
            let said = "`tcp` of this scheme has no effect: no flow is TCP (transport = \"tcp\" in [[traffic]])";
            run.notes.push(said.to_owned());
        }
    }
}

/// Keys of `[host]` that only RoCE has, with what there is for TCP.
const OF_ROCE: [(&str, &str); 9] = [
    (
        "ack_every",
        "tcp.delayed_ack sets the segments per ACK of TCP",
    ),
    (
        "retransmit_timeout",
        "tcp.min_rto is the shortest timeout of TCP",
    ),
    ("ack_timeout", "tcp.min_rto is the shortest timeout of TCP"),
    (
        "retry_count",
        "tcp.retries sets the number of attempts for TCP",
    ),
    ("ack_priority", "tcp.ack_priority is that of TCP's ACKs"),
    ("pause_acks", "TCP's ACKs stop with their priority"),
    (
        "ack_size",
        "ACKs of TCP have tcp.header and are padded to 64 bytes",
    ),
    ("nak_interval", "TCP has no NAKs"),
    ("notification_reaction", "TCP has no CNPs and CNMs"),
];

/// Keys of `[host]` for RoCE and UDP.
const OF_DATAGRAMS: [(&str, &str); 6] = [
    ("payload", "tcp.mss is the payload of a full segment"),
    ("header", "tcp.header is that of segments"),
    ("min_frame", "segments of TCP are padded to 64 bytes"),
    ("window", "TCP has the window of its law, and tcp.buffer"),
    ("window_by_rate", "TCP has no rate, but a window"),
    ("rate_change", "TCP has no rate, but a window"),
];

/// Refuses keys of `[host]` for RoCE and UDP if no flow is.
fn check_roce(root: &Table<'_>, runs: &[Run]) -> Checked<()> {
    let uses = |transport| runs.iter().any(|run| run.config.uses(transport));
    let datagrams = uses(Transport::Udp);
    let jobs = runs.iter().any(|run| !run.config.jobs.is_empty());
    if uses(Transport::Roce) || jobs || !(datagrams || uses(Transport::Tcp)) {
        return Ok(());
    }
    let paused = runs.iter().any(|run| run.config.switch.lossless != 0);
    // XON is two such frames below XOFF by default.
    let of_switches = |key: &str| paused && ["payload", "header"].contains(&key);
    let of_datagrams = OF_DATAGRAMS.iter().filter(|(key, _)| !of_switches(key));
    let keys = OF_ROCE.iter().map(|key| (key, "no flow is RoCE"));
    let keys = keys.chain(
        of_datagrams
            .filter(|_| !datagrams)
            .map(|key| (key, "no flow is RoCE or UDP")),
    );
    let host = root.get_ref().get("host");
    let host = host.and_then(|it| it.get_ref().as_table());
    for ((key, help), why) in keys {
        if let Some(value) = host.and_then(|it| it.get(*key)) {
            return Problem::new(format!("`{key}` has no effect"))
                .at(value.span(), why)
                .help(format!("remove it: {help}"))
                .err();
        }
    }
    Ok(())
}

/// Refuses keys of `[host]` for go-back-N if no scheme uses it.
fn check_host(root: &Table<'_>) -> Checked<()> {
    let host = root.get_ref().get("host");
    let host = host.and_then(|it| it.get_ref().as_table());
    for (key, help) in [
        (
            "retransmit_timeout",
            "remove it: `rto_low` and `rto_high` of [scheme.selective-repeat] are its timeouts",
        ),
        (
            "ack_timeout",
            "remove it: `rto_low` and `rto_high` of [scheme.selective-repeat] are its timeouts",
        ),
        (
            "nak_interval",
            "remove it: every packet that arrives out of order is answered",
        ),
    ] {
        if let Some(value) = host.and_then(|it| it.get(key)) {
            return Problem::new(format!("`{key}` has no effect"))
                .at(value.span(), "no scheme has loss_recovery = \"go-back-n\"")
                .help(help)
                .err();
        }
    }
    Ok(())
}

/// Refuses a `loss_recovery`, written at this place, where no flow is RoCE.
pub(crate) fn check_recovery(config: &config::Config, place: Option<Range<usize>>) -> Checked<()> {
    let Some(place) = place.filter(|_| !config.uses(Transport::Roce)) else {
        return Ok(());
    };
    Problem::new("`loss_recovery` has no effect")
        .at(place, "no flow is RoCE under this scheme")
        .help("remove it: TCP repairs losses by its own rules")
        .err()
}
