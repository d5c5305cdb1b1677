//! `unpause import sonic`: configurations of switches become a fabric that runs, or say why not.

use std::fs;
use std::path::Path;
use std::process::Command;

const GOOD: &str = include_str!("data/config_db.json");
const LEAVES: [&str; 2] = [
    include_str!("../../../examples/sonic/leaf0.json"),
    include_str!("../../../examples/sonic/leaf1.json"),
];
const SPINE: &str = include_str!("../../../examples/sonic/spine0.json");

/// Runs the command; returns both outputs and the exit code.
fn unpause(directory: &Path, args: &[&str]) -> (String, i32) {
    let output = Command::new(env!("CARGO_BIN_EXE_unpause"))
        .args(args)
        .current_dir(directory)
        .env("NO_COLOR", "1")
        .env("UNPAUSE_CACHE", "off")
        .output()
        .expect("the program runs");
    let said = [output.stdout, output.stderr].concat();
    let code = output.status.code().expect("it has ended");
    (String::from_utf8_lossy(&said).into_owned(), code)
}

/// A folder with these files; they are imported together.
fn import(files: &[(&str, String)]) -> (tempfile::TempDir, String, i32) {
    let place = tempfile::tempdir().unwrap();
    let mut args = vec!["import", "sonic"];
    for (name, text) in files {
        fs::write(place.path().join(name), text).unwrap();
        args.push(name);
    }
    args.extend(["--output", "fabric.toml"]);
    let (said, code) = unpause(place.path(), &args);
    (place, said, code)
}

/// A fabric of two leaves and a spine, two cables between each.
fn three() -> [(&'static str, String); 3] {
    [
        ("leaf0.json", LEAVES[0]),
        ("leaf1.json", LEAVES[1]),
        ("spine0.json", SPINE),
    ]
    .map(|(name, text)| (name, text.to_owned()))
}

#[test]
fn a_switch_alone_has_a_host_at_each_port() {
    let (place, said, code) = import(&[("leaf0.json", GOOD.to_owned())]);
    assert_eq!(code, 0, "{said}");
    let text = fs::read_to_string(place.path().join("fabric.toml")).unwrap();
    insta::assert_snapshot!(said + "\n" + &text);
    let (said, code) = unpause(place.path(), &["validate", "fabric.toml"]);
    assert_eq!(code, 0, "{said}");
}

#[test]
fn switches_are_linked_by_their_neighbours_and_the_fabric_runs() {
    let files = three();
    for (name, text) in &files {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join(name), text).unwrap();
        let (said, code) = unpause(place.path(), &["lint", name]);
        assert_eq!(
            (
                said.contains("0 errors, 0 warnings") || said.contains("no findings"),
                code
            ),
            (true, 0),
            "{said}"
        );
    }
    let (place, said, code) = import(&files);
    assert_eq!(code, 0, "{said}");
    let text = fs::read_to_string(place.path().join("fabric.toml")).unwrap();
    insta::assert_snapshot!(said + "\n" + &text);
    let (said, code) = unpause(
        place.path(),
        &["run", "fabric.toml", "--no-report", "--output", "json"],
    );
    assert_eq!(code, 0, "{said}");
    let run = ["\"flows_completed\": 3", "\"dropped_packets\": 0"];
    assert!(run.iter().all(|it| said.matches(it).count() == 2), "{said}");
    // Without --force nothing is replaced.
    let args = [
        "import",
        "sonic",
        "leaf0.json",
        "leaf1.json",
        "spine0.json",
        "--out",
        "fabric.toml",
    ];
    assert_eq!(unpause(place.path(), &args).1, 1);
}

