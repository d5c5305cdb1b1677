//! The cost of a run, measured by its beginning: that is simulated, and its tables are made.

use cpu_time::ThreadTime;
use unpause_protocols::units::Time;

use super::pilot::until;
use crate::outcome::hpcc_files;
use crate::run::Run;
use crate::run::measured::Measured;
use crate::tables::Tables;
use crate::tables::files::encode;

/// At most this many runs are tried: others are taken to be like the one before them.
const TRIED: usize = 6;
/// A node and its ports take as long to set up as this many packet-hops.
const NODE_HOPS: u64 = 100;
/// Large fabrics take long to set up: no further run is tried after this many times what all trials may take.
const ENOUGH: u64 = 3;

/// The cost and the records of the beginning of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Trial {
    /// It was of this run, and not of one like it.
    is_own: bool,
    /// It was the whole run.
    is_whole: bool,
    /// Packets were lost in it.
    loses: bool,
    /// Packets times links that were counted before for it.
    counted: f64,
    /// Packets times links.
    pub packet_hops: u64,
    /// Seconds before the first packet moved.
    pub setup_s: f64,
    /// Seconds after that, until the tables were there.
    pub rest_s: f64,
    /// Samples of flows, if that was the whole run.
    pub flow_samples: Option<u64>,
    /// The records that grow with the packets.
    pub grown: Grown,
    /// Bytes of a row of the series of ports and of flows, and of a flow, in the files.
    pub row_bytes: Rows,
}

/// The records that a run makes of its packets: rows of tables, and bytes of files.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Grown {
    pub packets: f64,
    pub causes: f64,
    pub pauses: f64,
    /// Packets that files in the formats of HPCC's simulator tell of.
    pub traced: f64,
    /// Bytes of all of that in files.
    pub disk: f64,
}

/// Bytes of a row in the files; none where there are too few to tell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rows {
    pub flow: Option<f64>,
    pub port_sample: Option<f64>,
    pub flow_sample: Option<f64>,
}

/// The largest factor by which a count for a whole run is taken to be wrong, whatever its beginning shows.
const MOST_WRONG: f64 = 4.0;
/// Part of a run from which on its beginning is believed for all of it.
const ENOUGH_TRIED: f64 = 0.25;
/// Fewer rows do not tell what many take: columns begin with what all rows share.
const TELLING: usize = 2_000;

/// Tries some of the runs, all together about `most` packet-hops; what the others take is that of the one before them.
/// `counted` answers the packets times links that are expected of a run until then.
pub(super) fn trials(
    runs: &[Run],
    counted: &dyn Fn(usize, Time) -> f64,
    most: u64,
) -> Vec<Option<Trial>> {
    let step = runs.len().div_ceil(TRIED).max(1);
    let each = most / runs.len().div_ceil(step).max(1) as u64;
    let mut done = 0;
    let mut tried: Vec<Trial> = Vec::new();
    for (index, run) in runs.iter().enumerate().step_by(step) {
        if done > most.saturating_mul(ENOUGH) {
            break;
        }
        done += each + NODE_HOPS * run.config.fabric.nodes.len() as u64;
        let same = tried.last().cloned();
        let counted = |until| counted(index, until);
        let Some(trial) = trial(run, &counted, each).or(same) else {
            break;
        };
        tried.push(trial);
    }
    let of_run = |index: usize| match tried.get(index / step) {
        Some(trial) if index.is_multiple_of(step) => Some(trial.clone()),
        another => another.or(tried.last()).map(Trial::of_another),
    };
    (0..runs.len()).map(of_run).collect()
}

