//! Every mistake in `tests/bad` is answered with its file, its line, and what to do.
//!
//! `cargo insta review`, or INSTA_UPDATE=always, accepts changed messages.

use std::fmt::Write;
use std::path::Path;

use miette::{GraphicalReportHandler, GraphicalTheme};
use unpause_scenario::Scenario;

#[test]
fn every_bad_file_is_explained() {
    std::env::set_current_dir(env!("CARGO_MANIFEST_DIR")).expect("the crate's directory exists");
    let entries = std::fs::read_dir("tests/bad").expect("tests/bad exists");
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| {
        file.extension()
            .is_some_and(|extension| extension == "toml")
    });
    files.sort();
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor())
        .with_links(false)
        .with_width(110);
    let mut said = String::new();
    for file in &files {
        let name = file
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or_default();
        let Err(error) = Scenario::load(Path::new(file)) else {
            panic!("{name} is not bad");
        };
        assert!(error.location().is_some(), "{name} has no place: {error}");
        writeln!(said, "## {name}\n").unwrap();
        handler.render_report(&mut said, &error).unwrap();
        said.push('\n');
    }
    insta::assert_snapshot!(said);
}
