//! BUFFER_SIZE: its unit, and what headroom leaves of it.

use std::collections::BTreeMap;

use unpause_sim::config::NodeKind;

use super::of_forks;
use super::writer::Writer;
use crate::FileError;

/// Mebibytes beyond which no switch has a packet buffer on its chip, in 2026.
const LARGE: f64 = 256.0;

/// Bytes of each port that are its own.
const RESERVE: u64 = 4096;

impl Writer<'_> {
    /// BUFFER_SIZE as a size.
    pub(super) fn buffer(&mut self) -> Result<String, FileError> {
        let value = self.config.buffer;
        let is_hawkeye = of_forks::is_hawkeye(self.config);
        let (unit, bytes) = if is_hawkeye {
            ("KiB", 1024.0)
        } else {
            ("MiB", 1_048_576.0)
        };
        let size = (value * bytes) as u64;
        if size == 0 {
            let expected = "a size in MiB: 0 means automatic, by ports and rates, in ConWeave and TLT, and in HPCC's \
                            simulator a buffer whose free part wraps to 4 GiB";
            let found = format!("BUFFER_SIZE {value}");
            return Err(self.wrong("BUFFER_SIZE", found, expected));
        }
        if is_hawkeye {
            self.notes.push(format!(
                "BUFFER_SIZE {value}: KiB, as in Hawkeye, whose keys are there"
            ));
        } else if value.fract() != 0.0 {
            self.notes.push(format!(
                "BUFFER_SIZE {value}: {value} MiB, as in forks that read a point; HPCC's simulator reads {}",
                value.trunc()
            ));
        }
        if !is_hawkeye && value > LARGE {
            self.notes.push(format!(
                "BUFFER_SIZE {value}: {value} MiB is more than a switch chip has, and may never pause; some forks \
                 (Hawkeye) count KiB: then set `buffer = \"{value}KiB\"`"
            ));
        }
        self.check_headroom(size)?;
        Ok(if value.fract() == 0.0 {
            format!("{value}{unit}")
        } else {
            format!("{size}B")
        })
    }

    /// Headroom and reserves fit in the buffer of each switch.
    fn check_headroom(&self, buffer: u64) -> Result<(), FileError> {
        let fabric = &self.topology.fabric;
        let mut needed: BTreeMap<u32, u64> = BTreeMap::new();
        for link in &fabric.links {
            let bits = u128::from(link.rate.as_bps()) * u128::from(link.delay.as_ps());
            let headroom = (bits * 3 / 8 / 1_000_000_000_000) as u64 + RESERVE;
            for node in [link.a, link.b] {
                if fabric.nodes[node as usize] == NodeKind::Switch {
                    let sum = needed.entry(node).or_default();
                    *sum = sum.saturating_add(headroom);
                }
            }
        }
        let most = needed
            .iter()
            .max_by_key(|(node, bytes)| (**bytes, u32::MAX - **node));
        let Some((&node, &bytes)) = most.filter(|(_, bytes)| **bytes > buffer) else {
            return Ok(());
        };
        let found = format!(
            "a buffer of {buffer} B, less than headroom (rate x delay x 3 of each port) and reserves of {}, {bytes} B",
            self.topology.name(node)
        );
        let expected = "more. In HPCC's simulator the free buffer wraps to nearly 4 GiB then, so that its switches \
                        neither pause nor drop; write a [switch] with a larger buffer by hand for that";
        Err(self.wrong("BUFFER_SIZE", found, expected))
    }
}
