//! `unpause suggest headroom` and what builds on it, as users see them.

use std::path::Path;
use std::process::Command;

/// Runs the command; returns both outputs and the exit code.
fn suggest(directory: &Path, line: &str) -> (String, i32) {
    let output = Command::new(env!("CARGO_BIN_EXE_unpause"))
        .arg("suggest")
        .args(line.split(' '))
        .current_dir(directory)
        .env("NO_COLOR", "1")
        .output()
        .expect("the program runs");
    let said = [output.stdout, output.stderr].concat();
    let code = output.status.code().expect("it has ended");
    (String::from_utf8_lossy(&said).into_owned(), code)
}

/// The outputs for each line, one below the other; each must end with `code`.
fn transcript(lines: &[&str], code: i32) -> String {
    let place = tempfile::tempdir().unwrap();
    let mut all = String::new();
    for line in lines {
        let (said, found) = suggest(place.path(), line);
        assert_eq!(found, code, "{line}\n{said}");
        all += &format!("$ unpause suggest {line}\n{said}\n");
    }
    let left = place.path().read_dir().unwrap().count();
    assert_eq!(left, 0, "files were written");
    all
}

#[test]
fn every_term_of_the_headroom_has_its_formula_and_source() {
    insta::assert_snapshot!(transcript(
        &[
            "headroom --rate 100Gbps --cable 100m --mtu 9216",
            "headroom --rate 400Gbps --cable 40km --peer-response 2us --mac-phy 10KB --cell 254",
            "headroom --rate 100Gbps --cable 40m --profile sonic-mellanox",
            "headroom --rate 800Gbps --cable 40m --profile sonic-mellanox --spectrum 6 --eight-lanes --small-packets 50 \
             --gearbox 300ns",
            "headroom --rate 400Gbps --cable 5m --profile sonic-mellanox --spectrum 4 --shared-headroom",
            "headroom --rate 100Gbps --cable 100m --mtu 9216 --profile mlx5",
        ],
        0
    ));
}

#[test]
fn a_headroom_without_a_link_is_refused() {
    let wrong_command = transcript(
        &[
            "headroom --rate 100 --cable 100m",
            "headroom --rate 0Gbps --cable 100m",
            "headroom --rate 100Gbps --cable 100",
            "headroom --rate 100Gbps --cable 100ft",
            "headroom --rate 100Gbps --cable 100m --mtu 9kilo",
            "headroom --rate 100Gbps --cable 100m --profile sonic-mellanox --spectrum 7",
        ],
        2,
    );
    let wrong_link = transcript(
        &[
            "headroom --rate 100Gbps --cable 100m --mtu 20",
            "headroom --rate 100Gbps --cable 100m --cell 0",
            "headroom --rate 100Gbps --cable 100m --eight-lanes",
            "headroom --rate 100Gbps --cable 100m --profile mlx5 --cell 144",
            "headroom --rate 60Gbps --cable 100m --profile sonic-mellanox",
            "headroom --rate 100Gbps --cable 100m --profile sonic-mellanox --lossless-mtu 0",
        ],
        1,
    );
    insta::assert_snapshot!(wrong_command + &wrong_link);
}

#[test]
fn pfc_thresholds_have_their_formulas() {
    insta::assert_snapshot!(transcript(
        &[
            "pfc --rate 100Gbps --cable 100m --mtu 9216 --buffer 32MB --ports 32",
            "pfc --rate 100Gbps --cable 40km --buffer 400MB --ports 32 --headroom 12MB",
        ],
        0
    ));
}

#[test]
fn dcqcn_and_pcn_have_their_formulas() {
    insta::assert_snapshot!(transcript(
        &[
            "dcqcn --rate 100Gbps",
            "dcqcn --rate 10Gbps",
            "pcn --rate 100Gbps --rtt 20us --flows 16",
            "pcn --rate 1Gbps --rtt 500us --flows 1000",
        ],
        0
    ));
}

#[test]
fn an_rtt_that_pcn_cannot_use_is_refused() {
    insta::assert_snapshot!(transcript(
        &[
            "pcn --rate 1Gbps --rtt 5us --flows 16",
            "pcn --rate 1Gbps --rtt 1s --flows 16",
            "pcn --rate 1Gbps --rtt 20us --flows 16 --write it.toml",
        ],
        1
    ));
}

#[test]
fn a_buffer_that_cannot_hold_the_headroom_is_refused() {
    insta::assert_snapshot!(transcript(
        &[
            "pfc --rate 100Gbps --cable 100m --mtu 9216 --buffer 2MB --ports 32",
            "pfc --rate 100Gbps --cable 10km --buffer 1MB --ports 32 --priorities 2",
            "pfc --rate 100Gbps --cable 100m --mtu 9216 --buffer 2800KB --ports 32",
            "pfc --rate 400Gbps --cable 300m --buffer 2200KB --ports 9 --headroom 200KB --write it.toml",
        ],
        1
    ));
}

/// The written comparison can be run.
#[test]
fn a_comparison_is_written_that_runs() {
    for (name, line) in [
        (
            "pfc",
            "pfc --rate 100Gbps --cable 100m --mtu 9216 --buffer 32MB --ports 32",
        ),
        ("dcqcn", "dcqcn --rate 100Gbps"),
        ("pcn", "pcn --rate 100Gbps --rtt 20us --flows 16"),
    ] {
        let place = tempfile::tempdir().unwrap();
        let (said, code) = suggest(place.path(), &format!("{line} --write it.toml"));
        assert_eq!(code, 0, "{said}");
        assert!(said.ends_with("scenario: it.toml\nrun it: unpause run it.toml\n"));
        let written = std::fs::read_to_string(place.path().join("it.toml")).unwrap();
        insta::assert_snapshot!(name, written);
        let unpause = |args: &[&str]| {
            let output = Command::new(env!("CARGO_BIN_EXE_unpause"))
                .args(args)
                .current_dir(place.path())
                .output()
                .expect("the program runs");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{said}");
        };
        unpause(&["validate", "it.toml"]);
        unpause(&[
            "run",
            "it.toml",
            "--duration",
            "500us",
            "--no-report",
            "--fresh",
        ]);
    }
}

/// Each command that has its output below it.
#[test]
fn the_documents_show_what_is_said() {
    let documents = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let place = tempfile::tempdir().unwrap();
    for (name, expected) in [("pfc-thresholds.md", 2), ("rate-parameters.md", 2)] {
        let document = std::fs::read_to_string(documents.join(name)).unwrap();
        let mut shown = 0;
        let mut all = String::new();
        for part in document.split("```sh\nunpause suggest ").skip(1) {
            let (line, rest) = part.split_once("\n```\n").unwrap();
            let Some(rest) = rest.strip_prefix("\n```text\n") else {
                continue;
            };
            let (text, _) = rest.split_once("```").unwrap();
            let (said, code) = suggest(place.path(), line);
            assert_eq!(code, 0, "{said}");
            assert!(said.contains(text), "{line}\n{said}");
            all += &said;
            shown += 1;
        }
        for part in document.split("```toml\n[scheme.").skip(1) {
            let (section, _) = part.split_once("```").unwrap();
            assert!(all.contains(section), "{name}: {section}");
        }
        assert_eq!(shown, expected, "{name}");
    }
}
