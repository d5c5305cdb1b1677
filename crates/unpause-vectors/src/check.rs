//! Another program is told the events of cases, and its answers are compared.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use crate::lines::{Form, of_words};
use crate::script::Case;

/// Events before the one that differs which a report shows.
const SHOWN_BEFORE: usize = 3;
/// Lines that are read before they are asked for: a program that writes more waits.
const AHEAD: usize = 1_000;
/// Bytes of a line at most: answers have some hundred.
const LINE_BYTES: u64 = 1 << 16;
/// Bytes of the program's standard error that are passed on.
const ERROR_BYTES: usize = 1 << 16;
/// How long the last of them are waited for once the program is ended: a process that it started may go on writing.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// Counts of what was compared without a difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Cases.
    pub cases: usize,
    /// Events, the beginnings of cases included.
    pub events: usize,
}

/// The first answer that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Which case, counted from 1.
    pub case: usize,
    /// Its name.
    pub name: String,
    /// Which event of it; 0 is its beginning.
    pub event: usize,
    /// The event, as the program was told of it.
    pub told: String,
    /// The events before it, as the program was told of them.
    pub before: Vec<String>,
    /// Fields that differ: name, what was expected, what was answered, if anything.
    pub fields: Vec<(String, Value, Option<Value>)>,
}

/// Why a check has not passed.
#[derive(Debug)]
pub enum Failure {
    /// An answer differs.
    Differs(Box<Difference>),
    /// The program could not be run, has ended, says nothing, or something else than an answer.
    Program(String),
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "case {} ({}), event {}: the answer differs",
            self.case, self.name, self.event
        )?;
        for line in &self.before {
            writeln!(out, "  before    {line}")?;
        }
        writeln!(out, "  event     {}", self.told)?;
        for (name, expected, answered) in &self.fields {
            let answered = answered
                .as_ref()
                .map_or_else(|| "nothing".to_owned(), Value::to_string);
            writeln!(out, "  {name}: expected {expected}, answered {answered}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Differs(difference) => difference.fmt(out),
            Self::Program(text) => out.write_str(text),
        }
    }
}

/// Runs `command` by the shell, tells it the events of `cases` line by line, and reads a line after each.
///
/// Every field that is expected must be there and equal, numbers to `tolerance`, relative. A field that is
/// expected to be null may be left out. Other fields are ignored. `patience` is how long an answer may take.
///
/// # Errors
/// The first difference, or what went wrong with the program.
pub fn check(
    cases: &[Case],
    command: &str,
    form: Form,
    tolerance: f64,
    patience: Duration,
) -> Result<Passed, Failure> {
    let mut program = Program::start(command, form, patience).map_err(Failure::Program)?;
    let mut passed = Passed::default();
    for (at, case) in cases.iter().enumerate() {
        let first = (case.first_line(form, false), &case.answer);
        let rest = case.lines.iter();
        let rest = rest.map(|it| (it.text(form, false), &it.answer));
        let mut told: Vec<String> = Vec::new();
        for (number, (text, expected)) in std::iter::once(first).chain(rest).enumerate() {
            let answer = program.ask(&text).map_err(|why| {
                let name = &case.name;
                Failure::Program(format!("case {} ({name}), event {number}: {why}", at + 1))
            })?;
            let differing = compare(&expected.fields(), &answer, tolerance);
            if !differing.is_empty() {
                return Err(Failure::Differs(Box::new(Difference {
                    case: at + 1,
                    name: case.name.clone(),
                    event: number,
                    before: told.split_off(told.len().saturating_sub(SHOWN_BEFORE)),
                    told: text,
                    fields: differing,
                })));
            }
            told.push(text);
            passed.events += 1;
        }
        passed.cases += 1;
    }
    Ok(passed)
}

