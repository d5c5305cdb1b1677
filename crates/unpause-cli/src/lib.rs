//! The command line of unpause.
//!
//! Results go to standard output, everything else to standard error. Exit codes: 0 for success, 1
//! for an error, 2 for a wrong command line, 130 after Ctrl-C, 143 after SIGTERM.

mod allocator;
mod args;
mod cache;
mod captures;
mod commands;
mod complaint;
mod cost;
mod dataplane;
mod files;
mod hpcc;
mod imported;
mod init;
mod interrupt;
mod lint;
mod listing;
#[cfg(feature = "mpi")]
mod mpirun;
mod output;
mod progress;
mod ranks;
mod report;
mod run;
mod sonic;
mod suggest;
mod target;
mod testbed;
mod text;
mod traces;
mod values;
mod vectors;
mod warnings;

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Parser};
use unpause_scenario::Error;

use args::{Args, Command, Form, Import, Suggest};
use output::{Errors, show, show_json};

pub use report::{Missing, Package};

/// Of the program and of the Python package: large fabrics take a fifth less time than with glibc's, and more memory
/// (docs/performance.md).
#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

/// Runs the command line `args`, of which the first is the program's name. Returns the exit code.
///
/// Figures, sweeps and reproductions are done by a Python that has the package, if there is one.
pub fn main(args: impl IntoIterator<Item = OsString>) -> u8 {
    main_with(args, &report::OtherProcess)
}

/// The same inside of Python, whose `package` does them.
pub fn main_with(args: impl IntoIterator<Item = OsString>, package: &dyn Package) -> u8 {
    output::finished(command(args, package))
}

