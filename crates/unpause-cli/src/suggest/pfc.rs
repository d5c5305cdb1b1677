//! XOFF and XON of a shared buffer that cannot overflow.

use unpause_protocols::units::{Rate, Time};
use unpause_scenario::Error;

use super::comparison::{Comparison, DURATION};
use super::headroom::{self, Link};
use super::lines::{Line, table, wrong};
use crate::args::SuggestPfc;

/// The threshold is the free shared memory divided by two to the power of this: HPCC's simulator at hosts' ports.
const DYNAMIC_SHIFT: u32 = 3;

/// Thresholds, and what they are computed from.
pub struct Thresholds {
    link: Link,
    terms: headroom::Terms,
    buffer: u64,
    ports: u64,
    priorities: u64,
    headroom: u64,
    given: bool,
    /// Buffer without headroom.
    shared: u64,
    /// That for each port and priority.
    share: u64,
    xoff: u64,
    xon: u64,
}

/// The thresholds of a switch, or why its buffer is too small for any.
pub fn suggest(args: &SuggestPfc) -> Result<Thresholds, Error> {
    let link = Link::of(&args.link)?;
    let terms = headroom::terms(&link);
    let headroom = args.headroom.unwrap_or(terms.bytes);
    let (ports, priorities) = (u64::from(args.ports), u64::from(args.priorities));
    let users = ports * priorities;
    let named = format!(
        "{} x {headroom}B of headroom",
        users_text(ports, priorities)
    );
    let reserved = users.saturating_mul(headroom);
    let buffer = args.buffer;
    if reserved >= buffer {
        let fits = buffer.saturating_sub(1) / headroom.max(1) / priorities;
        let most = match fits {
            0 => "not even one port fits".to_owned(),
            fits => format!("it suffices for {fits} ports"),
        };
        return Err(wrong(
            format!("{named} = {reserved}B, and the buffer has {buffer}B: {most}"),
            "raise --buffer, or lower --ports, --priorities, --cable or --mtu, or set --peer-response, --mac-phy or \
             --headroom to what your devices need",
        ));
    }
    let shared = buffer - reserved;
    let share = shared / users;
    let two_frames = 2 * link.mtu;
    if share < 2 * two_frames {
        return Err(wrong(
            format!(
                "{named} leave {shared}B of the buffer, {share}B for each port and priority: XOFF is two frames below that, XON two frames below XOFF, and two frames are {two_frames}B"
            ),
            "raise --buffer, or lower --ports, --priorities, --cable or --mtu",
        ));
    }
    Ok(Thresholds {
        link,
        terms,
        buffer,
        ports,
        priorities,
        headroom,
        given: args.headroom.is_some(),
        shared,
        share,
        xoff: share - two_frames,
        xon: share - 2 * two_frames,
    })
}

impl Thresholds {
    /// From XON to the first byte that follows it, in bytes that the link would carry.
    fn round_trip(&self) -> u64 {
        let headroom::Terms {
            interfaces,
            response,
            cable,
            ..
        } = self.terms;
        interfaces.saturating_add(response).saturating_add(cable)
    }

    fn headroom_line(&self) -> Line {
        let bytes = format!("{}B", self.headroom);
        if self.given {
            return Line::new("headroom", bytes, "given".into(), "--headroom");
        }
        let formula = format!(
            "{}, {}m, {}B: `unpause suggest headroom` shows its terms",
            self.link.rate, self.link.metres, self.link.mtu
        );
        Line::new("headroom", bytes, formula, "802.1Q")
    }

    fn lines(&self) -> Vec<Line> {
        let users = self.ports * self.priorities;
        let users_text = format!("({})", users_text(self.ports, self.priorities));
        let line = |name: &str, bytes: u64, formula: String, source| {
            Line::new(name, format!("{bytes}B"), formula, source)
        };
        let divisor = 1_u64 << DYNAMIC_SHIFT;
        vec![
            self.headroom_line(),
            line(
                "shared",
                self.shared,
                format!("{}B - {users_text} x headroom", self.buffer),
                "DCQCN paper, section 4",
            ),
            line(
                "share",
                self.share,
                format!("shared / {users_text}: all may be full at once"),
                "DCQCN paper, section 4",
            ),
            line(
                "xoff",
                self.xoff,
                format!(
                    "share - 2 x {}B: the frame that exceeds XOFF, and ACKs, are in it, too",
                    self.link.mtu
                ),
                "ours",
            ),
            line(
                "xon",
                self.xon,
                format!("xoff - 2 x {}B", self.link.mtu),
                "ns3-rdma",
            ),
            line(
                "round trip",
                self.round_trip(),
                "MAC and PHY, cable, peer's response".into(),
                "802.1Q",
            ),
            line(
                "dynamic, one",
                self.shared / (divisor + 1),
                format!(
                    "instead of xoff dynamic_shift = {DYNAMIC_SHIFT}, one ingress congested: shared / ({divisor} + 1)"
                ),
                "HPCC's simulator",
            ),
            line(
                "dynamic, all",
                self.shared / (divisor + users),
                format!("the same, all congested: shared / ({divisor} + {users})"),
                "HPCC's simulator",
            ),
        ]
    }

