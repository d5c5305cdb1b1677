//! Links that lose frames to errors, from the file to what is said of it.

use unpause_scenario::{NoProgress, Options, Scenario, execute};

use crate::small::{messages, run};

const SCENARIO: &str = r#"
duration = "2ms"

[topology]
builder = "single-switch"
hosts = 4
rate = "40Gbps"
delay = "5us"

[[scheme]]
name = "PFC"

[[traffic]]
name = "incast"
kind = "burst"
from = "H0..H2"
to = "H3"
size = "1MB"
"#;

/// Links with errors are told with what they lost, which table `losses` has; a later event ends them.
#[test]
fn errors_of_links_are_told() {
    let errors =
        "\n[[event]]\nkind = \"error-rate\"\nlink = \"H0->S0\"\nuntil = \"300us\"\nber = 1e-6\n";
    let outcome = run(&format!("{SCENARIO}{errors}"));
    let said = messages(&outcome);
    let begin = "frame-errors: errors on H0->S0 from the start until 300us, each bit with probability 1e-6, without FEC: ";
    let of_link: Vec<&String> = said
        .iter()
        .filter(|it| it.starts_with("frame-errors"))
        .collect();
    assert_eq!(of_link.len(), 1, "{said:?}");
    let lost = of_link[0].strip_prefix(begin).expect("it begins so");
    let lost: u64 = lost.split(' ').next().unwrap().parse().unwrap();
    assert!(lost > 0, "{said:?}");
    let losses = &outcome.tables.losses;
    assert!(losses.num_rows() > 0);
}

/// Error rates of a topology file of HPCC hold until an event changes them.
#[test]
fn errors_of_topology_files_hold_until_an_event() {
    let folder = tempfile::tempdir().unwrap();
    let file = "3 1 2\n2\n0 2 40Gbps 1us 0.5\n1 2 40Gbps 1us 0\n";
    std::fs::write(folder.path().join("star.txt"), file).unwrap();
    let text = "duration = \"1ms\"\n[topology]\nfile = \"star.txt\"\n[[scheme]]\nname = \"PFC\"\n\
                [[traffic]]\nname = \"F\"\nkind = \"flow\"\nfrom = \"H0\"\nto = \"H1\"\nsize = \"100KB\"\n";
    let told = |more: &str| {
        let path = folder.path().join("one.toml");
        let scenario = Scenario::parse(&format!("{text}{more}"), &path)
            .unwrap_or_else(|error| panic!("{}", error.explain()));
        messages(&execute(&scenario, &Options::default(), &NoProgress).unwrap()).join("\n")
    };
    let said = told("");
    assert!(
        said.contains("errors on H0-S2 from the start on, each frame with probability 5e-1"),
        "{said}"
    );
    let said = told("[[event]]\nkind = \"error-rate\"\nlink = \"H0-S2\"\nloss = 0\n");
    assert!(!said.contains("errors on"), "{said}");
}
