//! `import hpcc` of files as the simulators derived from HPCC's write them.

use std::fs;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt16Type;
use tempfile::TempDir;
use unpause_import::hpcc_config::{self, Imported, Wish};
use unpause_scenario::{NoProgress, Options, Scenario, execute};

const CONFIG: &str = "TOPOLOGY_FILE star.txt
FLOW_FILE four.txt
SIMULATOR_STOP_TIME 0.02
CC_MODE 1
PACKET_PAYLOAD_SIZE 1000
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
RP_TIMER 300
FAST_RECOVERY_TIMES 1
EWMA_GAIN 0.00390625
RATE_AI 40Mb/s
RATE_HAI 80Mb/s
MIN_RATE 100Mb/s
L2_ACK_INTERVAL 1
KMAX_MAP 2 50000000000 400 100000000000 800
KMIN_MAP 2 50000000000 100 100000000000 200
PMAX_MAP 2 50000000000 0.2 100000000000 0.2
BUFFER_SIZE 12
";
const STAR: &str = "4 1 3
3
0 3 50Gbps 0.003ms 0
1 3 50Gbps 0.003ms 0
2 3 50Gbps 0.003ms 0
";
const FLOWS: &str = "2
0 2 3 200 30000 0.001
1 2 3 200 30000 0.001
";

