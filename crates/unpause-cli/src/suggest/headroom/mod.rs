//! Headroom: what arrives of a lossless priority after its ingress has decided to send PAUSE.

mod ieee;
mod link;
mod mlx5;
mod sonic;

use unpause_protocols::units::Rate;
use unpause_scenario::Error;

use super::lines::{table, wrong};
use crate::args::{HeadroomProfile, SonicOptions, SuggestHeadroom};
pub use ieee::terms;
pub use link::{Link, Terms};

/// A suggestion, with its terms.
#[derive(Clone, Debug)]
pub struct Headroom {
    link: Link,
    profile: &'static str,
    terms: Terms,
}

/// Whose formula gives what for a link.
pub fn suggest(args: &SuggestHeadroom) -> Result<Headroom, Error> {
    let link = Link::of(&args.link)?;
    if args.profile != HeadroomProfile::SonicMellanox {
        refuse(
            &of_sonic(&args.sonic),
            "only --profile sonic-mellanox reads it",
        )?;
    }
    let (profile, terms) = match args.profile {
        HeadroomProfile::Ieee => ("ieee", terms(&link)),
        HeadroomProfile::SonicMellanox => {
            let sonic = sonic::Sonic::of(&link, &args.sonic)?;
            ("sonic-mellanox", sonic.terms())
        }
        HeadroomProfile::Mlx5 => {
            let others = [
                ("--peer-response", args.link.peer_response.is_some()),
                ("--mac-phy", args.link.mac_phy.is_some()),
                ("--cell", args.link.cell.is_some()),
            ];
            refuse(&others, "the formula of --profile mlx5 is fixed")?;
            ("mlx5", mlx5::terms(&link))
        }
    };
    Ok(Headroom {
        link,
        profile,
        terms,
    })
}

/// The cells in which a switch keeps frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cells {
    /// Those of a generation of Spectrum.
    OfSpectrum(u8),
    /// Those of another chip: its name, bytes of a cell.
    Of(&'static str, u64),
    /// Of a chip whose cells are unknown.
    Unknown,
}

/// The headroom of a cable by IEEE's terms, without the delays of MAC and PHY and with the longest, and by SONiC's script, if it
/// knows the speed and the switch has known cells.
pub fn of_cable(
    rate: Rate,
    metres: f64,
    mtu: u64,
    cells: Cells,
    lossless_mtu: Option<u64>,
    small_packets: Option<u8>,
) -> Vec<(String, Terms)> {
    let link = Link {
        rate,
        metres,
        mtu,
        peer_response: None,
        mac_phy: None,
        cell: None,
    };
    let at_once = Link {
        mac_phy: Some(0),
        ..link
    };
    let mut all = vec![
        (
            "IEEE 802.1Q, MAC and PHY without a delay (unpause suggest headroom --mac-phy 0B)"
                .to_owned(),
            terms(&at_once),
        ),
        (
            "IEEE 802.1Q (unpause suggest headroom)".to_owned(),
            terms(&link),
        ),
    ];
    let (spectrum, cell, profile) = match cells {
        Cells::Unknown => return all,
        Cells::OfSpectrum(generation) => (
            Some(generation),
            None,
            "SONiC's script for Spectrum (unpause suggest headroom --profile sonic-mellanox)"
                .to_owned(),
        ),
        Cells::Of(chip, cell) => (
            None,
            Some(cell),
            format!(
                "SONiC's script with the cells of {chip} (unpause suggest headroom --profile sonic-mellanox --cell {cell})"
            ),
        ),
    };
    let options = SonicOptions {
        spectrum,
        lossless_mtu,
        small_packets,
        pipeline: None,
        gearbox: None,
        eight_lanes: false,
        shared_headroom: false,
    };
    let sonic = sonic::Sonic::of(&Link { cell, ..link }, &options).ok();
    all.extend(sonic.map(|it| (profile, it.terms())));
    all
}

impl Headroom {
    /// The text for the terminal.
    pub fn text(&self) -> String {
        let Link {
            rate, metres, mtu, ..
        } = self.link;
        let Terms {
            lines, bytes, note, ..
        } = &self.terms;
        format!(
            "link: {rate}, {metres}m of cable, frames of at most {mtu}B\nheadroom: {bytes}B, profile {}\n\n{}\n{note}",
            self.profile,
            table(lines),
        )
    }
}

/// Options of SONiC's calculation, and whether they are given.
fn of_sonic(it: &SonicOptions) -> [(&'static str, bool); 7] {
    [
        ("--spectrum", it.spectrum.is_some()),
        ("--lossless-mtu", it.lossless_mtu.is_some()),
        ("--small-packets", it.small_packets.is_some()),
        ("--pipeline", it.pipeline.is_some()),
        ("--gearbox", it.gearbox.is_some()),
        ("--eight-lanes", it.eight_lanes),
        ("--shared-headroom", it.shared_headroom),
    ]
}

/// Refuses what the profile does not read.
fn refuse(options: &[(&str, bool)], why: &str) -> Result<(), Error> {
    match options.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((name, _)) => Err(wrong(
            format!("{name} has no effect: {why}"),
            "remove it, or choose another profile",
        )),
    }
}
