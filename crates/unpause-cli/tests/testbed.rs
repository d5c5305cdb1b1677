//! `unpause testbed`: tables over frames, what it says, what it leaves behind.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Three senders meet behind the link between two switches, where PFC, marks and CNPs are needed.
const SCENARIO: &str = r#"
title = "Three to one"
duration = "1ms"

[topology]
builder = "dumbbell"
left = 3
right = 1
rate = "10Gbps"
bottleneck_rate = "40Gbps"
delay = "1us"

[pfc]
xoff = "40KB"

[[scheme]]
name = "PFC"

[[scheme]]
name = "PFC+DCQCN"
congestion_control = "dcqcn"

[[traffic]]
name = "incast"
kind = "burst"
from = "A1..A3"
to = "B1"
size = "200KB"

[probes]
interval = "10us"
ports = ["S1->B1"]
packets = ["S1->B1"]
"#;

const CIOQ: &str = r#"
duration = "1ms"
[topology]
builder = "single-switch"
hosts = 2
rate = "10Gbps"
delay = "1us"
[switch]
model = "cioq"
[[scheme]]
name = "PFC"
[[traffic]]
name = "flow"
kind = "flow"
from = "H0"
to = "H1"
"#;

fn command(directory: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unpause"));
    command
        .args(args)
        .arg("--no-report")
        .current_dir(directory)
        .env("NO_COLOR", "1");
    command
}

fn unpause(directory: &Path, args: &[&str]) -> Output {
    command(directory, args).output().expect("the program runs")
}

fn workplace(scenario: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("mine.toml"), scenario).unwrap();
    directory
}

fn said(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    String::from_utf8_lossy(&output.stdout).into_owned() + &stderr
}

/// Fails if a table of the testbed is not that of `unpause run`.
fn assert_same_tables(directory: &Path) {
    let run = unpause(directory, &["run", "mine.toml"]);
    assert!(run.status.success(), "{}", said(&run));
    let mut tables = 0;
    for entry in fs::read_dir(directory.join("results/mine")).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "parquet")
        {
            let name = path.file_name().unwrap();
            let other = directory.join("results/mine-testbed").join(name);
            assert!(
                fs::read(&path).unwrap() == fs::read(other).unwrap(),
                "{name:?}"
            );
            tables += 1;
        }
    }
    assert_eq!(tables, 21);
}

#[test]
fn tables_over_memory_are_those_of_run() {
    let place = workplace(SCENARIO);
    let output = unpause(place.path(), &["testbed", "mine.toml", "--links", "memory"]);
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("over memory"), "{text}");
    assert!(text.contains("; 0 lost, 0 not obeyed\n"), "{text}");
    assert_same_tables(place.path());
}

