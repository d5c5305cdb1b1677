//! Arguments of `unpause suggest`.

use std::path::PathBuf;

use clap::Subcommand;
use unpause_protocols::units::{Rate, Time};

use crate::values::{bytes, duration, metres, percent, rate, share_above_zero};

#[derive(Subcommand)]
pub enum Suggest {
    /// ECN thresholds from base RTTs and link rate, with their formulas: RED-AVG, RED-Tail, CoDel,
    /// TCN, ECN#.
    Ecn(SuggestEcn),
    /// Headroom of a lossless priority from rate, cable and frame size, term by term.
    Headroom(SuggestHeadroom),
    /// XOFF, XON and headroom from buffer, ports, rate and cable, with their formulas.
    Pfc(SuggestPfc),
    /// Marking thresholds and rate steps of DCQCN for a link rate, by source.
    Dcqcn(SuggestDcqcn),
    /// Parameters of PCN from RTT and number of flows, and their consequences at a link rate.
    Pcn(SuggestPcn),
}

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unpause suggest ecn --rate 10Gbps --rtt 0:80us,50:120us,90:220us,100:240us
  unpause suggest ecn --rate 25Gbps --rtt-file rtts.csv --write thresholds.toml")]
pub struct SuggestEcn {
    /// Rate of the links, such as 10Gbps.
    #[arg(long, value_parser = rate)]
    pub rate: Rate,
    /// Base RTTs by percentile, such as 0:80us,50:120us,90:220us,100:240us.
    #[arg(long, value_name = "PERCENTILES", required_unless_present = "rtt_file")]
    pub rtt: Option<String>,
    /// File of measured base RTTs, one per line (82us), or with cumulative probabilities (82us,0.15).
    #[arg(long, value_name = "FILE", conflicts_with = "rtt")]
    pub rtt_file: Option<PathBuf>,
    /// Average base RTT [default: that of the percentiles].
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub average: Option<Time>,
    /// Share of C x RTT that a queue must hold for full throughput.
    #[arg(long, default_value_t = 1.0, value_parser = share_above_zero)]
    pub lambda: f64,
    /// Write a scenario that compares them with DCTCP senders.
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,
    /// Replace an existing file.
    #[arg(long, requires = "write")]
    pub force: bool,
    #[command(flatten)]
    pub scenario: EcnScenario,
}

#[derive(clap::Args)]
pub struct EcnScenario {
    /// Flow sizes of the scenario: a name from `unpause list`, or a file of bytes and probabilities.
    #[arg(
        long,
        value_name = "NAME|FILE",
        default_value = "websearch",
        requires = "write"
    )]
    pub cdf: String,
    /// Fabric of the scenario: 32 hosts on 4 leaves and 4 spines, or 16 senders and a receiver on one switch.
    #[arg(long, value_enum, default_value = "leaf-spine", requires = "write")]
    pub fabric: EcnFabric,
    /// Load of the scenario, on the links from leaves to spines or on the receiver's link.
    #[arg(long, default_value_t = 0.6, value_parser = share_above_zero, requires = "write")]
    pub load: f64,
    /// Delay of each link of the scenario; hosts add the rest of the RTTs.
    #[arg(long, value_name = "TIME", default_value = "1us", value_parser = duration, requires = "write")]
    pub delay: Time,
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub enum EcnFabric {
    #[value(name = "n-to-1")]
    NToOne,
    LeafSpine,
}

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unpause suggest headroom --rate 100Gbps --cable 100m --mtu 9216
  unpause suggest headroom --rate 400Gbps --cable 40m --profile sonic-mellanox --spectrum 4
  unpause suggest headroom --rate 100Gbps --cable 5m --profile mlx5")]
pub struct SuggestHeadroom {
    #[command(flatten)]
    pub link: LinkOptions,
    /// Source of the formula.
    #[arg(long, value_enum, default_value = "ieee")]
    pub profile: HeadroomProfile,
    #[command(flatten)]
    pub sonic: SonicOptions,
}

