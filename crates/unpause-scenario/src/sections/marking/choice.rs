//! The keys of a scheme about marking.

use serde_spanned::Spanned;
use toml::de::DeValue;
use unpause_protocols::congestion_point::Config;
use unpause_text::error::{Checked, Problem, nearest};

use super::{MARKINGS, Marking};
use crate::text::document::{Table, split_off, take_string};

/// Takes `marking` and the tables of its values out of a scheme.
pub(crate) fn take_marking<'i>(scheme: &mut Table<'i>) -> Table<'i> {
    let with_keys = MARKINGS.into_iter().filter(|it| !it.keys().is_empty());
    let keys: Vec<&str> = with_keys.map(Marking::name).chain(["marking"]).collect();
    split_off(scheme, &keys)
}

/// The congestion point that a scheme names by `marking`, if it does.
pub(crate) fn marking(mut table: Table<'_>) -> Checked<Option<(Marking, Config)>> {
    let chosen = take_string(&mut table, "marking")?;
    let Some(name) = &chosen else {
        parameters(table, "none", None)?;
        return Ok(None);
    };
    let mut all = MARKINGS.into_iter();
    let Some(marking) = all.find(|marking| marking.name() == name.get_ref()) else {
        return Problem::new(format!("unknown marking \"{}\"", name.get_ref()))
            .at(name.span(), "here")
            .help_if(nearest(name.get_ref(), &MARKINGS.map(Marking::name)))
            .err();
    };
    let parameters = parameters(table, marking.name(), chosen.as_ref())?;
    Ok(Some((marking, marking.configure(parameters)?)))
}

/// The one of `tables` that has parameters of `name`, which `marking` says or is by default; there must be
/// no other.
fn parameters<'i>(
    tables: Table<'i>,
    name: &str,
    chosen: Option<&Spanned<String>>,
) -> Checked<Option<Table<'i>>> {
    let mut parameters = None;
    for (table, value) in tables.into_inner() {
        let span = value.span();
        if table.get_ref() != name {
            return Problem::new(format!("[scheme.{}] has no effect", table.get_ref()))
                .at(table.span(), "these parameters")
                .at(
                    chosen.map_or(table.span(), Spanned::span),
                    format!("marking is \"{name}\""),
                )
                .help(format!(
                    "remove the table, or set marking = \"{}\"",
                    table.get_ref()
                ))
                .err();
        }
        match value.into_inner() {
            DeValue::Table(table) => parameters = Some(Spanned::new(span, table)),
            _ => {
                return Problem::new(format!("`{}` is not a table", table.get_ref()))
                    .at(span, "expected parameters")
                    .err();
            }
        }
    }
    Ok(parameters)
}
