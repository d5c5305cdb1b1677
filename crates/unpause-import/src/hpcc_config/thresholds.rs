//! PFC's thresholds in the scenario.

use unpause_protocols::units::Rate;
use unpause_sim::config::NodeKind;

use super::rates::written;
use super::writer::Writer;

impl Writer<'_> {
    /// `[pfc]`.
    pub(super) fn pfc(&mut self) {
        self.line("[pfc]");
        self.key(
            "mode",
            "\"until-xon\"",
            "PAUSE lasts until RESUME, PAUSE_TIME is not read",
        );
        let shifts = self.shifts();
        self.key(
            "dynamic_shift",
            shifts,
            "an eighth of the free buffer, twice that for every doubling of the host's rate",
        );
        self.key("reserve", "\"4KiB\"", "of each port");
        self.key(
            "xon_gap",
            "\"3KiB\"",
            "resumes this far below the threshold",
        );
        self.key("headroom_delays", "3", "rate x delay x 3 of each port");
        self.line("");
    }

    /// `dynamic_shift` by link rate.
    fn shifts(&self) -> String {
        let fabric = &self.topology.fabric;
        let is_host = |node: u32| fabric.nodes[node as usize] == NodeKind::Host;
        // That of the host with the smallest number.
        let of_host = fabric
            .links
            .iter()
            .flat_map(|it| [(it.a, it.rate), (it.b, it.rate)]);
        let first = of_host
            .filter(|(node, _)| is_host(*node))
            .min_by_key(|(node, _)| *node);
        let nic = first.map_or(0, |(_, rate)| rate.as_bps());
        let shift = |rate: Rate| {
            let (mut shift, mut rate) = (3, rate.as_bps());
            while rate > nic && shift > 0 {
                shift -= 1;
                rate /= 2;
            }
            shift
        };
        let each = self
            .rates()
            .into_iter()
            .map(|rate| format!("\"{}\" = {}", written(rate), shift(rate)));
        format!("{{ {} }}", each.collect::<Vec<_>>().join(", "))
    }
}
