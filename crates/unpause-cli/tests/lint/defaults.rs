//! Keys that are missing, names that SONiC does not have, and files without anything lossless.

use serde_json::{Value, json};

use crate::{findings, lint, with};

const CURVE: &str = "AZURE_LOSSLESS";

/// The note does not depend on whether lossy groups and maps are there.
#[test]
fn a_file_without_pfc_and_without_lossless_groups_is_reported() {
    let lossy = json!({
        "PORT": {"Ethernet0": {"speed": "100000"}},
        "BUFFER_POOL": {"ip": {"size": "1000000", "type": "ingress", "mode": "dynamic"}},
        "BUFFER_PROFILE": {"lossy": {"pool": "ip", "size": "0", "dynamic_th": "3"}},
        "BUFFER_PG": {"Ethernet0|0-7": {"profile": "lossy"}},
        "TC_TO_PRIORITY_GROUP_MAP": {"A": {"0": "0"}},
        "PORT_QOS_MAP": {"Ethernet0": {"tc_to_pg_map": "A"}},
    });
    assert_eq!(findings(&lossy.to_string()), ["note nothing-lossless $"]);
    for (key, value) in [
        ("PORT_QOS_MAP", json!({"Ethernet0": {"tc_to_pg_map": "A"}})),
        ("BUFFER_PG", json!({"Ethernet0|0": {"profile": "lossy"}})),
    ] {
        let mut one = lossy.clone();
        one.as_object_mut().unwrap().remove(match key {
            "BUFFER_PG" => "PORT_QOS_MAP",
            _ => "BUFFER_PG",
        });
        one[key] = value;
        assert_eq!(findings(&one.to_string()), ["note nothing-lossless $"]);
    }
    let mut lossless = lossy;
    lossless["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"] = json!("3");
    assert!(!findings(&lossless.to_string()).contains(&"note nothing-lossless $".to_owned()));
}

/// SAI's defaults: no colour is enabled, thresholds are the whole buffer (saiwred.h).
#[test]
fn a_missing_key_of_a_curve_has_the_default_of_sai() {
    for (field, words) in [
        (
            "wred_green_enable",
            "AZURE_LOSSLESS has no wred_green_enable, and a lossless queue uses it: SAI's default is false",
        ),
        (
            "green_min_threshold",
            "AZURE_LOSSLESS has no green_min_threshold, and a lossless queue uses it: SAI's default is 0, which stands for the whole buffer",
        ),
        (
            "green_max_threshold",
            "AZURE_LOSSLESS has no green_max_threshold, and a lossless queue uses it: SAI's default is 0",
        ),
    ] {
        let text = with(&[("WRED_PROFILE", CURVE, field, Value::Null)]);
        let expected = ["warning wred-default $.WRED_PROFILE.AZURE_LOSSLESS"];
        assert_eq!(findings(&text), expected, "{field}");
        let (said, _) = lint(&text, &[]);
        assert!(said.contains(words), "{said}");
    }
}

/// That of a lossy queue, too.
#[test]
fn a_curve_of_a_lossy_queue_is_off_by_default() {
    let text = with(&[
        (
            "WRED_PROFILE",
            "OWN",
            "",
            json!({"ecn": "ecn_all", "green_min_threshold": "1000", "green_max_threshold": "9000"}),
        ),
        ("QUEUE", "Ethernet0|0", "wred_profile", json!("OWN")),
    ]);
    assert_eq!(findings(&text), ["warning wred-default $.WRED_PROFILE.OWN"]);
}

#[test]
fn a_name_that_sonic_does_not_have_is_always_reported() {
    let text = with(&[
        ("PORT", "Ethernet0", "colour", json!("blue")),
        ("PORT", "Ethernet4", "colour", json!("red")),
        ("PORT", "Ethernet0", "alias", json!("etp1")),
        ("WRED_PROFILE", CURVE, "curvature", json!("3")),
        (
            "BUFFER_PROFILE",
            "egress_lossy_profile",
            "whatever",
            json!("1"),
        ),
        ("PFC_WD", "Ethernet0", "patience", json!("1")),
        ("PFC_WD", "Ethernet0", "acton", json!("drop")),
        ("SOMETHING_NEW", "a", "b", json!("c")),
        ("VLAN", "Vlan1000", "vlanid", json!("1000")),
    ]);
    let mut found = findings(&text);
    found.sort();
    let expected = [
        "note unknown-name $.BUFFER_PROFILE.egress_lossy_profile.whatever",
        "note unknown-name $.PFC_WD.Ethernet0.acton",
        "note unknown-name $.PFC_WD.Ethernet0.patience",
        "note unknown-name $.PORT.Ethernet0.colour",
        "note unknown-name $.SOMETHING_NEW",
        "note unknown-name $.WRED_PROFILE.AZURE_LOSSLESS.curvature",
    ];
    assert_eq!(found, expected);
    let near = with(&[
        ("PFC_WD", "Ethernet0", "action", Value::Null),
        ("PFC_WD", "Ethernet0", "acton", json!("drop")),
    ]);
    assert_eq!(
        findings(&near),
        ["warning unknown-name $.PFC_WD.Ethernet0.acton"]
    );
}

