//! The terms of IEEE 802.1Q's annex on buffer requirements, with the delays that IEEE 802.3 allows; Cisco's guides
//! list the same terms in bit times.

use unpause_protocols::flow_control::pfc;
use unpause_protocols::units::Rate;

use super::link::{Link, Terms};
use crate::suggest::lines::Line;

/// Preamble, start delimiter and gap between frames, bytes.
const BETWEEN_FRAMES: u64 = 20;
/// A PFC frame, bytes.
const PFC_FRAME: u64 = 64;
/// Of light in fibre, nanoseconds a metre, as Cisco counts.
const NS_PER_METRE: u64 = 5;

/// Speeds up to which the MAC and PHY of an interface may take this many bit times: 802.3's limits, as Cisco lists them.
const INTERFACE_BITS: [(Rate, u64); 4] = [
    (Rate::from_gbps(10), 8_192),
    (Rate::from_gbps(25), 6_144),
    (Rate::from_gbps(40), 24_576),
    (Rate::from_gbps(100), 122_880),
];

const STANDARD: &str = "802.1Q";

/// The headroom of a link.
pub fn terms(link: &Link) -> Terms {
    let frame = link.mtu + BETWEEN_FRAMES;
    let pause = PFC_FRAME + BETWEEN_FRAMES;
    let (interfaces, interface_line) = interfaces(link);
    let (cable, cable_line) = cable(link);
    let (response, response_line) = response(link);
    let round_trip = interfaces.saturating_add(cable).saturating_add(response);
    let sum = round_trip.saturating_add(2 * frame + pause);
    let a_frame = format!("{} + {BETWEEN_FRAMES} of preamble and gap", link.mtu);
    let byte_text = |bytes: u64| format!("{bytes}B");
    let mut lines = vec![
        Line::new(
            "own frame",
            byte_text(frame),
            format!("{a_frame}; the PAUSE waits for it"),
            STANDARD,
        ),
        Line::new(
            "PFC frame",
            byte_text(pause),
            format!("{PFC_FRAME} + {BETWEEN_FRAMES}"),
            STANDARD,
        ),
        interface_line,
        cable_line,
        response_line,
        Line::new(
            "peer's frame",
            byte_text(frame),
            format!("{a_frame}; the peer has just started it"),
            STANDARD,
        ),
    ];
    let (bytes, formula, hint) = match link.cell {
        None => (sum, "sum".to_owned(), CELLS),
        Some(cell) => {
            lines.push(Line::new(
                "sum",
                byte_text(sum),
                "of the above".into(),
                STANDARD,
            ));
            let (bytes, line) = cells(sum, cell);
            lines.push(line);
            (bytes, format!("sum, in cells of {cell}B"), "")
        }
    };
    lines.push(Line::new("headroom", byte_text(bytes), formula, STANDARD));
    let minimum = (2 * link.mtu + PFC_FRAME).saturating_add(cable);
    let note = format!(
        "In a scenario: [pfc] headroom = \"{bytes}B\". Without that key, unpause gives this link {minimum}B (frames without\n\
         preamble and gap, PFC frame, cable) and what arrives in [pfc] reaction, 0s by default.\n\
         XON: from XON to the first frame that follows it, a queue that drains at {rate} loses {round_trip}B (MAC and PHY,\n\
         cable, response). If less is left at XON, the link behind it idles.\n\
         {hint}\
         Sources: IEEE 802.1Q, annex on buffer requirements for PFC; IEEE 802.3, annex 31B; Cisco's guides to PFC.\n",
        rate = link.rate,
    );
    Terms {
        lines,
        bytes,
        note,
        interfaces,
        response,
        cable,
    }
}

fn interfaces(link: &Link) -> (u64, Line) {
    let rate = link.rate;
    if let Some(bytes) = link.mac_phy {
        let line = Line::new(
            "MAC and PHY",
            format!("{bytes}B"),
            "given".into(),
            "--mac-phy",
        );
        return (bytes, line);
    }
    let known = INTERFACE_BITS.iter().find(|(speed, _)| rate <= *speed);
    let last = INTERFACE_BITS[INTERFACE_BITS.len() - 1];
    let (bytes, formula) = match known {
        Some((speed, bits)) if *speed == rate => {
            (2 * bits / 8, format!("2 x {bits} bit times / 8"))
        }
        Some((speed, bits)) => (
            2 * bits / 8,
            format!("2 x {bits} bit times / 8, those of {speed}"),
        ),
        None => {
            let time = last.0.time_for(last.1 / 8);
            (
                2 * rate.bytes_begun_in(time),
                format!("2 x {time} x {rate} / 8, the time of {}", last.0),
            )
        }
    };
    let source = "limits of 802.3, by Cisco";
    (
        bytes,
        Line::new("MAC and PHY", format!("{bytes}B"), formula, source),
    )
}

fn cable(link: &Link) -> (u64, Line) {
    let bytes = carried_by_cable(link.rate, link.metres);
    let formula = format!(
        "2 x {}m x {NS_PER_METRE}ns/m x {} / 8",
        link.metres, link.rate
    );
    let line = Line::new("cable", format!("{bytes}B"), formula, "5 ns/m by Cisco");
    (bytes, line)
}

/// Bytes on a cable of this length, both ways; the last begun one counts.
fn carried_by_cable(rate: Rate, metres: f64) -> u64 {
    let millimetres = (metres * 1000.0).round() as u128;
    let bits_by_1e12 = 2 * u128::from(NS_PER_METRE) * millimetres * u128::from(rate.as_bps());
    u64::try_from(bits_by_1e12.div_ceil(8_000_000_000_000)).unwrap_or(u64::MAX)
}