fn compare(
    expected: &Map<String, Value>,
    answer: &Map<String, Value>,
    tolerance: f64,
) -> Vec<(String, Value, Option<Value>)> {
    let differs = |(name, value): &(&String, &Value)| {
        let answered = answer.get(*name).unwrap_or(&Value::Null);
        !is_same(value, answered, tolerance)
    };
    expected
        .iter()
        .filter(differs)
        .map(|(name, value)| (name.clone(), value.clone(), answer.get(name).cloned()))
        .collect()
}

fn is_same(expected: &Value, answered: &Value, tolerance: f64) -> bool {
    if expected == answered {
        return true;
    }
    match (expected.as_f64(), answered.as_f64()) {
        // Whole numbers of 64 bits have been compared as such above.
        (Some(a), Some(b)) if tolerance > 0.0 || answered.is_f64() => {
            (a - b).abs() <= tolerance * a.abs()
        }
        _ => false,
    }
}

/// A program that answers line by line. It ends with this.
struct Program {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<io::Result<String>>,
    errors: Errors,
    form: Form,
    patience: Duration,
}

impl Program {
    fn start(command: &str, form: Form, patience: Duration) -> Result<Self, String> {
        let mut child = Command::new("sh")
            .args(["-c", command])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot run `{command}`: {error}"))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let errors = Errors::pass_on(child.stderr.take());
        let (send, lines) = sync_channel(AHEAD);
        if let Some(output) = output {
            // Reads ahead, so that a silent program can be told from a slow one. Ends with its output.
            thread::spawn(move || {
                let mut output = BufReader::new(output);
                while let Some(line) = next_line(&mut output) {
                    let is_last = line.is_err();
                    if send.send(line).is_err() || is_last {
                        return;
                    }
                }
            });
        }
        Ok(Self {
            child,
            input,
            lines,
            errors,
            form,
            patience,
        })
    }

    fn ask(&mut self, text: &str) -> Result<Map<String, Value>, String> {
        let told = self.input.as_mut().map(|input| {
            writeln!(input, "{text}")?;
            input.flush()
        });
        if let Some(Err(error)) = told {
            return Err(self.ended(&format!("it takes no more events ({error})")));
        }
        let answered = match self.lines.recv_timeout(self.patience) {
            Ok(Ok(line)) => line,
            Ok(Err(error)) => return Err(format!("its answer cannot be read: {error}")),
            Err(RecvTimeoutError::Timeout) => {
                return Err(format!(
                    "no answer within {} s; a line is expected for each event, and a flush after it",
                    self.patience.as_secs_f64()
                ));
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(self.ended("it has answered nothing"));
            }
        };
        let fields = match self.form {
            Form::Words => of_words(&answered),
            Form::Json => match serde_json::from_str(&answered) {
                Ok(Value::Object(fields)) => Ok(fields),
                Ok(_) => Err("a JSON object is expected".to_owned()),
                Err(error) => Err(format!("no JSON: {error}")),
            },
        };
        fields.map_err(|why| {
            format!(
                "its answer `{}` is not understood: {why}",
                shortened(&answered)
            )
        })
    }

    /// `what`, and how the program ended, if it has.
    fn ended(&mut self, what: &str) -> String {
        drop(self.input.take());
        let began = Instant::now();
        // One that goes on by itself is not waited for.
        while began.elapsed() < self.patience {
            match self.child.try_wait() {
                Ok(Some(status)) => {
                    return format!("{what}; the program ended with {}", said(status));
                }
                Ok(None) => thread::sleep(Duration::from_millis(5)),
                Err(_) => break,
            }
        }
        what.to_owned()
    }
}

/// The next line, without its end; none at the end of the output.
fn next_line(output: &mut impl BufRead) -> Option<io::Result<String>> {
    let mut line = Vec::new();
    if let Err(error) = output.take(LINE_BYTES).read_until(b'\n', &mut line) {
        return Some(Err(error));
    }
    if line.is_empty() {
        return None;
    }
    if line.pop_if(|last| *last == b'\n').is_none() && line.len() as u64 == LINE_BYTES {
        let why = format!("it has no end of line within {LINE_BYTES} bytes");
        return Some(Err(io::Error::other(why)));
    }
    line.pop_if(|last| *last == b'\r');
    Some(String::from_utf8(line).map_err(io::Error::other))
}

