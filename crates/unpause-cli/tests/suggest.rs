//! `unpause suggest ecn` as users see it.

use std::fs;
use std::path::Path;
use std::process::Command;

/// The stand-in for the base RTTs of the ECN# paper's simulations.
const RTTS: &str = "0:80us,50:120us,75:160us,90:220us,100:240us";

/// Runs the command; returns both outputs and whether it succeeded.
fn suggest(directory: &Path, args: &[&str]) -> (String, bool) {
    let output = Command::new(env!("CARGO_BIN_EXE_unpause"))
        .args(["suggest", "ecn", "--rate", "10Gbps"])
        .args(args)
        .current_dir(directory)
        .env("NO_COLOR", "1")
        .output()
        .expect("the program runs");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    (said, output.status.success())
}

#[test]
fn thresholds_stand_beside_their_formulas() {
    let place = tempfile::tempdir().unwrap();
    let (said, done) = suggest(place.path(), &["--rtt", RTTS]);
    assert!(done, "{said}");
    insta::assert_snapshot!(said);
}

#[test]
fn a_file_of_samples_gives_the_same_as_its_percentiles() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("rtts.txt"), "100us\n200us\n300us\n").unwrap();
    let of_file = suggest(place.path(), &["--rtt-file", "rtts.txt"]);
    let of_text = suggest(place.path(), &["--rtt", "0:100us,50:200us,100:300us"]);
    assert_eq!(of_file, of_text);
    assert!(of_file.1);
}

#[test]
fn a_scenario_is_written_that_can_be_run() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("sizes.csv"), "1000,0.5\n100000,1\n").unwrap();
    for (file, fabric) in [("wide.toml", "leaf-spine"), ("narrow.toml", "n-to-1")] {
        let args = [
            "--rtt",
            RTTS,
            "--write",
            file,
            "--fabric",
            fabric,
            "--cdf",
            "sizes.csv",
        ];
        let (said, done) = suggest(place.path(), &args);
        assert!(done, "{said}");
        let written = fs::read_to_string(place.path().join(file)).unwrap();
        let named = place.path().join("sizes.csv");
        assert!(written.contains(&named.display().to_string()), "{written}");
        let written = written.replace(&place.path().display().to_string(), "/HERE");
        insta::assert_snapshot!(fabric, written);
        let run = Command::new(env!("CARGO_BIN_EXE_unpause"))
            .args(["run", file, "--duration", "1ms", "--no-report"])
            .current_dir(place.path())
            .output()
            .expect("the program runs");
        assert!(
            run.status.success(),
            "{}",
            String::from_utf8_lossy(&run.stderr)
        );
    }
}

#[test]
fn mistakes_are_explained() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("rtts.txt"), "# us\n100us\n200\n").unwrap();
    let mut all = String::new();
    for args in [
        &["--rtt", "0:80us,50:70us,100:90us"][..],
        &["--rtt", "50:80us,90:220us"],
        &["--rtt", "0:80us,80:220us"],
        &["--rtt", "80us"],
        &["--rtt-file", "rtts.txt"],
        &["--rtt", RTTS, "--average", "400us"],
        &["--rtt", RTTS, "--write", "x.toml", "--delay", "11us"],
        &["--rtt", RTTS, "--write", "x.toml", "--cdf", "websaerch"],
    ] {
        let (said, done) = suggest(place.path(), args);
        assert!(!done, "{args:?}");
        all += &format!("$ {}\n{said}\n", args.join(" "));
    }
    insta::assert_snapshot!(all);
    assert!(!place.path().join("x.toml").exists());
}

/// docs/ecn-thresholds.md says how it was made.
#[test]
fn the_shipped_scenario_is_what_is_written() {
    let place = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let rtts = root.join("papers/ecn-sharp/scenarios/host-delays/stack-slb-hypervisor.csv");
    let rtts = rtts.to_str().unwrap();
    let file = place.path().join("ecn-thresholds.toml");
    let (said, done) = {
        let output = Command::new(env!("CARGO_BIN_EXE_unpause"))
            .args(["suggest", "ecn", "--rate", "25Gbps", "--rtt-file", rtts])
            .args(["--cdf", "websearch", "--load", "0.7", "--write"])
            .arg(&file)
            .output()
            .expect("the program runs");
        (output.stderr, output.status.success())
    };
    assert!(done, "{}", String::from_utf8_lossy(&said));
    let shipped = root.join("scenarios/howto/ecn-thresholds.toml");
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    assert_eq!(read(&file), read(&shipped));
}
