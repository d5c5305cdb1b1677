//! How far a switch's arithmetic is from the exact algorithm, over a span of parameters.

use std::collections::BTreeMap;
use std::fs;

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use unpause_protocols::congestion_point::ecn_sharp::EcnSharp;
use unpause_protocols::congestion_point::tofino::{Load, Params, TICK, Tofino};
use unpause_protocols::units::Time;
use unpause_scenario::Error;

use super::sequence::{Event, Record, read};
use super::tape::Place;
use crate::args::DataplaneAccuracy;
use crate::output::show;

/// `pst_interval` in ticks: the paper's settings lie between 146 (150 us) and 234 (240 us), its Figure 6 at 1000.
const INTERVALS: [u32; 14] = [
    25, 50, 75, 100, 127, 150, 195, 234, 300, 400, 508, 509, 750, 1000,
];
/// `ins_target`: 200 us.
const INS_TARGET: u64 = 195;
/// `pst_target` in ticks: 10 us, the testbed's 85 us, and between.
const PST_TARGETS: [u64; 3] = [10, 42, 83];

/// Two state machines at one queue, and when each has marked since it was last short.
struct Pair {
    hardware: Tofino,
    exact: EcnSharp,
    hardware_marks: Vec<u64>,
    exact_marks: Vec<u64>,
}

/// The difference between the two.
#[derive(Clone, Copy, Debug, Default)]
struct Deviation {
    packets: u64,
    exact_marks: u64,
    hardware_marks: u64,
    /// Packets that only one marks.
    exact_only: u64,
    hardware_only: u64,
    /// Persistent marks that both have made, by their number in the episode, and how much later the hardware's
    /// came: in all, at most, and how much earlier at most.
    pairs: u64,
    late_sum_ns: i64,
    latest_ns: i64,
    earliest_ns: i64,
}

/// `unpause dataplane accuracy`
pub fn accuracy(args: &DataplaneAccuracy) -> Result<(), Error> {
    let mut csv = String::from(
        "sequence,pst_interval_ticks,pst_target_ticks,ins_target_ticks,packets,exact_marks,\
         hardware_marks,exact_only,hardware_only,persistent_pairs,late_mean_ns,latest_ns,earliest_ns\n",
    );
    for path in &args.sequences {
        let records = read(path)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        for (interval, pst) in INTERVALS
            .iter()
            .flat_map(|interval| PST_TARGETS.map(|pst| (*interval, pst)))
        {
            let it = deviation(&records, interval, pst);
            csv += &format!(
                "{name},{interval},{pst},{INS_TARGET},{},{},{},{},{},{},{},{},{}\n",
                it.packets,
                it.exact_marks,
                it.hardware_marks,
                it.exact_only,
                it.hardware_only,
                it.pairs,
                it.late_sum_ns / it.pairs.max(1) as i64,
                it.latest_ns,
                it.earliest_ns,
            );
        }
    }
    fs::write(&args.out, csv).map_err(|error| Error::io("write", &args.out, error))?;
    show(&format!("{}\n", args.out.display()));
    Ok(())
}

/// Both on the same packets: the waiting times stay what they were, whatever is marked.
fn deviation(records: &[Record], interval: u32, pst: u64) -> Deviation {
    let params = Params {
        ins_target: TICK * INS_TARGET,
        pst_target: TICK * pst,
        pst_interval: TICK * u64::from(interval),
        load: Load::Scaled,
    };
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(0);
    let mut pairs: BTreeMap<Place, Pair> = BTreeMap::new();
    let mut total = Deviation::default();
    for record in records
        .iter()
        .filter(|record| record.event == Event::Departure)
    {
        let place = (record.port, record.priority);
        let pair = pairs.entry(place).or_insert_with(|| {
            let hardware = Tofino::new(&params, &mut rng);
            Pair {
                exact: EcnSharp::new(&hardware.exact(), &mut rng),
                hardware,
                hardware_marks: Vec::new(),
                exact_marks: Vec::new(),
            }
        });
        step(pair, record, &params, &mut total);
    }
    total
}

fn step(pair: &mut Pair, record: &Record, params: &Params, total: &mut Deviation) {
    let [now, came] = [record.dequeued_ns, record.enqueued_ns].map(Time::from_ns);
    let wait = now.saturating_sub(came);
    let decision = pair.hardware.decide(now, came);
    let persistent = pair.exact.persistent(now, wait);
    let hardware = decision.instantaneous || decision.persistent;
    let exact = wait > params.ins_target || persistent;
    total.packets += 1;
    total.exact_marks += u64::from(exact);
    total.hardware_marks += u64::from(hardware);
    total.exact_only += u64::from(exact && !hardware);
    total.hardware_only += u64::from(hardware && !exact);

    if wait < params.pst_target {
        pair.hardware_marks.clear();
        pair.exact_marks.clear();
        return;
    }
    if decision.persistent {
        pair.hardware_marks.push(record.dequeued_ns);
    }
    if persistent {
        pair.exact_marks.push(record.dequeued_ns);
    }
    // The later of two marks of one number makes them a pair; if both come at once, they are one.
    let both = pair.hardware_marks.len().min(pair.exact_marks.len());
    let newest = (decision.persistent && pair.hardware_marks.len() == both)
        || (persistent && pair.exact_marks.len() == both);
    if newest && both > 0 {
        let late =
            pair.hardware_marks[both - 1].cast_signed() - pair.exact_marks[both - 1].cast_signed();
        total.pairs += 1;
        total.late_sum_ns += late;
        total.latest_ns = total.latest_ns.max(late);
        total.earliest_ns = total.earliest_ns.min(late);
    }
}
