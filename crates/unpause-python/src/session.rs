//! A scenario that a Python program drives.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use unpause_protocols::units::Time;
use unpause_scenario::Error;
use unpause_scenario::session::{Sending, Session as Driven, SessionOptions};
use unpause_sim::session::{Completion, What};

use crate::errors;
use crate::outcome::Outcome;

/// How often Python is asked for signals.
const TICK: Duration = Duration::from_millis(100);

/// What, when (ps), number, then of messages: sender, receiver, bytes.
type Told = (&'static str, u64, u64, Option<(usize, usize, u64)>);

/// A scenario that a Python program drives; `unpause.Session` is the interface.
#[pyclass(frozen)]
pub(crate) struct Session {
    inner: Mutex<Option<Driven>>,
}

impl Session {
    fn lock(&self) -> MutexGuard<'_, Option<Driven>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, with: impl FnOnce(&mut Driven) -> T) -> PyResult<T> {
        let mut inner = self.lock();
        inner.as_mut().map(with).ok_or_else(closed)
    }
}

fn closed() -> PyErr {
    PyValueError::new_err("the session is closed")
}

#[pymethods]
impl Session {
    /// Opens the file at `path`, or the text `source` of that name.
    #[new]
    #[pyo3(signature = (path, *, source=None, scheme=None, seed=None, duration=None, priority=None, record=false, sent=true, delivered=true, force=false))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        source: Option<String>,
        scheme: Option<String>,
        seed: Option<u64>,
        duration: Option<&str>,
        priority: Option<u8>,
        record: bool,
        sent: bool,
        delivered: bool,
        force: bool,
    ) -> PyResult<Self> {
        let duration = duration
            .map(unpause_scenario::quantity::parse_duration)
            .transpose()
            .map_err(|e| errors::scenario_error(py, &format!("duration: {e}")))?;
        let options = SessionOptions {
            scheme,
            seed,
            duration,
            priority,
            record,
            acknowledged: sent,
            delivered,
            force,
        };
        let opened = py.detach(|| match source {
            Some(source) => Driven::parse(&source, &path, &options),
            None => Driven::open(&path, &options),
        });
        let inner = opened.map_err(|e| errors::to_python(py, &e))?;
        Ok(Self {
            inner: Mutex::new(Some(inner)),
        })
    }

    /// The text of the scenario.
    #[getter]
    fn source(&self) -> PyResult<String> {
        self.with(|inner| inner.scenario().source().to_owned())
    }

    /// Names of the hosts, by number.
    #[getter]
    fn hosts(&self) -> PyResult<Vec<String>> {
        self.with(|inner| inner.hosts().map(str::to_owned).collect())
    }

    /// Picoseconds since the start.
    #[getter]
    fn now_ps(&self) -> PyResult<u64> {
        self.with(|inner| inner.now().as_ps())
    }

    /// True when the run has come to its end.
    #[getter]
    fn over(&self) -> PyResult<bool> {
        self.with(|inner| inner.is_over())
    }

    /// Sends now; answers the number of the message.
    #[pyo3(signature = (src, dst, bytes, connection=None))]
    fn send(
        &self,
        py: Python<'_>,
        src: usize,
        dst: usize,
        bytes: u64,
        connection: Option<u32>,
    ) -> PyResult<u32> {
        let sending = Sending {
            src,
            dst,
            bytes,
            tag: 0,
            connection,
        };
        let sent = self.with(|inner| inner.send(sending))?;
        sent.map_err(|e| errors::to_python(py, &e))
    }

    /// Sets a timer; answers its number.
    fn schedule(&self, delay_ps: u64) -> PyResult<u64> {
        self.with(|inner| inner.schedule(Time::from_ps(delay_ps), 0))
    }

    /// Goes on to the next completion, or to a time.
    #[pyo3(signature = (until_ps=None))]
    fn advance(&self, py: Python<'_>, until_ps: Option<u64>) -> PyResult<Option<Told>> {
        let mut raised = None;
        let advanced = py.detach(|| {
            let mut last = Instant::now();
            let mut watch = || {
                if last.elapsed() < TICK {
                    return ControlFlow::Continue(());
                }
                last = Instant::now();
                match Python::attach(|py| py.check_signals()) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(error) => {
                        raised = Some(error);
                        ControlFlow::Break(())
                    }
                }
            };
            let mut inner = self.lock();
            let driven = inner.as_mut().ok_or(None)?;
            let told = driven.advance_watched(until_ps.map(Time::from_ps), &mut watch);
            told.map(|told| told.map(|it| told_of(driven, it)))
                .map_err(Some)
        });
        match (advanced, raised) {
            (_, Some(error)) => Err(error),
            (Ok(told), None) => Ok(told),
            (Err(None), None) => Err(closed()),
            (Err(Some(error)), None) => Err(errors::to_python(py, &error)),
        }
    }

    /// Closes the run; answers what was measured.
    #[pyo3(signature = (at_ps=None))]
    fn finish(&self, py: Python<'_>, at_ps: Option<u64>) -> PyResult<Outcome> {
        let inner = self.lock().take().ok_or_else(closed)?;
        let finished: Result<_, Error> = py.detach(|| inner.finish(at_ps.map(Time::from_ps)));
        let inner = finished.map_err(|e| errors::to_python(py, &e))?;
        Ok(Outcome { inner })
    }
}

fn told_of(driven: &Driven, Completion { time, what }: Completion) -> Told {
    let (name, number, message) = match what {
        What::Sent(id, message) => ("sent", id.into(), Some(message)),
        What::Delivered(id, message) => ("delivered", id.into(), Some(message)),
        What::Timer(number, _) => ("timer", number, None),
    };
    let of = message.map(|it| (driven.number(it.src), driven.number(it.dst), it.bytes));
    (name, time.as_ps(), number, of)
}
