//! The keys of a scheme about loss recovery.

use serde_spanned::Spanned;
use toml::de::DeValue;
use unpause_protocols::loss_recovery::Config;
use unpause_text::error::{Checked, Problem, nearest};

use super::{LOSS_RECOVERIES, LossRecovery};
use crate::sections::scheme::BaseRtt;
use crate::text::document::{Table, split_off, take_string};

const KEY: &str = "loss_recovery";

/// Takes `loss_recovery` and the tables of its values out of a scheme.
pub(crate) fn take_loss_recovery<'i>(scheme: &mut Table<'i>) -> Table<'i> {
    let names = LOSS_RECOVERIES.map(LossRecovery::name);
    let keys: Vec<&str> = names.into_iter().chain([KEY]).collect();
    split_off(scheme, &keys)
}

/// The loss recovery that a scheme names.
pub(crate) fn loss_recovery(mut table: Table<'_>, base_rtt: BaseRtt<'_>) -> Checked<Config> {
    let chosen = take_string(&mut table, KEY)?;
    let found = match &chosen {
        None => LOSS_RECOVERIES[0],
        Some(name) => {
            let mut all = LOSS_RECOVERIES.into_iter();
            let Some(found) = all.find(|it| it.name() == name.get_ref()) else {
                let names = LOSS_RECOVERIES.map(LossRecovery::name);
                return Problem::new(format!("unknown loss recovery \"{}\"", name.get_ref()))
                    .at(name.span(), "here")
                    .help_if(nearest(name.get_ref(), &names))
                    .err();
            };
            found
        }
    };
    let mut parameters = None;
    for (key, value) in table.into_inner() {
        let span = value.span();
        let DeValue::Table(inner) = value.into_inner() else {
            return Problem::new(format!("`{}` is not a table", key.get_ref()))
                .at(span, "expected parameters")
                .err();
        };
        if key.get_ref() != found.name() || found.keys().is_empty() {
            return Problem::new(format!("[scheme.{}] has no effect", key.get_ref()))
                .at(key.span(), "these parameters")
                .at(
                    chosen.as_ref().map_or(key.span(), Spanned::span),
                    format!("{KEY} is \"{}\"", found.name()),
                )
                .help(if key.get_ref() == found.name() {
                    "remove the table: go-back-N has its timeout in [host]".to_owned()
                } else {
                    format!("remove the table, or set {KEY} = \"{}\"", key.get_ref())
                })
                .err();
        }
        parameters = Some(Spanned::new(span, inner));
    }
    found.configure(parameters, base_rtt)
}
