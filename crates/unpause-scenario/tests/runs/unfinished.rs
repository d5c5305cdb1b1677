//! Flows that are not complete at the end: whether a longer run would help, and what is said of it.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray as _;
use arrow_array::types::Float64Type;
use unpause_scenario::Outcome;

use crate::small::{messages, run};

/// Flows of H0 and H2 to H1, whose link fails.
const FAILING: &str = r#"
duration = "20ms"

[topology]
builder = "single-switch"
hosts = 4
rate = "10Gbps"
delay = "1us"

[host]
retransmit_timeout = "1ms"

[[scheme]]
name = "RoCE"

[[scheme]]
name = "TCP"
congestion_control = "newreno"

[[traffic]]
name = "u"
kind = "burst"
from = ["H0", "H2"]
to = "H1"
size = "200KB"

[[event]]
kind = "down"
link = "S0-H1"
at = "100us"
"#;

/// Hint of the first warning of this kind and scheme.
fn help(outcome: &Outcome, kind: &str, scheme: &str) -> String {
    let mut all = outcome.warnings.iter();
    let found = all.find(|it| it.kind == kind && it.scheme == scheme);
    let found = found.unwrap_or_else(|| panic!("no {kind}: {:?}", messages(outcome)));
    found.help.clone().unwrap_or_default()
}

#[test]
fn a_longer_run_does_not_help_where_no_path_is_left() {
    let outcome = run(FAILING);
    for scheme in ["RoCE", "TCP"] {
        assert_eq!(
            help(&outcome, "unfinished-flows", scheme),
            "in means and percentiles they are lower bounds; no path joins their hosts at the end, because links are \
             down: a longer duration does not help unless these return"
        );
    }
    let said = messages(&outcome);
    let stuck = said.iter().find(|it| it.starts_with("stuck-flows"));
    let stuck = stuck.expect("it waits for an ACK");
    assert!(stuck.contains(" timeouts, all that it may send"), "{stuck}");
    assert_eq!(
        help(&outcome, "stuck-flows", "RoCE"),
        "no path joins its hosts at the end, because links are down: its packets arrive only when these return"
    );
    // Flows to H3 still have a path.
    let outcome = run(&FAILING
        .replace("\"burst\"", "\"flow\"")
        .replace("200KB", "30MB")
        .replace("to = \"H1\"", "to = [\"H1\", \"H3\"]"));
    assert_eq!(
        help(&outcome, "unfinished-flows", "RoCE"),
        "in means and percentiles they are lower bounds; a longer duration does not help the 2 whose hosts no path \
         joins at the end, because links are down"
    );
    // And where the link returns, all have.
    let up = "\n[[event]]\nkind = \"up\"\nlink = \"S0-H1\"\nat = \"19990us\"\n";
    let returns = FAILING.to_owned() + up;
    assert_eq!(
        help(&run(&returns), "unfinished-flows", "RoCE"),
        "in means and percentiles they are lower bounds; a longer duration helps"
    );
}

/// The hint is about what flows of the scheme do.
#[test]
fn what_repairs_the_losses_of_a_failed_link_depends_on_the_transport() {
    let table = "table losses says where packets were lost";
    let outcome = run(FAILING);
    assert_eq!(
        help(&outcome, "link-down", "RoCE"),
        format!(
            "{table}; RoCE flows retransmit lost packets after host.retransmit_timeout or a NAK"
        )
    );
    assert_eq!(
        help(&outcome, "link-down", "TCP"),
        format!("{table}; TCP flows retransmit them after their timeout or duplicate ACKs")
    );
    let udp = FAILING
        .replace("[host]\nretransmit_timeout = \"1ms\"\n", "")
        .replace("size = \"200KB\"", "size = \"200KB\"\ntransport = \"udp\"");
    assert_eq!(
        help(&run(&udp), "link-down", "RoCE"),
        format!("{table}; UDP flows do not retransmit")
    );
}

#[test]
fn a_longer_run_does_not_help_after_a_deadlock() {
    let ring = |at: usize| {
        let (next, to) = ((at + 1) % 5, (at + 2) % 5);
        format!(
            "[[topology.link]]\na = \"S{at}\"\nb = \"S{next}\"\n[[topology.link]]\na = \"H{at}\"\nb = \"S{at}\"\n\
             [[traffic]]\nname = \"f{at}\"\nkind = \"flow\"\nfrom = \"H{at}\"\nto = \"H{to}\"\nsize = \"2MB\"\n"
        )
    };
    let links: String = (0..5).map(ring).collect();
    let outcome = run(&format!(
        "duration = \"5ms\"\n[topology]\nbuilder = \"explicit\"\nhosts = \"H0..H4\"\nswitches = \"S0..S4\"\n\
         rate = \"100Gbps\"\ndelay = \"1us\"\n{links}[probes]\ndeadlock = \"20us\"\ndeadlock_hold = \"100us\"\n\
         [pfc]\nxoff = \"50KB\"\n[[scheme]]\nname = \"x\"\n"
    ));
    assert_eq!(
        help(&outcome, "unfinished-flows", "x"),
        "in means and percentiles they are lower bounds; the deadlock ended the run, and a longer duration does not \
         change that"
    );
}

