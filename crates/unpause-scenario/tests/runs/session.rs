//! Scenarios that another program drives.

use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt8Type};
use unpause_protocols::units::Time;
use unpause_scenario::session::{Sending, Session, SessionOptions};
use unpause_scenario::{NoProgress, Options, Scenario, TABLES, execute};
use unpause_sim::session::What;

use crate::small::parsed;

const FABRIC: &str = r#"
duration = "10ms"
[topology]
builder = "single-switch"
hosts = 4
rate = "100Gbps"
delay = "1us"
[probes]
interval = "2us"
ports = ["*->*"]
causes = true
[pfc]
xoff = "20KB"
xon = "15KB"
[[scheme]]
name = "PFC"
"#;

fn open(text: &str) -> Session {
    Session::parse(text, Path::new("driven.toml"), &SessionOptions::default())
        .unwrap_or_else(|error| panic!("{}", error.explain()))
}

fn refused(text: &str, options: &SessionOptions) -> String {
    let refused = Session::parse(text, Path::new("driven.toml"), options);
    refused.expect_err("it is refused").explain()
}

fn sending(src: usize, dst: usize, bytes: u64) -> Sending {
    Sending {
        src,
        dst,
        bytes,
        tag: 0,
        connection: Some(0),
    }
}

/// Three hosts send to the fourth, which responds to each at once; returns the flows as a scenario lists them.
fn drive(session: &mut Session) -> String {
    let mut listed = String::new();
    let mut send = |session: &mut Session, src: usize, dst: usize, bytes| {
        let start = session.now().as_ps();
        session
            .send(sending(src, dst, bytes))
            .expect("it can be sent");
        let number = listed.matches("[[traffic]]").count();
        listed += &format!(
            "[[traffic]]\nname = \"{number}\"\nkind = \"flow\"\nfrom = \"H{src}\"\nto = \"H{dst}\"\n\
             size = \"{bytes}B\"\nstart = \"{start}ps\"\n"
        );
    };
    for src in 0..3 {
        send(session, src, 3, 200_000);
    }
    while let Some(completion) = session.advance(None).expect("it can be run") {
        if let What::Delivered(_, message) = completion.what
            && session.number(message.dst) == 3
        {
            send(session, 3, session.number(message.src), 30_000);
        }
    }
    listed
}

/// Every table is that of a scenario that lists the messages, but for the names of the entries.
#[test]
fn tables_are_those_of_the_same_flows() {
    let mut session = open(FABRIC);
    let listed = drive(&mut session);
    let outcome = session.finish(None).expect("it can be run");
    let tables = &outcome.tables;
    let ended = tables
        .runs
        .column_by_name("simulated_ns")
        .expect("a column");
    let ended = ended.as_primitive::<Float64Type>().value(0);
    // One path leads from host to host: the source port decides nothing.
    let text = FABRIC.replace("10ms", &format!("{ended}ns")) + &listed;
    let scenario = parsed(&text);
    let same = execute(&scenario, &Options::default(), &NoProgress).expect("it runs");
    for name in TABLES {
        let (a, b) = (tables.get(name).unwrap(), same.tables.get(name).unwrap());
        assert_eq!(a.schema(), b.schema());
        for (field, (a, b)) in a
            .schema()
            .fields()
            .iter()
            .zip(a.columns().iter().zip(b.columns()))
        {
            if field.name() != "traffic" {
                assert!(a == b, "{name}.{}", field.name());
            }
        }
    }
    assert!(tables.pauses.num_rows() > 0 && tables.port_series.num_rows() > 100);
    assert_eq!(tables.flows.num_rows(), 6);
}

/// A written session is a result like any other.
#[test]
fn results_can_be_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut session = open(FABRIC);
    drive(&mut session);
    let outcome = session.finish(Some(Time::from_ms(1))).expect("it runs");
    outcome.write(folder.path()).expect("it is written");
    let saved = unpause_scenario::Saved::load(folder.path()).expect("it is read");
    assert!(saved.tables.flows == outcome.tables.flows);
    let text = std::fs::read_to_string(folder.path().join("scenario.toml"));
    assert_eq!(text.expect("the scenario is there"), FABRIC);
}

#[test]
fn only_one_run_can_be_driven() {
    let two = format!("{FABRIC}[[scheme]]\nname = \"other\"\n");
    let said = refused(&two, &SessionOptions::default());
    assert!(
        said.contains("has 2 schemes") && said.contains("`PFC`, `other`"),
        "{said}"
    );
    let choose = |name: &str| SessionOptions {
        scheme: Some(name.to_owned()),
        ..SessionOptions::default()
    };
    let chosen = Session::parse(&two, Path::new("two.toml"), &choose("other"));
    assert!(chosen.is_ok());
    let said = refused(&two, &choose("others"));
    assert!(said.contains("no scheme `others`"), "{said}");
    let swept = format!("{FABRIC}[[sweep]]\nname = \"s\"\nkey = \"seed\"\nvalues = [1, 2]\n");
    let said = refused(&swept, &SessionOptions::default());
    assert!(said.contains("[[sweep]]"), "{said}");
}

#[test]
fn messages_need_a_name_and_a_priority_of_their_own() {
    let named = format!(
        "{FABRIC}[[traffic]]\nname = \"session\"\nkind = \"flow\"\nfrom = \"H0\"\nto = \"H1\"\n"
    );
    let said = refused(&named, &SessionOptions::default());
    assert!(said.contains("has the name `session`"), "{said}");
    let with = |priority| SessionOptions {
        priority: Some(priority),
        ..SessionOptions::default()
    };
    for (priority, why) in [(8, "priorities are 0 to 7"), (7, "carries control frames")] {
        let said = refused(FABRIC, &with(priority));
        assert!(said.contains(why), "{said}");
    }
    let mut session = Session::parse(FABRIC, Path::new("x.toml"), &with(1)).expect("it is free");
    session.send(sending(0, 1, 10)).expect("it goes");
    let outcome = session.finish(None).expect("it runs");
    let priority = outcome.tables.flows.column_by_name("priority");
    let priority = priority.expect("a column").as_primitive::<UInt8Type>();
    assert_eq!(priority.value(0), 1);
}

#[test]
fn what_cannot_be_sent_is_said_by_names() {
    let mut session = open(FABRIC);
    assert_eq!(
        session.hosts().collect::<Vec<_>>(),
        ["H0", "H1", "H2", "H3"]
    );
    assert_eq!((session.host("H2"), session.host("H9")), (Some(2), None));
    let mut said = |it| session.send(it).expect_err("it is refused").to_string();
    assert!(said(sending(0, 4, 1)).contains("no host 4"));
    assert!(said(sending(2, 2, 1)).contains("H2 cannot send to itself"));
    assert!(said(sending(0, 1, 0)).contains("at least 1 byte"));
}

/// Without a driver, such a file has nothing to do.
#[test]
fn a_scenario_that_nobody_drives_needs_traffic() {
    let error = Scenario::parse(FABRIC, Path::new("x.toml")).expect_err("no traffic");
    assert!(error.explain().contains("no traffic"));
}
