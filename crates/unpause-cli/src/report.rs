//! Commands that the Python package runs: figures and the HTML report, sweeps, tuning, reproductions.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::args::{Compare, Explain, Export, Points, Report, Reproduce, Say, Sweep, Tune, View};
use crate::interrupt::{self, CTRL_C};
use crate::output::complain;
use crate::target;

/// The Python package: the one that this process runs in, or one that is looked for.
pub trait Package {
    /// Calls `main` of `module` with `arguments`. Returns its exit code.
    ///
    /// # Errors
    ///
    /// Why it could not be called.
    fn main(&self, module: &str, arguments: &[OsString]) -> Result<u8, Missing>;
}

/// Why a module of the package could not be called.
pub enum Missing {
    /// No Python has the package.
    Package,
    /// A Python that cannot be run, with the reason.
    Interpreter(String),
}

/// Prints the table and the answer of a result, without a report. `otherwise` prints what it can where the package does
/// not.
pub fn print(package: &dyn Package, directory: &Path, say: Say, otherwise: impl FnOnce()) {
    if say.quiet || say.is_json() {
        return;
    }
    let mut arguments = vec![directory.into(), "--no-draw".into()];
    arguments.extend(say.verbose.then(|| "--verbose".into()));
    let printed = package.main("unpause.commands.report", &arguments);
    if !matches!(printed, Ok(0 | CTRL_C | SIGTERM)) {
        otherwise();
    }
}

/// Prints the table and the answer of a result and draws its report, or says how to get one. Returns the exit code.
/// `otherwise` prints what it can where the package does not.
pub fn render(package: &dyn Package, directory: &Path, say: Say, otherwise: impl FnOnce()) -> u8 {
    let mut arguments = vec![directory.into(), "--held".into()];
    if say.quiet || say.is_json() {
        arguments.push("--quiet".into());
    } else if say.verbose {
        arguments.push("--verbose".into());
    }
    match package.main("unpause.commands.report", &arguments) {
        Ok(code @ (0 | CTRL_C | SIGTERM)) => return code,
        Ok(code) => {
            otherwise();
            complain!("warning: the report is not complete (exit code {code}); the tables are");
            return code;
        }
        Err(Missing::Interpreter(why)) => {
            otherwise();
            complain!("warning: the report was not drawn: {why}");
        }
        Err(Missing::Package) => {
            otherwise();
            complain!(
                "hint: no report was drawn: no Python with the package `unpause` was found; \
             `pip install .` in the repository installs it, UNPAUSE_PYTHON names another interpreter, --no-report skips the report"
            );
        }
    }
    0
}

/// Exit code after that signal.
const SIGTERM: u8 = 143;

/// Runs a sweep. Returns the exit code.
pub fn sweep(package: &dyn Package, args: &Sweep) -> u8 {
    let mut arguments = places(&args.points, &args.file, "-sweep");
    for vary in &args.vary {
        arguments.extend(["--vary".into(), vary.into()]);
    }
    for scheme in &args.schemes {
        arguments.extend(["--scheme".into(), scheme.into()]);
    }
    arguments.extend(args.verbose.then(|| "--verbose".into()));
    arguments.extend(["--".into(), args.file.clone().into()]);
    needed("sweeps", package.main("unpause.commands.sweep", &arguments))
}

/// The arguments that say where runs happen. The directory is the one that is asked for, or the default with this ending.
fn places(points: &Points, file: &Path, ending: &str) -> Vec<OsString> {
    let mut arguments = match &points.out {
        Some(out) => vec!["--out".into(), out.into()],
        None => {
            let out = target::default_directory(file, None, ending);
            vec!["--default".into(), out.into()]
        }
    };
    if let Some(jobs) = points.jobs {
        arguments.push(format!("--jobs={jobs}").into());
    }
    if let Some(address) = &points.dask {
        arguments.push(format!("--dask={address}").into());
    }
    arguments.extend(points.force.then(|| "--force".into()));
    arguments
}