/// UDP that has lost nothing is as any other flow; in a longer run it is complete.
#[test]
fn udp_that_is_still_sending_has_lost_nothing() {
    let udp = |duration: &str, hosts: &str| {
        run(&format!(
            "duration = \"{duration}\"\n[topology]\nbuilder = \"single-switch\"\nhosts = 5\nrate = \"10Gbps\"\n\
             delay = \"1us\"\n[switch]\nlossless = []\nlossy_queue = \"50KB\"\n[[scheme]]\nname = \"x\"\n\
             [[traffic]]\nname = \"u\"\nkind = \"burst\"\nfrom = \"{hosts}\"\nto = \"H0\"\nsize = \"1MB\"\n\
             transport = \"udp\"\n"
        ))
    };
    let said = |outcome: &Outcome| {
        let all = messages(outcome).into_iter();
        all.filter(|it| it.starts_with("unfinished-flows"))
            .collect::<Vec<_>>()
    };
    let short = udp("100us", "H1");
    assert_eq!(
        said(&short),
        ["unfinished-flows: 1 of 1 flows of traffic `u` was not complete at the end"]
    );
    assert!(help(&short, "unfinished-flows", "x").ends_with("; a longer duration helps"));
    assert_eq!(said(&udp("2ms", "H1")), [""; 0]);
    let lossy = udp("10ms", "H1..H2");
    assert!(said(&lossy)[0].ends_with("flows of traffic `u` did not arrive completely"));
    assert!(
        help(&lossy, "unfinished-flows", "x")
            .ends_with("; a longer duration helps only flows that lost nothing")
    );
}

/// An all-reduce over a ring of 4 ranks: 6 steps of 2.5 MB, 1.2 ms and more at 100 Gb/s.
const RING: &str = r#"
duration = "3ms"

[topology]
builder = "single-switch"
hosts = 4
rate = "100Gbps"
delay = "1us"

[[scheme]]
name = "PFC"

[[job]]
name = "J"
ranks = 4
iterations = 4
collective = "all-reduce"
algorithm = "ring"
size = "10MB"
"#;

fn jobs(source: &str) -> Vec<(String, bool)> {
    let found = run(source).warnings.into_iter();
    let found = found.filter(|it| it.kind.starts_with("unfinished") || it.kind == "stuck-jobs");
    let said = |help: Option<String>| help.unwrap_or_default();
    found
        .map(|it| (format!("{}; {}", it.message, said(it.help)), it.note))
        .collect()
}

#[test]
fn a_job_says_how_many_of_its_iterations_were_complete() {
    let means = "means and bandwidths are of those that were complete; a longer duration helps";
    let some = format!("job `J` completed 2 of its 4 iterations; {means}");
    assert_eq!(jobs(RING), [(some, true)]);
    let none = "its iteration time and bandwidth are unknown; a longer duration helps";
    let with_warmup = RING.replace("iterations = 4", "iterations = 4\nwarmup = 3");
    let after =
        format!("job `J` completed 2 of its 4 iterations, none after the warm-up of 3; {none}");
    assert_eq!(jobs(&with_warmup), [(after, false)]);
    let short = RING.replace("3ms", "20us").replace("iterations = 4", "");
    let at_all = format!("job `J` did not complete its iteration; {none}");
    assert_eq!(jobs(&short), [(at_all, false)]);
    let long = RING.replace("3ms", "20ms");
    assert_eq!(jobs(&long), []);
}

#[test]
fn a_job_that_links_cut_off_is_not_helped_by_time() {
    let cut = format!("{RING}\n[[event]]\nkind = \"down\"\nlink = \"S0-H1\"\nat = \"100us\"\n");
    let [(said, false)] = &jobs(&cut)[..] else {
        panic!("one warning");
    };
    assert!(said.contains("no path joins some of its hosts"), "{said}");
}

