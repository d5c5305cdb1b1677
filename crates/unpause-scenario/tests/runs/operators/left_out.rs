//! Settings that `unpause import sonic` does not carry over are named, and nothing replaces them.

use unpause_sonic::ConfigDb;

use crate::operators::sonic::{Change, import, parsed, text};

/// The lines of what these changes leave out.
fn left_out(changes: &[Change]) -> String {
    let imported = import(changes).unwrap_or_else(|error| panic!("{error}"));
    imported.left_out.join("\n")
}

/// The rules of lint that are about curves.
fn of_curves(db: &ConfigDb) -> Vec<&'static str> {
    let rules = unpause_sonic::lint(db, &|_| Vec::new());
    let rules = rules.into_iter().map(|it| it.rule);
    rules
        .filter(|it| it.starts_with("wred-") && *it != "wred-late")
        .collect()
}

/// A scheme marks exactly where lint finds that the curve marks.
#[test]
fn a_curve_that_marks_no_green_packets_is_no_scheme() {
    let from = "\"ecn\": \"ecn_all\", \"wred_green_enable\": \"true\"";
    for (ecn, green, marks) in [
        ("ecn_all", "true", true),
        ("ecn_green_red", "true", true),
        ("ecn_yellow", "true", false),
        ("ecn_none", "true", false),
        ("ecn_all", "false", false),
    ] {
        let to = format!(
            "\"ecn\": \"{ecn}\", \"wred_green_enable\": \"{green}\", \"wred_yellow_enable\": \"true\""
        );
        let changes = [("*", from, to.as_str())];
        let whole = text(&changes);
        assert_eq!(
            whole.contains("marking = \"wred\""),
            marks,
            "{ecn} {green}:\n{whole}"
        );
        let said = left_out(&changes).contains("leaf0: WRED_PROFILE AZURE_LOSSLESS: it ");
        assert_eq!(said, !marks, "{ecn} {green}");
        let rules = of_curves(&parsed(&changes)[0]);
        assert_eq!(rules.is_empty(), marks, "{ecn} {green}: {rules:?}");
    }
}

/// A cable with one end shut down carries nothing: of two cables one is left.
#[test]
fn a_link_is_down_if_one_of_its_ends_is() {
    let down = |file, port: &str| {
        let from = format!("\"{port}\": {{\"speed\": \"100000\"");
        let to = format!("{from}, \"admin_status\": \"down\"");
        let changes = [(file, from.as_str(), to.as_str())];
        let whole = text(&changes);
        let both = whole.matches("parallel = 2").count();
        assert_eq!(both, 1, "{whole}");
        left_out(&changes)
    };
    assert_eq!(text(&[]).matches("parallel = 2").count(), 2);
    let said = down("leaf0.json", "Ethernet8");
    assert!(
        said.contains("leaf0: Ethernet8 to spine0: the port is shut down"),
        "{said}"
    );
    assert!(
        said.contains("spine0: Ethernet0 to leaf0: its port Ethernet8 is shut down"),
        "{said}"
    );
    let said = down("spine0.json", "Ethernet0");
    assert!(
        said.contains("leaf0: Ethernet8 to spine0: its port Ethernet0 is shut down"),
        "{said}"
    );
}

#[test]
fn a_watchdog_without_lossless_priorities_is_left_out() {
    let changes = [("*", "\"pfc_enable\": \"3\"", "\"pfc_enable\": \"\"")];
    let whole = text(&changes);
    assert!(!whole.contains("[switch.watchdog]"), "{whole}");
    let said = left_out(&changes);
    assert!(
        said.contains("PFC_WD of leaf0 Ethernet0: no priority is lossless"),
        "{said}"
    );
    crate::small::parsed(&whole);
}

#[test]
fn a_curve_that_falls_is_refused_where_it_stands() {
    let error = import(&[(
        "leaf1.json",
        "\"green_min_threshold\": \"100000\"",
        "\"green_min_threshold\": \"400001\"",
    )])
    .unwrap_err();
    let found = "green_min_threshold of 400,001 B above green_max_threshold of 400,000 B";
    assert!(error.contains(found), "{error}");
    assert!(error.contains("leaf1.json:"), "{error}");
}

/// Only with these changes of leaf0 a line begins so.
fn named(changes: &[(&str, &str)], line: &str) {
    let own: Vec<Change> = changes
        .iter()
        .map(|(from, to)| ("leaf0.json", *from, *to))
        .collect();
    let begins = |said: String| said.lines().any(|it| it.starts_with(line));
    assert!(!begins(left_out(&[])), "{line}");
    assert!(begins(left_out(&own)), "{line}:\n{}", left_out(&own));
}

const GROUPS: &str = "\"BUFFER_PG\": {";
const PROFILES: &str = "\"BUFFER_PROFILE\": {";

