//! Switch chips, by the name of the switch.

use crate::model::ConfigDb;

/// A family of switch chips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chip {
    /// Its name.
    pub name: &'static str,
    /// Bytes of a buffer cell.
    pub cell: u64,
    /// The generation of a Spectrum; none for another vendor's chip.
    pub spectrum: Option<u8>,
}

/// Beginnings of `hwsku`, the chip of such switches, and its cells. Chips: sonic-mgmt, ansible/group_vars/sonic/variables, and
/// Nokia's names. Cells: sonic-mgmt, tests/qos/files/qos_params.*.yaml; Trident4's and Tomahawk6's also divide all values
/// of these switches' pg_profile_lookup.ini in sonic-buildimage (August 2026). Only the cells of Tomahawk3, Trident4 and Tomahawk6
/// have been compared with those files.
const OTHERS: [(&str, &str, u64); 15] = [
    ("ARISTA-7050-QX", "Trident2", 208),
    ("ARISTA-7050QX", "Trident2", 208),
    ("FORCE10-S6000", "Trident2", 208),
    ("ARISTA-7060CX-", "Tomahawk", 208),
    ("FORCE10-S6100", "Tomahawk", 208),
    ("ARISTA-7260CX3", "Tomahawk2", 208),
    ("ARISTA-7050CX3", "Trident3", 256),
    ("DELLEMC-Z9332F", "Tomahawk3", 254),
    ("NOKIA-IXR7220-H3", "Tomahawk3", 254),
    ("NOKIA-IXR7220-H4", "Tomahawk4", 254),
    ("NOKIA-IXR7220-D4", "Trident4", 318),
    ("ARISTA-7060X6", "Tomahawk5", 254),
    ("NOKIA-IXR7220-H5", "Tomahawk5", 254),
    ("NOKIA-IXR7220-H6", "Tomahawk6", 420),
    ("NH-4210", "Tomahawk6", 420),
];

/// The chip of a switch; none if `hwsku` is missing or names a switch that is unknown here.
pub fn chip(db: &ConfigDb) -> Option<Chip> {
    let name = db.device.hwsku.as_ref()?.value.to_uppercase();
    let other = OTHERS.iter().find(|(start, ..)| name.starts_with(start));
    let other = other.map(|(_, name, cell)| Chip {
        name,
        cell: *cell,
        spectrum: None,
    });
    other.or_else(|| spectrum(&name))
}

/// True if the switch is known to add a pool's xoff to its size: sonic-swss, cfgmgr/buffer_pool_mellanox.lua takes the shared
/// headroom from the memory before it divides the rest among pools. SAI says the opposite of all switches (inc/saibuffer.h,
/// `SAI_BUFFER_POOL_ATTR_XOFF_SIZE`, since opencomputeproject/SAI#980). So do sizes that sonic-buildimage ships for Broadcom's
/// chips: size + xoff would exceed the memory of Trident3 (32 MiB), Tomahawk3 (64 MiB) and Tomahawk5 (165 MiB).
pub(crate) fn adds_headroom(db: &ConfigDb) -> bool {
    chip(db).is_some_and(|chip| chip.spectrum.is_some())
}

/// The chip of `ACS-MSN2700` and `Mellanox-SN5600`. Cells: sonic-swss, cfgmgr/buffer_headroom_mellanox.lua.
fn spectrum(name: &str) -> Option<Chip> {
    let digit = name.split("SN").nth(1)?.chars().next()?;
    let (name, generation, cell) = match digit {
        '2' => ("Spectrum", 1, 96),
        '3' => ("Spectrum-2", 2, 144),
        '4' => ("Spectrum-3", 3, 144),
        '5' => ("Spectrum-4", 4, 192),
        '6' => ("Spectrum-6", 6, 192),
        _ => return None,
    };
    Some(Chip {
        name,
        cell,
        spectrum: Some(generation),
    })
}
