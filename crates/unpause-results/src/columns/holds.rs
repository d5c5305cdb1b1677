//! The values that columns hold, and the columns that tell rows apart: what readers of foreign results check.

use super::{RUN, RUNS};

/// The values that a column can have. Who reads a result of others checks this and [`key_of`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Anything of its type.
    Any,
    /// A number of a run in table `runs`.
    Run,
    /// The number of a flow in table `flows`, of the same run.
    Flow,
    /// The same, or 0 for a frame of no flow.
    FlowOrZero,
    /// A time or a duration within the run: from 0 to its `simulated_ns`.
    Within,
    /// Finite, and at least 0.
    Amount,
    /// Finite.
    Finite,
    /// 0 to 7.
    Priority,
}

impl Holds {
    /// Its name in `python/unpause/columns.json`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Run => "run",
            Self::Flow => "flow",
            Self::FlowOrZero => "flow or 0",
            Self::Within => "within",
            Self::Amount => "amount",
            Self::Finite => "finite",
            Self::Priority => "priority",
        }
    }

    /// The values of a column of a table; `is_float` if its type is float64. A column that is not declared holds
    /// swept values.
    pub fn of(table: &str, column: &str, is_float: bool) -> Self {
        match (table, column) {
            (_, "run") => Self::Run,
            ("packets", "flow_id") => Self::FlowOrZero,
            ("flows", "flow_id") => Self::Any,
            (_, "flow_id") => Self::Flow,
            (_, "priority") => Self::Priority,
            ("runs", "simulated_ns") => Self::Amount,
            // Differences, and times that may lie beyond the run.
            ("loads" | "delays", _) if is_float => Self::Finite,
            (_, name) if WITHIN.contains(&name) => Self::Within,
            (_, name) if is_float && (name.ends_with("excess_ns") || !is_declared(table, name)) => {
                Self::Finite
            }
            _ if is_float => Self::Amount,
            _ => Self::Any,
        }
    }
}

fn is_declared(table: &str, column: &str) -> bool {
    table != "runs" || [RUN, RUNS].concat().iter().any(|it| it.name == column)
}

/// Times and durations that end with the run. A packet may arrive later, and jobs alone run on their own.
const WITHIN: [&str; 21] = [
    "all_began_ns",
    "began_ns",
    "credit_wait_ns",
    "deadlock_began_ns",
    "detected_ns",
    "duration_ns",
    "end_ns",
    "fct_ns",
    "first_ns",
    "last_ns",
    "acked_ns",
    "obeyed_ns",
    "paused_ns",
    "restored_ns",
    "seen_ns",
    "since_ns",
    "stalled_ns",
    "start_ns",
    "time_ns",
    "until_ns",
    "wait_ns",
];

/// Pairs of columns of a row, of which the second is no earlier than the first.
pub const ORDERED: [[&str; 2]; 6] = [
    ["obeyed_ns", "start_ns"],
    ["start_ns", "end_ns"],
    ["began_ns", "detected_ns"],
    ["detected_ns", "restored_ns"],
    ["first_ns", "last_ns"],
    ["time_ns", "until_ns"],
];

/// Columns that tell the rows of a run apart; none where rows may be equal.
pub fn key_of(table: &str) -> &'static [&'static str] {
    match table {
        "flows" => &["flow_id"],
        "ports" => &["node", "port", "peer", "priority"],
        "pauses" => &["node", "port", "peer", "priority", "obeyed_ns"],
        "port_series" => &["time_ns", "node", "port", "peer", "priority"],
        "flow_series" => &["time_ns", "flow_id"],
        "victims" => &["flow_id", "priority", "root_node", "root_port"],
        "storms" => &["node", "port", "peer", "priority", "detected_ns"],
        "jobs" => &["job"],
        "iterations" => &["job", "iteration"],
        "ranks" => &["job", "iteration", "rank"],
        "messages" => &["flow_id", "number"],
        "critical" => &["job", "iteration", "segment"],
        "job_links" => &["job", "node", "port", "peer", "priority"],
        _ => &[],
    }
}
