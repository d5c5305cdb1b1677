//! `kill -9` at random moments: what `unpause run` leaves looks whole only if it is, and a sweep that is
//! begun again comes to the same table.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::dice::Dice;

/// The plan: which programs to kill, and how often.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where moments come from.
    pub seed: u64,
    /// Runs killed.
    pub trials: u64,
    /// Sweeps killed.
    pub sweeps: u64,
    /// The program `unpause`, for runs.
    pub unpause: PathBuf,
    /// The program `unpause` of the Python package, for sweeps.
    pub python: PathBuf,
}

/// The result of the kills.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Runs that had ended before the moment came.
    pub ended: u64,
    /// Runs killed when nothing of them was on the disk.
    pub before: u64,
    /// Runs killed while something was.
    pub during: u64,
    /// Runs after which nothing had the final name.
    pub absent: u64,
    /// Runs made again over what a killed one had left.
    pub again: u64,
    /// Sweeps killed, and how often in all.
    pub sweeps: (u64, u64),
    /// Why no sweeps were killed.
    pub no_sweeps: Option<String>,
    /// The violations.
    pub failed: Vec<String>,
}

/// Two schemes, with series and packets, so that writing takes a good part of the time.
const SCENARIO: &str = "duration = '2ms'
[topology]
builder = 'leaf-spine'
leaves = 2
spines = 2
hosts_per_leaf = 4
host_rate = '25Gbps'
fabric_rate = '50Gbps'
delay = '1us'
[[scheme]]
name = 'PFC'
[[scheme]]
name = 'PFC+DCQCN'
congestion_control = 'dcqcn'
[[traffic]]
name = 'random'
kind = 'poisson'
load = 0.4
size = '30KB'
record = true
[probes]
interval = '2us'
ports = ['*->*']
packets = ['*->*']
";

/// The files of a result directory, by name.
type Files = BTreeMap<String, Vec<u8>>;

/// Kills runs and sweeps.
///
/// # Errors
///
/// If an undisturbed run fails, or files cannot be written.
pub fn run(plan: &Plan, stop: &AtomicBool) -> io::Result<Summary> {
    let directory = tempfile::tempdir()?;
    let mut summary = Summary::default();
    let mut dice = Dice::new(plan.seed);
    kill_runs(plan, directory.path(), &mut dice, stop, &mut summary)?;
    let answers = |it: &Path| Command::new(it).arg("sweep").arg("--help").output();
    match answers(&plan.python) {
        Ok(help) if help.status.success() => {
            kill_sweeps(plan, directory.path(), &mut dice, stop, &mut summary)?;
        }
        _ => {
            let program = plan.python.display();
            let why =
                format!("{program} cannot sweep: `make install` puts the Python package there");
            summary.no_sweeps = Some(why);
        }
    }
    Ok(summary)
}

/// The result of an undisturbed run.
struct Undisturbed {
    one: Files,
    /// The same again, to see what differs from run to run.
    other: Files,
    took: Duration,
}

impl Undisturbed {
    /// How the result in `directory` differs, if it does.
    fn differs(&self, directory: &Path) -> Option<String> {
        let found = match files_in(directory) {
            Ok(found) => found,
            Err(error) => return Some(format!("it cannot be read: {error}")),
        };
        if !self.one.keys().eq(found.keys()) {
            let names = Vec::from_iter(found.keys());
            return Some(format!("it has the files {names:?}"));
        }
        let differs = self.one.iter().find(|(name, bytes)| match name.as_str() {
            "manifest.json" => !same_but_for_times(bytes, &self.other[*name], &found[*name]),
            name => **bytes != found[name],
        });
        differs.map(|(name, _)| format!("{name} is another"))
    }
}

/// Compares line by line, except for lines that differ between two undisturbed runs.
fn same_but_for_times(one: &[u8], other: &[u8], found: &[u8]) -> bool {
    let lines = |bytes: &'_ [u8]| -> Vec<String> {
        let text = String::from_utf8_lossy(bytes);
        text.lines().map(str::to_owned).collect()
    };
    let (one, other, found) = (lines(one), lines(other), lines(found));
    let same = |at: usize| one[at] != other[at] || one[at] == found[at];
    one.len() == other.len() && one.len() == found.len() && (0..one.len()).all(same)
}

fn files_in(directory: &Path) -> io::Result<Files> {
    let mut files = Files::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        // Files under construction when a run was killed.
        if entry.file_type()?.is_dir() {
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        files.insert(name, fs::read(entry.path())?);
    }
    Ok(files)
}

/// The command, with its output discarded and a process group of its own.
fn spawn(program: &Path, arguments: &[&str], out: &Path) -> io::Result<Child> {
    Command::new(program)
        .args(arguments)
        .arg("--out")
        .arg(out)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
}

