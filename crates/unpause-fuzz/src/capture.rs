//! Captures: what is accepted has flows between its hosts, in order of start.

use std::time::Duration;

use unpause_capture::{PriorityFrom, Reader, write_flow_file};

/// Reads flows.
pub fn check(data: &[u8]) {
    let reader = Reader {
        idle: Duration::from_millis(10),
        priority: PriorityFrom::Auto,
    };
    match reader.read(data) {
        Ok(read) => {
            assert!(!read.flows.is_empty());
            assert!(read.flows.is_sorted_by_key(|flow| flow.start));
            for flow in &read.flows {
                assert!(flow.size_bytes > 0 && flow.priority < 7, "{flow:?}");
                assert!(flow.src.max(flow.dst) < read.hosts.len(), "{flow:?}");
            }
            let mut text = Vec::new();
            write_flow_file(&read, &mut text).expect("memory can be written");
        }
        Err(error) => assert!(error.to_string().len() < 8000, "{error}"),
    }
}
