//! Nodes and links written out.

use serde_spanned::Spanned;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use unpause_text::error::{Checked, Problem, nearest};
use unpause_text::limits;
use unpause_text::name_list::Expanded;
use unpause_text::quantity::{DataRate, Duration};

use serde::de::IgnoredAny;
use unpause_protocols::units::{Rate, Time};

use super::builder::{self, Builder, Places};
use crate::text::document::{self, Table, take_tables};
use crate::text::keys::{Keys, WithDefault, Written, refuse};
use unpause_import::fabric::topology::{
    Invalid, Topology, at_most, positive, positive_delay, possible_rate,
};

/// Named nodes and their links.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explicit {
    /// Names of the hosts.
    pub hosts: Vec<String>,
    /// Names of the switches.
    pub switches: Vec<String>,
    /// Links, each pair of nodes at most once.
    pub links: Vec<ExplicitLink>,
}

/// A link between two named nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplicitLink {
    /// One end.
    pub a: String,
    /// The other end.
    pub b: String,
    /// Rate of each direction.
    pub rate: Rate,
    /// Delay.
    pub delay: Time,
    /// How many such links there are between the two.
    pub parallel: u32,
}

impl Explicit {
    /// Builds it. Fields of errors are `links[i]`, i from 0 in [`Explicit::links`].
    pub fn build(&self) -> Result<Topology, Invalid> {
        for (field, names) in [("hosts", &self.hosts), ("switches", &self.switches)] {
            let count = names.len() as u64;
            at_most(field, [count], limits::NODES, "nodes of one kind")?;
        }
        let mut topology = Topology::default();
        for name in &self.hosts {
            topology.add_host(name);
        }
        for name in &self.switches {
            topology.add_switch(name);
        }
        let nodes: HashMap<String, u32> = topology.names.iter().cloned().zip(0..).collect();
        let mut seen = HashMap::new();
        let mut count = 0;
        for (index, link) in self.links.iter().enumerate() {
            let field = format!("links[{index}]");
            let node = |name: &String| {
                nodes.get(name).copied().ok_or_else(|| {
                    let names: Vec<&str> = topology.names.iter().map(String::as_str).collect();
                    let help =
                        nearest(name, &names).map_or(String::new(), |help| format!("; {help}"));
                    Invalid::new(&field, format!("there is no node `{name}`{help}"))
                })
            };
            let (a, b) = (node(&link.a)?, node(&link.b)?);
            positive(&field, link.parallel)
                .map_err(|error| Invalid::new(error.field, "`parallel` must be at least 1"))?;
            possible_rate(&field, link.rate)?;
            positive_delay(&field, link.delay)?;
            if let Some(first) = seen.insert((a.min(b), a.max(b)), index) {
                let message = format!(
                    "`{}` and `{}` are linked by links[{first}] already; for more links between them write `parallel`",
                    link.a, link.b
                );
                return Err(Invalid::new(field, message));
            }
            if a == b {
                return Err(Invalid::new(
                    field,
                    format!("`{}` is linked to itself", link.a),
                ));
            }
            count += u64::from(link.parallel);
            at_most(&field, [count], limits::LINKS, "links with those before")?;
            for _ in 0..link.parallel {
                topology.connect(a, b, link.rate, link.delay);
            }
        }
        topology.validate()
    }
}

impl Builder for Explicit {
    type Keys = ExplicitKeys;
    const NAME: &'static str = "explicit";
    const NODES: &'static str = "as named";

    fn read(table: Table<'_>, places: &mut Places) -> Checked<Result<Topology, Invalid>> {
        Ok(read(table, places)?.build())
    }
}

/// Tables that are taken out before the others are read.
type Links = Vec<IgnoredAny>;

/// Why a rate or a delay of all links has no effect.
const OF_NO_LINK: (&str, &str) = ("every link has its own", "remove it");

/// `[topology]` with this builder.
#[derive(Keys)]
#[keys("topology")]
pub(super) struct ExplicitKeys {
    /// names of the hosts
    hosts: Spanned<Expanded>,
    /// names of the switches
    switches: Spanned<Expanded>,
    /// a `[[topology.link]]` for each link
    #[key(unset = "required")]
    link: Written<Links>,
    /// rate of links without a `rate`
    #[key(unset = "none", idle = OF_NO_LINK)]
    rate: Written<DataRate>,
    /// delay of links without a `delay`
    #[key(unset = "none", idle = OF_NO_LINK)]
    delay: Written<Duration>,
}

