//! `[switch] model`: how switches are built.

use serde_spanned::Spanned;
use unpause_sim::config::{HostConfig, SwitchConfig, SwitchModel};

use super::settings::PfcDefaults;
use super::{cioq, pipeline};
use crate::file::{self, File};
use crate::text::error::{Checked, Problem};

/// XOFF and XON of the chosen model.
pub(super) fn pfc_defaults(table: &file::Switch) -> PfcDefaults {
    match table.model.as_ref().map(Spanned::get_ref) {
        Some(file::SwitchModel::Cioq) => cioq::PFC,
        _ => PfcDefaults {
            xoff_bytes: 512_000,
            xon_bytes: None,
            only_static: None,
        },
    }
}

/// The model of the switches, which are otherwise `switch`, for frames of up to `mtu` bytes.
pub(super) fn model(
    file: &File,
    switch: &SwitchConfig,
    host: &HostConfig,
    mtu: u64,
) -> Checked<SwitchModel> {
    let table = &file.switch;
    let chosen = table.model.as_ref().map(Spanned::get_ref);
    let tables = [
        ("pipeline", table.pipeline.as_ref().map(Spanned::span)),
        ("cioq", table.cioq.as_ref().map(Spanned::span)),
    ];
    let name = match chosen {
        None | Some(file::SwitchModel::SharedBuffer) => "shared-buffer",
        Some(file::SwitchModel::Pipeline) => "pipeline",
        Some(file::SwitchModel::Cioq) => "cioq",
    };
    for (other, span) in tables {
        if let Some(span) = span.filter(|_| other != name) {
            return Problem::new(format!("[switch.{other}] has no effect"))
                .at(span, "these settings")
                .help(format!(
                    "set switch.model = \"{other}\", or remove the table"
                ))
                .err();
        }
    }
    match chosen {
        None | Some(file::SwitchModel::SharedBuffer) => Ok(SwitchModel::SharedBuffer),
        Some(file::SwitchModel::Pipeline) => pipeline::model(table, &file.pfc, mtu),
        Some(file::SwitchModel::Cioq) => cioq::model(file, switch, host),
    }
}