fn response(link: &Link) -> (u64, Line) {
    let name = "peer's response";
    if let Some(time) = link.peer_response {
        let bytes = link.rate.bytes_begun_in(time);
        let formula = format!("{time} x {} / 8", link.rate);
        let line = Line::new(name, format!("{bytes}B"), formula, "--peer-response");
        return (bytes, line);
    }
    let (quanta, speed) = pfc::reaction_quanta(link.rate);
    let bytes = quanta * pfc::QUANTUM_BYTES;
    let of = if link.rate == speed {
        String::new()
    } else {
        format!(", those of {speed}")
    };
    let formula = format!("{quanta} quanta x {}B{of}", pfc::QUANTUM_BYTES);
    let line = Line::new(name, format!("{bytes}B"), formula, "802.3, 31B.3.7");
    (bytes, line)
}

/// The hint where cells are not counted.
const CELLS: &str = "Cells: frames are counted in bytes here. Switches keep them in whole cells of 96 to 420 bytes, in which small frames take\n\
     more: --cell counts them, such as --cell 254.\n";

/// The space that `bytes` take in whole cells if every frame has the worst size of 64 bytes and more.
fn cells(bytes: u64, cell: u64) -> (u64, Line) {
    // A frame of 64 bytes, or one byte more than this many cells hold.
    let of_smallest = 64_u64.div_ceil(cell);
    let smallest = (of_smallest * cell, 64);
    let one_more = ((of_smallest + 1) * cell, of_smallest * cell + 1);
    let worse = smallest.0 * one_more.1 >= one_more.0 * smallest.1;
    let (taken, of) = if worse { smallest } else { one_more };
    let whole = (u128::from(bytes) * u128::from(taken))
        .div_ceil(u128::from(of))
        .div_ceil(u128::from(cell));
    let whole = u64::try_from(whole * u128::from(cell)).unwrap_or(u64::MAX);
    let formula = format!("a frame of {of}B takes {taken}B: sum x {taken} / {of}");
    let line = Line::new(
        "in cells",
        format!("{whole}B"),
        formula,
        "ours: the worst frame",
    );
    (whole, line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unpause_protocols::units::Time;

    fn link(gbps: u64, metres: f64, mtu: u64) -> Link {
        Link {
            rate: Rate::from_gbps(gbps),
            metres,
            mtu,
            peer_response: None,
            mac_phy: None,
            cell: None,
        }
    }

    #[test]
    fn a_link_of_100_gbps_needs_what_ciscos_terms_give() {
        // 73,888 + 672 + 2 x 122,880 + 2 x 50,000 + 201,728 + 73,888 bit times.
        assert_eq!(terms(&link(100, 100.0, 9216)).bytes, 695_936 / 8);
        // 10 Gb/s, 1 m: 73,888 + 672 + 2 x 8,192 + 2 x 50 + 30,720 + 73,888 bit times, 24,456.5 bytes.
        assert_eq!(terms(&link(10, 1.0, 9216)).bytes, 24_457);
    }

    #[test]
    fn without_interfaces_it_is_what_the_simulator_reserves() {
        for (gbps, metres) in [(10, 5.0), (40, 300.0), (100, 100.0), (400, 1000.0)] {
            let mut link = link(gbps, metres, 1500);
            link.mac_phy = Some(0);
            let rate = link.rate;
            let delay = Time::from_ns(metres as u64 * NS_PER_METRE);
            let expected = pfc::headroom(rate, delay, 1520, 84, pfc::reaction_time(rate));
            assert_eq!(terms(&link).bytes, expected);
        }
    }

    #[test]
    fn rates_that_the_source_lacks_take_the_next_ones_delay() {
        let of = |gbps| interfaces(&link(gbps, 1.0, 1500)).0;
        assert_eq!(of(50), 2 * 122_880 / 8);
        // Beyond 100 Gb/s the time stays: 1.2288 us twice.
        assert_eq!(of(400), 4 * of(100));
    }

    #[test]
    fn a_response_that_the_standard_lacks_names_the_speed_it_is_of() {
        let of = |mbps| {
            let link = Link {
                rate: Rate::from_mbps(mbps),
                ..link(1, 1.0, 1500)
            };
            let (bytes, line) = response(&link);
            (bytes, line.formula)
        };
        let said = |text: &str| text.to_owned();
        assert_eq!(of(100_000), (394 * 64, said("394 quanta x 64B")));
        assert_eq!(
            of(60_000),
            (394 * 64, said("394 quanta x 64B, those of 100Gbps"))
        );
        assert_eq!(
            of(2_500),
            (60 * 64, said("60 quanta x 64B, those of 10Gbps"))
        );
        // SONiC's script, too, has the quanta of 400 Gb/s for 800 Gb/s.
        assert_eq!(
            of(1_600_000),
            (905 * 64, said("905 quanta x 64B, those of 400Gbps"))
        );
    }

    #[test]
    fn cells_take_the_worst_frame() {
        assert_eq!(cells(6400, 144).0, 14_400);
        // 97 bytes take two cells of 96: 192 / 97 is more than 96 / 64.
        assert_eq!(cells(97, 96).0, 192);
        assert_eq!(cells(97, 1).0, 97);
        // 64 bytes take four cells of 20, 81 bytes five: 80 / 64 is the more.
        assert_eq!(cells(6400, 20).0, 8000);
    }
}
