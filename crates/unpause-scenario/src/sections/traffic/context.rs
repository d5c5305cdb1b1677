//! The context of traffic entries: the fabric, its hosts, the scheme.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use unpause_text::error::{Checked, Problem};
use unpause_text::name_list::NameList;

use serde_spanned::Spanned;
use unpause_sim::config::{HostConfig, NodeId};
use unpause_sim::traffic::Transport;

use crate::files::Files;
use crate::sections::extra_delay::Delays;
use crate::sections::scheme::CongestionControl;
use crate::text::keys::{WithDefault, Written};
use crate::text::kind::OneOf;
use unpause_import::fabric::names::Names;
use unpause_import::fabric::topology::Topology;

/// The context of traffic entries.
pub(crate) struct Context<'a> {
    pub topology: &'a Topology,
    pub names: &'a Names,
    pub files: &'a Files,
    /// The scheme that runs, and all that there are.
    pub scheme: &'a str,
    pub schemes: &'a [String],
    pub host: &'a HostConfig,
    /// Preamble and gap of a frame.
    pub framing_bytes: u32,
    /// The default transport of flows.
    pub transport: Transport,
    /// The window law of the scheme, if it has one.
    pub law: Option<CongestionControl>,
    pub delays: &'a Delays,
    /// The `load` of the entry that is read, and the payload (bit/s) that a load of 1 would be.
    pub load: Cell<Option<(f64, f64)>>,
    /// For the reader of the result.
    pub notes: RefCell<Vec<String>>,
}

/// The links whose rate `load` is a share of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, unpause_protocols::names::Names)]
pub(super) enum LoadOf {
    /// Those of the senders.
    Senders,
    /// Those of the receivers.
    Receivers,
    /// From the senders' switches to other switches.
    Uplinks,
}

/// The bytes that `load` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, unpause_protocols::names::Names)]
pub(super) enum LoadBasis {
    /// The bytes of flows.
    Payload,
    /// Their frames: with headers, preamble and gap.
    Wire,
}

impl Context<'_> {
    /// Priority of the first bytes of a TCP flow, if PIAS gives segments theirs.
    pub(super) fn first_priority(&self) -> Option<u8> {
        self.host.tcp.tags.as_ref()?.priorities.first().copied()
    }

    /// Tells the reader of the result.
    pub fn note(&self, note: String) {
        self.notes.borrow_mut().push(note);
    }

    pub fn hosts_or_all(&self, list: &Written<NameList>) -> Checked<Vec<NodeId>> {
        match list.get() {
            Some(list) => self.names.host_list(list),
            None => Ok(self.names.hosts().to_vec()),
        }
    }

    pub fn many_to_one(
        &self,
        from: &Spanned<NameList>,
        to: &Spanned<NameList>,
    ) -> Checked<(Vec<NodeId>, NodeId)> {
        let senders = self.names.host_list(from)?;
        let receivers = self.names.host_list(to)?;
        let [receiver] = receivers[..] else {
            return Problem::new(format!("{} receivers", receivers.len()))
                .at(to.span(), "this kind of traffic has one")
                .err();
        };
        for sender in &senders {
            self.differ(*sender, receiver, &from.span(), &to.span())?;
        }
        Ok((senders, receiver))
    }

    /// The hosts differ.
    pub fn differ(
        &self,
        src: NodeId,
        dst: NodeId,
        from: &Range<usize>,
        to: &Range<usize>,
    ) -> Checked<()> {
        if src == dst {
            return Problem::new(format!("a flow from {} to itself", self.names.name(src)))
                .at(from.clone(), "the sender")
                .at(to.clone(), "is also the receiver")
                .err();
        }
        Ok(())
    }

    pub fn any_to_any(
        &self,
        senders: &[NodeId],
        receivers: &[NodeId],
        from: &Written<NameList>,
        to: &Written<NameList>,
        entry: &Range<usize>,
    ) -> Checked<()> {
        let place = |list: &Written<NameList>| list.peek().map_or(entry.clone(), Spanned::span);
        for src in senders {
            if receivers.iter().all(|dst| dst == src) {
                return self.differ(*src, *src, &place(from), &place(to));
            }
        }
        Ok(())
    }

    /// Bits per second of the links of all of `hosts`.
    fn rate_of(&self, hosts: &[NodeId]) -> f64 {
        let mut of_node = vec![0.0; self.names.nodes.len()];
        for link in &self.topology.fabric.links {
            for end in [link.a, link.b] {
                of_node[end as usize] += link.rate.as_bps() as f64;
            }
        }
        hosts.iter().map(|host| of_node[*host as usize]).sum()
    }

    /// By node: the switch that a host is connected to, the first if there are several.
    pub fn switch_of(&self) -> Arc<[NodeId]> {
        let peers = self.names.peers.iter();
        peers
            .map(|peers| peers.first().copied().unwrap_or(NodeId::MAX))
            .collect()
    }

    /// Bits per second of the links that `load` is a share of.
    pub(super) fn capacity(
        &self,
        of: &WithDefault<OneOf<LoadOf>>,
        from: &[NodeId],
        to: &[NodeId],
    ) -> Checked<f64> {
        match of.value().0 {
            LoadOf::Senders => Ok(self.rate_of(from)),
            LoadOf::Receivers => Ok(self.rate_of(to)),
            LoadOf::Uplinks => {
                let switches = |host: &NodeId| self.names.peers[*host as usize].iter().copied();
                let edges: HashSet<NodeId> = from.iter().flat_map(switches).collect();
                let links = self.topology.fabric.links.iter();
                let ends = links.flat_map(|link| [(link.a, link.b, link), (link.b, link.a, link)]);
                let up = ends.filter(|(a, b, _)| edges.contains(a) && !self.names.is_host(*b));
                let capacity: f64 = up.map(|(_, _, link)| link.rate.as_bps() as f64).sum();
                if capacity == 0.0 {
                    return Problem::new("the senders' switches have no links to other switches")
                        .at(of.get().map_or(0..0, Spanned::span), "of nothing")
                        .help("set load_of = \"senders\" or \"receivers\"")
                        .err();
                }
                Ok(capacity)
            }
        }
    }

    /// The share of payload in a full frame of `transport` on the wire.
    pub(super) fn payload_share(&self, transport: Transport) -> f64 {
        let (payload, header) = match transport {
            Transport::Tcp => (self.host.tcp.recovery.mss, self.host.tcp.header_bytes),
            Transport::Roce | Transport::Udp => (self.host.payload_bytes, self.host.header_bytes),
        };
        let [payload, header, framing] = [payload, header, self.framing_bytes].map(f64::from);
        // A payload of 0 is refused with the whole of the file.
        payload.max(1.0) / (payload.max(1.0) + header + framing)
    }
}