fn folder(config: &str, topology: &str, flows: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("config.txt", config),
        ("star.txt", topology),
        ("four.txt", flows),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// The configuration with `from` replaced by `to`, imported and read as a scenario; of an error, what it says without
/// the folder.
fn import_of(config: &str, topology: &str, flows: &str) -> Result<Imported, String> {
    let folder = folder(config, topology, flows);
    let said = |error: unpause_import::FileError| {
        error
            .to_string()
            .replace(&format!("{}/", folder.path().display()), "")
    };
    let path = folder.path().join("config.txt");
    let imported = hpcc_config::import(&path, folder.path(), Wish::default()).map_err(said)?;
    Scenario::of_import(&imported, &folder.path().join("run.toml")).map_err(said)?;
    Ok(imported)
}

fn import(from: &str, to: &str) -> Result<Imported, String> {
    assert!(CONFIG.contains(from));
    import_of(&CONFIG.replacen(from, to, 1), STAR, FLOWS)
}

/// Checks how a configuration is translated: a line of the scenario, and a sentence about it.
fn accepted(from: &str, to: &str, line: &str, sentence: &str) {
    let imported = import(from, to).unwrap();
    let says = |text: &str| imported.text.lines().any(|it| it.starts_with(text));
    assert!(says(line), "{line}: {}", imported.text);
    let told = [imported.notes, imported.left_out].concat().join("\n");
    assert!(told.contains(sentence), "{sentence}: {told}");
}

fn refused(from: &str, to: &str, place: &str, why: &[&str]) {
    let error = import(from, to).unwrap_err();
    assert!(
        error.starts_with(&format!("config.txt:{place}: found ")),
        "{place}: {error}"
    );
    for why in why {
        assert!(error.contains(why), "{why}: {error}");
    }
}

#[test]
fn numbers_are_read_as_a_stream_reads_them() {
    accepted("SIZE 12", "SIZE 12.0", "buffer = \"12MiB\"", "");
    let half = "0.5 MiB, as in forks that read a point; HPCC's simulator reads 0";
    accepted("SIZE 12", "SIZE 0.5", "buffer = \"524288B\"", half);
    refused("SIZE 12", "SIZE 0", "18:13", &["automatic"]);
    refused("SIZE 12", "SIZE x", "18:13", &["`x`", "BUFFER_SIZE"]);
    let large = "more than a switch chip has";
    accepted("SIZE 12", "SIZE 900", "buffer = \"900MiB\"", large);
    let read = "QLEN_MON_END: `0.01` is read as 0";
    accepted(
        "SIZE 12",
        "SIZE 12 QLEN_MON_START 0.001 QLEN_MON_END 0.01",
        "buffer",
        read,
    );
    accepted(
        "RATE_AI 40Mb/s",
        "RATE_AI 0Mb/s",
        "rate_ai = \"1bps\"",
        "RATE_AI: a rate of 0",
    );
    refused("RATE_AI 40Mb/s", "RATE_AI x", "11:9", &["a rate such as"]);
    let gain = "EWMA_GAIN: it is not set";
    accepted("EWMA_GAIN 0.00390625", "", "g = \"1/2147483648\"", gain);
    let config = CONFIG
        .replace("CC_MODE 1", "CC_MODE 3")
        .replace("L2_ACK", "INT_MULTI 4.0 L2_ACK");
    let imported = import_of(&config, STAR, FLOWS).unwrap();
    assert!(
        imported.text.contains("tx_unit = \"512B\""),
        "{}",
        imported.text
    );
    let marked = import_of(&format!("\u{feff}{CONFIG}"), STAR, FLOWS).unwrap();
    assert!(marked.text.contains("dcqcn"));
}

/// ConWeave's runs of LetFlow, and of IRN without PFC.
#[test]
fn letflow_and_irn_are_imported() {
    let letflow = "SIZE 12\nENABLE_PFC 1\nENABLE_IRN 0\nLB_MODE 6";
    accepted("SIZE 12", letflow, "balancing = \"flowlet\"", "");
    let irn = "SIZE 12\nENABLE_PFC 0\nENABLE_IRN 1\nLB_MODE 0";
    let repairs = "loss_recovery = \"selective-repeat\"";
    accepted("SIZE 12", irn, repairs, "BDP of the longest path");
    accepted("SIZE 12", irn, "lossless = []", "ENABLE_PFC 0");
    let imported = import("SIZE 12", irn).unwrap();
    assert!(!imported.text.contains("[pfc]"), "{}", imported.text);
}

#[test]
fn keys_of_forks_are_done_or_refused() {
    let lossy = "SIZE 12\nENABLE_PFC 0\nENABLE_IRN 0\nLB_MODE 9";
    let names = [
        "ENABLE_PFC 0 (line 19)",
        "LB_MODE 9 (line 21)",
        "LetFlow (6), but not DRILL (2), CONGA (3) and ConWeave (9)",
        "ENABLE_IRN 1",
    ];
    refused("SIZE 12", lossy, "19:12", &names);
    let same = "SIZE 12\nENABLE_PFC 1\nENABLE_IRN 0\nLB_MODE 0";
    accepted(
        "SIZE 12",
        same,
        "lossless = [3]",
        "ENABLE_PFC 1 (of ConWeave, TLT, saberfeng): as here",
    );
    for other in [2, 3, 9] {
        let config = format!("SIZE 12\nLB_MODE {other}");
        refused("SIZE 12", &config, "19:9", &["not here"]);
    }
    refused(
        "SIZE 12",
        "SIZE 12\nNO_CC_NODE 2 0 1",
        "19:12",
        &["Hawkeye", "controlled = false"],
    );
    let hawkeye = "SIZE 1000\nEPOCH_TIME 1000";
    accepted(
        "SIZE 12",
        hawkeye,
        "buffer = \"1000KiB\"",
        "KiB, as in Hawkeye",
    );
    refused(
        "SIZE 12",
        "SIZE 12\nHPCC_WORKLOAD x.txt",
        "19:15",
        &["TLT", "draws the flows"],
    );
    refused("CC_MODE 1", "CC_MODE 15", "4:9", &["srnic"]);
    accepted("CC_MODE 1", "CC_MODE 12", "name = \"PFC\"", "");
    for (key, value) in [
        ("LINK_DOWN", "5 0 1"),
        ("ERROR_RATE_PER_LINK", "1.1"),
        ("RATE_BOUND", "0"),
    ] {
        let place = format!("19:{}", key.len() + 2);
        refused(
            "SIZE 12",
            &format!("SIZE 12\n{key} {value}"),
            &place,
            &[key],
        );
    }
    let unknown = "SIZE 12\nENABLE_OURS 1";
    refused("SIZE 12", unknown, "19:13", &["a fork not known here"]);
    let off = "SIZE 12\nENABLE_OURS 0\nENABLE_QP_TRACE 1";
    accepted("SIZE 12", off, "buffer", "ENABLE_OURS 0 (of a fork");
    let pull = "SIZE 12\nRX_PULL_MODE_NODE 2 0";
    refused("SIZE 12", pull, "19:19", &["HPCC-Plus", "[slow_receiver]"]);
    let unknown = "SIZE 12\nMY_OWN_KEY 1";
    accepted(
        "SIZE 12",
        unknown,
        "buffer",
        "MY_OWN_KEY: not a key of HPCC's simulator, nor of the forks known here",
    );
}

/// `LINK_DOWN` counts from 2 s on.
#[test]
fn a_link_that_fails_becomes_an_event() {
    let late = "SIZE 12\nLINK_DOWN 5 0 3";
    accepted(
        "SIZE 12",
        late,
        "buffer",
        "LINK_DOWN: the link would fail at 2.000005s",
    );
    let stop = "SIMULATOR_STOP_TIME 0.02";
    let longer = "SIMULATOR_STOP_TIME 2.02\nLINK_DOWN 5 3 1";
    for line in [
        "detection = \"0s\"",
        "[[event]]",
        "at = \"2.000005s\"",
        "kind = \"down\"",
    ] {
        accepted(stop, longer, line, "");
    }
}

/// Links lose packets by `ERROR_RATE_PER_LINK`, but for those of which the topology file says another rate.
#[test]
fn error_rates_become_events() {
    let all = "SIZE 12\nERROR_RATE_PER_LINK 0.001";
    for line in ["kind = \"error-rate\"", "link = \"all\"", "loss = 0.001"] {
        accepted("SIZE 12", all, line, "");
    }
    let star = STAR.replacen(" 0\n", " 0.25\n", 1);
    assert_ne!(star, STAR);
    let both = import_of(&CONFIG.replace("SIZE 12", all), &star, FLOWS).unwrap();
    let events: Vec<&str> = both
        .text
        .lines()
        .filter(|line| line.starts_with("loss = "))
        .map(|line| line.split('#').next().unwrap().trim())
        .collect();
    assert_eq!(events, ["loss = 0.001", "loss = 0.25"]);
    let own = import_of(CONFIG, &star, FLOWS).unwrap();
    assert!(!own.text.contains("[[event]]"), "{}", own.text);
}

#[test]
fn a_run_lasts_as_long_as_its_flows_need() {
    let stop = "SIMULATOR_STOP_TIME 0.02";
    let grown = "FLOWGEN_START_TIME 0.001 FLOWGEN_STOP_TIME 0.004";
    accepted(stop, grown, "duration = \"10.004s\"", "FLOWGEN_STOP_TIME");
    accepted(stop, "", "duration = \"3.01s\"", "no SIMULATOR_STOP_TIME");
    accepted(
        stop,
        "SIMULATOR_STOP_TIME 40000000000000.00",
        "duration = \"10.001s\"",
        "no end",
    );
    let late = FLOWS.replace("0.001", "2");
    let told = import_of(CONFIG, STAR, &late).unwrap().notes.join("\n");
    assert!(told.contains("2 of 2 flows start later"), "{told}");
    let imported = import_of(
        &CONFIG.replace(stop, ""),
        STAR,
        &late.replace(" 2\n", " 5\n"),
    )
    .unwrap();
    assert!(
        imported.text.contains("duration = \"15s\""),
        "{}",
        imported.text
    );
}

#[test]
fn files_are_found_in_every_folder_above() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("work/runs/7");
    fs::create_dir_all(&runs).unwrap();
    fs::create_dir_all(folder.path().join("work/nets")).unwrap();
    fs::write(folder.path().join("work/nets/star.txt"), STAR).unwrap();
    fs::write(folder.path().join("work/nets/four.txt"), FLOWS).unwrap();
    let config = CONFIG.replace("_FILE ", "_FILE nets/");
    fs::write(runs.join("config.txt"), &config).unwrap();
    let import = |wish| hpcc_config::import(&runs.join("config.txt"), folder.path(), wish);
    let text = import(Wish::default()).unwrap().text;
    assert!(text.contains("file = \"work/nets/star.txt\""), "{text}");
    let far = folder.path().join("far");
    fs::rename(folder.path().join("work/nets"), folder.path().join("nets")).unwrap();
    fs::create_dir(&far).unwrap();
    fs::rename(folder.path().join("nets"), far.join("nets")).unwrap();
    let error = import(Wish::default()).unwrap_err().to_string();
    assert!(
        error.contains("config.txt:1:15: found TOPOLOGY_FILE nets/star.txt"),
        "{error}"
    );
    for tried in [&runs, folder.path(), Path::new("--base")] {
        assert!(error.contains(&tried.display().to_string()), "{error}");
    }
    let base = Wish {
        base: Some(&far),
        ..Wish::default()
    };
    assert!(import(base).is_ok());
}

