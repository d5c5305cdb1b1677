//! Reading of a `config.txt`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::forks;
use super::words::Words;
use crate::{FileError, Place};

/// The values of a `config.txt`, with those of `third.cc` where it has none.
#[derive(Clone, Debug)]
pub(super) struct HpccConfig {
    pub path: PathBuf,
    pub cc_mode: u32,
    pub enable_qcn: bool,
    pub payload: u32,
    pub ack_interval: u32,
    pub pause_time: f64,
    /// Seconds, as written.
    pub stop: Option<String>,
    pub topology: Option<String>,
    pub flows: Option<String>,
    pub alpha_resume: f64,
    pub rp_timer: f64,
    pub ewma_gain: f64,
    pub rate_decrease: f64,
    pub fast_recovery: u32,
    pub rate_ai: String,
    pub rate_hai: String,
    pub min_rate: String,
    pub dctcp_rate_ai: String,
    pub clamp_target: bool,
    pub back_to_zero: bool,
    pub error_rate: f64,
    pub has_win: bool,
    pub global_t: bool,
    pub var_win: bool,
    pub fast_react: bool,
    pub mi_thresh: u32,
    pub u_target: f64,
    pub int_multi: u32,
    pub multi_rate: bool,
    pub sample_feedback: bool,
    pub rate_bound: bool,
    pub pint_log_base: f64,
    pub pint_prob: f64,
    pub ack_high_prio: bool,
    pub link_down: [u64; 3],
    /// Mebibytes, or kibibytes in Hawkeye.
    pub buffer: f64,
    /// Nodes whose packets are traced stand in this file.
    pub trace: Option<String>,
    pub enable_trace: bool,
    /// `QLEN_MON_FILE` is there.
    pub qlen: bool,
    /// From when to when, in nanoseconds.
    pub qlen_mon: [u64; 2],
    pub kmin: Vec<(u64, f64)>,
    pub kmax: Vec<(u64, f64)>,
    pub pmax: Vec<(u64, f64)>,
    /// Keys that are written, as they are, but for those above.
    pub others: Vec<String>,
    /// Keys of known forks, and what is written behind them.
    pub of_forks: BTreeMap<String, String>,
    /// Line and column of the value of each key, the last of it.
    places: BTreeMap<String, (usize, usize)>,
    /// Numbers that are not read as they are written.
    pub notes: Vec<String>,
}

impl HpccConfig {
    fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            cc_mode: 1,
            enable_qcn: true,
            payload: 1000,
            ack_interval: 0,
            pause_time: 5.0,
            stop: None,
            topology: None,
            flows: None,
            alpha_resume: 55.0,
            rp_timer: 0.0,
            ewma_gain: 0.0,
            rate_decrease: 4.0,
            fast_recovery: 5,
            rate_ai: String::new(),
            rate_hai: String::new(),
            min_rate: "100Mb/s".into(),
            dctcp_rate_ai: "1000Mb/s".into(),
            clamp_target: false,
            back_to_zero: false,
            error_rate: 0.0,
            has_win: true,
            global_t: true,
            var_win: false,
            fast_react: true,
            mi_thresh: 5,
            u_target: 0.95,
            int_multi: 1,
            multi_rate: true,
            sample_feedback: false,
            rate_bound: true,
            pint_log_base: 1.05,
            pint_prob: 1.0,
            ack_high_prio: false,
            link_down: [0; 3],
            buffer: 16.0,
            trace: None,
            enable_trace: true,
            qlen: false,
            qlen_mon: [2_000_000_000, 2_100_000_000],
            kmin: Vec::new(),
            kmax: Vec::new(),
            pmax: Vec::new(),
            others: Vec::new(),
            of_forks: BTreeMap::new(),
            places: BTreeMap::new(),
            notes: Vec::new(),
        }
    }

    /// Where the value of `key` stands; the first line if it is not there.
    pub fn place(&self, key: &str) -> Place<'_> {
        let (line, column) = self.places.get(key).copied().unwrap_or((1, 0));
        Place {
            path: &self.path,
            line,
            column,
        }
    }

    pub fn has(&self, key: &str) -> bool {
        self.places.contains_key(key)
    }
}

/// Keys with one value that have no counterpart.
const UNUSED: [&str; 7] = [
    "USE_DYNAMIC_PFC_THRESHOLD",
    "DATA_RATE",
    "LINK_DELAY",
    "L2_CHUNK_SIZE",
    "TRACE_OUTPUT_FILE",
    "FCT_OUTPUT_FILE",
    "PFC_OUTPUT_FILE",
];

/// Reads the text of a `config.txt`.
pub(super) fn parse(text: &str, path: &Path) -> Result<HpccConfig, FileError> {
    let mut words = Words::new(text, path);
    let mut config = HpccConfig::new(path);
    while let Some(key) = words.next() {
        let value = words.place();
        let others = config.others.len();
        read_key(key, &mut words, &mut config)?;
        if words.place() != value || config.others.len() > others {
            config.places.insert(key.to_owned(), value);
        }
    }
    config.notes.append(&mut words.notes);
    Ok(config)
}