    /// Whether the link behind a queue idles after XON, and what that costs.
    fn cost(&self) -> String {
        let rate = self.link.rate;
        let round_trip = self.round_trip();
        if self.xon >= round_trip {
            return format!(
                "XON leaves {}B, at least the {round_trip}B of a round trip: the link behind the queue never idles.\n",
                self.xon
            );
        }
        let half = Rate::from_bps(rate.as_bps() / 2);
        let share = share_carried(self.xoff, self.xon, rate, half, rate.time_for(round_trip));
        format!(
            "XON leaves {}B, less than the {round_trip}B of a round trip: behind the queue, a link of {half} idles after\n\
             each XON and carries {:.0} % of its rate. To avoid it, XON must be {}B or more.\n",
            self.xon,
            100.0 * share,
            round_trip / 2,
        )
    }

    /// A warning if the headroom is below what the link needs.
    fn too_small(&self) -> String {
        let (given, needed) = (self.headroom, self.terms.bytes);
        if given >= needed {
            return String::new();
        }
        format!(
            "warning: --headroom {given}B is less than the {needed}B that `unpause suggest headroom` gives for this link:\n\
             frames that arrive after XOFF can be dropped.\n"
        )
    }

    /// The text for the terminal.
    pub fn text(&self) -> String {
        format!(
            "link: {}, {}m of cable, frames of at most {}B\nswitch: {}B for {}\n\n{}\n{}{}\
             In a scenario: [switch] buffer = \"{}B\", [pfc] headroom = \"{}B\", xoff = \"{}B\", xon = \"{}B\".\n\
             Sources: IEEE 802.1Q, annex on buffer requirements for PFC; Zhu et al., SIGCOMM 2015 (DCQCN); bobzhuyb/ns3-rdma;\n\
             alibaba-edu/High-Precision-Congestion-Control.\n",
            self.link.rate,
            self.link.metres,
            self.link.mtu,
            self.buffer,
            users_text(self.ports, self.priorities),
            table(&self.lines()),
            self.too_small(),
            self.cost(),
            self.buffer,
            self.headroom,
            self.xoff,
            self.xon,
        )
    }

    /// A comment on the memory of a switch with this many ports and one lossless priority, and the bytes of that memory. It
    /// shares as much as the switch whose thresholds these are.
    fn memory(&self, ports: u64) -> (String, u64) {
        if (ports, 1) == (self.ports, self.priorities) {
            return (String::new(), self.buffer);
        }
        let said = format!(
            "# {}B for {} leave {}B to share. The switch of the incast\n\
             # has {}: the same to share, and its own headroom.\n",
            self.buffer,
            users_text(self.ports, self.priorities),
            self.shared,
            users_text(ports, 1),
        );
        (said, self.shared + ports * self.headroom)
    }

    /// Static and dynamic thresholds against the defaults.
    pub fn comparison(&self) -> Result<Comparison, Error> {
        let rate = self.link.rate;
        let one_way = (self.terms.cable + self.terms.interfaces) / 2;
        let delay = Time::from_ns((rate.time_for(one_way).as_ns_f64().round() as u64).max(1));
        let reaction = Time::from_ns(rate.time_for(self.terms.response).as_ns_f64().round() as u64);
        // The switch behind the link has two ports more.
        let senders = self.ports.saturating_sub(2).clamp(2, 8);
        let (memory, buffer) = self.memory(senders + 2);
        let switches = format!(
            "{memory}[switch]\nbuffer = \"{buffer}B\"\n\n# As long as the peer may take.\n[pfc]\nreaction = \"{reaction}\"\n\n",
        );
        let schemes = format!(
            "[[scheme]]\nname = \"defaults\"\n\n\
             [[scheme]]\nname = \"suggested\"\n\
             set = {{ \"pfc.headroom\" = \"{headroom}B\", \"pfc.xoff\" = \"{}B\", \"pfc.xon\" = \"{}B\" }}\n\n\
             [[scheme]]\nname = \"dynamic\"\n\
             set = {{ \"pfc.headroom\" = \"{headroom}B\", \"pfc.dynamic_shift\" = {DYNAMIC_SHIFT} }}\n\n",
            self.xoff,
            self.xon,
            headroom = self.headroom,
        );
        Ok(Comparison {
            command: "pfc",
            title: "PFC thresholds for my links",
            rate,
            delay,
            frame: Some(self.link.mtu),
            senders: senders as u16,
            duration: DURATION,
            switches,
            schemes,
        })
    }
}

