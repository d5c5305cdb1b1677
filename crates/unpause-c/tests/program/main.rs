//! C programs linked with the static library get the numbers that Rust gets.

mod compile;
mod firmware;
mod trace;

use std::fmt::Write;

use unpause_protocols::congestion_control::{self, CongestionControl, Mechanism, Path};
use unpause_protocols::congestion_point::{self, CongestionPoint, Packet, Queue, Verdict};
use unpause_protocols::notification::Notification;
use unpause_protocols::notification_point::{self, NotificationPoint};
use unpause_protocols::units::{Rate, Time};

use compile::output_of;

/// The same loop as in `examples/pcn.c`.
fn pcn() -> String {
    let rng = &mut trace::generator(1);
    let config = congestion_point::Config::NpEcn(Default::default());
    let mut queue = CongestionPoint::new(&config, rng);
    let config = notification_point::Config::Pcn(Default::default());
    let mut receiver = NotificationPoint::new(&config);
    let config = congestion_control::Config::Pcn(Default::default());
    let path = Path::new(Rate::from_gbps(10), 1000);
    let mut sender = CongestionControl::new(&config, &path);
    let packet = Packet {
        bytes: 1000,
        ect: true,
        enqueued_at: Time::ZERO,
    };
    let mut out = String::new();
    for step in 0..375 {
        let now = Time::from_ns(1600 * step);
        let timer = receiver.next_timer();
        if timer <= now {
            let cnp = receiver.on_timer(timer);
            if let Some(cnp) = cnp {
                sender.on_notification(timer, &cnp, rng);
            }
            let (what, rec_rate) = match cnp {
                Some(Notification::Pcn {
                    congested: true,
                    rec_rate,
                }) => ("decrease to", rec_rate),
                _ => ("increase,", 0),
            };
            let (us, rate) = (timer.as_ps() / 1_000_000, sender.rate().as_bps());
            writeln!(out, "{us} us: {what} {rec_rate} kb/s, send at {rate} bit/s").expect("fits");
        }
        let (bytes, packets) = if now < Time::from_us(300) {
            (20_000, 20)
        } else {
            (0, 0)
        };
        let verdict = queue.on_dequeue(now, &packet, Queue { bytes, packets }, rng);
        receiver.on_data(now, 1000, verdict == Verdict::MarkCe);
    }
    out
}

#[test]
fn the_example_prints_what_rust_computes() {
    if let Some(printed) = output_of("examples/pcn.c") {
        assert_eq!(printed, pcn());
    }
}

/// The page shows the program that the test runs, and what it prints.
#[test]
fn the_page_shows_the_example() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(root.join(path)).expect("the file is there");
    let page = read("../../docs/c-api.md");
    assert!(
        page.contains(&read("examples/pcn.c")),
        "docs/c-api.md shows another program"
    );
    let printed = format!("```text\n{}```\n", pcn());
    assert!(
        page.contains(&printed),
        "docs/c-api.md does not show:\n{printed}"
    );
}

#[test]
fn every_mechanism_gives_the_numbers_that_rust_gives() {
    let Some(printed) = output_of("tests/trace.c") else {
        return;
    };
    let (trace, parameters): (Vec<_>, Vec<_>) = printed
        .lines()
        .partition(|line| !line.starts_with("parameters"));
    let (frames, trace): (Vec<_>, Vec<_>) = trace
        .into_iter()
        .partition(|line| line.starts_with("frame"));
    assert_eq!(
        trace,
        trace::all().iter().map(String::as_str).collect::<Vec<_>>()
    );
    assert_eq!(frames, trace::frames());
    let parameters = parameters.join("\n") + "\n";
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parameters.txt");
    if std::env::var_os("UNPAUSE_BLESS").is_some() {
        std::fs::write(&path, &parameters).expect("the list can be written");
    }
    let committed = std::fs::read_to_string(&path).expect("the list is there");
    let mut lines = parameters.lines().zip(committed.lines());
    let first = lines.find(|(now, before)| now != before);
    assert!(
        parameters == committed,
        "{} is not what the code says, from {first:?} on: run UNPAUSE_BLESS=1 cargo test -p unpause-c",
        path.display()
    );
}
