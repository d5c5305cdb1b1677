//! Arguments of `unpause import`.

use std::path::PathBuf;

use clap::Subcommand;
use unpause_capture::PriorityFrom;
use unpause_protocols::units::Time;

use crate::values::duration;

#[derive(Subcommand)]
pub enum Import {
    /// Import the flows of a pcap or pcapng file, for `[[traffic]]` of `kind = "file"`.
    Pcap(ImportPcap),
    /// Import a `config.txt` of HPCC's simulator as a scenario (docs/hpcc.md).
    Hpcc(ImportHpcc),
    /// Import config_db.json of SONiC's switches as a scenario (docs/operators.md).
    Sonic(ImportSonic),
}

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unpause import sonic leaf0.json --out leaf0.toml
  unpause import sonic leaf0/config_db.json leaf1/config_db.json spine0/config_db.json --out fabric.toml
  unpause import sonic leaf0.json spine0.json --lldp leaf0=leaf0.lldp --lldp spine0=spine0.lldp --out fabric.toml")]
pub struct ImportSonic {
    /// Files config_db.json, one per switch. Several are linked by DEVICE_NEIGHBOR.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Neighbours of a switch without DEVICE_NEIGHBOR, as `show lldp table` or `lldpcli -f json show neighbors` prints them;
    /// may be repeated.
    #[arg(long, value_name = "SWITCH=FILE", value_parser = dump)]
    pub lldp: Vec<(String, PathBuf)>,
    /// Scenario file to write.
    #[arg(long, short, visible_alias = "output", default_value = "scenario.toml")]
    pub out: PathBuf,
    /// Replace an existing file.
    #[arg(long)]
    pub force: bool,
}

/// The switch and the file of `leaf0=leaf0.lldp`.
fn dump(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((switch, file)) if !switch.is_empty() && !file.is_empty() => {
            Ok((switch.to_owned(), file.into()))
        }
        _ => Err("expected the name of the switch and the file, such as leaf0=leaf0.lldp".into()),
    }
}

#[derive(clap::Args)]
pub struct ImportHpcc {
    /// The configuration. The files that it names are searched for beside it and in every folder above.
    pub file: PathBuf,
    /// Scenario file to write.
    #[arg(long, short)]
    pub out: PathBuf,
    /// Folder to which the configuration's file names are relative (where the simulator is started).
    #[arg(long, value_name = "DIR")]
    pub base: Option<PathBuf>,
    /// Accept up to N parallel links between two nodes [default: the last counts, as in HPCC's simulator].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub parallel: Option<u32>,
    /// Replace an existing file.
    #[arg(long)]
    pub force: bool,
}

#[derive(clap::Args)]
pub struct ImportPcap {
    /// Capture of Ethernet, Linux-cooked, loopback or raw IP packets with RoCEv2, other UDP or TCP.
    pub file: PathBuf,
    /// Flow file to write.
    #[arg(long, short)]
    pub out: PathBuf,
    /// Idle time after which packets of the same connection start a new flow.
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = duration)]
    pub idle: Time,
    /// Priority of a flow: `pcp` of the VLAN tag; `dscp` divided by 8; `sonic`, like `dscp` but DSCP 3 and 4 are
    /// priorities 3 and 4; a map such as `26=3,48=6` (all others 0); `auto` decides from the capture.
    #[arg(long, value_name = "RULE", default_value = "auto")]
    pub priority: PriorityFrom,
    /// Replace an existing file.
    #[arg(long)]
    pub force: bool,
}
