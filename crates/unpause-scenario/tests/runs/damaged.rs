//! A result directory of which one file is damaged.

#![cfg(feature = "parquet")]

use std::fs;

use unpause_scenario::{Options, Saved};

use crate::small;

#[test]
fn a_damaged_table_is_named() {
    let place = tempfile::tempdir().unwrap();
    let result = place.path().join("result");
    let outcome = small::outcome(&["PFC"], &Options::default());
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
    small::outcome(&["PFC"], &options).write(&other).unwrap();
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
    assert!(said.contains("flows.parquet is damaged: it has "), "{said}");
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
