//! Topologies written out, node by node and link by link.

use std::collections::HashMap;

use unpause_protocols::units::{Rate, Time};

use super::built::{Invalid, Topology, positive, positive_delay, whole_rate};
use crate::text::error::nearest;

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
        let mut topology = Topology::default();
        for name in &self.hosts {
            topology.add_host(name);
        }
        for name in &self.switches {
            topology.add_switch(name);
        }
        let nodes: HashMap<String, u32> = topology.names.iter().cloned().zip(0..).collect();
        let mut seen = HashMap::new();
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
            whole_rate(&field, link.rate)?;
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
            for _ in 0..link.parallel {
                topology.connect(a, b, link.rate, link.delay);
            }
        }
        topology.validate()
    }
}
