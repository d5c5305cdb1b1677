//! A result directory of which one file is damaged.

#![cfg(feature = "parquet")]

use std::fs;
use std::path::Path;

use unpause_scenario::{NoProgress, Options, Saved, Scenario, execute};

const SCENARIO: &str = r#"
duration = "100us"
[topology]
builder = "single-switch"
hosts = 2
rate = "40Gbps"
delay = "1us"
[[scheme]]
name = "PFC"
[[traffic]]
name = "F"
kind = "flow"
from = "H0"
to = "H1"
size = "10KB"
"#;

#[test]
fn a_damaged_table_is_named() {
    let place = tempfile::tempdir().unwrap();
    let result = place.path().join("result");
    let scenario = Scenario::parse(SCENARIO, Path::new("one.toml")).unwrap();
    let outcome = execute(&scenario, &Options::default(), &NoProgress).unwrap();
    outcome.write(&result).unwrap();
    let table = result.join("flows.parquet");
    let sound = fs::read(&table).unwrap();
    let said_of = |bytes: &[u8]| {
        fs::write(&table, bytes).unwrap();
        Saved::load(&result).err().map(|error| error.explain())
    };
    assert_eq!(said_of(&sound), None);

    // A table of the same scenario, stopped sooner: it can be read.
    let other = place.path().join("other");
    let options = Options {
        duration: Some(unpause_protocols::units::Time::from_us(1)),
        ..Options::default()
    };
    let outcome = execute(&scenario, &options, &NoProgress).unwrap();
    outcome.write(&other).unwrap();
    let of_other = fs::read(other.join("flows.parquet")).unwrap();
    let said = said_of(&of_other).expect("it is of another run");
    assert!(said.contains("it is not what this run wrote"), "{said}");

    // The reader alone, as of a result that has no digests.
    let manifest = result.join("manifest.json");
    let mut text: serde_json::Value =
        serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
    text.as_object_mut().unwrap().remove("files");
    fs::write(&manifest, text.to_string()).unwrap();
    let of_ports = fs::read(result.join("ports.parquet")).unwrap();
    let said = said_of(&of_ports).expect("a table of ports is none of flows");
    assert!(
        said.contains("flows.parquet is damaged: column `"),
        "{said}"
    );
    let said = said_of(&sound[..sound.len() / 2]).expect("half a table is none");
    assert!(said.contains("flows.parquet is damaged"), "{said}");

    // Whatever bit is turned, the reader comes back; its panics are caught.
    for byte in (0..sound.len()).rev().take(600) {
        let mut bytes = sound.clone();
        bytes[byte] ^= 0x55;
        if let Some(said) = said_of(&bytes) {
            assert!(said.contains("flows.parquet is damaged"), "{said}");
        }
    }
}
