//! Flow files of the HPCC simulator: what is accepted, written again, are the same flows.

use std::path::Path;
use std::sync::LazyLock;

use unpause_import::hpcc::{self, Flows};
use unpause_protocols::units::{Rate, Time};
use unpause_scenario::topology::{LeafSpine, Topology};
use unpause_sim::traffic::{FlowSettings, TrafficSpec};

/// 320 hosts, more than the shipped files name.
static TOPOLOGY: LazyLock<Topology> = LazyLock::new(|| {
    let fabric = LeafSpine {
        leaves: 4,
        spines: 2,
        hosts_per_leaf: 80,
        host_rate: Rate::from_gbps(100),
        fabric_rate: None,
        parallel: 1,
        delay: Time::from_us(1),
        host_delay: None,
    };
    fabric.build().expect("this fabric is sound")
});

/// Reads flows.
pub fn check(data: &[u8]) {
    match parse(data) {
        Ok(read) => {
            assert!(read.flows.is_sorted_by_key(|flow| flow.start));
            let mut text = Vec::new();
            hpcc::write_flows(&mut text, &read.flows).expect("memory can be written");
            let mut again = parse(&text).expect("what was written can be read");
            // The time at which a flow stops is not written.
            for (flow, first) in again.flows.iter_mut().zip(&read.flows) {
                flow.stop = first.stop;
            }
            assert_eq!(again.flows, read.flows);
            let spec = TrafficSpec::Flows(read.flows);
            spec.validate(&TOPOLOGY.fabric).expect("flows can be sent");
        }
        Err(error) => crate::messages::check_file_error(&error, data),
    }
}

fn parse(data: &[u8]) -> Result<Flows, unpause_import::FileError> {
    let path = Path::new("flow.txt");
    hpcc::parse_flows(data, path, &TOPOLOGY, &FlowSettings::default())
}