/// A link and its peer.
#[derive(clap::Args)]
pub struct LinkOptions {
    /// Rate of the link, such as 100Gbps.
    #[arg(long, value_parser = rate)]
    pub rate: Rate,
    /// Length of the cable in metres, such as 100m; km for long links.
    #[arg(long, value_name = "LENGTH", value_parser = metres)]
    pub cable: f64,
    /// Largest frame of the port, bytes.
    #[arg(long, value_name = "BYTES", default_value = "9100", value_parser = bytes)]
    pub mtu: u64,
    /// How long the peer may take to obey a PAUSE [default: IEEE 802.3, 31B.3.7].
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub peer_response: Option<Time>,
    /// Bytes that arrive during the delays of MAC and PHY, both directions together [default: IEEE 802.3's limits; in
    /// SONiC 0.8 KiB].
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub mac_phy: Option<u64>,
    /// Size of a buffer cell, bytes: frames take whole cells [default: none; in SONiC that of the ASIC].
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub cell: Option<u64>,
}

/// Options of SONiC's calculation only.
#[derive(clap::Args)]
#[command(next_help_heading = "Options of --profile sonic-mellanox")]
pub struct SonicOptions {
    /// Generation of the Spectrum ASIC, 1 to 6 [default: 3].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=6))]
    pub spectrum: Option<u8>,
    /// Largest frame of lossless traffic, bytes [default: 1024].
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub lossless_mtu: Option<u64>,
    /// Share of packets of 64 bytes, percent [default: 100].
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub small_packets: Option<u8>,
    /// Latency of the switch's pipeline, bytes [default: 19 KiB].
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub pipeline: Option<u64>,
    /// Delay of a gearbox [default: none].
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub gearbox: Option<Time>,
    /// The port has eight lanes.
    #[arg(long)]
    pub eight_lanes: bool,
    /// The switch has a shared headroom pool, or an over-subscription ratio.
    #[arg(long)]
    pub shared_headroom: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum HeadroomProfile {
    /// The terms of IEEE 802.1Q, in bit times, as Cisco lists them.
    Ieee,
    /// SONiC on Spectrum switches: its headroom script.
    SonicMellanox,
    /// The receive buffer of ConnectX NICs: Linux's mlx5 driver.
    Mlx5,
}

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unpause suggest pfc --rate 100Gbps --cable 100m --mtu 9216 --buffer 32MB --ports 32
  unpause suggest pfc --rate 100Gbps --cable 40m --buffer 32MB --ports 32 --priorities 2 --write pfc.toml")]
pub struct SuggestPfc {
    #[command(flatten)]
    pub link: LinkOptions,
    /// Packet memory of the switch that lossless traffic may take, headroom included.
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub buffer: u64,
    /// Ports of the switch, all with such links.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub ports: u16,
    /// Lossless priorities.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u8).range(1..=8))]
    pub priorities: u8,
    /// Headroom of each port and priority [default: what `unpause suggest headroom` says].
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub headroom: Option<u64>,
    #[command(flatten)]
    pub write: Write,
}

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unpause suggest dcqcn --rate 100Gbps
  unpause suggest dcqcn --rate 400Gbps --write dcqcn.toml")]
pub struct SuggestDcqcn {
    /// Rate of the links, such as 100Gbps.
    #[arg(long, value_parser = rate)]
    pub rate: Rate,
    #[command(flatten)]
    pub write: Write,
}

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unpause suggest pcn --rate 100Gbps --rtt 20us --flows 16
  unpause suggest pcn --rate 40Gbps --rtt 50us --flows 64 --write pcn.toml")]
pub struct SuggestPcn {
    /// Rate of the links, such as 100Gbps.
    #[arg(long, value_parser = rate)]
    pub rate: Rate,
    /// Largest RTT of the network.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub rtt: Time,
    /// Flows that share a bottleneck.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub flows: u16,
    #[command(flatten)]
    pub write: Write,
}

/// Options for writing a scenario that compares the suggestion with the defaults.
#[derive(clap::Args)]
pub struct Write {
    /// Write a scenario that compares the suggestion with the defaults.
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,
    /// Replace an existing file.
    #[arg(long, requires = "write")]
    pub force: bool,
}
