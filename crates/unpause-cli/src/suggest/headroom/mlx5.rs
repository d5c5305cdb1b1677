//! The receive buffer of ConnectX NICs, as Linux's mlx5 driver sets it.

use unpause_protocols::units::Rate;

use super::link::{Link, Terms};
use crate::suggest::lines::Line;

const SOURCE: &str = "Linux mlx5";

/// The driver counts no less.
const SLOWEST: Rate = Rate::from_gbps(40);

/// How the driver uses it.
const NOTE: &str = "\
The driver asks for PAUSE when what is left of the buffer is no more than this, and for XON when one more MTU is free.
Source: calculate_xoff in drivers/net/ethernet/mellanox/mlx5/core/en/port_buffer.c of Linux.
";

/// Term by term, in the driver's whole numbers.
pub fn terms(link: &Link) -> Terms {
    let mbps = link.rate.max(SLOWEST).as_bps() / 1_000_000;
    let metres = link.metres.ceil() as u64;
    let delays = (301 + 216 * metres / 100) * mbps / 1000;
    let frame = 272 * link.mtu / 100;
    let at_least = if link.rate < SLOWEST {
        ", no less than 40Gbps"
    } else {
        ""
    };
    let bytes = |bytes: u64| format!("{bytes}B");
    let lines = vec![
        Line::new(
            "delays, cable",
            bytes(delays),
            format!("(301 + 216 x {metres} / 100) x {mbps} / 1000; metres, Mb/s{at_least}"),
            SOURCE,
        ),
        Line::new(
            "frames",
            bytes(frame),
            format!("272 x {} / 100", link.mtu),
            SOURCE,
        ),
        Line::new("headroom", bytes(delays + frame), "sum".into(), SOURCE),
    ];
    Terms {
        lines,
        bytes: delays + frame,
        note: NOTE.to_owned(),
        ..Terms::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_drivers() {
        let headroom = |gbps, metres, mtu| {
            let link = Link {
                rate: Rate::from_gbps(gbps),
                metres,
                mtu,
                peer_response: None,
                mac_phy: None,
                cell: None,
            };
            terms(&link).bytes
        };
        // (301 + 216) x 100 + 25,067
        assert_eq!(headroom(100, 100.0, 9216), 76_767);
        // (301 + 15) x 40 + 4,080: 7 m count 15.12, cut to 15; 10 Gb/s count as 40.
        assert_eq!(headroom(40, 7.0, 1500), 16_720);
        assert_eq!(headroom(10, 7.0, 1500), 16_720);
    }
}