#[test]
fn a_flow_that_stops_is_not_helped_by_time() {
    let one =
        "[[traffic]]\nname = \"F\"\nkind = \"flow\"\nfrom = \"H0\"\nto = \"H1\"\nsize = \"1MB\"\n";
    let of = |stop: &str| {
        let traffic = format!("{one}{stop}");
        let fabric = RING.split("[[job]]").next().unwrap();
        let text = fabric.replace("3ms", "50us") + &traffic;
        let [(said, _)] = &jobs(&text)[..] else {
            panic!("one warning");
        };
        said.clone()
    };
    // 1 MB takes 84 us and more.
    let helps = "in means and percentiles they are lower bounds; a longer duration helps";
    assert!(of("").ends_with(helps));
    assert!(of("stop = \"80us\"\n").ends_with(helps));
    let stopped = of("stop = \"10us\"\n");
    assert!(
        stopped.contains("it stopped sending at its `stop`: a longer duration does not help"),
        "{stopped}"
    );
}

#[test]
fn a_job_that_starts_too_late_is_called_a_job() {
    let late = RING.replace("iterations = 4", "start = \"5ms\"");
    let said = messages(&run(&late));
    let wanted =
        "late-traffic: test.toml:2: job `J` starts at 5ms, the run ends at 3ms: it does not run";
    assert!(said.contains(&wanted.to_owned()), "{said:?}");
}

/// Eight senders lose the tails of their bursts in a queue of 150 KB; TCP repeats them 200 ms later.
#[test]
fn tcp_that_waits_for_its_timer_is_named_with_the_time() {
    let source = |lossless: &str| {
        format!(
            "duration = \"60ms\"\n[topology]\nbuilder = \"single-switch\"\nhosts = 9\nrate = \"10Gbps\"\ndelay = \"2us\"\n\
             [tcp]\nmin_rto = \"200ms\"\ninitial_rtt = \"100us\"\n[switch]\n{lossless}\n[[scheme]]\nname = \"x\"\n\
             congestion_control = \"newreno\"\n[[traffic]]\nname = \"reads\"\nkind = \"burst\"\nfrom = \"H1..H8\"\nto = \"H0\"\n\
             size = \"256KB\"\ninterval = \"20ms\"\n"
        )
    };
    let outcome = run(&source("lossless = []\nlossy_queue = \"150KB\""));
    let of_kind = |kind: &str| {
        let mut all = outcome.warnings.iter();
        let found = all.find(|it| it.kind == kind);
        found.map(|it| it.message.clone()).unwrap_or_default()
    };
    let unfinished = of_kind("unfinished-flows");
    let (all, rest) = unfinished
        .split_once(" of 24 flows")
        .expect("flows are left");
    let said = format!(
        " of traffic `reads` were not complete at the end: {all} of them have been in a TCP retransmission timeout, the first since "
    );
    assert!(rest.starts_with(&said), "{rest}");
    let stuck = of_kind("stuck-flows");
    assert!(
        stuck.contains("has been in a TCP retransmission timeout since "),
        "{stuck}"
    );
    assert!(stuck.contains(": it sends again at 20"), "{stuck}");
    // A no-drop class finishes all.
    let outcome = run(&source("lossless = [3]"));
    assert!(
        outcome
            .warnings
            .iter()
            .all(|it| it.kind != "unfinished-flows" && it.kind != "stuck-flows")
    );
}

/// NICs count the time of a frame to its end, which may lie behind the end of the run.
#[test]
fn the_time_of_a_frame_on_its_link_at_the_end_adds_up() {
    let text = r#"
duration = "1276us"
seed = 9037139
[topology]
builder = "single-switch"
hosts = 6
rate = "1Gbps"
delay = "580ns"
[[scheme]]
name = "PFC"
[pfc]
xoff = "14672B"
[switch]
model = "cioq"
[switch.cioq]
latency = "965959010ps"
[[traffic]]
name = "T"
kind = "burst"
to = "H1"
from = ["H4", "H0"]
mean_interval = "31900001ps"
flows = 11
size = "1B"
[link]
retry = "llr"
replay_timer = "191517ps"
[probes]
causes = true
"#;
    let tables = run(text).tables;
    let numbers = |table: &RecordBatch, name: &str| {
        let column = table.column_by_name(name).expect("it is a column");
        column.as_primitive::<Float64Type>().values().to_vec()
    };
    let starts = numbers(&tables.flows, "start_ns");
    let sending = numbers(&tables.delays, "sending_ns");
    let delays = numbers(&tables.delays, "delay_ns");
    assert!(starts.len() > 400 && starts.len() == delays.len());
    for ((start, sending), delay) in starts.iter().zip(sending).zip(delays) {
        assert!((start + sending + delay - 1_276_000.0).abs() < 0.001);
    }
}