/// sonic-net/SONiC#2433 (July 2026), and the names of sonic-net/sonic-swss#4719: ECN's own thresholds count, not those of drops.
#[test]
fn ecn_can_have_thresholds_of_its_own() {
    for names in [
        ["ecn_green_min_threshold", "ecn_green_max_threshold"],
        ["green_ect_min_threshold", "green_ect_max_threshold"],
    ] {
        let own = |min: &str, max: &str| {
            findings(&with(&[
                ("WRED_PROFILE", CURVE, names[0], json!(min)),
                ("WRED_PROFILE", CURVE, names[1], json!(max)),
                // No queue becomes so long.
                (
                    "WRED_PROFILE",
                    CURVE,
                    "green_min_threshold",
                    json!("9000000"),
                ),
                (
                    "WRED_PROFILE",
                    CURVE,
                    "green_max_threshold",
                    json!("9500000"),
                ),
            ]))
        };
        assert!(own("250000", "1000000").is_empty());
        let place = format!("$.WRED_PROFILE.AZURE_LOSSLESS.{}", names[0]);
        let late = format!("error wred-unreachable {place}");
        assert_eq!(own("8000000", "8500000"), [late]);
        let shape = own("1000000", "250000");
        assert_eq!(shape, [format!("error wred-shape {place}")]);
    }
    let unmarked = findings(&with(&[(
        "WRED_PROFILE",
        CURVE,
        "ecn_yellow_min_threshold",
        json!("1000"),
    )]));
    assert!(
        unmarked.is_empty(),
        "ecn_all marks yellow, too: {unmarked:?}"
    );
    let unmarked = findings(&with(&[
        ("WRED_PROFILE", CURVE, "ecn", json!("ecn_green")),
        (
            "WRED_PROFILE",
            CURVE,
            "ecn_yellow_min_threshold",
            json!("1000"),
        ),
    ]));
    assert_eq!(
        unmarked,
        ["error wred-shape $.WRED_PROFILE.AZURE_LOSSLESS.ecn_yellow_min_threshold"]
    );
}

/// One value is at fault, though three kinds of cables need more than it.
#[test]
fn a_fault_of_one_value_is_reported_once() {
    let profile = "pg_lossless_100000_5m_profile";
    let text = with(&[
        ("BUFFER_PROFILE", profile, "xoff", json!("20000")),
        ("CABLE_LENGTH", "AZURE", "Ethernet4", json!("40m")),
        ("BUFFER_PG", "Ethernet8|3-4", "profile", json!(profile)),
    ]);
    let path = "$.BUFFER_PROFILE.pg_lossless_100000_5m_profile.xoff";
    let own = |rule: &str| {
        let all = findings(&text);
        all.iter().filter(|it| it.contains(rule)).count()
    };
    assert_eq!(own("headroom-too-small"), 1);
    assert_eq!(own(path), 1);
    let (said, _) = lint(&text, &[]);
    // The largest cable is reported, and the others are listed.
    for line in [
        "headroom of its cable (400 Gb/s, 40 m of cable, frames of 9100 B)",
        "| likewise with 100 Gb/s, 40 m of cable, frames of 9100 B: needed are",
        "| likewise with 100 Gb/s, 5 m of cable, frames of 9100 B: needed are",
    ] {
        assert!(said.contains(line), "{said}");
    }
    let text = with(&[(
        "BUFFER_PROFILE",
        "egress_lossless_profile",
        "static_th",
        json!("1000000"),
    )]);
    let path = "error egress-drops-first $.BUFFER_PROFILE.egress_lossless_profile.static_th";
    assert_eq!(findings(&text), [path]);
}

/// Nokia's 7220 IXR-H6 keeps frames in cells of 420 bytes, its D4 in cells of 318: seven and five for a frame of 64.
#[test]
fn headroom_is_judged_by_the_cells_of_the_switch() {
    let of = |hwsku: &str| {
        let text = with(&[
            ("DEVICE_METADATA", "localhost", "hwsku", json!(hwsku)),
            (
                "BUFFER_PROFILE",
                "pg_lossless_100000_5m_profile",
                "xoff",
                json!("90000"),
            ),
        ]);
        lint(&text, &[]).0
    };
    for (hwsku, line) in [
        (
            "Nokia-IXR7220-H6-64",
            "by SONiC's script with the cells of Tomahawk6 (unpause suggest headroom --profile sonic-mellanox --cell 420)",
        ),
        (
            "Nokia-IXR7220-D4-36D",
            "by SONiC's script with the cells of Trident4 (unpause suggest headroom --profile sonic-mellanox --cell 318)",
        ),
        (
            "Mellanox-SN5600-O128",
            "by SONiC's script for Spectrum (unpause suggest headroom --profile sonic-mellanox)",
        ),
    ] {
        let said = of(hwsku);
        assert!(said.contains(line), "{hwsku}: {said}");
    }
    // Of a switch whose cells are unknown nothing is guessed.
    let said = of("Nokia-7215");
    assert!(!said.contains("SONiC's script"), "{said}");
}