/// Changes a file, and checks the message about it.
fn refused(cases: &[(usize, &str, &str, &str)]) {
    for (file, from, to, expected) in cases {
        let mut files = three();
        let text = &mut files[*file].1;
        assert!(text.contains(from), "{from}");
        *text = text.replacen(from, to, 1);
        let (place, said, code) = import(&files);
        assert_eq!(code, 1, "{said}");
        assert!(said.contains(expected), "{from} -> {to}: {said}");
        assert!(said.contains(&format!("{}:", files[*file].0)), "{said}");
        assert!(!place.path().join("fabric.toml").exists());
    }
}

#[test]
fn what_a_scenario_cannot_say_is_refused_at_its_place() {
    refused(&[
        (
            0,
            "\"weight\": \"14\"",
            "\"weight\": \"14\", \"pir\": \"1000\", \"meter_type\": \"packets\"",
            "a scenario has no shapers that count packets",
        ),
        (
            0,
            "\"3\": \"3\", \"6\": \"6\"}",
            "\"3\": \"6\", \"6\": \"6\"}",
            "3 -> 6 in TC_TO_QUEUE_MAP",
        ),
        (
            1,
            "\"POLL_INTERVAL\": \"100\"",
            "\"POLL_INTERVAL\": \"100\", \"BIG_RED_SWITCH\": \"enable\"",
            "BIG_RED_SWITCH",
        ),
        (
            0,
            "\"profile\": \"pg_lossless_100000_5m_profile\"",
            "\"profile\": \"none\"",
            "BUFFER_PROFILE has no entry none",
        ),
    ]);
}

#[test]
fn what_switches_differ_in_becomes_overrides() {
    let mut files = three();
    for (_, text) in &mut files {
        *text = text.replace(
            "\"size\": \"4000000\"",
            "\"size\": \"4000000\", \"xoff\": \"900000\"",
        );
    }
    let change = |text: &mut String, from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        *text = text.replace(from, to);
    };
    change(
        &mut files[1].1,
        "\"dynamic_th\": \"-3\"",
        "\"dynamic_th\": \"-2\"",
    );
    change(
        &mut files[1].1,
        "\"pfc_enable\": \"3\"",
        "\"pfc_enable\": \"\"",
    );
    change(
        &mut files[2].1,
        "\"size\": \"4000000\"",
        "\"size\": \"8000000\"",
    );
    change(
        &mut files[2].1,
        "\"green_min_threshold\": \"100000\"",
        "\"green_min_threshold\": \"90000\"",
    );
    let (place, said, code) = import(&files);
    assert_eq!(code, 0, "{said}");
    let text = fs::read_to_string(place.path().join("fabric.toml")).unwrap();
    assert!(text.contains("headroom_pool = \"900000B\""), "{text}");
    let overrides = text.find("[[override]]").expect("they differ");
    let end = text.find("[[traffic]]").unwrap();
    insta::assert_snapshot!(&text[overrides..end]);
    let (said, code) = unpause(place.path(), &["validate", "fabric.toml"]);
    assert_eq!(code, 0, "{said}");
}

/// Settings without an override are those of most places; the others are listed with their line.
#[test]
fn what_differs_and_has_no_override_is_listed() {
    let mut files = three();
    for (file, from, to) in [
        (
            2,
            "\"size\": \"4000000\"",
            "\"size\": \"4000000\", \"xoff\": \"900000\"",
        ),
        (1, "\"weight\": \"14\"", "\"weight\": \"20\""),
    ] {
        let text = &mut files[file].1;
        assert!(text.contains(from), "{from}");
        *text = text.replace(from, to);
    }
    let (place, said, code) = import(&files);
    assert_eq!(code, 0, "{said}");
    for line in [
        "spine0 ingress_lossless_pool: the shared headroom pool (xoff) 900000 (spine0.json, line ",
        "leaf1 Ethernet0: the scheduler 0 = 20",
    ] {
        assert!(said.contains(line), "{said}");
    }
    let text = fs::read_to_string(place.path().join("fabric.toml")).unwrap();
    assert!(text.contains("weights = { 0 = 14"), "{text}");
    assert!(!text.contains("headroom_pool"), "{text}");
}

