//! Layers of a workload of SimAI.

use unpause_protocols::units::Time;

use super::words::Lines;
use crate::FileError;
use unpause_text::error::nearest;

/// The exchange of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exchange {
    AllReduce,
    AllGather,
    ReduceScatter,
    AllToAll,
}

/// Which ranks do so together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    Tp,
    Dp,
    Ep,
    DpEp,
}

impl Group {
    pub const ALL: [Self; 4] = [Self::Tp, Self::Dp, Self::Ep, Self::DpEp];
}

/// A collective operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Communication {
    pub exchange: Exchange,
    pub group: Group,
    pub bytes: u64,
}

/// A layer's work in a pass.
#[derive(Debug)]
pub(super) struct Pass {
    pub compute: Time,
    pub exchange: Option<Communication>,
}

/// A layer.
#[derive(Debug)]
pub(super) struct Layer {
    pub name: String,
    pub line: usize,
    pub forward: Pass,
    pub input_gradient: Pass,
    pub weight_gradient: Pass,
    /// After each of its collective operations.
    pub update: Time,
}

/// Layers, so that each label has a number.
const MOST_LAYERS: usize = 20_000;
const COLUMNS: usize = 12;
const ROW: &str = "a layer of 12 columns: name, dependency, three times compute ns, collective and bytes (forward, input \
                   gradient, weight gradient), update ns";
const KINDS: [&str; 5] = [
    "NONE",
    "ALLREDUCE",
    "ALLGATHER",
    "REDUCESCATTER",
    "ALLTOALL",
];

/// The number of layers, and these.
pub(super) fn rows(lines: &mut Lines<'_>) -> Result<Vec<Layer>, FileError> {
    if !lines.next() {
        return Err(lines.found(0, "the end of the file", "the number of layers"));
    }
    let count: usize = lines.number(0, "the number of layers")?;
    lines.end_at(1, "the end of the line, and the layers below")?;
    if count > MOST_LAYERS {
        return Err(lines.error(0, &format!("at most {MOST_LAYERS} layers")));
    }
    let mut layers = Vec::new();
    while layers.len() < count {
        if !lines.next() {
            let found = format!(
                "the end of the file after {} of {count} layers",
                layers.len()
            );
            return Err(lines.found(0, found, &format!("{count} layers")));
        }
        layers.push(layer(lines)?);
    }
    if lines.next() {
        Err(lines.error(0, &format!("the end of the file after {count} layers")))
    } else {
        Ok(layers)
    }
}

fn layer(lines: &Lines<'_>) -> Result<Layer, FileError> {
    if lines.words.len() != COLUMNS {
        let found = format!("{} columns", lines.words.len());
        return Err(lines.found(0, found, ROW));
    }
    Ok(Layer {
        name: lines.word(0).unwrap_or_default().to_owned(),
        line: lines.line,
        forward: pass(lines, 2, Group::Tp)?,
        input_gradient: pass(lines, 5, Group::Tp)?,
        weight_gradient: pass(lines, 8, Group::Dp)?,
        update: time(lines, 11)?,
    })
}

/// Compute, collective operation and bytes from column `at` on.
fn pass(lines: &Lines<'_>, at: usize, plain: Group) -> Result<Pass, FileError> {
    let compute = time(lines, at)?;
    let word = lines.word(at + 1).unwrap_or_default();
    let (kind, group) = match word {
        _ if word.ends_with("_DP_EP") => (&word[..word.len() - 6], Group::DpEp),
        _ if word.ends_with("_EP") => (&word[..word.len() - 3], Group::Ep),
        _ => (word, plain),
    };
    let exchange = match kind {
        "NONE" => None,
        "ALLREDUCE" => Some(Exchange::AllReduce),
        "ALLGATHER" => Some(Exchange::AllGather),
        "REDUCESCATTER" => Some(Exchange::ReduceScatter),
        "ALLTOALL" => Some(Exchange::AllToAll),
        _ => {
            let near = nearest(kind, &KINDS).unwrap_or_default();
            let expected = format!("a collective, alone or with _EP or _DP_EP; {near}");
            return Err(lines.error(at + 1, &expected));
        }
    };
    let bytes = lines.number(at + 2, "a number of bytes")?;
    Ok(Pass {
        compute,
        exchange: exchange
            .filter(|_| bytes > 0)
            .map(|exchange| Communication {
                exchange,
                group,
                bytes,
            }),
    })
}

fn time(lines: &Lines<'_>, at: usize) -> Result<Time, FileError> {
    let ns: u64 = lines.number(at, "a time in ns, a whole number")?;
    let ps = ns.checked_mul(1000).filter(|ps| *ps < u64::MAX / 2);
    let ps = ps.ok_or_else(|| lines.error(at, "a time below 100 days"))?;
    Ok(Time::from_ps(ps))
}
