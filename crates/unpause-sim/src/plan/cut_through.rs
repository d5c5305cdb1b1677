//! When switches that cut through take a frame.

use unpause_protocols::units::{LinkSpeed, Time};

use super::Plan;
use crate::config::SwitchModel;
use crate::fabric::packet::{Kind, Packet};
use crate::fabric::ports::Transmitter;
use crate::routing::Routing;

impl Plan<'_> {
    /// How long before its last bit a frame of `bytes` is taken by a switch, to which it comes by a link of
    /// speed `came` and from which it goes by one of speed `goes`: when its header is there, and not
    /// so soon that it could run dry on its way out.
    ///
    /// Preamble and gap come before the header, as before the frame.
    pub fn early(&self, bytes: u64, came: LinkSpeed, goes: LinkSpeed) -> Time {
        let Some(header) = self.config.switch.cut_through_bytes else {
            return Time::ZERO;
        };
        let behind_header = came.time_for(bytes.saturating_sub(header.into()));
        let sending = || goes.time_for(bytes + self.ports.framing_bytes);
        let last_needed = match &self.config.switch.model {
            SwitchModel::SharedBuffer => sending(),
            SwitchModel::Pipeline(pipeline) => sending() + pipeline.service() + pipeline.latency,
            // Cells cross a fabric when the frame is whole, which must be when the grant is there.
            SwitchModel::Cioq(cioq) => cioq.request_and_grant(),
            SwitchModel::InputQueued(_) => Time::ZERO,
        };
        behind_header.min(last_needed)
    }

    /// How long before its last bit a packet is taken at the far end of `transmitter`. PAUSE is the port's, not the
    /// switch's: it is obeyed when it is whole.
    pub fn taken_early(
        &self,
        routing: &Routing,
        transmitter: &Transmitter,
        packet: &Packet,
    ) -> Time {
        if !transmitter.cuts_through || packet.kind == Kind::Pfc {
            return Time::ZERO;
        }
        let came = transmitter.speed;
        let goes = if transmitter.feeds_faster {
            self.goes_at(routing, transmitter, packet)
        } else {
            came
        };
        self.early(packet.bytes.into(), came, goes)
    }

    /// Speed of the link on which `packet` goes after that of `transmitter`, or on the fastest if that is not
    /// known yet.
    fn goes_at(&self, routing: &Routing, transmitter: &Transmitter, packet: &Packet) -> LinkSpeed {
        let node = transmitter.peer;
        let ports = self.ports.transmitters_of(node);
        match routing.next_hop(node, packet) {
            Some(way) if !self.sprays() => ports[usize::from(way)].speed,
            _ => self.ports.fastest(node),
        }
    }
}
