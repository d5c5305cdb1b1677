//! The first lines of a workload of SimAI: how the model is split.

use std::path::Path;

use super::simai_rows::Layer;
use super::words::Lines;
use crate::{FileError, Place};
use unpause_text::error::nearest;

const POLICY: [&str; 3] = [
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD",
    "HYBRID_TRANSFORMER",
    "DISTRIBUTED_INFERENCE",
];

/// Policies that SimAI and astra-sim have beside these.
const OTHERS: [&str; 8] = [
    "DATA",
    "HYBRID_DLRM",
    "HYBRID_DLRM_ENHANCED",
    "MODEL",
    "HYBRID_DATA_MODEL",
    "HYBRID_MODEL_DATA",
    "HYBRID_CUSTOMIZED",
    "MICRO",
];

const KEYS: [&str; 9] = [
    "model_parallel_NPU_group",
    "ep",
    "pp",
    "vpp",
    "ga",
    "all_gpus",
    "checkpoints",
    "checkpoint_initiates",
    "pp_comm",
];

/// The values of the header.
pub(super) struct Header {
    /// Ranks of a tensor-parallel group, and of an expert-parallel one.
    pub tp: u32,
    pub ep: u32,
    /// Layers from which the forward pass is computed again, and those before whose gradients that is done.
    pub checkpoints: Vec<usize>,
    pub initiates: Vec<usize>,
    /// Forward only.
    pub is_inference: bool,
    /// Numbers that nothing of a run depends on.
    pp: u64,
    vpp: u64,
    ga: u64,
    pp_comm: u64,
}

impl Header {
    /// Reads it, for this many ranks.
    pub fn read(lines: &mut Lines<'_>, ranks: u32) -> Result<Self, FileError> {
        const FIRST: &str = "a policy such as `HYBRID_TRANSFORMER_FWD_IN_BCKWD`, with which a workload of SimAI begins";
        if !lines.next() {
            return Err(lines.found(0, "nothing", FIRST));
        }
        let policy = lines.word(0).unwrap_or_default();
        if OTHERS.contains(&policy) {
            let expected = format!("one of the policies that are read: {}", POLICY.join(", "));
            return Err(lines.found(0, format!("policy {policy}"), &expected));
        }
        if !POLICY.contains(&policy) {
            return Err(lines.error(0, FIRST));
        }
        let mut header = Self {
            tp: 0,
            ep: 1,
            checkpoints: Vec::new(),
            initiates: Vec::new(),
            is_inference: policy == POLICY[2],
            pp: 1,
            vpp: 1,
            ga: 1,
            pp_comm: 0,
        };
        let mut at = 1;
        while lines.word(at).is_some() {
            at = header.key(lines, at, ranks)?;
        }
        header.split(lines, ranks)?;
        if policy != POLICY[0] {
            header.initiates.clear();
        }
        Ok(header)
    }

    /// Reads a key and what follows; answers where the next one stands.
    fn key(&mut self, lines: &Lines<'_>, at: usize, ranks: u32) -> Result<usize, FileError> {
        let word = lines.word(at).unwrap_or_default();
        let key = word.trim_end_matches(':');
        let value = match lines.word(at + 1) {
            Some(":") => at + 2,
            _ => at + 1,
        };
        let number = |at: usize| lines.number::<u64>(at, "a whole number");
        match key {
            "model_parallel_NPU_group" => self.tp = lines.number(value, "a number of ranks")?,
            "ep" => self.ep = lines.number::<u32>(value, "a number of ranks")?.max(1),
            "pp" => self.pp = number(value)?,
            "vpp" => self.vpp = number(value)?,
            "ga" => self.ga = number(value)?,
            "pp_comm" => self.pp_comm = number(value)?,
            "all_gpus" => {
                let gpus = number(value)?;
                if gpus != u64::from(ranks) {
                    let expected = format!("{ranks}, the ranks of the job");
                    return Err(lines.error(value, &expected));
                }
            }
            "checkpoints" | "checkpoint_initiates" => {
                let count = number(value)? as usize;
                let last = value.saturating_add(count);
                let mut layers = Vec::new();
                for at in value + 1..=last {
                    layers.push(lines.number(at, "the number of a layer")?);
                }
                match key {
                    "checkpoints" => self.checkpoints = layers,
                    _ => self.initiates = layers,
                }
                return Ok(last + 1);
            }
            _ => {
                let near = nearest(key, &KEYS).unwrap_or_default();
                return Err(lines.error(at, &format!("a key of SimAI; {near}")));
            }
        }
        Ok(value + 1)
    }

    /// Groups fill all ranks.
    fn split(&mut self, lines: &Lines<'_>, ranks: u32) -> Result<(), FileError> {
        if self.tp == 0 {
            self.tp = ranks;
        }
        let (tp, ep) = (self.tp, self.ep);
        if tp > ranks || !ranks.is_multiple_of(tp) {
            let found = format!("tensor-parallel groups of {tp}");
            let expected = format!("groups that fill {ranks} ranks");
            return Err(lines.found(0, found, &expected));
        }
        if !(ranks / tp).is_multiple_of(ep) {
            let found = format!("expert-parallel groups of {ep}");
            let expected = format!("groups that fill one of {} data-parallel ranks", ranks / tp);
            return Err(lines.found(0, found, &expected));
        }
        Ok(())
    }

    /// Checkpoints are layers.
    pub fn check_layers(&self, layers: &[Layer], path: &Path) -> Result<(), FileError> {
        let mut all = self.checkpoints.iter().chain(&self.initiates);
        match all.find(|it| **it >= layers.len()) {
            None => Ok(()),
            Some(layer) => {
                let expected = format!("one of {} layers, from 0 on", layers.len());
                Err(Place::of_line(path, 1).error(format!("checkpoint layer {layer}"), expected))
            }
        }
    }

    /// Words that have no effect.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.pp > 1 {
            notes.push(format!(
                "pp {}: every rank runs all layers, as in SimAI's packet mode; pipeline stages are not run",
                self.pp
            ));
        }
        let others = [
            ("vpp", self.vpp, 1),
            ("ga", self.ga, 1),
            ("pp_comm", self.pp_comm, 0),
        ];
        for (name, value, idle) in others {
            if value > idle {
                notes.push(format!(
                    "{name} {value} is not carried over: SimAI's packet mode does not use it either"
                ));
            }
        }
        notes
    }
}
