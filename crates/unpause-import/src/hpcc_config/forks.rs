//! Keys of simulators derived from HPCC's that it does not have itself: whose they are, what they do, what becomes of
//! them here.

use super::words::Words;
use crate::FileError;

/// A key that a fork has added.
pub(super) struct ForkKey {
    /// Its name; `*` stands for the beginning or the end of several.
    pub name: &'static str,
    /// Who has it.
    pub fork: &'static str,
    /// The values that follow it.
    takes: Takes,
    pub becomes: Becomes,
}

/// The values that follow a key.
#[derive(Clone, Copy, PartialEq)]
enum Takes {
    Word,
    /// How many words follow, and these.
    Counted,
}

/// The meaning of a fork's key here.
pub(super) enum Becomes {
    /// Nothing, which changes no result; what it is.
    Nothing(&'static str),
    /// Nothing if it is this, which is what HPCC's simulator does; else it is refused: what it would mean.
    Only(&'static str, &'static str),
    /// Something, elsewhere; else it is refused: the values, and what others would mean.
    Among(&'static [&'static str], &'static str),
    /// Something, elsewhere.
    Done,
}

use Becomes::{Among, Done, Nothing, Only};

const fn word(name: &'static str, fork: &'static str, becomes: Becomes) -> ForkKey {
    ForkKey {
        name,
        fork,
        takes: Takes::Word,
        becomes,
    }
}

const fn counted(name: &'static str, fork: &'static str, becomes: Becomes) -> ForkKey {
    ForkKey {
        name,
        fork,
        takes: Takes::Counted,
        becomes,
    }
}

/// Said of switches without PFC.
const NO_PAUSE: &str = "no PAUSE, packets are dropped by its own thresholds; imported only beside ENABLE_IRN 1, for go-back-N never ends \
                        where nothing tells of a lost last packet";
const MONITOR: &str = "what it records; results here have their own tables";
const OF_CONWEAVE: &str = "for LB_MODE 9 only";
const DRAWN: &str = "its simulator draws the flows itself and reads no FLOW_FILE";
const DUMBBELL: &str = "its simulator builds the fabric itself";
const OF_LAW: &str = "of its own congestion control only, a CC_MODE that is refused here";
const PULL: &str = "receivers that take packets out of their NIC at a rate of their own; [slow_receiver] is the nearest";
const OF_PULL: &str = "for RX_PULL_MODE 1 only";
/// Those who have ENABLE_PFC and ENABLE_IRN.
const IRN: &str = "ConWeave, TLT";
/// A number that no key has: whatever it is, it is refused.
const NEVER: &str = "";

static KEYS: &[ForkKey] = &[
    word(
        "ENABLE_PFC",
        "ConWeave, TLT, saberfeng",
        Only("1", NO_PAUSE),
    ),
    word("ENABLE_QBB", "saberfeng", Only("1", NO_PAUSE)),
    word("ENABLE_IRN", IRN, Done),
    word("IRN_NO_BDPFC", "TLT", Nothing("for ENABLE_IRN 1 only")),
    word(
        "LB_MODE",
        "ConWeave",
        Among(
            &["0", "6"],
            "a load balancer that is not here: of ConWeave's there are ECMP (0) and LetFlow (6), but not DRILL (2), CONGA (3) and ConWeave (9)",
        ),
    ),
    word("CONWEAVE_TX_EXPIRY_TIME", "ConWeave", Nothing(OF_CONWEAVE)),
    word(
        "CONWEAVE_REPLY_TIMEOUT_EXTRA",
        "ConWeave",
        Nothing(OF_CONWEAVE),
    ),
    word("CONWEAVE_PATH_PAUSE_TIME", "ConWeave", Nothing(OF_CONWEAVE)),
    word(
        "CONWEAVE_EXTRA_VOQ_FLUSH_TIME",
        "ConWeave",
        Nothing(OF_CONWEAVE),
    ),
    word(
        "CONWEAVE_DEFAULT_VOQ_WAITING_TIME",
        "ConWeave",
        Nothing(OF_CONWEAVE),
    ),
    word(
        "FLOWGEN_START_TIME",
        "ConWeave",
        Nothing("flows start when FLOW_FILE says"),
    ),
    word("FLOWGEN_STOP_TIME", "ConWeave", Done),
    word(
        "LOAD",
        "ConWeave, TLT",
        Nothing("a name for the flows, which are in FLOW_FILE"),
    ),
    word(
        "RANDOM_SEED",
        "ConWeave, TLT",
        Nothing("random numbers differ here anyway; set `seed`, or run with --seed"),
    ),
    word("SW_MONITORING_INTERVAL", "ConWeave", Nothing(MONITOR)),
    word("*_MON_FILE", "ConWeave, SimAI", Nothing(MONITOR)),
    word(
        "FLOW_INPUT_FILE",
        "ConWeave",
        Nothing("it repeats the flows there; FLOW_FILE is read"),
    ),
    word("CNP_OUTPUT_FILE", "ConWeave", Nothing(MONITOR)),
    word(
        "ENABLE_TLT",
        "TLT",
        Only(
            "0",
            "packets of two colours, the important ones protected, which is not here",
        ),
    ),
    word("TLT_MAXBYTES_UIP", "TLT", Nothing("for ENABLE_TLT 1 only")),
    word("HPCC_WORKLOAD", "TLT", Only(NEVER, DRAWN)),
    word("FOREGROUND_RATIO", "TLT", Only(NEVER, DRAWN)),
    word("INCAST_FLOW_SIZE", "TLT", Only(NEVER, DRAWN)),
    word("NUM_BG_FLOWS", "TLT", Only(NEVER, DRAWN)),
    word("FOREGROUND_INCAST_FLOW_PER_HOST", "TLT", Only(NEVER, DRAWN)),
    word(
        "APP_START_TIME",
        "TLT",
        Nothing("flows start when FLOW_FILE says"),
    ),
    word(
        "APP_STOP_TIME",
        "TLT",
        Nothing("flows start when FLOW_FILE says"),
    ),
    word("DUMBBELL_*", "TLT", Only(NEVER, DUMBBELL)),
    word("DIR", "Hawkeye", Nothing("a folder of results")),
    counted(
        "AGENT_NODE",
        "Hawkeye",
        Nothing("hosts that watch; they send nothing of their own"),
    ),
    word("AGENT_THRESHOLD", "Hawkeye", Nothing("of its telemetry")),
    word("EPOCH_TIME", "Hawkeye", Nothing("of its telemetry")),
    counted(
        "NO_CC_NODE",
        "Hawkeye",
        Only(
            "0",
            "hosts whose flows have no congestion control; write their flows into an entry of [[traffic]] of their own with controlled = false",
        ),
    ),
    word(
        "ENABLE_RANDOFFSET",
        "saberfeng",
        Only(
            "0",
            "offsets at random to its thresholds, which are not here",
        ),
    ),
    word(
        "RANDOM_PARAM_FILE",
        "saberfeng",
        Nothing("for ENABLE_RANDOFFSET 1 only"),
    ),
    word(
        "RANDOFFSET_PARAMS",
        "saberfeng",
        Nothing("for ENABLE_RANDOFFSET 1 only"),
    ),
    word("QUEUE_MONITOR_FILE", "saberfeng", Nothing(MONITOR)),
    word("QLEN_MON_INTV_NS", "saberfeng", Nothing(MONITOR)),
    word("QLEN_MON_DUMP_INTV_NS", "saberfeng", Nothing(MONITOR)),
    word(
        "ENABLE_THEMIS",
        "Themis",
        Only("0", "its control between sites, which is not here"),
    ),
    word("CUSTOM_ALPHA", "srnic", Nothing(OF_LAW)),
    word("CUSTOM_BETA", "srnic", Nothing(OF_LAW)),
    word("MEASUREMENT_CYCLE", "srnic", Nothing(OF_LAW)),
    word("THROUGHPUT_FILE", "srnic", Nothing(MONITOR)),
    word(
        "FLOW_FILE_NAME",
        "intcc",
        Nothing("a name for its results; FLOW_FILE is read"),
    ),
    word("P4THMETER_THR", "PrioMeter", Nothing(OF_LAW)),
    word("NIC_TOTAL_PAUSE_TIME", "SimAI, astra-sim", Nothing(MONITOR)),
    word("MON_START", "SimAI", Nothing(MONITOR)),
    word("MON_END", "SimAI", Nothing(MONITOR)),
    word("QP_MON_INTERVAL", "SimAI", Nothing(MONITOR)),
    word("QLEN_MON_INTERVAL", "SimAI", Nothing(MONITOR)),
    word("BW_MON_INTERVAL", "SimAI", Nothing(MONITOR)),
    word("RX_PULL_MODE", "HPCC-Plus", Only("0", PULL)),
    word("RX_PULL_MODE_NODE", "HPCC-Plus", Only(NEVER, PULL)),
    word("RX_PULL_RATE*", "HPCC-Plus", Nothing(OF_PULL)),
    word("RX_BUFFER_*", "HPCC-Plus", Nothing(OF_PULL)),
    word(
        "CREATE_INCAST",
        "preeyshah",
        Only("0", "flows beside those of FLOW_FILE"),
    ),
    // Keys of no fork named here; at the end, since the first that fits counts.
    word("ENABLE_*_TRACE", "a fork not known here", Nothing(MONITOR)),
    word(
        "ENABLE_*",
        "a fork not known here",
        Only(
            "0",
            "what it turns on is not here; remove the line if it changes no packet",
        ),
    ),
];

/// A key that a known fork has added.
pub(super) fn key(name: &str) -> Option<&'static ForkKey> {
    let is = |key: &&ForkKey| match key.name.split_once('*') {
        Some((start, end)) => name.starts_with(start) && name.ends_with(end),
        None => key.name == name,
    };
    KEYS.iter().find(is)
}

impl ForkKey {
    /// Takes the value behind it; of several words the first.
    pub fn take(&self, name: &str, words: &mut Words<'_>) -> Result<String, FileError> {
        let first = words.text(name)?;
        if self.takes == Takes::Counted {
            let count: usize = first.parse().unwrap_or(0);
            for _ in 0..count {
                words.text(name)?;
            }
        }
        Ok(first.to_owned())
    }

    /// Why a configuration with this value is refused.
    pub fn refusal(&self, value: &str) -> Option<&'static str> {
        let is = |other: &str| value.parse::<f64>().is_ok_and(|it| Ok(it) == other.parse());
        match self.becomes {
            Only(other, why) if !is(other) => Some(why),
            Among(others, why) if !others.iter().any(|other| is(other)) => Some(why),
            _ => None,
        }
    }
}

/// The law that a number of CC_MODE selects in a fork.
pub(super) fn law(cc_mode: u32) -> Option<&'static str> {
    match cc_mode {
        13 => Some("a law of intcc or PrioMeter"),
        14 => Some("a law of intcc"),
        15 => Some("srnic's own law"),
        _ => None,
    }
}