/// PFC is off at a port of leaf0, and the spine's watchdog has other times than those of the leaves.
#[test]
fn pfc_and_watchdogs_differ_by_port_and_by_switch() {
    let mut files = three();
    let mut root: serde_json::Value = serde_json::from_str(&files[0].1).unwrap();
    let map = root["PORT_QOS_MAP"].as_object_mut().unwrap();
    let (ports, own) = map.clone().into_iter().next().unwrap();
    map.clear();
    for port in ports.split(',') {
        let mut own = own.clone();
        if port == "Ethernet4" {
            own["pfc_enable"] = "".into();
        }
        map.insert(port.to_owned(), own);
    }
    files[0].1 = root.to_string();
    files[2].1 = files[2]
        .1
        .replace("\"detection_time\": \"200\"", "\"detection_time\": \"400\"");
    let (place, said, code) = import(&files);
    assert_eq!(code, 0, "{said}");
    let text = fs::read_to_string(place.path().join("fabric.toml")).unwrap();
    let overrides = text.find("[[override]]").expect("they differ");
    let end = text.find("[[traffic]]").unwrap();
    insta::assert_snapshot!(&text[overrides..end]);
    let (said, code) = unpause(place.path(), &["validate", "fabric.toml"]);
    assert_eq!(code, 0, "{said}");
}

/// A switch between other switches: hosts stand for those.
#[test]
fn a_switch_among_routers_has_hosts_in_their_place() {
    let mut files = three();
    let types = r#""DEVICE_NEIGHBOR_METADATA": {"leaf0": {"type": "ToRRouter"}, "leaf1": {"type": "ToRRouter"}, "core0": {"type": "SpineRouter"}}, "WAS""#;
    files[2].1 = files[2]
        .1
        .replacen("\"DEVICE_NEIGHBOR_METADATA\"", types, 1);
    let (place, said, code) = import(&files[2..]);
    assert_eq!(code, 0, "{said}");
    let line = "spine0: Ethernet0: a host stands for leaf0, a ToRRouter of which no config_db.json is given";
    assert!(said.contains(line), "{said}");
    let text = fs::read_to_string(place.path().join("fabric.toml")).unwrap();
    assert!(
        text.contains("hosts = [\"core0\", \"leaf0\", \"leaf1\"]"),
        "{text}"
    );
    // With the file of a leaf there are hosts enough: the others are left out.
    let (place, said, code) = import(&[files[0].clone(), files[2].clone()]);
    assert_eq!(code, 0, "{said}");
    let text = fs::read_to_string(place.path().join("fabric.toml")).unwrap();
    assert!(text.contains("hosts = [\"h0\", \"h1\"]"), "{text}");
}

