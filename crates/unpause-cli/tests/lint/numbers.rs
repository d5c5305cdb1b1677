//! Where a threshold begins to matter, to the byte, and what is said of it; the numbers are computed by hand.

use serde_json::{Value, json};

use crate::{GOOD, findings, lint, with};

const PROFILE: &str = "pg_lossless_100000_5m_profile";
const CURVE: &str = "AZURE_LOSSLESS";

fn rules(text: &str) -> Vec<String> {
    let rule = |finding: &String| finding.split(' ').nth(1).map(str::to_owned);
    findings(text).iter().filter_map(rule).collect()
}

/// To Ethernet0 and Ethernet4 two senders bring 16,000,000 x 2/8 / (1 + 2/8) + 2 x 1,248 = 3,202,496 B before XOFF. Then 44,165 B
/// at 100 Gb/s over 5 m (two frames of 9,120 B, a PAUSE of 84 B, 625 B on the cable, 394 x 64 B of response), and 96,244 B at
/// 400 Gb/s over 40 m (the same frames, 20,000 B on the cable, 905 x 64 B).
#[test]
fn an_egress_limit_must_hold_what_arrives_after_xoff() {
    let limit = |bytes: u64, pool: Value| {
        let mut rules = rules(&with(&[
            (
                "BUFFER_PROFILE",
                "egress_lossless_profile",
                "static_th",
                json!(bytes.to_string()),
            ),
            ("BUFFER_POOL", "ingress_lossless_pool", "xoff", pool),
        ]));
        // To Ethernet8 less arrives, which has arithmetic of its own.
        rules.dedup();
        rules
    };
    let enough = 3_202_496 + 44_165 + 96_244;
    assert_eq!(limit(enough - 1, Value::Null), ["egress-drops-first"]);
    assert_eq!(limit(enough, Value::Null), ["egress-below-ingress"]);
    // A shared headroom pool lets no more than its size in.
    let shared = |bytes| limit(bytes, json!("100000")).contains(&"egress-drops-first".to_owned());
    let enough = 3_202_496 + 100_000;
    assert!(shared(enough - 1));
    assert!(!shared(enough));
}

/// Packets are green unless a policer colours them: other colours decide nothing.
#[test]
fn the_green_curve_decides() {
    let modes = [
        ("ecn_none", false),
        ("ecn_green", true),
        ("ecn_yellow", false),
        ("ecn_red", false),
        ("ecn_green_yellow", true),
        ("ecn_green_red", true),
        ("ecn_yellow_red", false),
        ("ecn_all", true),
    ];
    for (mode, marks) in modes {
        let of = |green: &str| {
            let mut edits = vec![
                ("WRED_PROFILE", CURVE, "ecn", json!(mode)),
                ("WRED_PROFILE", CURVE, "wred_green_enable", json!(green)),
            ];
            for color in ["yellow", "red"] {
                let enable: &'static str = match color {
                    "yellow" => "wred_yellow_enable",
                    _ => "wred_red_enable",
                };
                edits.push(("WRED_PROFILE", CURVE, enable, json!("true")));
            }
            for field in ["yellow_min_threshold", "red_min_threshold"] {
                edits.push(("WRED_PROFILE", CURVE, field, json!("250000")));
            }
            rules(&with(&edits))
        };
        assert_eq!(of("false"), ["wred-off"], "{mode}");
        if marks {
            assert!(of("true").is_empty(), "{mode}: {:?}", of("true"))
        } else {
            assert_eq!(of("true"), ["wred-drops-lossless"], "{mode}")
        }
    }
}

/// To Ethernet8 two senders of alpha 1/8 fill 3,202,496 B; to the others one of 1/8 and one of 1/64 fill
/// 16,000,000 x (9/64) / (73/64) + 2,496 = 1,975,098 B.
#[test]
fn a_curve_that_only_some_ports_reach_names_them() {
    let queue = json!({"wred_profile": CURVE});
    let text = with(&[
        (
            "BUFFER_PROFILE",
            "pg_lossless_400000_40m_profile",
            "dynamic_th",
            json!("-6"),
        ),
        (
            "WRED_PROFILE",
            CURVE,
            "green_min_threshold",
            json!("2500000"),
        ),
        (
            "WRED_PROFILE",
            CURVE,
            "green_max_threshold",
            json!("8000000"),
        ),
        ("QUEUE", "Ethernet4|3", "", queue.clone()),
        ("QUEUE", "Ethernet8|3", "", queue),
    ]);
    assert_eq!(rules(&text), ["wred-unreachable", "wred-late"]);
    let (said, _) = lint(&text, &[]);
    for line in [
        "fills a lossless queue to Ethernet0, Ethernet4 up to the first mark",
        "in a lossless queue to Ethernet8, marks begin before PFC only from 2 senders on",
        "each with its own threshold, of 16,000,000 of ingress_lossless_pool + 2,496 reserved: 1,975,098 B",
    ] {
        assert!(said.contains(line), "{line}:\n{said}");
    }
}

