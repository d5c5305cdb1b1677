//! The values that `unpause suggest` prints, in a scenario of the link that they are for: nothing lossless is lost, and
//! thresholds act.

use std::path::Path;
use std::process::Command;

use unpause_protocols::flow_control::pfc::reaction_time;
use unpause_protocols::units::Rate;
use unpause_scenario::{NoProgress, Options, Outcome, Scenario, execute};

/// The output of `unpause suggest` with these words.
fn suggest(directory: &Path, line: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_unpause"))
        .arg("suggest")
        .args(line.split(' '))
        .current_dir(directory)
        .env("NO_COLOR", "1")
        .output()
        .expect("the program runs");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(output.status.success(), "{line}\n{said}");
    said
}

/// Links of different rates, lengths and frames, and how long a peer takes to obey if that is not the standard's.
const LINKS: [(u64, u64, u64, Option<u64>); 12] = [
    (10, 1, 1_500, None),
    (10, 300, 9_216, Some(1)),
    (25, 100, 4_096, None),
    (40, 5, 1_518, Some(3_000)),
    (40, 2_000, 256, None),
    (50, 40, 9_100, None),
    (100, 1, 1_500, Some(1)),
    (100, 300, 9_216, None),
    (100, 10_000, 4_200, Some(500)),
    (200, 40, 1_100, None),
    (400, 100, 9_216, None),
    (800, 40, 4_200, None),
];

/// Two incasts over one switch, in each priority, over such links.
struct Incasts {
    gbps: u64,
    metres: u64,
    frame: u64,
    reaction_ns: Option<u64>,
    hosts: u64,
    priorities: u64,
}

impl Incasts {
    /// Losses of frames with these tables of switches.
    fn lost(&self, switch: &str, pfc: &str) -> Vec<String> {
        let Self {
            gbps,
            metres,
            frame,
            hosts,
            ..
        } = self;
        let reaction = match self.reaction_ns {
            Some(ns) => format!("{ns}ns"),
            None => reaction_time(Rate::from_gbps(*gbps)).to_string(),
        };
        let priorities = 1..=self.priorities;
        let lossless: Vec<String> = priorities.clone().map(|it| it.to_string()).collect();
        let traffic = |priority: u64| {
            format!(
                "[[traffic]]\nname = \"to{priority}\"\nkind = \"flow\"\nfrom = \"H1..H{last}\"\nto = \"H0\"\npriority = {priority}\n\
                 [[traffic]]\nname = \"back{priority}\"\nkind = \"flow\"\nfrom = [\"H0\", \"H2..H{last}\"]\nto = \"H1\"\npriority = {priority}\n",
                last = hosts - 1
            )
        };
        // Long enough for every ingress to be stopped many times.
        let micros = (30_000_000 / gbps / 100 + 60 * metres / 10).clamp(400, 60_000);
        let text = format!(
            "duration = \"{micros}us\"\n[topology]\nbuilder = \"single-switch\"\nhosts = {hosts}\nrate = \"{gbps}Gbps\"\ndelay = \"{}ns\"\n\
             [host]\npayload = \"{}B\"\n[switch]\nlossless = [{}]\n{switch}\n[pfc]\nreaction = \"{reaction}\"\n{pfc}\n\
             [[scheme]]\nname = \"PFC\"\n{}",
            5 * metres,
            frame - 48,
            lossless.join(", "),
            priorities.map(traffic).collect::<String>()
        );
        let outcome = run(&text);
        assert!(pauses(&outcome) > 0, "PFC is tried: {text}");
        let lost = outcome.warnings.into_iter();
        let lost = lost.filter(|it| it.kind.ends_with("-drops"));
        lost.map(|it| it.message).collect()
    }
}

fn run(text: &str) -> Outcome {
    let scenario = Scenario::parse(text, Path::new("it.toml"));
    let scenario = scenario.unwrap_or_else(|error| panic!("{}", error.explain()));
    execute(&scenario, &Options::default(), &NoProgress).expect("it runs")
}

/// A total of each run.
fn totals(outcome: &Outcome, column: &str) -> Vec<u64> {
    let mut csv = Vec::new();
    let runs = outcome.tables.get("runs").expect("the table of runs");
    unpause_scenario::write_csv(runs, &mut csv).expect("memory takes it");
    let csv = String::from_utf8(csv).expect("CSV is text");
    let mut lines = csv.lines();
    let mut names = lines.next().unwrap_or_default().split(',');
    let place = names.position(|name| name == column).expect("the column");
    let of = |line: &str| line.split(',').nth(place).and_then(|it| it.parse().ok());
    lines.map(|line| of(line).expect("a number")).collect()
}

fn pauses(outcome: &Outcome) -> u64 {
    totals(outcome, "pause_frames").iter().sum()
}

/// The value after a name, as in `xoff = "123B"`.
fn value<'a>(text: &'a str, name: &str) -> &'a str {
    let quoted = text.split_once(&format!("{name} = \""));
    let (_, rest) = quoted.unwrap_or_else(|| panic!("{name} in {text}"));
    rest.split('"').next().expect("it ends")
}

fn options(
    (gbps, metres, frame, reaction): (u64, u64, u64, Option<u64>),
    with_response: bool,
) -> String {
    let response = match reaction {
        Some(ns) if with_response => format!(" --peer-response {ns}ns"),
        _ => String::new(),
    };
    format!("--rate {gbps}Gbps --cable {metres}m --mtu {frame}{response}")
}