/// The neighbours that the example's DEVICE_NEIGHBOR has, as LLDP has them: the same links.
#[test]
fn neighbours_come_from_lldp() {
    let (place, _, code) = import(&three());
    assert_eq!(code, 0);
    let links = |place: &Path| {
        let text = fs::read_to_string(place.join("fabric.toml")).unwrap();
        let (from, to) = (
            text.find("[topology]").unwrap(),
            text.find("[host]").unwrap(),
        );
        text[from..to].to_owned()
    };
    let expected = links(place.path());
    let place = tempfile::tempdir().unwrap();
    for (name, text) in three() {
        let mut root: serde_json::Value = serde_json::from_str(&text).unwrap();
        let tables = root.as_object_mut().unwrap();
        tables.remove("DEVICE_NEIGHBOR");
        tables.remove("DEVICE_NEIGHBOR_METADATA");
        fs::write(place.path().join(name), root.to_string()).unwrap();
    }
    for (name, text) in [
        ("leaf0.lldp", include_str!("data/lldp/leaf0.txt")),
        ("leaf1.lldp", include_str!("data/lldp/leaf1.json")),
        ("spine0.lldp", include_str!("data/lldp/spine0.txt")),
    ] {
        fs::write(place.path().join(name), text).unwrap();
    }
    let files = ["leaf0.json", "leaf1.json", "spine0.json"];
    let dumps = [
        "--lldp=leaf0=leaf0.lldp",
        "--lldp=leaf1=leaf1.lldp",
        "--lldp=spine0=spine0.lldp",
    ];
    let args = [
        &["import", "sonic"],
        &files[..],
        &dumps[..],
        &["--out", "fabric.toml"],
    ]
    .concat();
    let (said, code) = unpause(place.path(), &args);
    assert_eq!(code, 0, "{said}");
    assert_eq!(links(place.path()), expected);
    for line in [
        "leaf0: 4 neighbours by LLDP (leaf0.lldp)",
        "leaf0: LLDP at eth0: not in PORT, and left out",
        "spine0: Ethernet16 to core0: a Switch, of which no config_db.json is given",
    ] {
        assert!(said.contains(line), "{said}");
    }
    for (dump, expected) in [
        (
            "leaf7=leaf0.lldp",
            "LLDP neighbours of leaf7, which is none of the switches",
        ),
        ("leaf0=leaf0.json", "no neighbours"),
        ("leaf0", "expected the name of the switch and the file"),
    ] {
        let args = [
            &["import", "sonic"],
            &files[..],
            &["--out", "x.toml", "--lldp", dump],
        ]
        .concat();
        let (said, code) = unpause(place.path(), &args);
        assert_ne!(code, 0, "{said}");
        assert!(said.contains(expected), "{said}");
        assert!(!place.path().join("x.toml").exists());
    }
}

/// Curves without `wred_green_enable` are read as their authors mean them, and it is said; ECN's own thresholds count.
#[test]
fn a_curve_is_read_with_the_defaults_of_its_keys() {
    let enable = "\"wred_green_enable\": \"true\"";
    let mut files = three();
    for (_, text) in &mut files {
        assert!(text.contains(enable));
        let own = "\"ecn_green_min_threshold\": \"60000\", \"ecn_green_mark_probability\": \"7\"";
        *text = text.replace(enable, own);
    }
    let (place, said, code) = import(&files);
    assert_eq!(code, 0, "{said}");
    for line in [
        "leaf0: WRED_PROFILE AZURE_LOSSLESS: wred_green_enable is missing: read as true",
        "leaf0: WRED_PROFILE AZURE_LOSSLESS: thresholds at which packets without ECN are dropped",
    ] {
        assert!(said.contains(line), "{said}");
    }
    let text = fs::read_to_string(place.path().join("fabric.toml")).unwrap();
    for line in ["kmin = \"60000B\"", "kmax = \"400000B\"", "pmax = 0.07"] {
        assert!(text.contains(line), "{text}");
    }
}

/// Each table and field is carried over, or named.
#[test]
fn names_without_a_counterpart_are_all_listed() {
    let mut files = three();
    files[0].1 = files[0].1.replacen(
        "\"speed\": \"100000\"",
        "\"speed\": \"100000\", \"colour\": \"blue\", \"fec\": \"rs\"",
        1,
    );
    files[0].1 = files[0]
        .1
        .replacen('{', "{\"SOMETHING_NEW\": {\"a\": {\"b\": \"c\"}}, ", 1);
    let (_, said, code) = import(&files);
    assert_eq!(code, 0, "{said}");
    for line in [
        "leaf0: SOMETHING_NEW: no counterpart in a scenario",
        "leaf0: PORT colour, fec: no counterpart in a scenario",
    ] {
        assert!(said.contains(line), "{said}");
    }
}

