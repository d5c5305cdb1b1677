//! One entry of `[[traffic]]`.

use std::ops::Range;
use unpause_text::error::{Checked, Problem, nearest};
use unpause_text::name_list::NameList;

use serde_spanned::Spanned;
use toml::de::DeValue;
use unpause_protocols::congestion_control;
use unpause_protocols::units::Time;
use unpause_sim::traffic::TrafficSpec;

use super::common::{Common, settings, without_priorities};

use super::context::Context;
use super::following::{After, after};
use super::kind::Spec;
use super::{TRAFFIC_KINDS, TrafficKind};
use crate::sections::scheme::window_law;
use crate::text::document::{Table, index_of, read, split_off, split_path, take_string};
use crate::text::keys::{self, Keys as _};

type Names = keys::Written<NameList>;

/// One entry, ready to run.
pub(crate) struct Entry {
    pub name: Spanned<String>,
    pub spec: TrafficSpec,
    /// The window law of its flows, if that is another one than the scheme's.
    pub law: Option<congestion_control::Config>,
    /// How much later its flows start, at most.
    pub jitter: Option<Time>,
    /// The entries that it follows, if it has no start of its own.
    pub after: Option<After>,
}

/// One entry whose keys are known.
pub(crate) struct Written {
    /// Where it stands.
    pub place: Range<usize>,
    common: Common,
    /// Whether its flows have no size.
    endless: bool,
    spec: Spec,
}

/// Reads the keys of one `[[traffic]]` table.
pub(crate) fn read_entry(mut table: Table<'_>) -> Checked<Written> {
    let span = table.span();
    let kind = take_string(&mut table, "kind")?;
    let common: Common = read(split_off(&mut table, &Common::names()), &[])?;
    let Some(kind) = kind else {
        let kinds = TRAFFIC_KINDS.map(TrafficKind::name);
        return Problem::new(format!("traffic `{}` has no `kind`", common.name.get_ref()))
            .at(span, "in this entry")
            .help(format!("set it to one of: {}", kinds.join(", ")))
            .err();
    };
    let Some(found) = TRAFFIC_KINDS.iter().find(|it| it.name() == kind.get_ref()) else {
        return Problem::new(format!("unknown kind of traffic \"{}\"", kind.get_ref()))
            .at(kind.span(), "here")
            .help_if(nearest(
                kind.get_ref(),
                &TRAFFIC_KINDS.map(TrafficKind::name),
            ))
            .err();
    };
    let sizes = ["size", "cdf"].map(|key| table.get_ref().contains_key(key));
    let sized = sizes.contains(&true);
    without_priorities(&kind, found.has_priorities(), sized, &common)?;
    Ok(Written {
        place: span,
        common,
        endless: !sized && !found.has_priorities(),
        spec: found.read(table)?,
    })
}

/// Makes of an entry what is to be sent.
pub(crate) fn entry(written: Written, context: &Context<'_>) -> Checked<Entry> {
    let common = written.common;
    let part = takes_part(&common.schemes, context)?;
    let settings = settings(&common, part, written.endless, context)?;
    let spec = (written.spec)(settings, context)?;
    let spec = if part {
        spec
    } else {
        TrafficSpec::Flows(Vec::new())
    };
    Ok(Entry {
        law: law(&common, part, context)?,
        jitter: jitter(&common)?,
        after: after(&common)?,
        name: common.name,
        spec,
    })
}

/// How much later flows start, at most.
fn jitter(common: &Common) -> Checked<Option<Time>> {
    let Some(jitter) = common.jitter.get().filter(|it| it.get_ref().0 > Time::ZERO) else {
        return Ok(None);
    };
    if let Some(after) = common.after.get() {
        return Problem::new("`jitter` of flows that follow others")
            .at(jitter.span(), "they start when those end")
            .at(after.span(), "these")
            .help("give those that start by themselves a jitter, or remove it")
            .err();
    }
    Ok(Some(jitter.get_ref().0))
}

/// The window law that an entry names, with its defaults. That of the scheme has the scheme's parameters.
fn law(
    common: &Common,
    part: bool,
    context: &Context<'_>,
) -> Checked<Option<congestion_control::Config>> {
    let Some(name) = common.tcp.get() else {
        return Ok(None);
    };
    let law = window_law(name)?;
    if !part || context.law == Some(law) {
        return Ok(None);
    }
    // None of these depends on it.
    let config = law.configure(None, &|_| Ok(Time::ZERO))?;
    Ok(Some(config.tcp))
}

/// True if an entry for these `schemes`, or for all, takes part in the one that runs.
pub(crate) fn takes_part(schemes: &Names, context: &Context<'_>) -> Checked<bool> {
    let Some(schemes) = schemes.get() else {
        return Ok(true);
    };
    if schemes.get_ref().0.is_empty() {
        return Problem::new("`schemes` is empty")
            .at(schemes.span(), "it would run under no scheme")
            .help("name the schemes that it is for, or remove this key: it then runs under all")
            .err();
    }
    for name in &schemes.get_ref().0 {
        if !context.schemes.contains(name) {
            let names: Vec<&str> = context.schemes.iter().map(String::as_str).collect();
            return Problem::new(format!("there is no scheme `{name}`"))
                .at(schemes.span(), "here")
                .help_if(nearest(name, &names))
                .err();
        }
    }
    Ok(schemes
        .get_ref()
        .0
        .iter()
        .any(|name| name == context.scheme))
}

/// Refuses the key `path`, which `scheme` sets at `at`, if it is of an entry that has no part in the scheme.
/// `root` is the file with all that the scheme sets.
pub(crate) fn set_has_effect(
    root: &Table<'_>,
    path: &str,
    at: Range<usize>,
    scheme: &str,
) -> Checked<()> {
    match without_part(root, path, scheme) {
        None => Ok(()),
        Some(schemes) => Problem::new(format!("`{path}` has no effect"))
            .at(at, format!("set in scheme `{scheme}`"))
            .at(schemes, "in which this entry has no flows")
            .help("remove it, or add the scheme to `schemes`")
            .err(),
    }
}

/// Where the entry of traffic that a path leads into says that it has no part in `scheme`.
fn without_part(root: &Table<'_>, path: &str, scheme: &str) -> Option<Range<usize>> {
    let steps = split_path(path)?;
    let [section, name, key, ..] = &steps[..] else {
        return None;
    };
    if section != "traffic" || key == "schemes" {
        return None;
    }
    let entries = root.get_ref().get("traffic")?.get_ref().as_array()?;
    let entry = entries.get(index_of(entries, name)?)?;
    let schemes = entry.get_ref().as_table()?.get("schemes")?;
    let is_own = |name: &DeValue<'_>| name.as_str() == Some(scheme);
    let has_part = match schemes.get_ref() {
        DeValue::Array(names) => names.iter().any(|name| is_own(name.get_ref())),
        name => is_own(name),
    };
    (!has_part).then(|| schemes.span())
}