/// Each setting of buffers and ports that has no counterpart, and the line that names it.
#[test]
fn settings_without_a_counterpart_are_named() {
    let asym = "\"Ethernet0\": {\"pfc_asym\": \"on\", \"speed\"";
    let line = "leaf0: PORT pfc_asym on of Ethernet0: ";
    named(&[("\"Ethernet0\": {\"speed\"", asym)], line);
    let own = format!(
        "{PROFILES}\"own\": {{\"pool\": \"ingress_lossless_pool\", \"size\": \"777\", \"dynamic_th\": \"3\"}}, "
    );
    let group = format!("{GROUPS}\"Ethernet0|0\": {{\"profile\": \"own\"}}, ");
    let line = "leaf0: BUFFER_PROFILE own: a limit of lossy groups";
    named(&[(PROFILES, &own), (GROUPS, &group)], line);
    let queue =
        format!("\"BUFFER_QUEUE\": {{\"Ethernet0|8\": {{\"profile\": \"own\"}}}}, {GROUPS}");
    for line in [
        "leaf0: BUFFER_PROFILE own: size 777 B: no memory is reserved for a queue",
        "leaf0: QUEUE, BUFFER_QUEUE of queues above 7",
    ] {
        named(&[(PROFILES, &own), (GROUPS, &queue)], line);
    }
    let chassis =
        format!("\"BUFFER_QUEUE\": {{\"x|Asic0|Ethernet0|3\": {{\"profile\": \"x\"}}}}, {GROUPS}");
    let line = "leaf0: the key of BUFFER_QUEUE names a host or an ASIC other than this switch's";
    named(&[(GROUPS, &chassis)], line);
    let channels = format!("\"PORTCHANNEL\": {{}}, \"PORTCHANNEL_MEMBER\": {{}}, {GROUPS}");
    let line = "leaf0: PORTCHANNEL, PORTCHANNEL_MEMBER: each member is a link of its own here";
    named(&[(GROUPS, &channels)], line);
}

/// A curve of another colour is named if anything of it differs from the green one.
#[test]
fn curves_of_other_colours_are_named() {
    let green = "\"green_drop_probability\": \"20\"";
    let yellow = |name: &str, value: u64| format!("{green}, \"yellow_{name}\": \"{value}\"");
    for (name, same) in [
        ("min_threshold", 100_000),
        ("max_threshold", 400_000),
        ("drop_probability", 20),
    ] {
        let line = "leaf0: WRED_PROFILE AZURE_LOSSLESS: the curve of yellow packets";
        named(&[(green, &yellow(name, same + 1))], line);
        let same = yellow(name, same);
        assert!(!left_out(&[("leaf0.json", green, &same)]).contains("yellow"));
    }
}

#[test]
fn cnps_of_a_class_that_differs_or_is_lossless_are_said() {
    let lossless = left_out(&[("*", "\"48\": \"6\"", "\"48\": \"3\"")]);
    assert!(
        lossless.contains("DSCP_TO_TC_MAP 48 (CNPs): class 3, which is lossless"),
        "{lossless}"
    );
    let differ = left_out(&[("leaf1.json", "\"48\": \"6\"", "\"48\": \"5\"")]);
    assert!(
        differ
            .contains("not the same class everywhere (5 at leaf1 Ethernet0, 6 at leaf0 Ethernet0)"),
        "{differ}"
    );
    assert!(!left_out(&[]).contains("(CNPs)"));
}

/// A word distinguishes strict queues from weights.
#[test]
fn schedulers_that_differ_are_told_in_words() {
    let imported = import(&[
        ("leaf1.json", "\"weight\": \"14\"", "\"weight\": \"20\""),
        ("*", "|6\": {\"scheduler\"", "|5-6\": {\"scheduler\""),
    ]);
    let listed = imported.map(|it| it.left_out.join("\n")).unwrap();
    let found = "leaf1 Ethernet0: the scheduler 0 = 20, 1 = 20, 2 = 20, 3 = 20, strict 5 (leaf1.json, line ";
    assert!(listed.contains(found), "{listed}");
}

/// Memory counts one group a port with a dynamic threshold, and each group with a fixed one; the comment says which.
#[test]
fn the_comment_of_the_memory_says_what_is_in_it() {
    let of = |changes: &[Change]| {
        let whole = text(changes);
        let line = whole.lines().find(|line| line.starts_with("buffer = "));
        line.unwrap().to_owned()
    };
    assert!(
        of(&[]).ends_with("# BUFFER_POOL size, with size and xoff of one lossless group a port")
    );
    let fixed = [("*", "\"dynamic_th\": \"-3\"", "\"static_th\": \"60000\"")];
    assert!(of(&fixed).ends_with("# BUFFER_POOL size, with size and xoff of each lossless group"));
}