/// `[[topology.link]]`
#[derive(Keys)]
#[keys("topology.link")]
pub(crate) struct LinkKeys {
    /// name of one end
    pub(crate) a: Spanned<String>,
    /// name of the other end
    pub(crate) b: Spanned<String>,
    /// of each direction
    #[key(unset = "that of `[topology]`")]
    pub(crate) rate: Written<DataRate>,
    /// one way
    #[key(unset = "that of `[topology]`")]
    pub(crate) delay: Written<Duration>,
    /// number of such links
    #[key(default = 1)]
    pub(crate) parallel: WithDefault<u32>,
}

/// Reads the links, and checks here what the builder would also find but could not place as well.
fn read(mut table: Table<'_>, places: &mut Places) -> Checked<Explicit> {
    let link_tables = take_tables(&mut table, "link")?;
    let k: ExplicitKeys = builder::keys(table)?;
    let hosts_place = k.hosts.span();
    let (hosts, switches) = (&k.hosts.get_ref().0, &k.switches.get_ref().0);
    let known: Vec<&str> = hosts.iter().chain(switches).map(String::as_str).collect();
    let all: HashSet<&str> = known.iter().copied().collect();
    let mut links = Vec::new();
    let mut pairs: HashMap<(String, String), Range<usize>> = HashMap::new();
    for (index, table) in link_tables.into_iter().enumerate() {
        let span = table.span();
        places.keys.insert(format!("links[{index}]"), span.clone());
        let link: LinkKeys = document::read(table, &[])?;
        for end in [&link.a, &link.b] {
            if !all.contains(end.get_ref().as_str()) {
                return Problem::new(format!("there is no node `{}`", end.get_ref()))
                    .at(end.span(), "neither in `hosts` nor in `switches`")
                    .help_if(nearest(end.get_ref(), &known))
                    .err();
            }
        }
        let rate: Rate = match link.rate.get() {
            Some(rate) => {
                possible_rate("rate", rate.get_ref().0).map_err(|e| at_link(&e, rate.span()))?;
                rate.get_ref().0
            }
            None => k.rate.value().ok_or_else(|| missing("rate", &span))?.0,
        };
        let delay: Time = match link.delay.get() {
            Some(delay) => {
                positive_delay("delay", delay.get_ref().0)
                    .map_err(|e| at_link(&e, delay.span()))?;
                delay.get_ref().0
            }
            None => k.delay.value().ok_or_else(|| missing("delay", &span))?.0,
        };
        let parallel = *link.parallel.value();
        let (a, b) = (link.a.into_inner(), link.b.into_inner());
        let pair = (a.clone().min(b.clone()), a.clone().max(b.clone()));
        if let Some(first) = pairs.insert(pair, span.clone()) {
            return Problem::new(format!("two links between {a} and {b}"))
                .at(span, "the second")
                .at(first, "the first")
                .help("remove one; for more links between two switches write `parallel = 2` in the first")
                .err();
        }
        links.push(ExplicitLink {
            a,
            b,
            rate,
            delay,
            parallel,
        });
    }
    // Hosts without a link, and parts without a path between them, are found by the builder.
    places.keys.insert("links".into(), hosts_place);
    if !links.is_empty() {
        refuse(k.unread())?;
    }
    Ok(Explicit {
        hosts: k.hosts.into_inner().into(),
        switches: k.switches.into_inner().into(),
        links,
    })
}

/// Neither the link at `span` nor the topology has `key`.
fn missing(key: &str, span: &Range<usize>) -> Box<Problem> {
    let problem = Problem::new(format!("key `{key}` is missing"))
        .at(span.clone(), format!("this link needs `{key}`"))
        .help(format!(
            "set it here, or in [topology] for every link: {key} = …"
        ));
    Box::new(problem)
}

fn at_link(invalid: &Invalid, place: Range<usize>) -> Box<Problem> {
    Box::new(Problem::new(&*invalid.message).at(place, "of this link"))
}