#[test]
fn what_cannot_be_a_testbed_is_refused() {
    let mut texts = String::new();
    let hpcc = SCENARIO.replace("\"dcqcn\"", "\"hpcc\"");
    let cut = SCENARIO.replace("[pfc]", "[switch]\ncut_through = \"64B\"\n\n[pfc]");
    for (scenario, args) in [
        (SCENARIO, &["--wire", "S0-S2"][..]),
        (CIOQ, &[]),
        (&hpcc, &[]),
        (&cut, &["--wall-clock"]),
        (SCENARIO, &["--links", "rope"]),
    ] {
        let place = workplace(scenario);
        let all = [&["testbed", "mine.toml"], args].concat();
        let output = unpause(place.path(), &all);
        assert!(!output.status.success());
        texts += &format!(
            "{}{}\n",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(!place.path().join("results").exists());
    }
    insta::assert_snapshot!(texts);
}

#[cfg(target_os = "linux")]
mod veth {
    use super::*;
    use std::collections::BTreeSet;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Stdio};
    use std::time::Duration;

    /// Runs the scenario over virtual Ethernet. `None`, and says so, where this process may not.
    fn over_veth(place: &Path, args: &[&str]) -> Option<Output> {
        let all = [&["testbed", "mine.toml"], args].concat();
        let output = unpause(place, &all);
        let text = said(&output);
        if !output.status.success() && text.contains("`--links memory`") {
            let required = std::env::var_os("UNPAUSE_VETH").is_some();
            assert!(!required, "UNPAUSE_VETH is set, and {text}");
            eprintln!("SKIPPED: nothing of this test has run: {text}");
            return None;
        }
        assert!(output.status.success(), "{text}");
        Some(output)
    }

    #[test]
    fn tables_over_virtual_ethernet_are_those_of_run() {
        let place = workplace(SCENARIO);
        let Some(output) = over_veth(place.path(), &[]) else {
            return;
        };
        let text = said(&output);
        assert!(text.contains("over virtual Ethernet"), "{text}");
        assert!(text.contains("; 0 lost, 0 not obeyed\n"), "{text}");
        assert_same_tables(place.path());
    }

    #[test]
    fn one_wire_is_enough() {
        let place = workplace(SCENARIO);
        if over_veth(place.path(), &["--wire", "S0-S1"]).is_some() {
            assert_same_tables(place.path());
        }
    }

    /// Rates at which any machine keeps up, but for how long is not asserted.
    #[test]
    fn a_run_in_real_time_says_how_late_it_was() {
        let slow = SCENARIO
            .replace("10Gbps", "20Mbps")
            .replace("40Gbps", "20Mbps")
            .replace("1us", "4ms")
            .replace("\"1ms\"", "\"400ms\"")
            .replace("\"10us\"", "\"10ms\"");
        let place = workplace(&slow);
        let Some(output) = over_veth(place.path(), &["--wall-clock", "--scheme", "PFC"]) else {
            return;
        };
        let text = said(&output);
        assert!(text.contains("PFC: frames were late by "), "{text}");
        assert!(
            text.contains(" frames a second; 0 lost, 0 not obeyed\n"),
            "{text}"
        );
        let table = place.path().join("results/mine-testbed/flows.parquet");
        assert!(fs::metadata(table).is_ok_and(|file| file.len() > 0));
    }

    /// Numbers of the network namespaces that files of a process lead to.
    fn namespaces(process: u32) -> BTreeSet<String> {
        let files = fs::read_dir(format!("/proc/{process}/fd"));
        let files = files.into_iter().flatten().flatten();
        let links = files.filter_map(|file| fs::read_link(file.path()).ok());
        let names = links.filter_map(|link| link.to_str().map(str::to_owned));
        names.filter(|name| name.starts_with("net:[")).collect()
    }

    /// A testbed that runs until it is stopped, and its namespaces.
    fn running(place: &Path) -> Option<(Child, BTreeSet<String>)> {
        over_veth(place, &["--duration", "10us", "--out", "first"])?;
        let args = [
            "testbed",
            "mine.toml",
            "--duration",
            "100s",
            "--scheme",
            "PFC",
        ];
        let mut child = command(place, &args)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program runs");
        // The namespaces of the trial before are gone when there is a place for results.
        let results = place.join("results");
        for _ in 0..600 {
            std::thread::sleep(Duration::from_millis(50));
            let begun = results.exists();
            let found = namespaces(child.id());
            if begun && found.len() == 6 {
                return Some((child, found));
            }
            assert_eq!(child.try_wait().unwrap(), None, "it runs for long");
        }
        panic!("it has made no namespaces");
    }

    /// The processes that have any of these namespaces.
    fn holders(of: &BTreeSet<String>) -> BTreeSet<u32> {
        let all = fs::read_dir("/proc").unwrap().flatten();
        let processes = all.filter_map(|it| it.file_name().to_str()?.parse().ok());
        let holds = |process: &u32| {
            let own = fs::read_link(format!("/proc/{process}/ns/net")).ok();
            let own = own.and_then(|link| link.to_str().map(str::to_owned));
            let mut held = namespaces(*process).into_iter().chain(own);
            held.any(|name| of.contains(&name))
        };
        processes.filter(holds).collect()
    }

    #[test]
    fn nothing_is_left_however_it_ends() {
        for signal in ["INT", "TERM", "KILL"] {
            let place = workplace(SCENARIO);
            let Some((mut child, made)) = running(place.path()) else {
                return;
            };
            let before = holders(&made);
            assert!(before.contains(&child.id()), "{signal}");
            let process = child.id().to_string();
            let sent = Command::new("kill").args(["-s", signal, &process]).status();
            assert!(sent.unwrap().success());
            child.wait().unwrap();
            // An `ip` that was making links ends when it has. Numbers are given to others afterwards.
            let gone = (0..600).any(|_| {
                std::thread::sleep(Duration::from_millis(50));
                holders(&made).is_disjoint(&before)
            });
            assert!(gone, "{signal}");
            assert!(
                !place
                    .path()
                    .join("results/mine-testbed/manifest.json")
                    .exists()
            );
        }
    }

    #[test]
    fn without_privileges_it_says_what_is_missing() {
        let place = workplace(SCENARIO);
        let mut command = command(place.path(), &["testbed", "mine.toml"]);
        let root = fs::metadata("/proc/self").is_ok_and(|it| {
            use std::os::unix::fs::MetadataExt;
            it.uid() == 0
        });
        if root {
            command.uid(65534).gid(65534);
        }
        let output = command.output();
        let Ok(output) = output else {
            eprintln!("SKIPPED: nothing of this test has run: the program is not for everybody");
            return;
        };
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains("CAP_NET_ADMIN"), "{text}");
        assert!(text.contains("--links memory"), "{text}");
    }
}
