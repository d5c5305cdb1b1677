//! Wires that are pairs of virtual Ethernet devices.

mod namespace;
mod socket;
mod wall_clock;

use std::io;

use unpause_sim::config::Config;
use unpause_sim::exchange::{GlobalPort, Ports};

use crate::codec::Codec;
use crate::medium::Medium;
use crate::split::Split;
use namespace::Namespaces;
use socket::PacketSocket;

pub use namespace::Unable;
pub use wall_clock::{Lateness, WallClock};

/// How long a frame that was sent is waited for, ms: the kernel may leave it to another thread when it is
/// busy.
const PATIENCE_MS: i32 = 200;

/// A pair of virtual Ethernet devices for each wire, in a network namespace for each shard.
///
/// Namespaces have no names: the kernel takes them and all devices in them back when this is dropped or the
/// process ends, however it ends.
pub struct Veth {
    /// By port; none at links that are no wires.
    sockets: Vec<Option<PacketSocket>>,
    /// By port: the port at the other end.
    peers: Vec<GlobalPort>,
    /// They last as long as this.
    _namespaces: Namespaces,
}

impl Veth {
    /// The wires of `split` between the nodes of `config`, which the simulator has checked.
    ///
    /// # Errors
    ///
    /// [`Unable`]: what is missing.
    pub fn new(config: &Config, split: &Split) -> Result<Self, Unable> {
        let ports = Ports::new(&config.fabric);
        let longest = Codec::longest(config);
        let ends = ends(config, split, &ports);
        let namespaces = Namespaces::new(split.shards)?;
        namespaces.connect(&ends, longest)?;
        let mut sockets: Vec<Option<PacketSocket>> = Vec::new();
        sockets.resize_with(ports.transmitters.len(), || None);
        for (port, socket) in namespaces.open(&ends, longest)? {
            sockets[port as usize] = Some(socket);
        }
        let peers = ports
            .transmitters
            .iter()
            .map(|transmitter| transmitter.peer_port)
            .collect();
        Ok(Self {
            sockets,
            peers,
            _namespaces: namespaces,
        })
    }

    /// The sockets at the ports of each shard.
    fn by_share(&mut self, split: &Split, ports: &Ports) -> Vec<Vec<(GlobalPort, PacketSocket)>> {
        let mut all: Vec<Vec<_>> = (0..split.shards).map(|_| Vec::new()).collect();
        for (port, socket) in self.sockets.iter_mut().enumerate() {
            // The node of a port is the peer of the port at the other end.
            let far = &ports.transmitters[self.peers[port] as usize];
            if let Some(socket) = socket.take() {
                let shard = split.shard_of[far.peer as usize];
                all[usize::from(shard)].push((port as GlobalPort, socket));
            }
        }
        all
    }

    fn socket(&mut self, port: GlobalPort) -> io::Result<&mut PacketSocket> {
        let socket = self.sockets[port as usize].as_mut();
        socket.ok_or_else(|| io::Error::other(format!("port {port} is not at a wire")))
    }
}

/// The ends of each wire: port and shard.
fn ends(config: &Config, split: &Split, ports: &Ports) -> Vec<[(GlobalPort, u16); 2]> {
    let shard_of = |port: GlobalPort| {
        let node = ports.transmitters[port as usize].peer;
        split.shard_of[node as usize]
    };
    // Ports are numbered node by node, each node's in the order of links.
    let mut next: Vec<GlobalPort> = ports.first.clone();
    let mut take = |node: u32| {
        let port = next[node as usize];
        next[node as usize] += 1;
        port
    };
    let all = config
        .fabric
        .links
        .iter()
        .map(|link| (take(link.a), take(link.b)));
    let all: Vec<_> = all.collect();
    let wires = split.wires.iter().map(|&link| {
        let (a, b) = all[link];
        // The node of a port is the peer of the port at the other end.
        [(a, shard_of(b)), (b, shard_of(a))]
    });
    wires.collect()
}

impl Drop for Veth {
    fn drop(&mut self) {
        let sockets: Vec<PacketSocket> = self.sockets.drain(..).flatten().collect();
        namespace::at_once(sockets, drop);
    }
}

impl Medium for Veth {
    fn capacity(&self) -> usize {
        socket::SLOTS / 2
    }

    fn send(&mut self, port: GlobalPort, frame: &[u8]) -> io::Result<()> {
        let from = self.peers[port as usize];
        self.socket(from)?.send(frame)
    }

    fn receive(
        &mut self,
        port: GlobalPort,
        expected: usize,
        take: &mut dyn FnMut(&[u8]) -> bool,
    ) -> io::Result<()> {
        let socket = self.socket(port)?;
        let mut came = 0;
        loop {
            while let Some(counts) = socket.receive(&mut |frame, _| take(frame)) {
                came += usize::from(counts);
            }
            if came >= expected || !socket.wait(PATIENCE_MS)? {
                return Ok(());
            }
        }
    }
}
