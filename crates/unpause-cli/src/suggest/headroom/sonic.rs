//! SONiC's calculation for Spectrum switches: `cfgmgr/buffer_headroom_mellanox.lua` of sonic-net/sonic-swss, as of
//! August 2026.

use unpause_protocols::flow_control::pfc;
use unpause_scenario::Error;

use super::link::{Link, Terms};
use crate::args::SonicOptions;
use crate::suggest::lines::{Line, bytes, wrong};

const SOURCE: &str = "sonic-swss";
const KIB: f64 = 1024.0;
/// The smallest packet, bytes.
const SMALLEST: f64 = 64.0;
/// Of light in the cable, metres a second.
const LIGHT: f64 = 198e6;

/// Speeds in Mb/s, and how many quanta the script lets the peer take.
const QUANTA: [(u64, u64); 10] = [
    (100, 1),
    (1_000, 2),
    (10_000, 67),
    (25_000, 80),
    (40_000, 118),
    (50_000, 147),
    (100_000, 394),
    (200_000, 453),
    (400_000, 905),
    (800_000, 905),
];

/// The inputs of the script.
#[derive(Clone, Debug)]
pub struct Sonic {
    mbps: f64,
    metres: f64,
    port_mtu: f64,
    /// Bytes, and how they are computed.
    peer: (f64, String),
    mac_phy: f64,
    cell: f64,
    spectrum: u8,
    lossless_mtu: f64,
    small_percent: f64,
    pipeline: f64,
    gearbox_ns: f64,
    eight_lanes: bool,
    shared: bool,
}

/// The results of the script, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    xon: f64,
    xoff: f64,
    size: f64,
}

/// The intermediate values.
struct Steps {
    cable: f64,
    gearbox: f64,
    tile: f64,
    arriving: f64,
    worst: f64,
    occupancy: f64,
    of_generation: f64,
    of_small_packets: f64,
    answer: Answer,
}

fn whole_kib(bytes: f64) -> f64 {
    (bytes / KIB).ceil() * KIB
}

impl Sonic {
    /// With the script's defaults, and those of its ASIC tables.
    pub fn of(link: &Link, options: &SonicOptions) -> Result<Self, Error> {
        let mbps = link.rate.as_bps() as f64 / 1e6;
        let lossless_mtu = options.lossless_mtu.unwrap_or(1024);
        if !(64..=65_535).contains(&lossless_mtu) {
            let message = format!("--lossless-mtu {lossless_mtu}: a frame has 64 to 65535 bytes");
            return Err(wrong(message, "SONiC's default is 1024"));
        }
        let spectrum = options.spectrum.unwrap_or(3);
        let cell = match (link.cell, spectrum) {
            (Some(cell), _) => cell,
            (None, 1) => 96,
            (None, 2 | 3) => 144,
            (None, _) => 192,
        };
        let quanta = QUANTA.iter().find(|(speed, _)| *speed as f64 == mbps);
        let peer = match (link.peer_response, quanta) {
            (Some(time), _) => (
                link.rate.bytes_begun_in(time) as f64,
                format!("{time} x {} / 8", link.rate),
            ),
            (None, Some((_, quanta))) => (
                (quanta * pfc::QUANTUM_BYTES) as f64,
                format!("{quanta} quanta x {}B", pfc::QUANTUM_BYTES),
            ),
            (None, None) => {
                return Err(wrong(
                    format!("SONiC has no response time of peers at {}", link.rate),
                    "its speeds are 0.1, 1, 10, 25, 40, 50, 100, 200, 400 and 800 Gb/s; for another, set --peer-response",
                ));
            }
        };
        Ok(Self {
            mbps,
            metres: link.metres,
            port_mtu: link.mtu as f64,
            peer,
            mac_phy: link.mac_phy.map_or(0.8 * KIB, |bytes| bytes as f64),
            cell: cell as f64,
            spectrum,
            lossless_mtu: lossless_mtu as f64,
            small_percent: f64::from(options.small_packets.unwrap_or(100)),
            pipeline: options.pipeline.map_or(19.0 * KIB, |bytes| bytes as f64),
            gearbox_ns: options.gearbox.map_or(0.0, |time| time.as_ns_f64()),
            eight_lanes: options.eight_lanes,
            shared: options.shared_headroom,
        })
    }

    /// Bytes of small packets in a hundred.
    fn small_by_byte(&self) -> f64 {
        let small = self.small_percent;
        100.0 * SMALLEST / ((small * SMALLEST + (100.0 - small) * self.lossless_mtu) / 100.0)
    }

