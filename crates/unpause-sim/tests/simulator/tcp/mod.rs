//! TCP connections, packet by packet and by the laws of the literature.

mod congestion_transcripts;
mod laws;
mod losses;
mod mixed;
mod pool;
mod qdisc;
mod transcripts;

use std::fmt::Write as _;

use unpause_protocols::congestion_control;
use unpause_protocols::congestion_point::{self, faults};
use unpause_protocols::loss_recovery::newreno;
use unpause_sim::config::{AckPriority, Config, NodeId};
use unpause_sim::results::Results;
use unpause_sim::traffic::{FlowSpec, Transport};

use crate::common::*;
use crate::transcript::PACKETS;

const MSS: u64 = 1400;

/// No burst limit, and a window that grows only as it is used.
pub fn params() -> newreno::Params {
    newreno::Params {
        max_burst: None,
        grow_only_if_limiting: true,
        ..newreno::Params::default()
    }
}

/// The same, from so many segments on.
pub fn window(initial_window: u32) -> newreno::Params {
    newreno::Params {
        initial_window,
        ..params()
    }
}

pub fn cubic(tcp: newreno::Params) -> Law {
    (congestion_control::Config::Cubic(Default::default()), tcp)
}

/// A law, and the TCP that repairs losses under it.
pub type Law = (congestion_control::Config, newreno::Params);

pub fn reno(tcp: newreno::Params) -> Law {
    (congestion_control::Config::NewReno(Default::default()), tcp)
}
pub fn ecn(tcp: newreno::Params) -> Law {
    (congestion_control::Config::EcnTcp(Default::default()), tcp)
}
pub fn dctcp(tcp: newreno::Params) -> Law {
    (congestion_control::Config::Dctcp(Default::default()), tcp)
}

pub fn tcp_flow(src: NodeId, dst: NodeId, size_bytes: Option<u64>) -> FlowSpec {
    FlowSpec {
        size_bytes,
        transport: Transport::Tcp,
        ..flow(src, dst)
    }
}

/// Flow 0 from host 1 to host 2 on a switch, 10 Gb/s and 10 us a link, in a lossy priority. SYNs and
/// ACKs go in the control priority, so that `drop` and `mark` choose among its segments alone.
pub fn pair(law: Law, bytes: u64, drop: &[u32], mark: &[u32]) -> Config {
    let fabric = star(&[gbps(10), gbps(10)], us(10));
    let mut config = config(fabric, vec![tcp_flow(1, 2, Some(bytes))], ms(100));
    config.switch.lossless = 0;
    (config.scheme.tcp, config.host.tcp.recovery) = law;
    config.scheme.congestion_point =
        congestion_point::Config::Faults(faults::Params::chosen(drop, mark));
    config.host.tcp.ack_priority = AckPriority::Control;
    config
}

/// Packets of the two hosts of flow 0. Segments, or ACKs, that follow one another share a line.
pub fn transcript(config: &Config) -> (String, Results) {
    let (lines, results) = crate::transcript::transcript(config, PACKETS);
    let mut text = joined(&lines);
    let flow = &results.flows[0];
    let fct = flow.fct.map_or("never".into(), |fct| fct.to_string());
    writeln!(
        text,
        "complete: {fct}, ideal {}; sent again {}, timeouts {}{}",
        flow.ideal_fct.map_or("none".into(), |fct| fct.to_string()),
        flow.retransmitted_packets,
        flow.timeouts,
        if flow.gave_up { ", gave up" } else { "" },
    )
    .unwrap();
    (text, results)
}

/// Packets that differ in time and sequence number only.
struct Row<'a> {
    time: &'a str,
    until: &'a str,
    /// Direction and kind.
    head: &'a str,
    first: u64,
    last: u64,
    /// Flags, priority and what the network does to them.
    tail: &'a str,
    count: u32,
    is_data: bool,
}

impl<'a> Row<'a> {
    /// Of `12.5 us  1 > 2  data 0..1400 ECT` or `12.5 us  2 > 1  ack 1400`; other packets are no row.
    fn new(line: &'a str) -> Option<Self> {
        let (time, rest) = line.split_once(" us  ")?;
        let number = rest.find("data ").map(|at| at + 5);
        let at = number.or_else(|| rest.find("ack ").map(|at| at + 4))?;
        let (head, rest) = rest.split_at(at);
        let end = rest.find(' ').unwrap_or(rest.len());
        let (numbers, tail) = rest.split_at(end);
        let (first, last) = numbers.split_once("..").unwrap_or((numbers, numbers));
        Some(Self {
            time,
            until: time.trim_start(),
            head,
            first: first.parse().ok()?,
            last: last.parse().ok()?,
            tail,
            count: 1,
            is_data: number.is_some(),
        })
    }

    /// Adds the next packet, unless it is of another row.
    fn add(&mut self, next: &Self) -> bool {
        let is_repeated = self.count == 1 || self.first == self.last;
        let follows = if self.is_data {
            next.first == self.last
        } else if next.first == self.last {
            is_repeated
        } else {
            next.first > self.last && (self.count == 1 || self.first < self.last)
        };
        let is_next = follows && (self.head, self.tail) == (next.head, next.tail);
        if is_next {
            (self.last, self.until) = (next.last, next.until);
            self.count += 1;
        }
        is_next
    }

    fn write(&self, text: &mut String) {
        write!(text, "{} us  {}{}", self.time, self.head, self.first).unwrap();
        if self.first != self.last {
            write!(text, "..{}", self.last).unwrap();
        }
        *text += self.tail;
        if self.count > 1 {
            write!(text, ", {} until {} us", self.count, self.until).unwrap();
        }
        text.push('\n');
    }
}

/// Puts packets that follow one another into one line, with their number and the time of the last.
fn joined(lines: &str) -> String {
    let mut text = String::new();
    let mut open: Option<Row> = None;
    for line in lines.lines() {
        let row = Row::new(line);
        if let (Some(open), Some(row)) = (&mut open, &row)
            && open.add(row)
        {
            continue;
        }
        if let Some(last) = open.take() {
            last.write(&mut text);
        }
        match row {
            Some(row) => open = Some(row),
            None => {
                text += line;
                text.push('\n');
            }
        }
    }
    if let Some(last) = open {
        last.write(&mut text);
    }
    text
}
