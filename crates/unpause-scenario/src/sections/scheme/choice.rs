//! The congestion control of a scheme: `congestion_control`, `tcp`, and the tables of what they
//! name.

use std::ops::Range;
use unpause_text::error::{Checked, Problem, nearest};

use serde::de::IgnoredAny;
use serde_spanned::Spanned;
use toml::de::DeValue;
use unpause_protocols::congestion_point;
use unpause_sim::config::SchemeConfig;

use super::{BaseRtt, CONGESTION_CONTROLS, CongestionControl};
use crate::text::document::{Table, split_off, take_string};
use crate::text::keys::{Keys, Written};

type Set = IgnoredAny;

/// `[[scheme]]` without its mechanisms' tables; what is in it has been taken out before.
#[expect(dead_code, reason = "every key is taken out where it is needed")]
#[derive(Keys)]
#[keys("scheme")]
pub(crate) struct SchemeKeys {
    /// name of the scheme in results
    pub(crate) name: Spanned<String>,
    /// how senders find their rates or windows, [below](#congestion-controls)
    #[key(unset = "`\"none\"`")]
    pub(crate) congestion_control: Written<String>,
    /// window law of TCP flows, [below](#congestion-controls), in addition to a congestion control of RoCE flows
    #[key(unset = "none")]
    pub(crate) tcp: Written<String>,
    /// congestion point of every data queue, [below](#marking)
    #[key(unset = "that of `congestion_control`")]
    pub(crate) marking: Written<String>,
    /// how RoCE flows repair losses, [below](#loss-recovery)
    #[key(unset = "`\"go-back-n\"`")]
    pub(crate) loss_recovery: Written<String>,
    /// other keys of the file that differ under this scheme, by path
    #[key(unset = "none")]
    pub(crate) set: Written<Set>,
}

/// A congestion control, with a window law beside it for TCP flows.
pub(crate) struct Chosen {
    pub congestion_control: CongestionControl,
    pub config: SchemeConfig,
    /// The table of the congestion control has a key of its congestion point.
    pub sets_queues: bool,
    /// Its window law, if it has one.
    pub law: Option<CongestionControl>,
    /// Where `loss_recovery` is written, which is read beside this.
    pub recovery: Option<Range<usize>>,
}

/// One of the two, and the parameters in the table of its name.
struct Named<'i> {
    what: CongestionControl,
    said: Option<Spanned<String>>,
    table: Option<Table<'i>>,
}

impl Named<'_> {
    /// A `marking` takes the place of the scheme's own congestion point.
    fn check_replaced(&self, marking: Range<usize>) -> Checked<()> {
        let name = self.what.name();
        let Some(own) = self.what.replaceable() else {
            return Problem::new(format!("{name} needs its own congestion point"))
                .at(marking, "this would replace it")
                .help("remove `marking`, or choose another congestion_control")
                .err();
        };
        let keys = self.table.iter().flat_map(|table| table.get_ref().iter());
        for (key, value) in keys {
            if own.contains(&key.get_ref().as_ref()) {
                return Problem::new(format!(
                    "`{}` of [scheme.{name}] has no effect",
                    key.get_ref()
                ))
                .at(value.span(), "of the scheme's own congestion point")
                .at(marking, "is replaced by this marking")
                .help("set it in the table of the marking")
                .err();
            }
        }
        Ok(())
    }

    /// True if its table has a key of its congestion point.
    fn sets_queues(&self) -> bool {
        let own = self.what.replaceable().unwrap_or_default();
        let table = self.table.as_ref();
        table.is_some_and(|table| own.iter().any(|key| table.get_ref().contains_key(*key)))
    }
}