#[test]
fn files_that_contradict_one_another_are_refused_at_their_place() {
    refused(&[
        (
            1,
            "\"hostname\": \"leaf1\"",
            "\"hostname\": \"leaf0\"",
            "a second switch called leaf0",
        ),
        (
            1,
            "\"DEVICE_NEIGHBOR\":",
            "\"NEIGHBOURS_OF_OLD\":",
            "no DEVICE_NEIGHBOR",
        ),
        (
            0,
            "\"name\": \"spine0\", \"port\": \"Ethernet4\"",
            "\"name\": \"spine0\", \"port\": \"Ethernet8\"",
            "where spine0 has another neighbour",
        ),
        (
            0,
            "\"name\": \"spine0\", \"port\": \"Ethernet4\"",
            "\"name\": \"spine0\", \"port\": \"Ethernet40\"",
            "port Ethernet40, which PORT of spine0.json lacks",
        ),
        (
            0,
            "\"Ethernet8\": {\"speed\": \"100000\"",
            "\"Ethernet8\": {\"speed\": \"25000\"",
            "25000 Mb/s, at the other end (Ethernet0) 100000 Mb/s",
        ),
        (
            0,
            "\"name\": \"spine0\", \"port\": \"Ethernet0\"",
            "\"name\": \"leaf0\", \"port\": \"Ethernet0\"",
            "a switch that is its own neighbour",
        ),
    ]);
}

/// The commands of docs/operators.md, and what they say there.
#[test]
fn the_document_says_what_the_program_says() {
    let place = tempfile::tempdir().unwrap();
    let folder = |name: &str| {
        let path = place.path().join(name);
        fs::create_dir_all(&path).unwrap();
        path
    };
    let (examples, far, late) = (folder("examples/sonic"), folder("far"), folder("late"));
    let longer = |text: &str| {
        text.replace(
            "\"Ethernet8\": \"40m\", \"Ethernet12\": \"40m\"",
            "\"Ethernet8\": \"300m\", \"Ethernet12\": \"300m\"",
        )
    };
    let later = |text: &str| {
        text.replace(
            "\"green_min_threshold\": \"100000\", \"green_max_threshold\": \"400000\"",
            "\"green_min_threshold\": \"1500000\", \"green_max_threshold\": \"2000000\"",
        )
    };
    for (name, text) in three() {
        fs::write(examples.join(name), &text).unwrap();
        fs::write(late.join(name), later(&text)).unwrap();
    }
    fs::write(far.join("leaf0.json"), longer(LEAVES[0])).unwrap();
    let of = |folder: &str| ["leaf0", "leaf1", "spine0"].map(|it| format!("{folder}/{it}.json"));
    let all = [of("examples/sonic"), of("late")];
    let [good, bad] = all
        .each_ref()
        .map(|files| files.each_ref().map(String::as_str));
    let commands: [&[&str]; 5] = [
        &[&["lint"], &good[..]].concat(),
        &["lint", "far/leaf0.json"],
        &[&["import", "sonic"], &good[..], &["--out", "fabric.toml"]].concat(),
        &[&["lint"], &bad[..]].concat(),
        &[&["import", "sonic"], &bad[..], &["--out", "late.toml"]].concat(),
    ];
    let said: String = commands
        .iter()
        .map(|args| unpause(place.path(), args).0)
        .collect();
    let said: Vec<&str> = said.lines().map(str::trim_end).collect();
    let document = include_str!("../../../docs/operators.md");
    // The Python package tests the reports of these runs.
    let steps = document.split("```sh\n").skip(1);
    let steps = steps.filter(|step| {
        let commands = step.split("```").next().unwrap();
        !["unpause run", "unpause explain"]
            .iter()
            .any(|it| commands.contains(it))
    });
    let blocks = steps.flat_map(|step| step.split("```text\n").skip(1));
    let blocks = blocks.map(|rest| rest.split("```").next().unwrap());
    let lines: Vec<&str> = blocks
        .flat_map(str::lines)
        .filter(|line| line.trim() != "…")
        .collect();
    assert!(lines.len() >= 20, "{lines:#?}");
    for line in lines {
        assert!(
            said.contains(&line.trim_end()),
            "nobody said: {line}\n{said:#?}"
        );
    }
}

