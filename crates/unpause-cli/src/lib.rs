//! The command line of unpause.
//!
//! Results go to standard output, everything else to standard error. Exit codes: 0 for success, 1
//! for an error, 2 for a wrong command line, 130 when interrupted.

mod args;
mod captures;
mod commands;
mod dataplane;
mod interrupt;
mod listing;
mod progress;
mod report;
mod suggest;
mod target;
mod text;

use std::ffi::OsString;
use std::io::Write;

use clap::Parser;
use miette::Diagnostic;
use unpause_scenario::Error;

use args::{Args, Command, Import, Suggest};

pub use report::{Missing, Package};

/// Runs the command line `args`, of which the first is the program's name. Returns the exit code.
///
/// Figures, sweeps and reproductions are done by a Python that has the package, if there is one.
pub fn main(args: impl IntoIterator<Item = OsString>) -> u8 {
    main_with(args, &report::OtherProcess)
}

/// The same inside of Python, whose `package` does them.
pub fn main_with(args: impl IntoIterator<Item = OsString>, package: &dyn Package) -> u8 {
    let args = match Args::try_parse_from(args) {
        Ok(args) => args,
        Err(error) => {
            // Help and version go to standard output and are no error.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    let done = match &args.command {
        Command::Sweep(sweep) => return report::sweep(package, &sweep.arguments),
        Command::Run(run) => match commands::run(run) {
            // Until the report is drawn, too, nobody else writes there.
            Ok(place) if !run.no_report => return report::render(package, place.directory()),
            done => done.map(drop),
        },
        Command::Validate(validate) => commands::validate(validate),
        Command::List => {
            show(&listing::everything());
            Ok(())
        }
        Command::Compare(it) if it.directories.iter().any(|it| report::is_sweep(it)) => {
            return report::compare_sweeps(package, &it.directories);
        }
        Command::Compare(compare) => {
            commands::compare(compare).map(|()| report::differences(package, &compare.directories))
        }
        Command::Export(export) if export.pcapng => captures::export(export),
        Command::Export(export) if report::is_sweep(&export.directory) => {
            return report::export_sweep(package, export);
        }
        Command::Export(export) => commands::export(export),
        Command::Import(Import::Pcap(pcap)) => captures::import(pcap),
        Command::Suggest(Suggest::Ecn(ecn)) => suggest::ecn(ecn),
        Command::Dataplane(it) => dataplane::dataplane(it),
        Command::Reproduce(reproduce) => return report::reproduce(package, reproduce),
    };
    match done {
        Ok(()) => 0,
        Err(Error::Interrupted) => {
            eprintln!("interrupted: nothing was written");
            130
        }
        Err(error) => {
            explain(error);
            1
        }
    }
}

/// Writes to standard output. A reader that has gone away is not an error.
fn show(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Shows an error with the lines of the file where there are some.
fn explain(error: Error) {
    let has_place = error.labels().is_some();
    let help = error.help_text().map(str::to_owned);
    if has_place {
        eprint!("{:?}", miette::Report::new(error));
    } else {
        eprintln!("error: {error}");
        if let Some(help) = help {
            eprintln!("hint: {help}");
        }
    }
}