    /// The script's steps, in its order, for its roundings are a double's.
    fn steps(&self) -> Steps {
        let worst = if self.cell > 2.0 * SMALLEST {
            self.cell / SMALLEST
        } else {
            2.0 * self.cell / (1.0 + self.cell)
        };
        let worst = worst.ceil();
        let small = self.small_by_byte();
        let occupancy = (100.0 - small + small * worst) / 100.0;
        let gearbox = self.mbps * self.gearbox_ns / (8.0 * KIB);
        let cable = 2.0 * self.metres * self.mbps * 1e9 / LIGHT / 8000.0;
        let tile = match self.spectrum {
            4 | 5 => self.mbps / 1000.0 * 120.0 / 8.0,
            _ => 0.0,
        };
        let arriving = self.port_mtu + cable + 2.0 * gearbox + self.mac_phy + self.peer.0 + tile;
        let of_generation = match self.spectrum {
            6 => 18.0 * KIB,
            _ => 0.0,
        };
        let mut xoff = whole_kib(self.lossless_mtu + arriving * occupancy) + of_generation;
        let all_small = whole_kib(self.lossless_mtu + arriving * worst);
        let more = 2.0 * KIB;
        let short = !self.shared && self.small_percent != 100.0 && xoff + more < all_small;
        let of_small_packets = if short { more } else { 0.0 };
        xoff += of_small_packets;
        let (pipelines, lanes_mtu) = if self.eight_lanes {
            (2.0, self.port_mtu)
        } else {
            (1.0, 0.0)
        };
        let xon = whole_kib(self.pipeline * pipelines);
        let size = if self.shared {
            xon
        } else {
            xoff + xon + lanes_mtu
        };
        let size = whole_kib(size);
        Steps {
            cable,
            gearbox,
            tile,
            arriving,
            worst,
            occupancy,
            of_generation,
            of_small_packets,
            answer: Answer { xon, xoff, size },
        }
    }

    /// Term by term.
    pub fn terms(&self) -> Terms {
        let steps = self.steps();
        Terms {
            lines: self.lines(&steps),
            bytes: steps.answer.xoff as u64,
            note: self.note(),
            ..Terms::default()
        }
    }

    fn lines(&self, it: &Steps) -> Vec<Line> {
        let line = |name: &str, value: f64, formula: String| {
            Line::new(name, bytes(value), formula, SOURCE)
        };
        let mut lines = vec![
            line("peer's frame", self.port_mtu, "MTU of the port".into()),
            line(
                "cable",
                it.cable,
                format!(
                    "2 x {}m x {} Mb/s / 8 / 198000000 m/s",
                    self.metres, self.mbps
                ),
            ),
            line(
                "MAC and PHY",
                self.mac_phy,
                "of the ASIC, 0.8 KiB by default".into(),
            ),
            Line::new(
                "peer's response",
                bytes(self.peer.0),
                self.peer.1.clone(),
                "802.3, 31B.3.7, in sonic-swss",
            ),
        ];
        if it.gearbox > 0.0 {
            let formula = format!(
                "2 x {} Mb/s x {}ns / (8 x 1024)",
                self.mbps, self.gearbox_ns
            );
            lines.push(line("gearbox", 2.0 * it.gearbox, formula));
        }
        if it.tile > 0.0 {
            let formula = format!("{} Gb/s x 120 / 8, Spectrum-4 and 5", self.mbps / 1000.0);
            lines.push(line("tile", it.tile, formula));
        }
        lines.push(line("arriving", it.arriving, "sum".into()));
        lines.push(self.cells(it));
        lines.push(line(
            "own frame",
            self.lossless_mtu,
            "MTU of lossless traffic".into(),
        ));
        if it.of_generation > 0.0 {
            lines.push(line(
                "Spectrum-6",
                it.of_generation,
                "18 KiB, its buffer accounting".into(),
            ));
        }
        if it.of_small_packets > 0.0 {
            let formula = "2 KiB, because it is below that of small packets alone".into();
            lines.push(line("small packets", it.of_small_packets, formula));
        }
        self.answers(it, &mut lines);
        lines
    }