/// Searches for the best values of parameters. Returns the exit code.
pub fn tune(package: &dyn Package, args: &Tune) -> u8 {
    let mut arguments = places(&args.points, &args.file, "-tune");
    let repeated = [
        ("--vary", &args.vary),
        ("--subject-to", &args.subject_to),
        ("--robust", &args.robust),
    ];
    for (name, values) in repeated {
        for value in values {
            arguments.push(format!("{name}={value}").into());
        }
    }
    arguments.push(format!("--goal={}", args.goal).into());
    let numbers = [
        ("--runs", args.runs),
        ("--seeds", args.seeds.map(u32::from)),
        ("--confirm", args.confirm.map(u32::from)),
        ("--search-seed", args.search_seed),
    ];
    for (name, number) in numbers {
        if let Some(number) = number {
            arguments.push(format!("{name}={number}").into());
        }
    }
    if let Some(scheme) = &args.scheme {
        arguments.push(format!("--scheme={scheme}").into());
    }
    arguments.extend(["--".into(), args.file.clone().into()]);
    needed("tuning", package.main("unpause.commands.tune", &arguments))
}

/// Whether a directory is of `unpause sweep`; whoever reads it says what is wrong with it.
pub fn is_sweep(directory: &Path) -> bool {
    directory.join("sweep.json").symlink_metadata().is_ok()
}

/// Compares sweeps. Returns the exit code.
pub fn compare_sweeps(package: &dyn Package, args: &Compare) -> u8 {
    needed(
        "sweeps",
        package.main("unpause.commands.compare", &compared(args)),
    )
}

/// Shows the overview of results, by how much they differ and what of that is noise, and writes a page of them.
/// Returns the exit code; none if there is no package and nothing that needs it.
pub fn differences(package: &dyn Package, args: &Compare) -> Option<u8> {
    let mut arguments = compared(args);
    if args.say.quiet || args.say.is_json() {
        arguments.push("--quiet".into());
    }
    if args.out.is_some() {
        return Some(needed(
            "pages",
            package.main("unpause.commands.compare", &arguments),
        ));
    }
    if args.say.quiet || args.say.is_json() {
        return Some(0);
    }
    package.main("unpause.commands.compare", &arguments).ok()
}

fn compared(args: &Compare) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = args.directories.iter().map(OsString::from).collect();
    if let Some(out) = &args.out {
        arguments.extend(["--out".into(), out.into()]);
    }
    if args.force {
        arguments.push("--force".into());
    }
    arguments.extend(args.say.verbose.then(|| "--verbose".into()));
    arguments
}

/// Draws the report of a result or a sweep. Returns the exit code.
pub fn report(package: &dyn Package, args: &Report) -> u8 {
    let mut arguments = vec![OsString::from(&args.directory)];
    for (option, is_set) in [
        ("--claims", args.claims),
        ("--png", args.png),
        ("--quiet", args.quiet),
        ("--verbose", args.verbose),
    ] {
        if is_set {
            arguments.push(option.into());
        }
    }
    needed(
        "reports",
        package.main("unpause.commands.report", &arguments),
    )
}

/// Says why flows of a result were stopped. Returns the exit code.
pub fn explain(package: &dyn Package, args: &Explain) -> u8 {
    let mut arguments = vec![OsString::from(&args.directory)];
    if let Some(at) = args.at {
        arguments.extend(["--at".into(), format!("{}ns", at.as_ns_f64()).into()]);
    }
    for (option, value) in [
        ("--port", &args.port),
        ("--flow", &args.flow),
        ("--scheme", &args.scheme),
    ] {
        if let Some(value) = value {
            arguments.extend([option.into(), value.into()]);
        }
    }
    if let Some(slowest) = args.slowest {
        arguments.extend(["--slowest".into(), slowest.to_string().into()]);
    }
    if let Some(seed) = args.seed {
        arguments.extend(["--seed".into(), seed.to_string().into()]);
    }
    if args.json {
        arguments.push("--json".into());
    }
    needed(
        "explanations",
        package.main("unpause.commands.explain", &arguments),
    )
}