fn command(args: impl IntoIterator<Item = OsString>, package: &dyn Package) -> u8 {
    interrupt::listen();
    let written: Vec<OsString> = args.into_iter().collect();
    let args = match Args::try_parse_from(&written) {
        Ok(args) => args,
        Err(mut error) => {
            suggest_command(&mut error);
            suggest_option(&mut error, &written);
            // Help and version go to standard output and are no error.
            let printed = error.print();
            if !error.use_stderr() {
                output::note(printed);
            }
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    let form = form_of(&args.command);
    if let Some(rank) = ranks::Rank::of_this_process()
        && let Some(refusal) = rank.refusal(&args.command)
    {
        // One of them says so; a launcher ends the others as soon as one fails, maybe before it has.
        return match rank.number {
            0 => complaint::explain(&[refusal], form),
            _ => 0,
        };
    }
    #[cfg(feature = "mpi")]
    if let Some(rank) = ranks::Rank::of_this_process()
        && let Command::Run(run) = &args.command
    {
        return match mpirun::run(run, package, rank) {
            Ok(code) => code,
            Err(errors) if rank.number == 0 => complaint::explain(&errors, form),
            Err(_) => 0,
        };
    }
    match execute(&args.command, package) {
        Ok(code) => code,
        Err(errors) => complaint::explain(&errors, form),
    }
}

/// Names the command that is nearest to one that there is not; clap's own choice may be far away.
fn suggest_command(error: &mut clap::Error) {
    let Some(ContextValue::String(found)) = error.get(ContextKind::InvalidSubcommand) else {
        return;
    };
    let program = Args::command();
    let names = program.get_subcommands().map(clap::Command::get_name);
    let near = names.map(|name| (strsim::damerau_levenshtein(found, name), name));
    if let Some((1 | 2, name)) = near.min() {
        let names = ContextValue::Strings(vec![name.to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, names);
    }
}

/// Names the option that is nearest to one that its command does not have.
fn suggest_option(error: &mut clap::Error, written: &[OsString]) {
    let Some(ContextValue::String(found)) = error.get(ContextKind::InvalidArg) else {
        return;
    };
    let Some(found) = found.strip_prefix("--") else {
        return;
    };
    let found = found.split('=').next().unwrap_or(found).to_owned();
    let mut command = Args::command();
    for word in written.iter().skip(1).filter_map(|word| word.to_str()) {
        if let Some(below) = command.find_subcommand(word) {
            command = below.clone();
        }
    }
    let options = command.get_arguments().filter_map(clap::Arg::get_long);
    let near = options.map(|name| (strsim::damerau_levenshtein(&found, name), name));
    if let Some((1 | 2, name)) = near.filter(|(distance, name)| *distance < name.len()).min() {
        error.remove(ContextKind::Suggested);
        let name = ContextValue::String(format!("--{name}"));
        error.insert(ContextKind::SuggestedArg, name);
    }
}

/// In which form the command's errors are told.
fn form_of(command: &Command) -> Form {
    match command {
        Command::Run(run) => run.say.output,
        Command::Testbed(it) => it.say.output,
        Command::Validate(validate) => validate.say.output,
        Command::Compare(compare) => compare.say.output,
        Command::Export(export) => export.say.output,
        Command::Check(it) => it.output,
        Command::Lint(it) => it.format,
        _ => Form::Text,
    }
}

fn execute(command: &Command, package: &dyn Package) -> Result<u8, Errors> {
    let done = |done: Result<(), Error>| done.map(|()| 0).map_err(|error| vec![error]);
    match command {
        Command::Run(run) => run::run(run, package, None),
        Command::Testbed(it) => testbed::run(it, package),
        Command::Sweep(sweep) => Ok(report::sweep(package, sweep)),
        Command::Tune(it) => Ok(report::tune(package, it)),
        Command::Validate(validate) => commands::validate(validate),
        Command::List(list) => done(listing::list(list)),
        Command::Cache(it) => done(cache::cache(it)),
        Command::Compare(it)
            if it
                .directories
                .iter()
                .any(|directory| report::is_sweep(directory)) =>
        {
            Ok(report::compare_sweeps(package, it))
        }
        Command::Compare(it) => commands::compare(it, package).map_err(|error| vec![error]),
        Command::Report(it) => Ok(report::report(package, it)),
        Command::Explain(explain) => Ok(report::explain(package, explain)),
        Command::View(view) => Ok(report::view(package, view)),
        Command::Export(export) if export.pcapng => done(captures::export(export)),
        Command::Export(export) if export.perfetto => Ok(report::export_perfetto(package, export)),
        Command::Export(export) if export.latex => Ok(report::export_latex(package, export)),
        Command::Export(export) if report::is_sweep(&export.directory) => {
            Ok(report::export_sweep(package, export))
        }
        Command::Export(export) => done(commands::export(export)),
        Command::Import(Import::Pcap(pcap)) => done(captures::import(pcap)),
        Command::Import(Import::Hpcc(config)) => done(hpcc::import(config)),
        Command::Import(Import::Sonic(it)) => done(sonic::import(it)),
        Command::Lint(it) => lint::lint(it),
        Command::Dataplane(it) => done(dataplane::dataplane(it)),
        Command::Suggest(Suggest::Ecn(it)) => done(suggest::ecn(it)),
        Command::Suggest(Suggest::Headroom(it)) => done(suggest::headroom(it)),
        Command::Suggest(Suggest::Pfc(it)) => done(suggest::pfc(it)),
        Command::Suggest(Suggest::Dcqcn(it)) => done(suggest::dcqcn(it)),
        Command::Suggest(Suggest::Pcn(it)) => done(suggest::pcn(it)),
        Command::Vectors(it) => done(vectors::vectors(it)),
        Command::Check(it) => vectors::compare(it).map_err(|error| vec![error]),
        Command::Reproduce(reproduce) => Ok(report::reproduce(package, reproduce)),
        Command::Init(init) => done(init::init(init)),
        Command::Schema => {
            show_json(&unpause_scenario::json_schema());
            Ok(0)
        }
        Command::Open(open) => done(commands::open(open)),
        Command::Completions(completions) => {
            let mut text = Vec::new();
            clap_complete::generate(
                completions.shell,
                &mut Args::command(),
                "unpause",
                &mut text,
            );
            show(&String::from_utf8_lossy(&text));
            Ok(0)
        }
        Command::Man => done(manual()),
    }
}

/// The manual page of the program and of each command.
fn manual() -> Result<(), Error> {
    let mut text = Vec::new();
    let mut program = Args::command();
    program.build();
    let name = program.get_name().to_owned();
    let commands: Vec<_> = program.get_subcommands().cloned().collect();
    let render = || {
        clap_mangen::Man::new(program.clone()).render(&mut text)?;
        for command in commands
            .into_iter()
            .filter(|command| command.get_name() != "help")
        {
            let name = format!("{name} {}", command.get_name());
            let page = clap_mangen::Man::new(command);
            writeln!(text, ".SH \"{}\"", name.to_uppercase())?;
            page.render_description_section(&mut text)?;
            page.render_options_section(&mut text)?;
        }
        Ok(())
    };
    render().map_err(|error| Error::io("write", Path::new("standard output"), error))?;
    show(&String::from_utf8_lossy(&text));
    Ok(())
}