/// The beginning of a run, as far as it comes with half of `most` packet-hops, and once more for what it records; none if it
/// cannot be run, or nothing moves.
fn trial(run: &Run, counted: &dyn Fn(Time) -> f64, most: u64) -> Option<Trial> {
    let reached = until(run, most / 2)?;
    let mut run = run.clone();
    run.config.stop = reached.until;
    // Of this thread alone: what else the machine does is not the run's.
    let cpu = ThreadTime::now();
    let results =
        unpause_sim::run_sequential(&run.config, 1, &mut |_| std::ops::ControlFlow::Continue(()));
    let results = results.ok().filter(|it| it.totals.packet_hops > 0)?;
    let packet_hops = results.totals.packet_hops;
    let loses = results.totals.dropped_packets + results.totals.trimmed_packets > 0;
    let mut measured = Measured::new(run, results, Default::default());
    let files = hpcc_files::of(&measured);
    let traced = match measured.run.hpcc.trace.is_empty() {
        true => 0,
        false => measured.results.packets.len(),
    };
    let mut disk: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
    drop(files);
    let tables = Tables::taken(&[], &mut measured);
    let mut row_bytes = Rows::default();
    for (name, table) in tables.all() {
        let bytes = rows_bytes(name, table)?;
        let rows = table.num_rows();
        let is_told = rows >= TELLING || reached.is_whole && rows > 0;
        let each = is_told.then(|| bytes as f64 / rows as f64);
        match name {
            "flows" => row_bytes.flow = each,
            "port_series" => row_bytes.port_sample = each,
            "flow_series" => row_bytes.flow_sample = each,
            "packets" | "causes" | "pauses" | "victims" | "delays" | "ranks" | "messages" => {
                disk += bytes
            }
            _ => {}
        }
    }
    let setup_s = reached.setup.as_secs_f64();
    Some(Trial {
        is_own: true,
        is_whole: reached.is_whole,
        loses,
        counted: counted(reached.until),
        packet_hops,
        setup_s,
        rest_s: (cpu.elapsed().as_secs_f64() - setup_s).max(0.0),
        flow_samples: reached
            .is_whole
            .then(|| tables.flow_series.num_rows() as u64),
        grown: Grown {
            packets: tables.packets.num_rows() as f64,
            causes: tables.causes.num_rows() as f64,
            pauses: tables.pauses.num_rows() as f64,
            traced: traced as f64,
            disk: disk as f64,
        },
        row_bytes,
    })
}

impl Trial {
    /// As that of another run, which is like this.
    fn of_another(&self) -> Self {
        Self {
            is_own: false,
            flow_samples: None,
            ..self.clone()
        }
    }

    /// Packets times links of a whole run of which this many were counted before; `at_pace` counts them again for a run that
    /// uses only this part of the links' rates.
    pub fn hops_of(&self, counted: f64, at_pace: &dyn Fn(f64) -> f64) -> f64 {
        let moved = self.packet_hops as f64;
        if self.is_own && self.is_whole {
            return moved;
        }
        let share = (moved / self.counted.max(1.0)).clamp(1.0 / MOST_WRONG, MOST_WRONG);
        // A beginning that is short tells little of the rest: flows have only begun.
        let tried = self.counted / counted.max(1.0);
        let share = share.powf((tried / ENOUGH_TRIED).min(1.0));
        let all = if self.loses && share > 1.0 {
            // What was lost is sent again.
            counted * share
        } else {
            // Whoever stops others, or is stopped, is late; a flow that has an end is sent in full if there is time.
            at_pace(share)
        };
        if self.is_own { all.max(moved) } else { all }
    }
}

/// Bytes of a table's file beyond those of a table with one row.
fn rows_bytes(name: &str, table: &arrow_array::RecordBatch) -> Option<usize> {
    let whole = encode(name, table).ok()?.1.len();
    let one = encode(name, &table.slice(0, table.num_rows().min(1))).ok()?;
    Some(whole.saturating_sub(one.1.len()))
}

impl Grown {
    /// So many times as much.
    pub fn times(self, factor: f64) -> Self {
        Self {
            packets: self.packets * factor,
            causes: self.causes * factor,
            pauses: self.pauses * factor,
            traced: self.traced * factor,
            disk: self.disk * factor,
        }
    }
}