#[test]
fn headroom_beyond_the_buffer_is_refused_where_the_buffer_is_said() {
    let far = STAR.replace("2 3 50Gbps 0.003ms", "2 3 50Gbps 2ms");
    let error = import_of(CONFIG, &far, FLOWS).unwrap_err();
    assert!(
        error.starts_with("config.txt:18:13: found a buffer of 12582912 B"),
        "{error}"
    );
    assert!(
        error.contains("37624788 B") && error.contains("wraps"),
        "{error}"
    );
}

#[test]
fn mistakes_of_the_generated_scenario_are_told_at_the_configuration() {
    refused(
        "PACKET_PAYLOAD_SIZE 1000",
        "PACKET_PAYLOAD_SIZE 0",
        "5:21",
        &[],
    );
}

#[test]
fn what_is_read_is_told() {
    let topology = STAR.replace("4 1 3\n", "4 1 1 3\n");
    let flows = FLOWS.replace("0.001\n1", "0.001\n0 2 3 200 0 0.001\n1");
    let told = import_of(CONFIG, &topology, &flows)
        .unwrap()
        .notes
        .join("\n");
    for part in [
        "star.txt: hosts: 3, switches: 1, links: 3; header of four numbers",
        "1 flow of 0 bytes",
        "1 line like flows after the 2",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let noisy = STAR.replacen("0.003ms 0\n", "0.003ms 1.5\n", 1);
    let error = import_of(CONFIG, &noisy, FLOWS).unwrap_err();
    assert!(error.starts_with("star.txt:3:20: found `1.5`"), "{error}");
}

#[test]
fn a_host_without_a_link_takes_no_part_in_a_run() {
    // The last node, and one between.
    for (topology, node) in [
        (STAR.replace("4 1 3", "5 1 3"), "H4"),
        (
            "5 1 3\n4\n0 4 50Gbps 3us 0\n1 4 50Gbps 3us 0\n2 4 50Gbps 3us 0\n".into(),
            "H3",
        ),
    ] {
        let folder = folder(CONFIG, &topology, FLOWS);
        let path = folder.path().join("config.txt");
        let imported = hpcc_config::import(&path, folder.path(), Wish::default()).unwrap();
        let told = imported.notes.join("\n");
        assert!(told.contains("hosts: 3, switches: 1, links: 3"), "{told}");
        assert!(told.contains(&format!("{node} has no link")), "{told}");
        let scenario = Scenario::of_import(&imported, &folder.path().join("run.toml")).unwrap();
        let outcome = execute(&scenario, &Options::default(), &NoProgress).unwrap();
        outcome.write(&folder.path().join("result")).unwrap();
        let done = fs::read_to_string(folder.path().join("result/hpcc/fct.txt")).unwrap();
        assert_eq!(done.lines().count(), 2, "{done}");
        let flows = FLOWS.replace("1 2 3 200", &format!("{} 2 3 200", &node[1..]));
        let error = import_of(CONFIG, &topology, &flows).unwrap_err();
        assert!(error.contains("a node without a link"), "{error}");
    }
}

/// As in HPCC's own topology of 320 hosts, each host has a NIC at each of two switches; queue pairs choose by hash.
#[test]
fn hosts_with_two_nics_use_both() {
    let mut dual = String::from("6 2 8\n4 5\n");
    for host in 0..4 {
        dual += &format!("{host} 4 25Gbps 0.001ms 0\n{host} 5 25Gbps 0.001ms 0\n");
    }
    let mut flows = String::from("32\n");
    for number in 0..32 {
        flows += &format!("0 3 3 {} 20000 0.001\n", 100 + number);
    }
    let config = CONFIG.replace("2 50000000000 400 100000000000 800", "1 25000000000 400");
    let config = config.replace("2 50000000000 100 100000000000 200", "1 25000000000 100");
    let config = config.replace("2 50000000000 0.2 100000000000 0.2", "1 25000000000 0.2");
    let folder = folder(&config, &dual, &flows);
    let path = folder.path().join("config.txt");
    let imported = hpcc_config::import(&path, folder.path(), Wish::default()).unwrap();
    let scenario = Scenario::of_import(&imported, &folder.path().join("run.toml")).unwrap();
    let outcome = execute(&scenario, &Options::default(), &NoProgress).unwrap();
    // Ports that have sent anything have rows.
    let ports = &outcome.tables.ports;
    let nodes = ports.column_by_name("node").unwrap().as_string::<i32>();
    let numbers = ports.column_by_name("port").unwrap();
    let numbers = numbers.as_primitive::<UInt16Type>();
    let has = |host: &str, port: u16| {
        (0..ports.num_rows()).any(|row| nodes.value(row) == host && numbers.value(row) == port)
    };
    for (host, port) in [("H0", 0), ("H0", 1), ("H3", 0), ("H3", 1)] {
        assert!(has(host, port), "{host} sends by its NIC {port}");
    }
    let unfinished = outcome
        .tables
        .flows
        .column_by_name("fct_ns")
        .unwrap()
        .null_count();
    assert_eq!(unfinished, 0);
}