/// `kill -9` of a process, or of its whole group.
fn kill(child: &mut Child, whole_group: bool) -> io::Result<()> {
    if whole_group {
        let group = format!("-{}", child.id());
        let killed = Command::new("kill").args(["-9", "--", &group]).output();
        killed?;
    }
    child.kill()?;
    child.wait()?;
    Ok(())
}

fn undisturbed(plan: &Plan, arguments: &[&str], directory: &Path) -> io::Result<Undisturbed> {
    let mut results = Vec::new();
    let mut took = Duration::ZERO;
    for number in 0..2 {
        let out = directory.join(format!("undisturbed{number}"));
        let begun = Instant::now();
        let status = spawn(&plan.unpause, arguments, &out)?.wait()?;
        took = took.max(begun.elapsed());
        if !status.success() {
            let program = plan.unpause.display();
            let why = format!("{program} {} ends with {status}", arguments.join(" "));
            return Err(io::Error::other(why));
        }
        results.push(files_in(&out)?);
        fs::remove_dir_all(&out)?;
    }
    let (Some(other), Some(one)) = (results.pop(), results.pop()) else {
        return Err(io::Error::other("no results"));
    };
    Ok(Undisturbed { one, other, took })
}

fn kill_runs(
    plan: &Plan,
    directory: &Path,
    dice: &mut Dice,
    stop: &AtomicBool,
    summary: &mut Summary,
) -> io::Result<()> {
    let file = directory.join("scenario.toml");
    fs::write(&file, SCENARIO)?;
    let file = file.display().to_string();
    let [new, old] = ["1", "2"].map(|seed| ["run", &file, "--no-report", "--seed", seed]);
    let (new_result, old_result) = (
        undisturbed(plan, &new, directory)?,
        undisturbed(plan, &old, directory)?,
    );
    for trial in 0..plan.trials {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let place = directory.join(format!("trial{trial}"));
        fs::create_dir(&place)?;
        let out = place.join("out");
        // Half of them replace a result.
        let replaces = dice.percent(50);
        if replaces {
            fs::create_dir(&out)?;
            for (name, bytes) in &old_result.one {
                fs::write(out.join(name), bytes)?;
            }
        }
        let had = names_in(&place)?;
        let mut child = spawn(&plan.unpause, &new, &out)?;
        let wrote = wait(&mut child, &place, &had, new_result.took, dice)?;
        match child.try_wait()? {
            Some(_) => summary.ended += 1,
            None if wrote => summary.during += 1,
            None => summary.before += 1,
        }
        kill(&mut child, true)?;
        let before = replaces.then_some(&old_result);
        if let Err(what) = what_is_left(&out, &new_result, before, summary) {
            summary.failed.push(format!("run {trial}: {what}"));
        }
        if trial % 4 == 0 {
            summary.again += 1;
            let status = spawn(&plan.unpause, &new, &out)?.wait()?;
            let left = out.join(".unpause").exists();
            let how = new_result.differs(&out);
            let how = how.or(left.then(|| ".unpause is left".to_owned()));
            if !status.success() || how.is_some() {
                let how = how.unwrap_or_default();
                let what = format!("run again after a kill, it ends with {status}; {how}");
                summary.failed.push(format!("run {trial}: {what}"));
            }
        }
        fs::remove_dir_all(&place)?;
    }
    Ok(())
}

/// `Err` if a killed run has left anything but a whole result, the new one or that of before, or none.
fn what_is_left(
    out: &Path,
    new: &Undisturbed,
    before: Option<&Undisturbed>,
    summary: &mut Summary,
) -> Result<(), String> {
    // A reader gets a complete result and changes nothing.
    let read = unpause_scenario::Saved::load(out).ok();
    if read.is_none() && before.is_some() {
        return Err("the result of before can no longer be read".to_owned());
    }
    // Who writes ends what was begun.
    let place = unpause_scenario::Place::take(out)
        .map_err(|error| format!("what a killed run left cannot be ended: {error}"))?;
    drop(place);
    let seeds = read.map(|read| read.manifest.seeds);
    let ended = unpause_scenario::saved_manifest(out).map(|manifest| manifest.seeds);
    if seeds != ended {
        return Err(format!(
            "a reader got seeds {seeds:?}, and they are {ended:?}"
        ));
    }
    if !out.join("manifest.json").exists() {
        summary.absent += 1;
        return match before {
            Some(_) => Err("the result of before is gone".to_owned()),
            None => Ok(()),
        };
    }
    let is_old = before.is_some_and(|old| old.differs(out).is_none());
    match new.differs(out).filter(|_| !is_old) {
        Some(how) => Err(format!("what a killed run left is not whole: {how}")),
        None => Ok(()),
    }
}

fn names_in(directory: &Path) -> io::Result<Vec<std::ffi::OsString>> {
    let entries = fs::read_dir(directory)?;
    entries.map(|entry| Ok(entry?.file_name())).collect()
}

