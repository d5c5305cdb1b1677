//! Frames of the testbed: what its decoder obeys is a packet that is encoded and decoded as the same.

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::LazyLock;

use unpause_scenario::Scenario;
use unpause_sim::config::Config;
use unpause_sim::exchange::{GlobalPort, Packet};
use unpause_testbed::{Codec, LockStep, Medium, Memory, Refusal, Split};
use unpause_wire::{Frame, Ipv4, fcs, icrc};

/// RoCE flows with every kind of notification, and TCP; `arrivals` go on for ever.
const SCENARIO: &str = r#"
duration = "300us"

[topology]
builder = "single-switch"
hosts = 5
rate = "10Gbps"
delay = "1us"

[pfc]
xoff = "20KB"

[[scheme]]
name = "PCN"
congestion_control = "pcn"

[[scheme]]
name = "QCN"
congestion_control = "qcn"

[[scheme]]
name = "DCQCN"
congestion_control = "dcqcn"

[[scheme]]
name = "DCTCP"
congestion_control = "dctcp"

[[traffic]]
name = "burst"
kind = "burst"
from = "H1..H4"
to = "H0"
size = "100KB"

[[traffic]]
name = "arrivals"
kind = "poisson"
size = "3KB"
mean_interval = "20us"
"#;

/// One of each scheme.
static CONFIGS: LazyLock<Vec<Config>> = LazyLock::new(|| {
    let scenario = Scenario::parse(SCENARIO, Path::new("testbed.toml")).expect("it is sound");
    let runs = scenario.runs().iter();
    runs.map(|run| run.config.clone()).collect()
});

/// Bytes before the frame: which configuration, which port, whether checksums are made good.
const HEAD: usize = 3;

/// Decodes a frame.
pub fn check(data: &[u8]) {
    let Some((&[config, port, good], frame)) = data.split_first_chunk::<HEAD>() else {
        return;
    };
    let config = &CONFIGS[usize::from(config) % CONFIGS.len()];
    let port = GlobalPort::from(port) % (2 * config.fabric.links.len() as GlobalPort);
    let mut frame = frame.to_vec();
    if good % 2 == 1 {
        make_good(&mut frame);
    }
    let Ok(packet) = decode(config, port, &frame) else {
        return;
    };
    let mut out = vec![0; Codec::longest(config).max(2 * frame.len())];
    let length = codec(config).encode(port, &packet, &mut out);
    let length = length.expect("what a frame said fits into one");
    let again = decode(config, port, &out[..length]).expect("what was encoded can be decoded");
    assert_eq!(format!("{packet:?}"), format!("{again:?}"));
}

fn codec(config: &Config) -> Codec<'_> {
    Codec::new(config).expect("there is traffic")
}

fn decode(config: &Config, port: GlobalPort, frame: &[u8]) -> Result<Packet, Refusal> {
    codec(config).decode(port, frame)
}

/// Bytes of the trailer with and without its frame check sequence.
const TRAILER: usize = unpause_testbed::Trailer::LENGTH;

/// Makes checksums what they have to be: without that hardly a changed frame would be read further.
fn make_good(bytes: &mut [u8]) {
    let Some(end) = bytes.len().checked_sub(TRAILER) else {
        return;
    };
    make_ip_good(&mut bytes[..end]);
    let check = bytes.len() - 4;
    let sum = fcs(&bytes[..check]);
    bytes[check..].copy_from_slice(&sum);
}

fn make_ip_good(frame: &mut [u8]) {
    // Behind the addresses and up to two tags.
    let Some(at) = (12..=20)
        .step_by(4)
        .find(|&at| frame.get(at..at + 2) == Some(&[8, 0]))
    else {
        return;
    };
    let packet = &mut frame[at + 2..];
    if packet.len() < Ipv4::LENGTH {
        return;
    }
    let length = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
    let length = length.clamp(Ipv4::LENGTH, packet.len());
    let packet = &mut packet[..length];
    put_sum(&mut packet[..Ipv4::LENGTH], 10, 0);
    const TCP: u8 = 6;
    match packet[9] {
        TCP if length >= Ipv4::LENGTH + 20 => {
            let pseudo = sum(&packet[12..20]) + u32::from(TCP) + (length - Ipv4::LENGTH) as u32;
            put_sum(&mut packet[Ipv4::LENGTH..], 16, pseudo);
        }
        _ if length >= Ipv4::LENGTH + 4 => {
            let (covered, last) = packet.split_at_mut(length - 4);
            if let Ok(check) = icrc(covered) {
                last.copy_from_slice(&check);
            }
        }
        _ => {}
    }
}

/// Puts the Internet checksum of `bytes` at `at` of them.
fn put_sum(bytes: &mut [u8], at: usize, beyond: u32) {
    bytes[at..at + 2].fill(0);
    let mut total = sum(bytes) + beyond;
    while total >> 16 != 0 {
        total = (total & 0xffff) + (total >> 16);
    }
    bytes[at..at + 2].copy_from_slice(&(!(total as u16)).to_be_bytes());
}

fn sum(bytes: &[u8]) -> u32 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    bytes.chunks(2).map(word).sum()
}

/// Wires that keep frames of each length and kind that they have seen.
struct Kept<'k> {
    inner: Memory,
    config: u8,
    seeds: &'k mut BTreeMap<(u8, String), Vec<u8>>,
}

impl Medium for Kept<'_> {
    fn capacity(&self) -> usize {
        self.inner.capacity()
    }

    fn send(&mut self, port: GlobalPort, frame: &[u8]) -> io::Result<()> {
        let kind = Frame::parse(&frame[..frame.len() - TRAILER]).map_or_else(
            |error| panic!("the testbed's own frame: {error}"),
            |(frame, _)| {
                // Of a body what it is, without its numbers.
                let body = format!("{:?}", frame.body);
                body.chars()
                    .filter(|c| c.is_alphabetic())
                    .take(400)
                    .collect::<String>()
            },
        );
        self.seeds.entry((self.config, kind)).or_insert_with(|| {
            let head = [self.config, port as u8, 1];
            [&head, frame].concat()
        });
        self.inner.send(port, frame)
    }

    fn receive(
        &mut self,
        port: GlobalPort,
        expected: usize,
        take: &mut dyn FnMut(&[u8]) -> bool,
    ) -> io::Result<()> {
        self.inner.receive(port, expected, take)
    }
}

/// Frames of each kind that cross the fabric in each configuration.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = BTreeMap::new();
    for (index, config) in (0..).zip(CONFIGS.iter()) {
        let split = Split::new(config, None).expect("it is split");
        let medium = Kept {
            inner: Memory::new(2 * config.fabric.links.len()),
            config: index,
            seeds: &mut seeds,
        };
        let mut post = LockStep::new(config, &split, medium).expect("there is traffic");
        let go_on = &mut |_| ControlFlow::Continue(());
        unpause_sim::run_over(config, &split.shard_of, &mut post, go_on).expect("it can be run");
    }
    seeds.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_frame_is_obeyed_and_what_was_made_good_is_as_it_was() {
        let seeds = seeds();
        assert!(seeds.len() > 12, "{} kinds of frames", seeds.len());
        for seed in seeds {
            let [config, port, _] = *seed.first_chunk().expect("a head");
            let config = &CONFIGS[usize::from(config)];
            let mut good = seed[HEAD..].to_vec();
            make_good(&mut good);
            assert_eq!(good, seed[HEAD..]);
            decode(config, GlobalPort::from(port), &good).expect("it is obeyed");
        }
    }
}