/// Reads `congestion_control`, `tcp` and the tables of what they name. `marking` is where another
/// congestion point than theirs is named.
pub(crate) fn congestion_control(
    table: &mut Table<'_>,
    marking: Option<Range<usize>>,
    base_rtt: BaseRtt<'_>,
) -> Checked<Chosen> {
    let (mut own, mut law) = names(table)?;
    take_tables(table, &mut own, law.as_mut())?;
    if let Some(marking) = marking {
        own.check_replaced(marking.clone())?;
        if let Some(law) = &law {
            law.check_replaced(marking)?;
        }
    }
    let own_queues = own.sets_queues();
    let own_law = own.what.is_tcp().then_some(own.what);
    let chosen_law = own_law.or(law.as_ref().map(|it| it.what));
    let mut config = own.what.configure(own.table, base_rtt)?;
    if let Some(law) = law {
        let span = law.table.as_ref().map_or(0..0, Spanned::span);
        let sets_queues = law.sets_queues();
        let with = law.what.configure(law.table, base_rtt)?;
        config.tcp = with.tcp;
        if config.congestion_point == congestion_point::Config::None {
            config.congestion_point = with.congestion_point;
        } else if sets_queues {
            return Problem::new(format!(
                "the queue settings of {} have no effect",
                law.what.name()
            ))
            .at(span, "in this table")
            .help(format!(
                "remove it: congestion_control = \"{}\" configures the switches",
                own.what.name()
            ))
            .err();
        }
    }
    Ok(Chosen {
        congestion_control: own.what,
        config,
        sets_queues: own_queues,
        law: chosen_law,
        recovery: None,
    })
}

/// The mechanism that `congestion_control` names, and the window law that `tcp` names.
fn names<'i>(table: &mut Table<'i>) -> Checked<(Named<'i>, Option<Named<'i>>)> {
    let said = take_string(table, "congestion_control")?;
    let what = match &said {
        None => CONGESTION_CONTROLS[0],
        Some(name) => find(name, &CONGESTION_CONTROLS, "congestion control")?,
    };
    let law = match take_string(table, "tcp")? {
        None => None,
        Some(name) if what.is_tcp() => {
            return Problem::new("`tcp` has no effect")
                .at(name.span(), "flows are TCP already")
                .at(
                    said.as_ref().map_or(name.span(), Spanned::span),
                    "by this congestion control",
                )
                .help("remove it; it gives TCP flows a window law beside a RoCE congestion control")
                .err();
        }
        Some(name) => Some(Named {
            what: window_law(&name)?,
            said: Some(name),
            table: None,
        }),
    };
    let own = Named {
        what,
        said,
        table: None,
    };
    Ok((own, law))
}

/// Takes the tables of what is named; there must be no other.
fn take_tables<'i>(
    table: &mut Table<'i>,
    own: &mut Named<'i>,
    mut law: Option<&mut Named<'i>>,
) -> Checked<()> {
    let all = CONGESTION_CONTROLS.map(CongestionControl::name);
    for (key, value) in split_off(table, &all).into_inner() {
        let span = value.span();
        let named = if key.get_ref() == own.what.name() {
            &mut *own
        } else if let Some(law) = &mut law
            && key.get_ref() == law.what.name()
        {
            law
        } else {
            return Problem::new(format!("[scheme.{}] has no effect", key.get_ref()))
                .at(key.span(), "these parameters")
                .at(
                    own.said.as_ref().map_or(key.span(), Spanned::span),
                    format!("congestion_control is \"{}\"", own.what.name()),
                )
                .help(format!(
                    "remove the table, or set congestion_control = \"{}\"",
                    key.get_ref()
                ))
                .err();
        };
        match value.into_inner() {
            DeValue::Table(table) => named.table = Some(Spanned::new(span, table)),
            _ => {
                return Problem::new(format!("`{}` is not a table", key.get_ref()))
                    .at(span, "expected parameters")
                    .err();
            }
        }
    }
    Ok(())
}

/// The window law of this name.
pub(crate) fn window_law(name: &Spanned<String>) -> Checked<CongestionControl> {
    let laws = CONGESTION_CONTROLS.into_iter().filter(|it| it.is_tcp());
    find(name, &Vec::from_iter(laws), "window law")
}

fn find(
    name: &Spanned<String>,
    among: &[CongestionControl],
    what: &str,
) -> Checked<CongestionControl> {
    let found = among.iter().find(|it| it.name() == name.get_ref());
    found.copied().ok_or_else(|| {
        let known: Vec<&str> = among.iter().map(|it| it.name()).collect();
        let problem = Problem::new(format!("unknown {what} \"{}\"", name.get_ref()))
            .at(name.span(), "here")
            .help_if(nearest(name.get_ref(), &known));
        Box::new(problem)
    })
}
