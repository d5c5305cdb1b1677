//! Scenario files: what is accepted is within limits and consistent, what is not has a place and a
//! message that can be read.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use unpause_scenario::{Error, Run, Scenario};
use unpause_sim::config::check_rate;

/// The line between a scenario and its base.
pub const BASE: &str = "\n# base.toml:\n";

static PLACE: LazyLock<PathBuf> = LazyLock::new(|| {
    let place = std::env::temp_dir().join(format!("unpause-fuzz-scenario-{}", std::process::id()));
    fs::create_dir_all(&place).expect("a temporary folder can be made");
    place
});

/// Reads and compiles a scenario, with its base if the input has one.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Some((own, base)) = text.split_once(BASE) else {
        return check_file(text, Path::new("scenarios/fuzz.toml"));
    };
    fs::write(PLACE.join("base.toml"), base).expect("a file can be written there");
    check_file(own, &PLACE.join("fuzz.toml"));
    if let Ok(scenario) = Scenario::parse(own, &PLACE.join("fuzz.toml")) {
        let merged = Scenario::parse(scenario.source(), &PLACE.join("merged.toml"));
        let runs = merged.expect("merged text is a scenario").runs().len();
        assert_eq!(runs, scenario.runs().len());
    }
}

fn check_file(text: &str, origin: &Path) {
    match Scenario::parse(text, origin) {
        Ok(scenario) => {
            let runs = scenario.runs();
            assert!((1..=10_000).contains(&runs.len()), "{} runs", runs.len());
            for (index, run) in (0..).zip(runs) {
                assert_eq!(run.index, index);
                assert_eq!(run.values.len(), scenario.sweep_columns().len());
                is_consistent(run);
            }
            if runs[0].config.fabric.links.len() <= 1000 {
                scenario.warnings();
            }
        }
        Err(error) => is_explained(&error, text, origin),
    }
}

fn is_consistent(run: &Run) {
    let (config, names) = (&run.config, &run.names);
    let nodes = config.fabric.nodes.len();
    assert_eq!(names.nodes.len(), nodes);
    assert_eq!(names.traffic.len(), config.traffic.len());
    assert!(nodes <= 2 << 20 && config.fabric.links.len() <= 2 << 20);
    for link in &config.fabric.links {
        assert!(link.a != link.b && (link.a.max(link.b) as usize) < nodes);
        assert!(check_rate(link.rate).is_ok() && link.delay.as_ps() > 0);
    }
    for spec in &config.traffic {
        if let Err(why) = spec.validate(&config.fabric) {
            panic!("{why}: {spec:?}");
        }
    }
    for (node, port) in config.probes.ports.iter().chain(&config.probes.packets) {
        assert!(usize::from(*port) < names.peers[*node as usize].len());
    }
    assert!(config.stop.as_ps() > 0);
}

fn is_explained(error: &Error, text: &str, origin: &Path) {
    let said = error.explain();
    assert!(
        said.len() <= crate::messages::MESSAGE_BYTES,
        "{} bytes: {said}",
        said.len()
    );
    let Some((file, line, column)) = error.location() else {
        panic!("no place: {said}");
    };
    // Places in other files are checked by their own targets.
    if Path::new(&file) == origin {
        let lines = text.split('\n').count();
        assert!(
            (1..=lines).contains(&line) && column >= 1,
            "{line} of {lines}: {said}"
        );
    }
}
