//! What `unpause import` takes.

use std::path::PathBuf;

use clap::Subcommand;
use unpause_capture::PriorityFrom;
use unpause_protocols::units::Time;

use crate::values::duration;

#[derive(Subcommand)]
pub enum Import {
    /// Flows of a pcap or pcapng file, for `[[traffic]]` of `kind = "file"`.
    Pcap(ImportPcap),
    /// A scenario that does what a `config.txt` of HPCC's simulator says (docs/hpcc.md).
    Hpcc(ImportHpcc),
}

#[derive(clap::Args)]
pub struct ImportHpcc {
    /// The configuration; the files that it names are looked for beside it, and in every folder above.
    pub file: PathBuf,
    /// Scenario file to write.
    #[arg(long, short)]
    pub out: PathBuf,
    /// Folder in which the simulator is started, from which the configuration names its files.
    #[arg(long, value_name = "DIR")]
    pub base: Option<PathBuf>,
    /// Take up to N links between two nodes as parallel ones [default: the last counts, as there].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub parallel: Option<u32>,
    /// Replace the file if it is there.
    #[arg(long)]
    pub force: bool,
}

#[derive(clap::Args)]
pub struct ImportPcap {
    /// Capture of Ethernet, Linux-cooked, loopback or raw IP packets: RoCEv2, other UDP, TCP.
    pub file: PathBuf,
    /// Flow file to write.
    #[arg(long, short)]
    pub out: PathBuf,
    /// Pause after which what follows on the same connection is another flow.
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = duration)]
    pub idle: Time,
    /// Priority of a flow: `pcp` of the VLAN tag; `dscp`, divided by 8; `sonic`, the same but for DSCP 3 and 4, which
    /// are priorities 3 and 4; a map such as `26=3,48=6`, others 0; `auto` chooses by what the capture shows.
    #[arg(long, value_name = "RULE", default_value = "auto")]
    pub priority: PriorityFrom,
    /// Replace the file if it is there.
    #[arg(long)]
    pub force: bool,
}
