//! Runs over frames have the results of the simulator, bit by bit.

mod common;

use std::ops::ControlFlow;

use common::{Bed, differ, run_of};
use unpause_protocols::units::Time;
use unpause_protocols::{loss_recovery, spraying};
use unpause_sim::config::{Cut, Qdisc, Trimming};
use unpause_sim::traffic::{FlowSpec, TrafficSpec};
use unpause_testbed::{Medium, Memory, Split, SplitError, Tally};

/// Scenario, scheme, and for how many microseconds: PFC alone, each congestion control, TCP with each kind of
/// marking, PIAS, CaPFC's switch, QCN at inputs.
const RUNS: &[(&str, &str, u64)] = &[
    ("scenarios/incast.toml", "PFC", 1_150),
    ("scenarios/incast.toml", "PFC+QCN", 1_150),
    ("scenarios/incast.toml", "PFC+DCQCN", 1_150),
    ("scenarios/incast.toml", "PFC+TIMELY", 1_150),
    ("scenarios/incast.toml", "PFC+PCN", 1_150),
    ("scenarios/dctcp.toml", "NewReno", 3_000),
    ("scenarios/dctcp.toml", "ECN TCP", 3_000),
    ("scenarios/dctcp.toml", "DCTCP", 10_300),
    ("scenarios/delay-or-loss.toml", "Swift", 3_000),
    ("scenarios/delay-or-loss.toml", "CUBIC", 3_000),
    ("papers/ecn-sharp/scenarios/s1.toml", "CoDel", 3_000),
    ("papers/ecn-sharp/scenarios/s6.toml", "TCN", 5_000),
    ("papers/ecn-sharp/scenarios/s6.toml", "ECN#", 5_000),
    ("papers/ecn-sharp/scenarios/s7.toml", "DCQCN+ECN#", 3_000),
    ("papers/ecn-sharp/scenarios/s8.toml", "PIAS+ECN#", 3_000),
    ("scenarios/spraying.toml", "adaptive", 20),
    ("scenarios/spraying.toml", "REPS", 20),
    ("scenarios/dragonfly.toml", "Third groups", 20),
    ("papers/capfc/scenarios/load.toml", "CaPFC_cal", 10_000),
    (
        "papers/qcn-inputs/scenarios/shared-buffer.toml",
        "random",
        5_000,
    ),
];

/// Runs it over frames, and compares everything that was measured with the simulator's.
fn assert_same<M: Medium>(what: &str, bed: &Bed, medium: impl FnOnce(&Bed) -> M) -> Tally {
    let (results, tally) = bed.lock_step(medium(bed));
    assert_eq!(tally.refusals(), 0, "{what}: {:?}", tally.refused);
    assert_eq!(tally.lost, 0, "{what}");
    let simulated = bed.simulated();
    if let Some(difference) = differ(&simulated, &results) {
        panic!("{what}: {difference}");
    }
    tally
}

/// RoCE that loses packets, and so has sequence errors.
fn lossy() -> Bed {
    let mut config = run_of("scenarios/incast.toml", "PFC+DCQCN", Time::from_us(1_300));
    config.switch.lossless = 0;
    config.switch.lossy_queue_packets = Some(50);
    Bed::new(config, None)
}

/// QCN's notifications come back to senders whose packets have different source ports.
fn sprayed() -> Bed {
    let mut config = run_of("scenarios/incast.toml", "PFC+QCN", Time::from_us(1_150));
    config.scheme.loss_recovery = loss_recovery::Config::SelectiveRepeat(Default::default());
    config.host.spraying = spraying::Config::Bitmap(Default::default());
    Bed::new(config, None)
}

/// Short lossy queues, whose packets are trimmed.
fn trimmed() -> Bed {
    let mut config = run_of("scenarios/incast.toml", "PFC+DCQCN", Time::from_us(1_150));
    config.scheme.loss_recovery = loss_recovery::Config::SelectiveRepeat(Default::default());
    config.switch.lossless = 0;
    config.switch.lossy_queue_bytes = 50_000;
    config.switch.trimming = Some(Trimming {
        bytes: 64,
        control_queue_bytes: 100_000,
        cut: Cut::Either,
    });
    Bed::new(config, None)
}

/// Connections that end with a FIN, one of them without a byte.
fn closing() -> Bed {
    let mut config = run_of("scenarios/dctcp.toml", "DCTCP", Time::from_us(3_000));
    config.host.tcp.fin = true;
    config.host.tcp.qdisc = Qdisc::Pfifo;
    let TrafficSpec::Flows(flows) = &config.traffic[0] else {
        panic!("its long flows are given one by one")
    };
    let first = flows[0];
    let flow = |number: u16| FlowSpec {
        size_bytes: Some(u64::from(number) * 1000),
        source_port: 1000 + number,
        recorded: false,
        ..first
    };
    config.traffic = vec![TrafficSpec::Flows((0..30).map(flow).collect())];
    Bed::new(config, None)
}

fn memory(bed: &Bed) -> Memory {
    Memory::new(2 * bed.config.fabric.links.len())
}

#[test]
fn results_over_frames_in_memory_are_the_simulator_s() {
    let mut all = Tally::default();
    for &(file, scheme, us) in RUNS {
        let what = format!("{file} {scheme}");
        let bed = Bed::new(run_of(file, scheme, Time::from_us(us)), None);
        let tally = assert_same(&what, &bed, memory);
        // Every packet goes over some wire, and every wire is one of frames.
        let hops = bed.simulated().totals.packet_hops;
        assert_eq!(tally.frames, hops, "{what}");
        eprintln!("{what}: {:?}", tally.by_kind);
        all.add(&tally);
    }
    all.add(&assert_same("a lossy class", &lossy(), memory));
    all.add(&assert_same("QCN and spraying", &sprayed(), memory));
    all.add(&assert_same("trimming", &trimmed(), memory));
    all.add(&assert_same("FINs", &closing(), memory));
    // No kind of packet goes untried.
    let least = all.by_kind.iter().min();
    assert!(least > Some(&20), "{:?}", all.by_kind);
}

#[test]
fn one_link_may_be_a_wire_alone() {
    let config = run_of("scenarios/incast.toml", "PFC+PCN", Time::from_us(1_150));
    let bed = Bed::new(config, Some(&[0]));
    let tally = assert_same("one link", &bed, memory);
    assert!(tally.frames > 0 && tally.frames < bed.simulated().totals.packet_hops);
}

#[cfg(target_os = "linux")]
#[test]
fn results_over_virtual_ethernet_are_the_simulator_s() {
    for &(file, scheme, us) in RUNS {
        let bed = Bed::new(run_of(file, scheme, Time::from_us(us)), None);
        let Some(veth) = common::veth(&bed) else {
            return;
        };
        assert_same(&format!("{file} {scheme}"), &bed, |_| veth);
    }
}

#[test]
fn a_cioq_fabric_is_refused() {
    let config = run_of(
        "papers/qcn-inputs/scenarios/f2.toml",
        "QCN at outputs",
        Time::from_us(1),
    );
    let split = Split::new(&config, None);
    assert_eq!(split, Err(SplitError::Cioq));
}

#[test]
fn a_run_over_frames_can_be_ended() {
    let config = run_of("scenarios/incast.toml", "PFC", Time::from_ms(10));
    let bed = Bed::new(config, None);
    let mut post = bed.post(memory(&bed));
    let ended = unpause_sim::run_over(&bed.config, &bed.split.shard_of, &mut post, &mut |_| {
        ControlFlow::Break(())
    });
    assert_eq!(ended, Err(unpause_sim::Error::Interrupted));
}
