//! The note on jobs whose blocks differ in size, so that no step repeats the one before.

use unpause_results::warnings::unequal_blocks::{MANY, of_run};
use unpause_sim::config::Skipping;

use crate::small::parsed;

fn notes(job: &str, hops: u64, skipping: Skipping) -> Vec<String> {
    let text = format!(
        "duration = \"1ms\"\n[topology]\nbuilder = \"single-switch\"\nhosts = 8\nrate = \"100Gbps\"\n\
         delay = \"1us\"\n[[scheme]]\nname = \"PFC\"\n[[job]]\nname = \"J\"\nranks = 8\n{job}"
    );
    let scenario = parsed(&text);
    let mut run = scenario.runs()[0].clone();
    run.config.skipping = skipping;
    let found = of_run(&run, hops).into_iter();
    found.map(|it| it.message + "; " + &it.help).collect()
}

#[test]
fn a_long_ring_whose_blocks_differ_names_a_size_without_that() {
    let ring = |size: &str, more: &str| {
        format!("collective = \"all-reduce\"\nalgorithm = \"ring\"\nsize = \"{size}\"\n{more}")
    };
    let notes_of = |size, more| notes(&ring(size, more), MANY, Skipping::WhereItPays);
    assert_eq!(
        notes_of("1000001B", ""),
        [
            "job J: 1 MB in 8 blocks: some blocks are a byte longer, so no step repeats the one before, and every packet \
             was simulated; with size = \"1000008B\", 7 B more, all blocks are equal, and repeating steps can be skipped"
        ]
    );
    assert!(notes_of("1000008B", "")[..].is_empty());
    // Two channels of 500,004 B are no multiple of eight.
    assert!(notes_of("1000008B", "channels = 2\n")[0].contains("\"1000016B\", 8 B more"));
    assert!(notes_of("1000001B", "connection = \"per-message\"\n").is_empty());
}

#[test]
fn there_is_no_note_if_nothing_could_be_skipped() {
    let ring = "collective = \"all-reduce\"\nalgorithm = \"ring\"\nsize = \"1000001B\"\n";
    assert!(notes(ring, MANY - 1, Skipping::WhereItPays).is_empty());
    assert!(notes(ring, MANY, Skipping::Never).is_empty());
    let other = ring.replace("ring", "direct");
    assert!(notes(&other, MANY, Skipping::WhereItPays).is_empty());
}