    /// The space that cells take.
    fn cells(&self, it: &Steps) -> Line {
        let worst = if self.cell > 2.0 * SMALLEST {
            format!("ceil({} / 64)", self.cell)
        } else {
            format!("ceil(2 x {0} / (1 + {0}))", self.cell)
        };
        let formula = if self.small_percent == 100.0 {
            format!("arriving x {worst} = {}", it.worst)
        } else {
            format!(
                "arriving x {:.4}, for {:.1} of 100 bytes are of packets of 64, which take {worst} = {}",
                it.occupancy,
                self.small_by_byte(),
                it.worst
            )
        };
        Line::new(
            "in cells",
            bytes(it.arriving * it.occupancy),
            formula,
            SOURCE,
        )
    }

    fn answers(&self, it: &Steps, lines: &mut Vec<Line>) {
        let Answer { xon, xoff, size } = it.answer;
        let lanes = if self.eight_lanes { "2 x " } else { "" };
        let size_of = match (self.shared, self.eight_lanes) {
            (true, _) => "xon alone: headroom is in the shared pool",
            (false, true) => "xon + xoff + MTU of the port, in whole KiB",
            (false, false) => "xon + xoff, in whole KiB",
        };
        let plus = |bytes: f64, of: &'static str| if bytes > 0.0 { of } else { "" };
        let xoff_of = format!(
            "own frame + in cells, in whole KiB{}{}",
            plus(it.of_generation, " + Spectrum-6"),
            plus(it.of_small_packets, " + small packets"),
        );
        for (name, value, formula) in [
            (
                "xon",
                xon,
                format!("{lanes}pipeline of {}B, in whole KiB", self.pipeline),
            ),
            ("xoff", xoff, xoff_of),
            ("size", size, size_of.to_owned()),
        ] {
            lines.push(Line::new(name, bytes(value), formula, SOURCE));
        }
    }

    /// The meaning of the names.
    fn note(&self) -> String {
        format!(
            "Names are those of BUFFER_PROFILE: xoff is the headroom, xon the queue at which XON is sent, size what is\n\
             reserved. Spectrum-{}, cells of {}B. In a scenario: [pfc] headroom = \"{}B\".\n\
             Source: cfgmgr/buffer_headroom_mellanox.lua of sonic-net/sonic-swss, August 2026.\n",
            self.spectrum,
            self.cell,
            self.steps().answer.xoff
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unpause_protocols::units::{Rate, Time};

    const VECTORS: &str = include_str!("../../../tests/data/sonic-headroom.txt");

    /// Results of SONiC's own script, recorded once.
    #[test]
    fn every_answer_is_that_of_sonics_script() {
        let rows = VECTORS.lines().filter(|row| !row.starts_with('#'));
        let mut number = 0;
        for row in rows {
            let (asked, answer) = row.split_once(" -> ").unwrap();
            let words: Vec<&str> = asked.split(' ').collect();
            let whole = |index: usize| words[index].parse::<u64>().unwrap();
            let link = Link {
                rate: Rate::from_mbps(whole(0)),
                metres: words[1].strip_suffix('m').unwrap().parse().unwrap(),
                mtu: whole(2),
                peer_response: None,
                mac_phy: None,
                cell: Some(whole(5)),
            };
            let options = SonicOptions {
                spectrum: Some(u8::try_from(whole(6)).unwrap()),
                lossless_mtu: Some(whole(8)),
                small_packets: Some(u8::try_from(whole(7)).unwrap()),
                pipeline: None,
                gearbox: Some(Time::from_ns(whole(3))),
                eight_lanes: words[4] == "8",
                shared_headroom: whole(9) > 0 || whole(10) > 0,
            };
            let Answer { xon, xoff, size } = Sonic::of(&link, &options).unwrap().steps().answer;
            assert_eq!(
                format!("xon:{xon} xoff:{xoff} size:{size}"),
                answer,
                "{asked}"
            );
            number += 1;
        }
        assert_eq!(number, 102);
    }

    #[test]
    fn cells_follow_the_generation() {
        let link = Link {
            rate: Rate::from_gbps(100),
            metres: 40.0,
            mtu: 9100,
            peer_response: None,
            mac_phy: None,
            cell: None,
        };
        let mut options = SonicOptions {
            spectrum: None,
            lossless_mtu: None,
            small_packets: None,
            pipeline: None,
            gearbox: None,
            eight_lanes: false,
            shared_headroom: false,
        };
        let mut xoff = |spectrum| {
            options.spectrum = spectrum;
            Sonic::of(&link, &options).unwrap().steps().answer.xoff
        };
        assert_eq!(xoff(Some(1)), 81_920.0);
        assert_eq!((xoff(Some(3)), xoff(None)), (121_856.0, 121_856.0));
        assert_eq!(xoff(Some(4)), 126_976.0);
    }
}
