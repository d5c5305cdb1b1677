//! Collective operations of traces, node by node.

use super::wire::Value;
use crate::programs::imported::Used;

/// The operation of a process group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    AllReduce,
    AllGather,
    ReduceScatter,
    Broadcast,
    AllToAll,
    Barrier,
}

/// The request of a node, with its group.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub what: What,
    /// As the trace says them.
    pub bytes: u64,
    /// The name of a process group; nothing: all ranks.
    pub group: String,
}

/// The types that can be run.
pub(super) const TYPES: &str = "0 (all-reduce), 2 (all-gather), 5 (broadcast), 6 (all-to-all), 7 or 8 (reduce-scatter), 9 (barrier)";

impl What {
    /// By the number of its type.
    pub fn of(comm_type: u64) -> Option<Self> {
        Some(match comm_type {
            0 => Self::AllReduce,
            2 => Self::AllGather,
            5 => Self::Broadcast,
            6 => Self::AllToAll,
            7 | 8 => Self::ReduceScatter,
            9 => Self::Barrier,
            _ => return None,
        })
    }

    /// Says that there is one.
    pub fn note_in(self, used: &mut Used) {
        match self {
            Self::AllReduce => used.all_reduce = true,
            Self::AllGather | Self::ReduceScatter => used.all_gather = true,
            Self::AllToAll => used.all_to_all = true,
            Self::Broadcast => used.broadcast = true,
            Self::Barrier => {}
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all-reduce",
            Self::AllGather => "all-gather",
            Self::ReduceScatter => "reduce-scatter",
            Self::Broadcast => "broadcast",
            Self::AllToAll => "all-to-all",
            Self::Barrier => "barrier",
        }
    }
}

impl Call {
    /// For people.
    pub fn show(&self) -> String {
        match self.what {
            What::Barrier => "barrier".into(),
            what => format!("{} of {} B", what.name(), self.bytes),
        }
    }
}

/// The name of a process group, which some write as a number. "0" is torch's name for all ranks.
pub(super) fn group_name(value: Option<&Value>) -> String {
    let name = match value {
        Some(Value::Text(name)) => name.clone(),
        Some(other) => other.number().map_or(String::new(), |it| it.to_string()),
        None => String::new(),
    };
    if name == "0" { String::new() } else { name }
}

/// Process groups that a metadata node lists as JSON, `[{"pg_name": "1", "ranks": [0, 1]}]`, perhaps inside of other
/// brackets: names and ranks. `None` if they cannot be read.
pub(super) fn listed_groups(values: &str) -> Option<Vec<(String, Vec<u32>)>> {
    if !values.contains("pg_name") {
        return Some(Vec::new());
    }
    let list = values.get(values.find("[{")?..=values.rfind("}]")? + 1)?;
    let list = match serde_json::from_str::<serde_json::Value>(list) {
        Ok(list) => list,
        // As a string inside of a list.
        Err(_) => serde_json::from_str(&list.replace("\\\"", "\"")).ok()?,
    };
    let group = |it: &serde_json::Value| {
        let name = match &it["pg_name"] {
            serde_json::Value::String(name) => name.clone(),
            serde_json::Value::Number(number) => number.to_string(),
            _ => return None,
        };
        let rank = |it: &serde_json::Value| u32::try_from(it.as_u64()?).ok();
        let ranks = it["ranks"].as_array()?.iter().map(rank);
        Some((name, ranks.collect::<Option<Vec<u32>>>()?))
    };
    let groups = list.as_array()?.iter().map(group);
    let of_all = |(name, ranks): (String, Vec<u32>)| {
        if name == "0" {
            (String::new(), ranks)
        } else {
            (name, ranks)
        }
    };
    Some(
        groups
            .collect::<Option<Vec<_>>>()?
            .into_iter()
            .map(of_all)
            .collect(),
    )
}