/// Waits for the moment: a random one of the whole run, or one soon after something of it is on the
/// disk; true if something is.
fn wait(
    child: &mut Child,
    place: &Path,
    had: &[std::ffi::OsString],
    took: Duration,
    dice: &mut Dice,
) -> io::Result<bool> {
    let part = |dice: &mut Dice, share: u64| took * dice.below(share * 10) as u32 / 1000;
    let wrote = || Ok::<_, io::Error>(names_in(place)?.iter().any(|name| !had.contains(name)));
    let tick = Duration::from_micros(200);
    let begun = Instant::now();
    if dice.percent(40) {
        let moment = part(dice, 110);
        while begun.elapsed() < moment && child.try_wait()?.is_none() {
            std::thread::sleep(tick);
        }
        return wrote();
    }
    while !wrote()? && child.try_wait()?.is_none() {
        std::thread::sleep(tick);
    }
    std::thread::sleep(part(dice, 40));
    Ok(true)
}

/// Values of a sweep that takes some seconds.
const SWEEP: [&str; 4] = ["--vary", "seed=1..40", "--jobs", "2"];
/// A sweep is killed at most so often before it may end.
const KILLS: u64 = 4;

fn kill_sweeps(
    plan: &Plan,
    directory: &Path,
    dice: &mut Dice,
    stop: &AtomicBool,
    summary: &mut Summary,
) -> io::Result<()> {
    let file = directory.join("swept.toml");
    let unobserved = SCENARIO.split("[probes]").next().unwrap_or(SCENARIO);
    fs::write(&file, unobserved)?;
    let file = file.display().to_string();
    let command = [&["sweep", &file][..], &SWEEP].concat();
    let out = directory.join("sweep");
    let begun = Instant::now();
    let status = spawn(&plan.python, &command, &out)?.wait()?;
    let took = begun.elapsed();
    let table = "sweep.parquet";
    if !status.success() {
        return Err(io::Error::other(format!(
            "an undisturbed sweep ends with {status}"
        )));
    }
    let expected = fs::read(out.join(table))?;
    for trial in 0..plan.sweeps {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        summary.sweeps.0 += 1;
        let out = directory.join(format!("sweep{trial}"));
        for _ in 0..dice.between(1, KILLS) {
            let mut child = spawn(&plan.python, &command, &out)?;
            std::thread::sleep(took * dice.below(100) as u32 / 100);
            summary.sweeps.1 += u64::from(child.try_wait()?.is_none());
            // With its workers, or without, which have to see it.
            kill(&mut child, dice.percent(50))?;
            let found = fs::read(out.join(table));
            if found.is_ok_and(|found| found != expected) {
                let what = format!("sweep {trial}: a killed one left another {table}");
                summary.failed.push(what);
            }
        }
        let status = spawn(&plan.python, &command, &out)?.wait()?;
        let found = fs::read(out.join(table)).unwrap_or_default();
        if !status.success() || found != expected {
            let what = format!("sweep {trial}: begun again it ends with {status}");
            let other = if found == expected {
                ""
            } else {
                ", and another table"
            };
            summary.failed.push(what + other);
        }
    }
    Ok(())
}

impl Summary {
    /// For people.
    pub fn text(&self) -> String {
        let mut text = format!(
            "runs killed: {} before anything was written, {} after; {} had ended; {} left nothing of the \
             final name; {} made again\n",
            self.before, self.during, self.ended, self.absent, self.again
        );
        text += &match &self.no_sweeps {
            Some(why) => format!("no sweeps killed: {why}\n"),
            None => format!("{} sweeps, killed {} times\n", self.sweeps.0, self.sweeps.1),
        };
        for what in &self.failed {
            text += &format!("FAILED {what}\n");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(files: &[(&str, &str)]) -> Files {
        let owned = |(name, text): &(&str, &str)| ((*name).to_owned(), text.as_bytes().to_vec());
        files.iter().map(owned).collect()
    }

    #[test]
    fn what_is_not_whole_is_seen() {
        let whole = Undisturbed {
            one: files(&[("manifest.json", "a\ntime 1"), ("runs.parquet", "x")]),
            other: files(&[("manifest.json", "a\ntime 2"), ("runs.parquet", "x")]),
            took: Duration::ZERO,
        };
        for (manifest, table, is_whole) in [
            ("a\ntime 3", Some("x"), true),
            ("b\ntime 3", Some("x"), false),
            ("a", Some("x"), false),
            ("a\ntime 3", Some("y"), false),
            ("a\ntime 3", None, false),
        ] {
            let directory = tempfile::tempdir().unwrap();
            fs::write(directory.path().join("manifest.json"), manifest).unwrap();
            if let Some(table) = table {
                fs::write(directory.path().join("runs.parquet"), table).unwrap();
            }
            let differs = whole.differs(directory.path());
            assert_eq!(
                differs.is_none(),
                is_whole,
                "{manifest} {table:?}: {differs:?}"
            );
        }
    }
}