#[test]
fn the_headroom_of_each_profile_loses_nothing() {
    let place = tempfile::tempdir().unwrap();
    for link in LINKS {
        let (gbps, metres, frame, reaction_ns) = link;
        let own = options(link, true);
        let mut lines = vec![
            format!("headroom {own}"),
            format!("headroom {own} --mac-phy 0B"),
            format!("headroom {own} --mac-phy 0B --cell 208"),
        ];
        // Its own speed of light is that of a short cable, and the response is the standard's.
        if reaction_ns.is_none() {
            lines.push(format!("headroom {} --profile mlx5", options(link, false)));
            lines.push(format!(
                "headroom {} --profile sonic-mellanox --lossless-mtu {frame}",
                options(link, false)
            ));
        }
        for line in lines {
            let said = suggest(place.path(), &line);
            let (_, rest) = said.split_once("headroom: ").expect("a headroom");
            let headroom = rest.split(',').next().expect("bytes");
            let incasts = Incasts {
                gbps,
                metres,
                frame,
                reaction_ns,
                hosts: 4,
                priorities: 1,
            };
            let xoff = 6 * frame + 20_000;
            let pfc = format!("headroom = \"{headroom}\"\nxoff = \"{xoff}B\"");
            assert_eq!(incasts.lost("", &pfc), [""; 0], "{line}");
        }
    }
}

#[test]
fn the_thresholds_of_a_switch_lose_nothing() {
    let place = tempfile::tempdir().unwrap();
    for (number, link) in LINKS.into_iter().enumerate() {
        let (gbps, metres, frame, reaction_ns) = link;
        let hosts = [4, 6, 9][number % 3];
        let priorities = [1, 2, 3][number / 2 % 3];
        let in_flight = 4 * 5 * metres * gbps / 8;
        let least = in_flight + 60_000 * gbps / 40 + 6 * frame + 20_000;
        for (more, part) in [("", 1), (" --mac-phy 0B", 1), (" --mac-phy 0B", 3)] {
            let buffer = hosts * priorities * (least + part * 50_000);
            let line = format!(
                "pfc {}{more} --buffer {buffer}B --ports {hosts} --priorities {priorities}",
                options(link, true)
            );
            let said = suggest(place.path(), &line);
            let (_, said) = said.split_once("In a scenario: ").expect("the keys");
            let incasts = Incasts {
                gbps,
                metres,
                frame,
                reaction_ns,
                hosts,
                priorities,
            };
            let of = |name| value(said, name);
            let switch = format!("buffer = \"{}\"", of("buffer"));
            let pfc = format!(
                "headroom = \"{}\"\nxoff = \"{}\"\nxon = \"{}\"",
                of("headroom"),
                of("xoff"),
                of("xon")
            );
            assert_eq!(incasts.lost(&switch, &pfc), [""; 0], "{line}");
        }
    }
}

/// Each scheme of the scenario that a command writes, and what it counts.
fn of_written(line: &str, duration: &str, column: &str) -> Vec<(String, u64)> {
    let place = tempfile::tempdir().unwrap();
    suggest(place.path(), &format!("{line} --write it.toml"));
    let path = place.path().join("it.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let old = value(&text, "duration");
    let text = text.replace(
        &format!("duration = \"{old}\""),
        &format!("duration = \"{duration}\""),
    );
    let outcome = run(&text);
    let names = text.split("[[scheme]]\nname = \"").skip(1);
    let names = names.map(|it| it.split('"').next().expect("a name").to_owned());
    let names: Vec<String> = names.collect();
    let totals = totals(&outcome, column);
    // With several seeds a scheme has several runs.
    let each = totals.chunks(totals.len() / names.len());
    names
        .into_iter()
        .zip(each.map(|it| it.iter().sum()))
        .collect()
}

#[test]
fn each_suggested_ecn_threshold_marks() {
    for line in [
        "ecn --rate 10Gbps --rtt 0:80us,50:120us,90:220us,100:240us --fabric n-to-1",
        "ecn --rate 25Gbps --rtt 0:20us,50:40us,90:60us,100:80us --fabric n-to-1 --lambda 0.17",
        "ecn --rate 100Gbps --rtt 0:10us,50:14us,90:20us,100:30us --fabric n-to-1",
    ] {
        let marked = of_written(line, "30ms", "marked_packets");
        assert_eq!(marked.len(), 5, "{marked:?}");
        assert!(marked.iter().all(|(_, marked)| *marked > 0), "{marked:?}");
    }
}

/// The bystander waits less for PAUSE, or not at all, under what is suggested.
#[test]
fn the_suggested_rates_and_thresholds_mark_and_lose_nothing() {
    for line in [
        "dcqcn --rate 10Gbps",
        "dcqcn --rate 100Gbps",
        "dcqcn --rate 400Gbps",
        "pcn --rate 40Gbps --rtt 30us --flows 16",
        "pcn --rate 100Gbps --rtt 20us --flows 8",
    ] {
        let marked = of_written(line, "2ms", "marked_packets");
        let lost = of_written(line, "2ms", "dropped_packets");
        assert!(lost.iter().all(|(_, lost)| *lost == 0), "{line}: {lost:?}");
        let of =
            |marked: &(String, u64)| marked.0.contains("by rate") || marked.0.contains("suggested");
        let of_suggested: Vec<_> = marked.iter().filter(|it| of(it)).collect();
        assert!(!of_suggested.is_empty(), "{line}: {marked:?}");
        assert!(
            of_suggested.iter().all(|(_, marked)| *marked > 0),
            "{line}: {marked:?}"
        );
    }
}
