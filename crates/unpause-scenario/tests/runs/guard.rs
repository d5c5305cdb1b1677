//! Runs that need more memory than there is: all that execute runs refuse them, and begin them if they are forced.

use std::path::Path;

use unpause_protocols::units::Time;
use unpause_scenario::session::{Session, SessionOptions};
use unpause_scenario::{
    Admitted, Error, NoProgress, Options, Place, Progress, Scenario, Simulator, Target, execute,
    execute_at, execute_by,
};

/// Records every packet of half a second: terabytes.
const HUGE: &str = r#"
duration = "500ms"
[topology]
builder = "fat-tree"
k = 8
host_rate = "100Gbps"
delay = "1us"
[[scheme]]
name = "PFC"
[[traffic]]
name = "w"
kind = "poisson"
cdf = "websearch"
load = 0.8
[probes]
packets = ["*->*"]
"#;

/// Small, unless it lasts long: a sample each microsecond.
const LONG: &str = r#"
duration = "100us"
[topology]
builder = "single-switch"
hosts = 2
rate = "10Gbps"
delay = "1us"
[[scheme]]
name = "PFC"
[[traffic]]
name = "F"
kind = "flow"
from = "H0"
to = "H1"
size = "1KB"
[probes]
interval = "1us"
ports = ["*->*"]
"#;

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, Path::new("huge.toml")).expect("it can be read")
}

fn is_refused<T>(answer: Result<T, Error>) {
    let refused = answer.err().expect("it needs terabytes");
    assert!(
        matches!(refused, Error::TooLarge { .. }),
        "{}",
        refused.explain()
    );
    let text = refused.explain();
    assert!(
        text.contains("of memory") && text.contains("force"),
        "{text}"
    );
}

/// Stops a run as soon as it has begun.
struct Stop;

impl Progress for Stop {
    fn started(&self, _run: usize, _runs: usize, _label: &str) {}
    fn advanced(&self, _run: usize, _now: Time, _stop: Time, _packet_hops: u64) {}
    fn finished(&self, _run: usize) {}
    fn interrupted(&self) -> bool {
        true
    }
}

#[test]
fn every_entrance_refuses_a_run_that_is_too_large() {
    let huge = scenario(HUGE);
    let options = Options::default();
    is_refused(execute(&huge, &options, &NoProgress));
    let folder = tempfile::tempdir().expect("a directory");
    let place = Place::take(&folder.path().join("out")).expect("it is free");
    for target in [
        Target::Memory,
        Target::Place(&place),
        Target::Streamed(&place),
    ] {
        is_refused(Admitted::of(&huge, &options, target));
    }
    let path = Path::new("huge.toml");
    is_refused(Session::parse(HUGE, path, &SessionOptions::default()));
}

#[test]
fn a_longer_duration_is_refused_where_its_samples_stay_in_memory() {
    let options = Options {
        duration: Some(Time::from_ms(100_000_000)),
        ..Options::default()
    };
    is_refused(execute(&scenario(LONG), &options, &NoProgress));
}

#[test]
fn a_forced_run_begins() {
    let huge = scenario(HUGE);
    let forced = Options {
        force: true,
        ..Options::default()
    };
    let answer = execute(&huge, &forced, &Stop);
    assert!(matches!(answer, Err(Error::Interrupted)));
    let folder = tempfile::tempdir().expect("a directory");
    let place = Place::take(&folder.path().join("out")).expect("it is free");
    let admitted = Admitted::of(&huge, &forced, Target::Streamed(&place)).expect("it is forced");
    assert!(admitted.total().memory_bytes > 1 << 40);
    let answer = execute_at(&place, &huge, admitted.clone(), &Stop, None, None);
    assert!(matches!(answer, Err(Error::Interrupted)));
    let simulator = Simulator {
        simulate: &|_, _, _| Err(unpause_sim::Error::Interrupted),
        threads: 1,
    };
    let answer = execute_by(simulator, &huge, admitted, &Stop);
    assert!(matches!(answer, Err(Error::Interrupted)));
    let options = SessionOptions {
        force: true,
        ..SessionOptions::default()
    };
    assert!(Session::parse(HUGE, Path::new("huge.toml"), &options).is_ok());
}
