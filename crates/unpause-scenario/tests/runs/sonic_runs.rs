//! Faults of a `config_db.json` that `lint` names are seen in runs of a fabric with its numbers, and are gone where
//! the file is sound.

use std::path::Path;

use unpause_scenario::Summary;
use unpause_sonic::{Buffer, Cable, ConfigDb, Need, Threshold};

use crate::small;

/// A switch of three ports; `/*…*/` stands before what faults change.
const GOOD: &str = r#"{
  "PORT": {
    "Ethernet0": {"speed": "100000"}, "Ethernet4": {"speed": "100000"}, "Ethernet8": {"speed": "100000"}
  },
  "CABLE_LENGTH": {"AZURE": {"Ethernet0": "40m", "Ethernet4": "40m", "Ethernet8": "40m"}},
  "BUFFER_POOL": {"ingress_lossless_pool": {"size": "1000000", "type": "ingress", "mode": "dynamic"}},
  "BUFFER_PROFILE": {
    "pg_lossless_100000_40m_profile": {"pool": "ingress_lossless_pool", "size": "0", "xoff": "40000", "dynamic_th": "-3"}
  },
  "BUFFER_PG": {
    "Ethernet0,Ethernet4,Ethernet8|3-4": {"profile": "pg_lossless_100000_40m_profile"}
  },
  "DSCP_TO_TC_MAP": {"AZURE": {"3": "3", "4": "4"}},
  "TC_TO_QUEUE_MAP": {"AZURE": {"0": "0", "1": "1", "3": "3", "4": "4"}},
  "TC_TO_PRIORITY_GROUP_MAP": {"AZURE": {"0": "0", "1": "0", "3": "3", "4": "4"}},
  "PORT_QOS_MAP": {
    "Ethernet0,Ethernet4,Ethernet8": {
      "dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE", "tc_to_pg_map": "AZURE", "pfc_enable": "3,4"
    }
  },
  "WRED_PROFILE": {
    "AZURE_LOSSLESS": {"ecn": "ecn_all", "green_min_threshold": "50000", "green_max_threshold": "900000",
                       "green_drop_probability": "100", "wred_green_enable": "true"}
  },
  "QUEUE": {"Ethernet0,Ethernet4,Ethernet8|3-4": {"wred_profile": "AZURE_LOSSLESS"}}
}"#;

fn read(text: &str) -> ConfigDb {
    unpause_sonic::parse(text.as_bytes().to_vec(), Path::new("leaf0.json")).unwrap()
}

/// Headroom that the simulator's links need: two frames, a PAUSE, the cable both ways.
fn need(cable: &Cable) -> Vec<Need> {
    let of_cable = (cable.mbps as f64 / 8000.0 * 10.0 * cable.metres) as u64;
    vec![Need {
        profile: "the simulator".to_owned(),
        bytes: 2 * cable.mtu + 64 + of_cable,
        terms: Vec::new(),
    }]
}

fn rules(db: &ConfigDb) -> Vec<&'static str> {
    unpause_sonic::lint(db, &need)
        .iter()
        .map(|it| it.rule)
        .collect()
}

/// Two hosts send to a third in a class, in a fabric with the numbers of the file: with PFC alone, and with DCQCN.
fn run(db: &ConfigDb, class: u8) -> [Summary; 2] {
    let port = "Ethernet0";
    let lossless: Vec<u8> = (0..8)
        .filter(|priority| {
            db.qos[port].pfc.contains(priority) && db.lossless(port, *priority).is_some()
        })
        .collect();
    let profile = &db.profiles["pg_lossless_100000_40m_profile"];
    let Some(Threshold::Dynamic(power)) = profile.threshold.as_ref().map(|it| it.value.clone())
    else {
        panic!("it has one");
    };
    let xoff = profile.xoff.as_ref().unwrap().value;
    let groups = db
        .groups
        .values()
        .filter(|it| it.value != Buffer::Unknown)
        .count() as u64;
    let buffer = db.pools["ingress_lossless_pool"]
        .size
        .as_ref()
        .unwrap()
        .value
        + groups * xoff;
    let queue = db.map(port, "TC_TO_QUEUE_MAP").unwrap().entries[&class].value;
    let curve = &db.wred["AZURE_LOSSLESS"].colors[0];
    let text = format!(
        "duration = \"1ms\"\n\
         [topology]\nbuilder = \"single-switch\"\nhosts = 3\nrate = \"100Gbps\"\ndelay = \"200ns\"\n\
         [host]\npayload = \"9052B\"\n\
         [switch]\nlossless = {lossless:?}\nbuffer = \"{buffer}B\"\nlossy_queue = \"100KB\"\n\
         [pfc]\nalpha = \"1/{}\"\nreserve = \"0B\"\nheadroom = \"{xoff}B\"\n\
         [[scheme]]\nname = \"PFC\"\n\
         [[scheme]]\nname = \"DCQCN\"\ncongestion_control = \"dcqcn\"\n\
         [scheme.dcqcn]\nkmin = \"{}B\"\nkmax = \"{}B\"\npmax = {}\n\
         [[traffic]]\nname = \"incast\"\nkind = \"flow\"\nfrom = [\"H0\", \"H1\"]\nto = \"H2\"\nsize = \"1MB\"\n\
         priority = {queue}\n",
        1 << -power,
        curve.min.as_ref().unwrap().value,
        curve.max.as_ref().unwrap().value,
        curve.probability.as_ref().unwrap().value as f64 / 100.0,
    );
    let outcome = small::run(&text);
    let runs = Summary::of(&outcome.tables);
    runs.try_into().expect("there are two schemes")
}