/// Takes the value of `key`, if it is one.
fn read_key(key: &str, words: &mut Words<'_>, config: &mut HpccConfig) -> Result<(), FileError> {
    match key {
        "CC_MODE" => config.cc_mode = words.number(key)?,
        "ENABLE_QCN" => config.enable_qcn = words.flag(key)?,
        "PACKET_PAYLOAD_SIZE" => config.payload = words.number(key)?,
        "L2_ACK_INTERVAL" => config.ack_interval = words.number(key)?,
        "L2_BACK_TO_ZERO" => config.back_to_zero = words.flag(key)?,
        "PAUSE_TIME" => config.pause_time = words.real(key)?,
        "SIMULATOR_STOP_TIME" => config.stop = Some(words.text(key)?.to_owned()),
        "TOPOLOGY_FILE" => config.topology = Some(words.text(key)?.to_owned()),
        "FLOW_FILE" => config.flows = Some(words.text(key)?.to_owned()),
        "ALPHA_RESUME_INTERVAL" => config.alpha_resume = words.real(key)?,
        "RP_TIMER" => config.rp_timer = words.real(key)?,
        "EWMA_GAIN" => config.ewma_gain = words.real(key)?,
        "RATE_DECREASE_INTERVAL" => config.rate_decrease = words.real(key)?,
        "FAST_RECOVERY_TIMES" => config.fast_recovery = words.number(key)?,
        "CLAMP_TARGET_RATE" => config.clamp_target = words.flag(key)?,
        "RATE_AI" => config.rate_ai = words.text(key)?.to_owned(),
        "RATE_HAI" => config.rate_hai = words.text(key)?.to_owned(),
        "MIN_RATE" => config.min_rate = words.text(key)?.to_owned(),
        "DCTCP_RATE_AI" => config.dctcp_rate_ai = words.text(key)?.to_owned(),
        "KMIN_MAP" => config.kmin = words.map(key)?,
        "KMAX_MAP" => config.kmax = words.map(key)?,
        "PMAX_MAP" => config.pmax = words.map(key)?,
        "BUFFER_SIZE" => config.buffer = words.real(key)?,
        "ACK_HIGH_PRIO" => config.ack_high_prio = words.flag(key)?,
        "ERROR_RATE_PER_LINK" => config.error_rate = words.real(key)?,
        "LINK_DOWN" => {
            for value in &mut config.link_down {
                *value = words.number(key)?;
            }
        }
        _ => read_law_key(key, words, config)?,
    }
    Ok(())
}

/// The same of windows and HPCC.
fn read_law_key(
    key: &str,
    words: &mut Words<'_>,
    config: &mut HpccConfig,
) -> Result<(), FileError> {
    match key {
        "HAS_WIN" => config.has_win = words.flag(key)?,
        "GLOBAL_T" => config.global_t = words.number::<u32>(key)? == 1,
        "VAR_WIN" => config.var_win = words.flag(key)?,
        "FAST_REACT" => config.fast_react = words.flag(key)?,
        "MI_THRESH" => config.mi_thresh = words.number(key)?,
        "U_TARGET" => config.u_target = words.real(key)?,
        "INT_MULTI" => config.int_multi = words.number(key)?,
        "MULTI_RATE" => config.multi_rate = words.flag(key)?,
        "SAMPLE_FEEDBACK" => config.sample_feedback = words.flag(key)?,
        "RATE_BOUND" => config.rate_bound = words.flag(key)?,
        "TRACE_FILE" => config.trace = Some(words.text(key)?.to_owned()),
        "ENABLE_TRACE" => config.enable_trace = words.flag(key)?,
        "QLEN_MON_FILE" => {
            words.text(key)?;
            config.qlen = true;
        }
        "QLEN_MON_START" => config.qlen_mon[0] = words.number(key)?,
        "QLEN_MON_END" => config.qlen_mon[1] = words.number(key)?,
        "PINT_LOG_BASE" | "PINT_PROB" => {
            let value = words.real(key)?;
            match key {
                "PINT_PROB" => config.pint_prob = value,
                _ => config.pint_log_base = value,
            }
            config.others.push(key.to_owned());
        }
        _ if UNUSED.contains(&key) => {
            words.text(key)?;
            config.others.push(key.to_owned());
        }
        _ if let Some(fork) = forks::key(key) => {
            config
                .of_forks
                .insert(key.to_owned(), fork.take(key, words)?);
        }
        _ => {
            let is_key = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
            if key.len() > 3 && key.chars().all(is_key) && key.contains('_') {
                config.others.push(key.to_owned());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