fn users_text(ports: u64, priorities: u64) -> String {
    let plural = |number, one: &str, several: &str| match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {several}"),
    };
    let ports = plural(ports, "port", "ports");
    let priorities = plural(priorities, "lossless priority", "lossless priorities");
    format!("{ports} x {priorities}")
}

/// Which share of its rate `drained` the link behind a queue carries if the ingress swings between XON and XOFF and the
/// first byte after XON, like the last after XOFF, takes a round trip.
fn share_carried(xoff: u64, xon: u64, rate: Rate, drained: Rate, round_trip: Time) -> f64 {
    let (arrives, leaves) = (rate.as_bps() as f64 / 8.0, drained.as_bps() as f64 / 8.0);
    let (xoff, xon, trip) = (xoff as f64, xon as f64, round_trip.as_secs_f64());
    let idle = (trip - xon / leaves).max(0.0);
    let grows = arrives - leaves;
    let fills = (xoff - (xon - leaves * trip).max(0.0)) / grows;
    let drains = (xoff + grows * trip - xon) / leaves;
    let cycle = trip + fills + trip + drains;
    1.0 - idle / cycle
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{LinkOptions, Write};

    fn of(buffer: u64, ports: u16, priorities: u8, headroom: u64) -> Result<Thresholds, Error> {
        suggest(&SuggestPfc {
            link: LinkOptions {
                rate: Rate::from_gbps(40),
                cable: 100.0,
                mtu: 1500,
                peer_response: None,
                mac_phy: None,
                cell: None,
            },
            buffer,
            ports,
            priorities,
            headroom: Some(headroom),
            write: Write {
                write: None,
                force: false,
            },
        })
    }

    /// 12 MB, 32 ports, 8 priorities, 22.4 KB in flight: 24.47 KB.
    #[test]
    fn the_share_is_that_of_the_dcqcn_papers_switch() {
        let thresholds = of(12_000_000, 32, 8, 22_400).unwrap();
        assert_eq!(thresholds.share, 24_475);
        assert_eq!(thresholds.xoff, 24_475 - 3000);
        assert_eq!(thresholds.xon, 24_475 - 6000);
    }

    /// A scenario has at most ten ports and one priority; its switches share what the operator's share.
    #[test]
    fn a_smaller_switch_shares_as_much() {
        let buffer = |ports, priorities| {
            let it = of(12_000_000, ports, priorities, 22_400).unwrap();
            it.comparison().unwrap().switches
        };
        let says = |ports, priorities, bytes: u64| {
            let said = buffer(ports, priorities);
            assert!(said.contains(&format!("buffer = \"{bytes}B\"")), "{said}");
            said.contains('#') && said.contains("to share")
        };
        assert!(!says(10, 1, 12_000_000));
        assert!(says(32, 1, 12_000_000 - 22 * 22_400));
        assert!(says(8, 2, 12_000_000 - 8 * 22_400));
    }

    #[test]
    fn a_headroom_below_the_formula_is_warned_of() {
        let needed = of(12_000_000, 8, 1, 0).unwrap().terms.bytes;
        let said = of(12_000_000, 8, 1, needed - 1).unwrap().text();
        let expected = format!("--headroom {}B is less than the {needed}B", needed - 1);
        assert!(said.contains(&expected), "{said}");
        let said = of(12_000_000, 8, 1, needed).unwrap().text();
        assert!(!said.contains("warning"), "{said}");
    }

    #[test]
    fn a_full_switch_fits_into_its_buffer() {
        let it = of(12_000_000, 32, 8, 22_400).unwrap();
        let all = it.ports * it.priorities;
        assert!(all * (it.share + it.headroom) <= it.buffer);
        assert!(all * (it.share + it.headroom + 1) > it.buffer);
        assert!(of(256 * 22_400, 32, 8, 22_400).is_err());
        assert!(of(256 * (22_400 + 5_999), 32, 8, 22_400).is_err());
        assert!(of(256 * (22_400 + 6_000), 32, 8, 22_400).is_ok());
    }

    /// 100 Gb/s over 40 km into 50 Gb/s with XOFF of 512 KB: the simulator carries 75 %.
    #[test]
    fn a_long_link_costs_what_the_simulator_measures() {
        let (rate, half) = (Rate::from_gbps(100), Rate::from_gbps(50));
        let share = |xoff, xon| share_carried(xoff, xon, rate, half, Time::from_us(400));
        assert!((share(512_000, 509_900) - 0.752).abs() < 0.002);
        assert_eq!(share(3_000_000, 2_600_000), 1.0);
    }
}