/// Serves the interactive page of a result until Ctrl-C. Returns the exit code.
pub fn view(package: &dyn Package, args: &View) -> u8 {
    let mut arguments = vec![OsString::from(&args.directory)];
    if let Some(port) = args.port {
        arguments.extend(["--port".into(), port.to_string().into()]);
    }
    needed("pages", package.main("unpause.commands.view", &arguments))
}

/// Writes a result as a trace for Perfetto. Returns the exit code.
pub fn export_perfetto(package: &dyn Package, export: &Export) -> u8 {
    export_by("unpause.commands.perfetto", "traces", package, export)
}

/// Writes a table and the figures of a result for LaTeX. Returns the exit code.
pub fn export_latex(package: &dyn Package, export: &Export) -> u8 {
    export_by(
        "unpause.commands.latex",
        "tables for LaTeX",
        package,
        export,
    )
}

/// Writes the table of a sweep as CSV. Returns the exit code.
pub fn export_sweep(package: &dyn Package, export: &Export) -> u8 {
    export_by("unpause.commands.sweep_csv", "sweeps", package, export)
}

fn export_by(module: &str, what: &str, package: &dyn Package, export: &Export) -> u8 {
    let mut arguments = vec![OsString::from(&export.directory)];
    if let Some(out) = &export.out {
        arguments.extend(["--out".into(), out.into()]);
    }
    if export.force {
        arguments.push("--force".into());
    }
    needed(what, package.main(module, &arguments))
}

/// Reproduces a paper. Returns the exit code.
pub fn reproduce(package: &dyn Package, args: &Reproduce) -> u8 {
    let mut arguments = vec![OsString::from(&args.what)];
    if args.full {
        arguments.push("--full".into());
    }
    if let Some(out) = &args.out {
        arguments.extend(["--out".into(), out.into()]);
    }
    if let Some(markdown) = &args.markdown {
        arguments.extend(["--markdown".into(), markdown.into()]);
    }
    if args.pictures {
        arguments.push("--pictures".into());
    }
    if args.force {
        arguments.push("--force".into());
    }
    if let Some(threads) = args.threads {
        arguments.extend(["--threads".into(), threads.to_string().into()]);
    }
    needed(
        "reproductions",
        package.main("unpause.commands.reproduce", &arguments),
    )
}

/// The exit code of a module without which there is nothing to do, or says that `what` needs it.
fn needed(what: &str, done: Result<u8, Missing>) -> u8 {
    match done {
        Ok(code) => return code,
        Err(Missing::Interpreter(why)) => complain!("error: {why}"),
        Err(Missing::Package) => complain!(
            "error: {what} need the Python package `unpause`, and no Python that has it was found\n\
             hint: `pip install .` in the repository installs it, UNPAUSE_PYTHON names another interpreter"
        ),
    }
    1
}

/// A Python of its own, in a process of its own: for a program without the package in it.
pub(crate) struct OtherProcess;

impl Package for OtherProcess {
    fn main(&self, module: &str, arguments: &[OsString]) -> Result<u8, Missing> {
        let python = python(module).ok_or(Missing::Package)?;
        let mut command = Command::new(&python);
        let child = command.args(["-m", module]).args(arguments).spawn();
        let status = child.and_then(|mut child| {
            interrupt::answered_by(child.id());
            let status = child.wait();
            interrupt::answered_by(0);
            status
        });
        match status {
            // A child that a signal ended has no code.
            Ok(status) => Ok(status
                .code()
                .map_or(1, |code| u8::try_from(code).unwrap_or(1))),
            Err(error) => Err(Missing::Interpreter(format!(
                "{} cannot be run: {error}",
                python.display()
            ))),
        }
    }
}

/// The interpreter in UNPAUSE_PYTHON, else the first one in which `module` can be imported.
fn python(module: &str) -> Option<OsString> {
    if let Some(python) = std::env::var_os("UNPAUSE_PYTHON").filter(|python| !python.is_empty()) {
        return Some(python);
    }
    ["python3", "python"]
        .into_iter()
        .map(OsString::from)
        .find(|python| {
            let import = Command::new(python)
                .args(["-c", &format!("import {module}")])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            import.is_ok_and(|status| status.success())
        })
}
