//! Configurations of switches with SONiC: what is said of one is short and has its place.

use std::path::Path;

use unpause_scenario::Scenario;
use unpause_sonic::{Cable, Need};

/// Reads a configuration, and says what is wrong with it.
pub fn check(data: &[u8]) {
    let db = match unpause_sonic::parse(data.to_vec(), Path::new("config_db.json")) {
        Ok(db) => db,
        Err(error) => return crate::messages::check_file_error(&error, data),
    };
    let findings = unpause_sonic::lint(&db, &need);
    let lines = data.split(|byte| *byte == b'\n').count();
    for it in &findings {
        for spot in it.also.iter().chain([&it.spot]) {
            let (line, column) = db.line_column(spot);
            assert!((1..=lines).contains(&line), "line {line} of {lines}");
            assert!(column >= 1 && spot.at <= data.len());
        }
        let said = it.message.len() + it.fix.len() + it.arithmetic.join("\n").len();
        assert!(
            said <= crate::messages::MESSAGE_BYTES,
            "{said} bytes: {it:?}"
        );
    }
    // The worst first.
    assert!(findings.is_sorted_by_key(|finding| finding.severity));
    match unpause_sonic::import(&[db]) {
        // What the simulator refuses has its place in the scenario.
        Ok(it) => drop(Scenario::parse(&it.text, Path::new("fabric.toml"))),
        Err(error) => crate::messages::check_file_error(&error, data),
    }
}

/// Two frames, and the cable both ways.
fn need(cable: &Cable) -> Vec<Need> {
    let of_cable = (cable.mbps as f64 / 8000.0 * 10.0 * cable.metres) as u64;
    vec![Need {
        profile: "two frames and the cable".to_owned(),
        bytes: 2 * cable.mtu + of_cable,
        terms: vec![format!("2 x {} + {of_cable}", cable.mtu)],
    }]
}
