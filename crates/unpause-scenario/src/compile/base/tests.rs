//! Scenarios with a base: the keys of both together, and the places of their mistakes.

use super::*;
use crate::compile::scenario::Scenario;

const BASE: &str = r#"# A whole scenario.
title = "base" # its own
duration = "1ms"
host = { payload = "1000B", ack_every = 4 }

[topology]
# One switch.
builder = "single-switch"
hosts = 3
rate = "10Gbps"
delay = "1us"

[[scheme]]
name = "A, paced"

[[scheme]]
name = "B"
congestion_control = "dcqcn"
set."host.ack_every" = 2
[scheme.dcqcn]
g = "1/16"

[[traffic]]
name = "F1"
kind = "flow"
from = "H0"
to = "H2"

[probes]
interval = "10us"
ports = ["*->*"]

[[event]]
at = "1us"
link = "S0->H0"
kind = "down"

[[event]]
at = "2us"
link = "S0->H0"
kind = "up"

[[sweep]]
name = "repetition"
key = "seed"
values = [1, 2]
"#;

/// Both files in a folder of their own, read.
fn read_both(own: &str, base: &str) -> (tempfile::TempDir, Result<Scenario, Vec<Error>>) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("b.toml"), base).expect("a file");
    let scenario = Scenario::parse_all(own, &folder.path().join("own.toml"));
    (folder, scenario)
}

#[test]
fn changes_are_merged_by_key_and_by_name() {
    let own = r#"# Other hosts.
base = "b.toml"
without = ["probes.ports", 'scheme."A, paced"', "host.payload"]
title = "own"
# More.
[topology]
hosts = 4 # one more
[[scheme]]
name = "B"
set = { "host.payload" = "500B" }
[[traffic]]
name = "F1"
to = "H3"
[[traffic]]
name = "F2"
kind = "flow"
from = "H1"
to = "H3"
[[event]]
at = "3us"
link = "S0->H0"
kind = "down"
"#;
    let (_folder, scenario) = read_both(own, BASE);
    let scenario = scenario.unwrap_or_else(|errors| panic!("{}", errors[0].explain()));
    insta::assert_snapshot!(scenario.source());
}

#[test]
fn with_no_changes_it_is_the_base() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../papers");
    let papers = std::fs::read_dir(root).expect("papers").flatten();
    let folders = papers.filter_map(|paper| std::fs::read_dir(paper.path().join("scenarios")).ok());
    let texts = folders
        .flatten()
        .flatten()
        .map(|file| std::fs::read_to_string(file.path()));
    let mut count = 0;
    for base in texts.flatten().filter(|text| !text.lines().any(is_base)) {
        if !base.contains("[[scheme]]") {
            continue;
        }
        let changes = document::parse("").expect("nothing is wrong with it");
        let (text, _) = merged("base = 'x'", changes, ("x", &base)).expect("nothing to merge");
        let read = |text: &str| toml::from_str::<toml::Table>(text).expect("a document");
        assert_eq!(read(&text), read(&base), "{base}");
        count += 1;
    }
    assert!(count > 20);
}

#[test]
fn mistakes_are_in_the_file_that_has_them() {
    let mut said = String::new();
    for (own, base) in [
        ("base = \"no-such.toml\"\n", BASE),
        ("base = \"../b.toml\"\n", BASE),
        ("base = 3\n", BASE),
        ("\nbase = \"own.toml\"\n", BASE),
        (
            "base = \"b.toml\"\n",
            "title = \"x\"\nbase = \"own.toml\"\n",
        ),
        ("base = \"b.toml\"\n", "title = x\n"),
        ("base = \"b.toml\"\nduration = 1ms\n", BASE),
        ("without = [\"probes\"]\n", BASE),
        ("base = \"b.toml\"\nwithout = \"probes\"\n", BASE),
        ("base = \"b.toml\"\nwithout = [3]\n", BASE),
        ("base = \"b.toml\"\nwithout = [\"probe\"]\n", BASE),
        (
            "base = \"b.toml\"\nwithout = [\"probes\", \"probes\"]\n",
            BASE,
        ),
        ("base = \"b.toml\"\nwithout = [\"traffic.F2\"]\n", BASE),
        ("base = \"b.toml\"\nwithout = [\"traffic.F1.stop\"]\n", BASE),
        ("base = \"b.toml\"\nwithout = [\"title.x\"]\n", BASE),
        ("base = \"b.toml\"\nwithout = [\"topology\"]\n", BASE),
        ("base = \"b.toml\"\nwithout = [\"topology.hosts\"]\n", BASE),
        ("base = \"b.toml\"\n[probes]\ninterval = \"10\"\n", BASE),
        (
            "base = \"b.toml\"\n[[traffic]]\nname = \"F1\"\nkind = \"permutation\"\n",
            BASE,
        ),
        (
            "base = \"b.toml\"\n[[scheme]]\nname = \"B\"\nset = { seed = 3 }\n",
            BASE,
        ),
        (
            "base = \"b.toml\"\nseeds = 3\n[[scheme]]\nname = \"B\"\ndcqcn.gg = 3\n",
            &BASE.replace("paced\"", "paced\"\npace = 3"),
        ),
        (
            "base = \"b.toml\"\n[switch]\nlossless = []\n",
            &(BASE.to_owned() + "[pfc]\nxoff = \"1MB\"\n"),
        ),
        (
            "base = \"b.toml\"\n[[scheme]]\nname = \"B\"\n[[scheme]]\nname = \"B\"\n",
            BASE,
        ),
    ] {
        let (folder, scenario) = read_both(own, base);
        let errors = scenario.expect_err(own);
        said += &format!("## {}\n", own.trim().replace('\n', " | "));
        for error in errors {
            let folder = format!("{}/", folder.path().display());
            said += &error.explain().replace(&folder, "");
            said += "\n";
        }
    }
    insta::assert_snapshot!(said);
}