fn said(status: ExitStatus) -> String {
    status
        .code()
        .map_or_else(|| status.to_string(), |code| format!("exit code {code}"))
}

fn shortened(text: &str) -> String {
    text.chars().take(200).collect()
}

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.input.take());
        // One that does not end by itself is ended; one that has, is not there any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = self.errors.ended.recv_timeout(LAST_WORDS);
        self.errors.stop.store(true, Ordering::Relaxed);
    }
}

/// The standard error of a program, of which the beginning is passed on.
struct Errors {
    /// Disconnected once all is read.
    ended: Receiver<()>,
    /// No more is read: whoever still writes ends with its pipe.
    stop: Arc<AtomicBool>,
}

impl Errors {
    fn pass_on(errors: Option<ChildStderr>) -> Self {
        let (ends, ended) = sync_channel(0);
        let stop = Arc::new(AtomicBool::new(false));
        if let Some(errors) = errors {
            let stop = Arc::clone(&stop);
            thread::spawn(move || {
                copy_beginning(errors, io::stderr(), &stop);
                drop(ends);
            });
        }
        Self { ended, stop }
    }
}

/// Copies the first [`ERROR_BYTES`] bytes and drops the rest, which is read until `stop`.
fn copy_beginning(mut from: impl Read, mut to: impl Write, stop: &AtomicBool) {
    let (mut left, mut chunk) = (ERROR_BYTES, [0; 4096]);
    while let Ok(read @ 1..) = from.read(&mut chunk) {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let _ = to.write_all(&chunk[..read.min(left)]);
        if left > 0 && read >= left {
            let _ = writeln!(
                to,
                "\nnote: the program wrote {ERROR_BYTES} bytes to its standard error; what follows is left out"
            );
        }
        left = left.saturating_sub(read);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_an_end() {
        let mut short = &b"one\r\ntwo\nthree"[..];
        let mut lines = Vec::new();
        while let Some(line) = next_line(&mut short) {
            lines.push(line.expect("it is text"));
        }
        assert_eq!(lines, ["one", "two", "three"]);
        let endless = io::repeat(b'x');
        let line = next_line(&mut BufReader::new(endless)).expect("there is something");
        assert!(line.is_err_and(|error| error.to_string().contains("no end of line")));
    }

    #[test]
    fn endless_errors_have_an_end() {
        let stop = AtomicBool::new(false);
        let copied = |bytes: usize| {
            let mut shown = Vec::new();
            copy_beginning(io::repeat(b'x').take(bytes as u64), &mut shown, &stop);
            shown
        };
        assert_eq!(copied(9_000), vec![b'x'; 9_000]);
        let shown = copied(10 * ERROR_BYTES);
        let note = "\nnote: the program wrote 65536 bytes to its standard error; what follows is left out\n";
        assert_eq!(&shown[ERROR_BYTES..], note.as_bytes());
        stop.store(true, Ordering::Relaxed);
        copy_beginning(io::repeat(b'x'), io::sink(), &stop);
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_never_stops_is_ended() {
        let patience = Duration::from_millis(300);
        for command in [
            "exec 0<&-; yes x",
            "tr '\\0' x < /dev/zero",
            "exec 0<&- 1>&-; sleep 5",
            "yes '{}'",
            "yes >&2",
        ] {
            let began = Instant::now();
            let program = Program::start(command, Form::Json, patience);
            let mut program = program.expect("there is a shell");
            // A program that takes nothing says so, or answers what is not understood.
            let answers =
                [(); 3].map(|()| program.ask("{}").map_err(|why| assert!(!why.is_empty())));
            drop(program);
            let is_answer = |answer: &Result<_, ()>| answer.is_ok();
            assert_eq!(
                answers.iter().all(is_answer),
                command == "yes '{}'",
                "{command}"
            );
            assert!(began.elapsed() < Duration::from_secs(20), "{command}");
        }
    }
}
