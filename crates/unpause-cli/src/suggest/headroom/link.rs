//! The inputs and the terms of headroom.

use unpause_protocols::units::{Rate, Time};
use unpause_scenario::Error;

use crate::args::LinkOptions;
use crate::suggest::lines::{Line, table, wrong};

/// A link and its peer.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Of the link.
    pub rate: Rate,
    /// Length of the cable, metres.
    pub metres: f64,
    /// Largest frame, bytes.
    pub mtu: u64,
    /// How long the peer takes to obey a PAUSE; by the profile if not given.
    pub peer_response: Option<Time>,
    /// Bytes that arrive during the delays of MAC and PHY; by the profile if not given.
    pub mac_phy: Option<u64>,
    /// Size of a buffer cell, bytes.
    pub cell: Option<u64>,
}

/// The sum, and what it consists of.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// Term by term.
    pub lines: Vec<Line>,
    /// The headroom, bytes.
    pub bytes: u64,
    /// A further note.
    pub note: String,
    /// Delays of MAC and PHY and of the peer, as bytes that arrive in them; only of IEEE's terms.
    pub interfaces: u64,
    pub response: u64,
    /// Bytes on the cable, both ways; only of IEEE's terms.
    pub cable: u64,
}

impl Terms {
    /// Its terms up to the headroom, a line each.
    pub fn table(&self) -> Vec<String> {
        // Of SONiC's, the size that is reserved says nothing of the cable.
        let of_cable = self
            .lines
            .iter()
            .filter(|line| !["xon", "size"].contains(&line.name.as_str()));
        let of_cable: Vec<Line> = of_cable.cloned().collect();
        table(&of_cable).lines().map(str::to_owned).collect()
    }
}

impl Link {
    /// As given; frames and cells that there are not are refused.
    pub fn of(options: &LinkOptions) -> Result<Self, Error> {
        let link = Self {
            rate: options.rate,
            metres: options.cable,
            mtu: options.mtu,
            peer_response: options.peer_response,
            mac_phy: options.mac_phy,
            cell: options.cell,
        };
        link.check().map(|()| link)
    }

    fn check(&self) -> Result<(), Error> {
        if !(64..=65_535).contains(&self.mtu) {
            let message = format!(
                "--mtu {}: the largest frame has 64 to 65535 bytes",
                self.mtu
            );
            return Err(wrong(
                message,
                "Ethernet has 1518, jumbo frames 9000 to 9216",
            ));
        }
        if self.cell.is_some_and(|cell| cell == 0 || cell > 65_536) {
            let message = format!(
                "--cell {}: a cell has 1 to 65536 bytes",
                self.cell.unwrap_or(0)
            );
            return Err(wrong(message, "Spectrum has cells of 96 to 192 bytes"));
        }
        Ok(())
    }
}