#[test]
fn a_static_threshold_is_named_as_such() {
    let text = with(&[
        (
            "BUFFER_POOL",
            "ingress_lossless_pool",
            "mode",
            json!("static"),
        ),
        ("BUFFER_PROFILE", PROFILE, "dynamic_th", Value::Null),
        ("BUFFER_PROFILE", PROFILE, "static_th", json!("60000")),
        (
            "BUFFER_PROFILE",
            "pg_lossless_400000_40m_profile",
            "dynamic_th",
            Value::Null,
        ),
        (
            "BUFFER_PROFILE",
            "pg_lossless_400000_40m_profile",
            "static_th",
            json!("60000"),
        ),
        ("PORT_QOS_MAP", "Ethernet8", "pfc_enable", Value::Null),
    ]);
    let (said, _) = lint(&text, &[]);
    for part in [
        "raise the lossless profiles' threshold (static_th)",
        "1 of 1 sender: 1 x 60,000 + 1,248 reserved",
    ] {
        assert!(said.contains(part), "{part}:\n{said}");
    }
    assert!(!said.contains("(dynamic_th)"), "{said}");
}

/// IEEE's terms give 44,165 B for 5 m at 100 Gb/s.
#[test]
fn one_byte_is_dropped() {
    let (said, _) = lint(
        &with(&[("BUFFER_PROFILE", PROFILE, "xoff", json!("44164"))]),
        &[],
    );
    let line = "44,165 - 44,164 = 1 B of a lossless priority is dropped, at worst";
    assert!(said.contains(line), "{said}");
}

#[test]
fn a_file_without_ports_says_that_headroom_is_unknown() {
    let mut root: Value = serde_json::from_str(GOOD).unwrap();
    root.as_object_mut().unwrap().remove("PORT");
    let findings = findings(&root.to_string());
    let [finding] = &findings[..] else {
        panic!("{findings:?}")
    };
    assert!(finding.starts_with("warning headroom-unknown "));
}

/// An unreadable `pfc_enable` has no further consequences.
#[test]
fn a_pfc_enable_that_cannot_be_read_is_reported_once() {
    let text = with(&[("PORT_QOS_MAP", "Ethernet0", "pfc_enable", json!("3-4"))]);
    assert_eq!(rules(&text), ["bad-value"]);
}

/// The tables of queues with keys of a chassis: what is of this host and ASIC is read as plain keys are, and the rest is named.
#[test]
fn queues_of_a_chassis_are_read_or_named() {
    let of = |host: &str, asic: &str, own: Option<&str>| {
        let mut root: Value = serde_json::from_str(GOOD).unwrap();
        if let Some(own) = own {
            root["DEVICE_METADATA"]["localhost"]["asic_name"] = json!(own);
        }
        root["BUFFER_QUEUE"]["Ethernet4|3-4"]["profile"] = json!("egress_lossy_profile");
        root["WRED_PROFILE"][CURVE]["ecn"] = json!("ecn_none");
        for table in ["BUFFER_QUEUE", "QUEUE"] {
            let keys = root[table].as_object().unwrap().clone();
            let keys = keys
                .into_iter()
                .map(|(key, value)| (format!("{host}|{asic}|{key}"), value));
            root[table] = Value::Object(keys.collect());
        }
        rules(&root.to_string())
    };
    let drops = "egress-drops-first";
    let own = [drops, drops, "wred-drops-lossless"];
    assert_eq!(of("leaf0", "asic0", None), own);
    assert_eq!(of("leaf0", "asic0", Some("Asic0")), own);
    let others = ["other-device", "other-device"];
    assert_eq!(of("leaf0", "asic0", Some("Asic1")), others);
    assert_eq!(of("leaf9", "asic0", Some("Asic0")), others);
}

/// A limit that is large enough if the pool's size includes its shared headroom, and too small if the switch adds it: a warning with
/// both answers, and an error on a Spectrum.
#[test]
fn both_answers_are_given_where_a_pool_may_include_its_headroom() {
    let of = |hwsku: Value| {
        let edits = [
            (
                "BUFFER_PROFILE",
                "egress_lossless_profile",
                "static_th",
                json!("3300000"),
            ),
            (
                "BUFFER_POOL",
                "ingress_lossless_pool",
                "xoff",
                json!("1600000"),
            ),
            ("DEVICE_METADATA", "localhost", "hwsku", hwsku),
        ];
        lint(&with(&edits), &[]).0
    };
    let both = "SAI says that size includes it";
    let unknown = of(Value::Null);
    assert!(
        unknown.contains("warning: lossless frames are dropped at egress first"),
        "{unknown}"
    );
    assert!(unknown.contains(both), "{unknown}");
    let spectrum = of(json!("ACS-MSN4700"));
    assert!(
        spectrum.contains("error: lossless frames are dropped at egress first"),
        "{spectrum}"
    );
    assert!(!spectrum.contains(both), "{spectrum}");
}

/// As some of SONiC's own templates write it.
#[test]
fn a_number_may_begin_with_blanks() {
    let text = with(&[(
        "WRED_PROFILE",
        CURVE,
        "green_min_threshold",
        json!(" 100000"),
    )]);
    assert!(!rules(&text).contains(&"bad-value".to_owned()));
    let text = with(&[(
        "WRED_PROFILE",
        CURVE,
        "green_min_threshold",
        json!("1 00000"),
    )]);
    assert!(rules(&text).contains(&"bad-value".to_owned()));
}