fn fault(from: &str, to: &str) -> ConfigDb {
    assert!(GOOD.contains(from));
    read(&GOOD.replacen(from, to, 1))
}

/// Nothing leaves the switch, and four groups fill it: each stops at alpha B / (1 + 4 alpha).
#[test]
fn groups_stop_at_their_share_of_the_pool() {
    let schemes: String = ["8", "2", "1", "1/2", "1/16"]
        .map(|alpha| {
            format!("[[scheme]]\nname = \"{alpha}\"\nset = {{ \"pfc.alpha\" = \"{alpha}\" }}\n")
        })
        .concat();
    let text = format!(
        "duration = \"4ms\"\n\
         [topology]\nbuilder = \"single-switch\"\nhosts = 9\nrate = \"100Gbps\"\ndelay = \"200ns\"\n\
         [switch]\nbuffer = \"4164KB\"\n\
         [pfc]\nheadroom = \"20KB\"\n\
         [slow_receiver]\nhosts = \"H0\"\n{schemes}\
         [[traffic]]\nname = \"in\"\nkind = \"flow\"\nfrom = \"H1..H4\"\nto = \"H0\"\n"
    );
    let outcome = small::run(&text);
    let runs = Summary::of(&outcome.tables);
    for (run, alpha) in runs.iter().zip([8.0, 2.0, 1.0, 0.5, 1.0 / 16.0]) {
        let pool = f64::from(4_164_000 - 9 * 20_000);
        let shares = 4.0 * alpha * pool / (1.0 + 4.0 * alpha);
        let beyond = run.max_queue_bytes as f64 - shares;
        assert!((0.0..=80_000.0).contains(&beyond), "{alpha}: {run:?}");
        assert_eq!(run.dropped_packets, 0);
    }
}

#[test]
fn a_sound_file_loses_nothing_and_marks() {
    let db = read(GOOD);
    assert!(
        rules(&db).is_empty(),
        "{:?}",
        unpause_sonic::lint(&db, &need)
    );
    for class in [3, 4] {
        let [pfc, dcqcn] = run(&db, class);
        assert_eq!((pfc.dropped_packets, dcqcn.dropped_packets), (0, 0));
        assert_eq!((pfc.flows_completed, dcqcn.flows_completed), (2, 2));
        assert!(
            pfc.pause_events > 0 && dcqcn.marked_packets > 0,
            "{pfc:?} {dcqcn:?}"
        );
    }
}

#[test]
fn pfc_without_a_lossless_group_loses_frames() {
    let db = fault("|3-4\": {\"profile\"", "|3\": {\"profile\"");
    assert_eq!(rules(&db), ["pfc-without-pg"]);
    assert_eq!(run(&db, 3)[0].dropped_packets, 0);
    let [it, _] = run(&db, 4);
    assert!(it.dropped_packets > 0 && it.pause_events == 0);
}

#[test]
fn a_headroom_that_is_too_small_loses_frames_though_pause_is_sent() {
    let db = fault("\"xoff\": \"40000\"", "\"xoff\": \"5000\"");
    assert_eq!(rules(&db), ["headroom-too-small"]);
    let [it, _] = run(&db, 3);
    assert!(it.dropped_packets > 0 && it.pause_events > 0, "{it:?}");
}

#[test]
fn a_curve_that_no_queue_reaches_marks_nothing() {
    // Two senders are stopped at 200,000 bytes, and bring 80,000 more at most.
    let db = fault(
        "\"green_min_threshold\": \"50000\"",
        "\"green_min_threshold\": \"400000\"",
    );
    assert_eq!(rules(&db), ["wred-unreachable"]);
    let [_, it] = run(&db, 3);
    assert_eq!((it.marked_packets, it.dropped_packets), (0, 0));
    assert!(it.pause_events > 0);
}

#[test]
fn a_class_in_a_queue_that_pause_does_not_stop_loses_frames() {
    let db = fault(
        "\"1\": \"1\", \"3\": \"3\", \"4\": \"4\"",
        "\"1\": \"1\", \"3\": \"1\", \"4\": \"4\"",
    );
    assert_eq!(rules(&db), ["map-mismatch"]);
    let [it, _] = run(&db, 3);
    assert!(it.dropped_packets > 0 && it.pause_events == 0);
}