#[test]
fn a_file_that_is_read_is_not_replaced() {
    let place = tempfile::tempdir().unwrap();
    let named = place.path().join("leaf0.json");
    fs::write(&named, GOOD).unwrap();
    for out in ["leaf0.json", "./leaf0.json"] {
        let import = ["import", "sonic", "leaf0.json", "--out", out, "--force"];
        let (said, code) = unpause(place.path(), &import);
        assert_eq!(code, 1, "{said}");
        assert!(
            said.contains("is read: it cannot be written, too"),
            "{said}"
        );
        assert_eq!(fs::read_to_string(&named).unwrap(), GOOD);
    }
}

#[test]
fn a_directory_is_no_file_to_write() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("leaf0.json"), GOOD).unwrap();
    fs::create_dir(place.path().join("there")).unwrap();
    for force in [&[][..], &["--force"]] {
        let import = ["import", "sonic", "leaf0.json", "--out", "there"];
        let (said, code) = unpause(place.path(), &[&import, force].concat());
        assert_eq!(code, 1, "{said}");
        assert!(said.contains("there is a directory"), "{said}");
        assert!(!said.contains("--force"), "{said}");
    }
}

/// SAI says that a pool's size includes its shared headroom; Spectrum adds it. Where the chip is unknown both answers are given.
#[test]
fn a_pool_includes_its_shared_headroom_unless_the_chip_adds_it() {
    for (hwsku, includes) in [("ACS-MSN2700", false), ("Arista-7050CX3-32S-C32", true)] {
        let mut files = three();
        let mut root: serde_json::Value = serde_json::from_str(&files[2].1).unwrap();
        root["DEVICE_METADATA"]["localhost"]["hwsku"] = hwsku.into();
        root["BUFFER_POOL"]["ingress_lossless_pool"]["xoff"] = "900000".into();
        files[2].1 = root.to_string();
        let (_place, said, code) = import(&files);
        assert_eq!(code, 0, "{said}");
        let note = "its size of 4000000 B includes its xoff of 900000 B, as SAI says";
        assert_eq!(said.contains(note), includes, "{hwsku}: {said}");
    }
}

/// Nothing is lossless, and CNPs have class 0: data has another one.
#[test]
fn data_does_not_take_the_class_of_cnps() {
    let mut root: serde_json::Value = serde_json::from_str(GOOD).unwrap();
    for map in root["DSCP_TO_TC_MAP"].as_object_mut().unwrap().values_mut() {
        map["48"] = "0".into();
    }
    for port in root["PORT_QOS_MAP"].as_object_mut().unwrap().values_mut() {
        port.as_object_mut().unwrap().remove("pfc_enable");
    }
    let (place, said, code) = import(&[("leaf0.json", root.to_string())]);
    assert_eq!(code, 0, "{said}");
    let text = fs::read_to_string(place.path().join("fabric.toml")).unwrap();
    assert!(text.contains("priority = 1\n"), "{text}");
}

/// SONiC's default is down; where no port says anything, all are up.
#[test]
fn a_port_without_admin_status_is_down_beside_others_with_one() {
    let mut root: serde_json::Value = serde_json::from_str(GOOD).unwrap();
    let down = "Ethernet4: the port is shut down";
    let own = root["PORT"]["Ethernet4"].as_object_mut().unwrap();
    own.remove("admin_status");
    let (_place, said, _) = import(&[("leaf0.json", root.to_string())]);
    assert!(said.contains(down), "{said}");
    for port in root["PORT"].as_object_mut().unwrap().values_mut() {
        port.as_object_mut().unwrap().remove("admin_status");
    }
    let (_place, said, _) = import(&[("leaf0.json", root.to_string())]);
    assert!(!said.contains(down), "{said}");
}
