//! Packets to frames, and frames to packets.

use unpause_capture::frames::{Described, TCP_PORT, cnm_units, frame, ip_address, queue_pair};
use unpause_protocols::notification::Notification;
use unpause_protocols::units::Time;
use unpause_sim::config::{Config, MIN_FRAME_BYTES};
use unpause_sim::exchange::{
    ACK_REQUEST, ALL, CE, CWR, ECE, ECT, FORWARD, GlobalPort, Kind, LAST_HOP, MEASURE, Packet,
    Ports,
};
use unpause_sim::results::pause_quanta;
use unpause_sim::traffic::Transport;
use unpause_wire::{
    Body, Bth, Cnm, Ecn, Error as FrameError, Ethernet, Flags, Frame, Ipv4, MacAddress, Opcode,
    Pfc, RoceBody, Syndrome, Tcp,
};

use crate::directory::{Directory, Flow};
use crate::fields::{addressed, ecn, frame_bytes, not_of_flow, number, priority, stations};
use crate::refusal::Refusal;
use crate::trailer::Trailer;

/// Beyond a packet's own bytes, the most that its frame needs: headers are the standard's, not those that the
/// scenario counts.
const MOST_BEYOND: usize = 128;

/// Packets to frames, and frames to packets. It knows the fabric and which flows have started, as the ends of
/// a connection do; everything else it reads from the frame.
pub struct Codec<'c> {
    config: &'c Config,
    ports: Ports,
    flows: Directory<'c>,
    /// By port: arrival of the last packet.
    last: Vec<Time>,
}

impl<'c> Codec<'c> {
    /// For the packets of `config`, which the simulator has checked.
    ///
    /// # Errors
    ///
    /// There is no such traffic.
    pub fn new(config: &'c Config) -> Result<Self, String> {
        let ports = Ports::new(&config.fabric);
        Ok(Self {
            config,
            flows: Directory::new(config)?,
            last: vec![Time::ZERO; ports.transmitters.len()],
            ports,
        })
    }

    /// Ports of all nodes.
    pub fn ports(&self) -> &Ports {
        &self.ports
    }

    /// Bytes of the longest frame with its trailer.
    pub fn longest(config: &Config) -> usize {
        config.largest_frame_bytes() as usize + MOST_BEYOND
    }

    /// Writes the frame of a packet on its way to `port` at the beginning of `out`, which has
    /// [`Codec::longest`] bytes; gives its length.
    ///
    /// # Errors
    ///
    /// The values that do not fit into a header.
    pub fn encode(
        &self,
        port: GlobalPort,
        packet: &Packet,
        out: &mut [u8],
    ) -> Result<usize, FrameError> {
        let length = frame(&self.describe(port, packet)).build(out)?;
        let number = match packet.kind {
            Kind::Ack => packet.seq.wrapping_sub(1),
            _ => packet.seq,
        };
        let flags = packet.bits & unsaid(packet.kind);
        let trailer = Trailer::new(packet, number, flags);
        Ok(trailer.write(length, out))
    }

    fn describe(&self, port: GlobalPort, packet: &Packet) -> Described {
        let to = &self.ports.transmitters[port as usize];
        let payload = |header| u32::from(packet.bytes).saturating_sub(header) as u16;
        let payload_bytes = match packet.kind {
            Kind::Data | Kind::Trimmed => payload(self.config.host.header_bytes),
            Kind::Segment => payload(self.config.host.tcp.header_bytes),
            _ => 0,
        };
        let pause = || pause_quanta(Time::from_ps(packet.stamp), to.speed);
        Described {
            kind: packet.kind,
            priority: packet.priority(),
            flow: packet.flow,
            src: number(packet.src),
            dst: number(packet.dst),
            node: number(to.peer),
            // A congestion notification message comes in the name of the receiver.
            flow_dst: number(if goes_forward(packet) {
                packet.dst
            } else {
                packet.src
            }),
            payload_bytes,
            seq: packet.seq,
            ect: packet.is(ECT),
            ce: packet.is(CE),
            ack_request: matches!(packet.kind, Kind::Data | Kind::Trimmed)
                && packet.is(ACK_REQUEST),
            cwr: packet.kind == Kind::Segment && packet.is(CWR),
            ece: packet.kind == Kind::TcpAck && packet.is(ECE),
            source_port: packet.source_port,
            notification: packet.notification(),
            pfc: (packet.kind == Kind::Pfc).then(|| (packet.aux as u8, pause())),
        }
    }

    /// The packet in what has come at `port`.
    ///
    /// # Errors
    ///
    /// Why it is not obeyed.
    pub fn decode(&mut self, port: GlobalPort, bytes: &[u8]) -> Result<Packet, Refusal> {
        let (frame, trailer) = Trailer::split(bytes).map_err(|refusal| match refusal {
            // An error in the frame itself says more.
            Refusal::Foreign => Frame::parse(bytes).map_or_else(Refusal::from, |_| refusal),
            other => other,
        })?;
        let (frame, padding) = Frame::parse(frame)?;
        if padding.iter().any(|&byte| byte != 0) {
            return Err(Refusal::Unexpected("padding"));
        }
        let packet = match &frame.body {
            Body::Pause(_) => return Err(Refusal::Unexpected("802.3x PAUSE")),
            Body::Pfc(pfc) => self.pfc(port, &frame.ethernet, pfc, &trailer)?,
            Body::Cnm(cnm) => self.cnm(&frame, cnm, &trailer)?,
            Body::Roce {
                ip,
                source_port,
                bth,
                body,
            } => {
                let udp = (ip, *source_port);
                self.roce(&frame.ethernet, udp, bth, body, &trailer)?
            }
            Body::Udp { .. } => return Err(Refusal::Unexpected("UDP")),
            Body::Tcp { ip, tcp, payload } => {
                self.tcp(&frame.ethernet, ip, tcp, payload.len(), &trailer)?
            }
        };
        let last = &mut self.last[port as usize];
        if packet.time <= *last {
            return Err(Refusal::OutOfOrder);
        }
        *last = packet.time;
        if trailer.flags & !unsaid(packet.kind) != 0 {
            return Err(Refusal::Unexpected("flag in the trailer"));
        }
        Ok(Packet {
            time: Time::from_ps(trailer.arrival_ps),
            bits: packet.bits | trailer.flags,
            ..packet
        })
    }

    fn pfc(
        &self,
        port: GlobalPort,
        ethernet: &Ethernet,
        pfc: &Pfc,
        trailer: &Trailer,
    ) -> Result<Packet, Refusal> {
        let link = &self.ports.transmitters[port as usize];
        let addresses = (
            MacAddress::local(number(link.peer)),
            MacAddress::MAC_CONTROL,
        );
        if (ethernet.source, ethernet.destination) != addresses {
            return Err(Refusal::Pfc("not from the other end of the link"));
        }
        if pfc.enabled == 0 {
            return Err(Refusal::Pfc("about no priority"));
        }
        if pfc.enabled & !self.config.switch.lossless != 0 {
            return Err(Refusal::Pfc("about a priority that is not lossless"));
        }
        let quanta = pause_quanta(Time::from_ps(trailer.stamp), link.speed);
        let stated = (0..8).map(|priority| match pfc.enabled >> priority & 1 {
            1 => quanta,
            _ => 0,
        });
        if !stated.eq(pfc.quanta) {
            return Err(Refusal::Pfc("nonsense quanta"));
        }
        Ok(Packet {
            time: Time::from_ps(trailer.arrival_ps),
            stamp: trailer.stamp,
            aux: u32::from(pfc.enabled),
            ..Packet::new(Kind::Pfc, 7, 0, Kind::Pfc.control_bytes())
        })
    }

    fn cnm(
        &mut self,
        frame: &Frame<'_>,
        cnm: &Cnm<'_>,
        trailer: &Trailer,
    ) -> Result<Packet, Refusal> {
        let flow = self.flow(trailer, None)?;
        let (ethernet, tag) = (&frame.ethernet, frame.ethernet.tag.unwrap_or_default());
        // To the source of what was sampled: data, or TCP's acknowledgement of them.
        let (src, dst) = if ethernet.source == MacAddress::local(number(flow.dst)) {
            (flow.dst, flow.src)
        } else {
            (flow.src, flow.dst)
        };
        stations(ethernet, src, dst, trailer.flow)?;
        if frame.cn_tag.map(|tag| tag.flow) != Some(trailer.flow as u16) {
            return Err(not_of_flow(trailer, "CN-TAG"));
        }
        let packet = Packet {
            aux: u32::from(cnm.feedback),
            ..packet(
                Kind::Cnm,
                tag.priority,
                0,
                Kind::Cnm.control_bytes(),
                trailer,
            )
        };
        // Headers count both in units of 64 octets, which must be those of the trailer's bytes.
        if let Some(Notification::Qcn(exact)) = packet.notification()
            && (cnm_units(exact.q_offset), cnm_units(exact.q_delta))
                != (cnm.queue_offset, cnm.queue_delta)
        {
            return Err(Refusal::Unexpected("offset or delta of a CNM"));
        }
        Ok(Packet {
            src,
            dst,
            source_port: self.port_of(flow.source_port, trailer.aux as u16, trailer)?,
            ..packet
        })
    }

    /// The source port of a packet of RoCE, if it is one of its flow's: where senders spray, packets have several.
    fn port_of(&self, own: u16, source_port: u16, trailer: &Trailer) -> Result<u16, Refusal> {
        if u32::from(own ^ source_port) < self.config.host.spraying.paths() {
            Ok(source_port)
        } else {
            Err(not_of_flow(trailer, "source port"))
        }
    }

    fn roce(
        &mut self,
        ethernet: &Ethernet,
        (ip, source_port): (&Ipv4, u16),
        bth: &Bth,
        body: &RoceBody<'_>,
        trailer: &Trailer,
    ) -> Result<Packet, Refusal> {
        let flow = self.flow(trailer, Some(Transport::Roce))?;
        if bth.destination_qp != queue_pair(trailer.flow) {
            return Err(not_of_flow(trailer, "queue pair"));
        }
        let source_port = self.port_of(flow.source_port, source_port, trailer)?;
        let number = u32::from(trailer.number) << 24 | bth.psn;
        let (kind, seq, aux, bytes) = match *body {
            RoceBody::Data { opcode, payload } => {
                let sent = match number {
                    0 => Opcode::SEND_FIRST,
                    _ => Opcode::SEND_MIDDLE,
                };
                if opcode != sent {
                    return Err(Refusal::Unexpected("opcode"));
                }
                let (kind, bytes) = self.data(ip, payload.len())?;
                (kind, number, trailer.aux, bytes)
            }
            RoceBody::Ack(aeth) => {
                let (kind, seq) = match aeth.syndrome {
                    Syndrome::Ack { .. } => (Kind::Ack, number.wrapping_add(1)),
                    Syndrome::SEQUENCE_ERROR => (Kind::Nak, number),
                    Syndrome::ReceiverNotReady { .. } if self.config.switch.trimming.is_some() => {
                        (Kind::TrimNak, number)
                    }
                    _ => return Err(Refusal::Unexpected("syndrome")),
                };
                (kind, seq, trailer.aux, self.config.host.ack_bytes)
            }
            RoceBody::Cnp(reserved) => {
                let kind = notification(ip, bth, number)?;
                let rate = reserved.rec_rate();
                if kind == Kind::Cnp && rate != 0 {
                    return Err(Refusal::Unexpected("rate in a CNP"));
                }
                (kind, number, rate, kind.control_bytes())
            }
        };
        let ends = match kind {
            Kind::Data | Kind::Trimmed => (flow.src, flow.dst),
            _ => (flow.dst, flow.src),
        };
        let flags = roce_flags(kind, ip, bth)?;
        addressed(ethernet, ip, ends, trailer.flow)?;
        let packet = packet(kind, priority(ip)?, flags, bytes, trailer);
        Ok(Packet {
            seq,
            aux,
            src: ends.0,
            dst: ends.1,
            source_port,
            ..packet
        })
    }

    /// The kind of a RoCE packet with this much payload: data, or data that a switch has trimmed, which are in the control
    /// priority. Answers its size, too.
    fn data(&self, ip: &Ipv4, payload: usize) -> Result<(Kind, u16), Refusal> {
        let host = &self.config.host;
        match self.config.switch.trimming {
            Some(_) if priority(ip)? == host.control_priority => {
                let bytes = frame_bytes(payload, host.header_bytes, 0)?;
                Ok((Kind::Trimmed, bytes))
            }
            _ => {
                let bytes = frame_bytes(payload, host.header_bytes, host.min_frame_bytes)?;
                Ok((Kind::Data, bytes))
            }
        }
    }

    fn tcp(
        &mut self,
        ethernet: &Ethernet,
        ip: &Ipv4,
        tcp: &Tcp,
        payload: usize,
        trailer: &Trailer,
    ) -> Result<Packet, Refusal> {
        let flow = self.flow(trailer, Some(Transport::Tcp))?;
        let forward = ip.source == ip_address(number(flow.src));
        let (ends, ports) = if forward {
            ((flow.src, flow.dst), (flow.source_port, TCP_PORT))
        } else {
            ((flow.dst, flow.src), (TCP_PORT, flow.source_port))
        };
        addressed(ethernet, ip, ends, trailer.flow)?;
        if (tcp.source_port, tcp.destination_port) != ports {
            return Err(not_of_flow(trailer, "ports"));
        }
        let header = self.config.host.tcp.header_bytes;
        let kind = match (forward, tcp.flags.has(Flags::SYN)) {
            (false, false) if tcp.flags.has(Flags::FIN) => Kind::Fin,
            (true, false) if payload == 0 => Kind::TcpAck,
            (true, true) => Kind::Syn,
            (false, true) => Kind::SynAck,
            (true, false) => Kind::Segment,
            (false, false) => Kind::TcpAck,
        };
        if payload > 0 && kind != Kind::Segment {
            return Err(Refusal::Unexpected("data in a segment without"));
        }
        let seq = match kind {
            Kind::Segment => tcp.sequence.wrapping_sub(1),
            Kind::TcpAck | Kind::Fin => tcp.acknowledgement.wrapping_sub(1),
            _ => 0,
        };
        let flag = |flag: Flags, bit| if tcp.flags.has(flag) { bit } else { 0 };
        let flags = match kind {
            Kind::Segment => flag(Flags::CWR, CWR),
            Kind::TcpAck if forward => FORWARD,
            Kind::TcpAck => flag(Flags::ECE, ECE),
            _ => 0,
        };
        let bytes = frame_bytes(payload, header, MIN_FRAME_BYTES)?;
        Ok(Packet {
            seq,
            src: ends.0,
            dst: ends.1,
            source_port: flow.source_port,
            ..packet(kind, priority(ip)?, flags | ecn(ip)?, bytes, trailer)
        })
    }

    /// The flow that a frame names, which is one of `transport`, if that is given.
    fn flow(&mut self, trailer: &Trailer, transport: Option<Transport>) -> Result<Flow, Refusal> {
        let now = Time::from_ps(trailer.arrival_ps);
        let flow = self.flows.get(trailer.flow, now);
        let flow = flow.ok_or(Refusal::UnknownFlow(trailer.flow))?;
        if transport.is_some_and(|transport| transport != flow.transport) {
            return Err(not_of_flow(trailer, "transport"));
        }
        Ok(flow)
    }
}

/// True of TCP's packets to the receiver of their flow.
fn goes_forward(packet: &Packet) -> bool {
    match packet.kind {
        Kind::Segment | Kind::Syn => true,
        Kind::TcpAck => packet.is(FORWARD),
        _ => false,
    }
}

/// The header fields of a RoCE packet besides its kind.
fn roce_flags(kind: Kind, ip: &Ipv4, bth: &Bth) -> Result<u8, Refusal> {
    let flags = match kind {
        // Its mark is part of the message; no switch has set it.
        Kind::PcnDecrease => 0,
        _ => ecn(ip)?,
    };
    match (bth.ack_request, kind) {
        (false, _) => Ok(flags),
        (true, Kind::Data | Kind::Trimmed) => Ok(flags | ACK_REQUEST),
        (true, _) => Err(Refusal::Unexpected("ACK request without data")),
    }
}

/// Which of the CNPs it is; they have no number.
fn notification(ip: &Ipv4, bth: &Bth, number: u32) -> Result<Kind, Refusal> {
    if number != 0 {
        return Err(Refusal::Unexpected("number of a CNP"));
    }
    match (bth.becn, ip.ecn) {
        (true, Ecn::NotEct) => Ok(Kind::Cnp),
        (true, Ecn::Ce) => Ok(Kind::PcnDecrease),
        (false, Ecn::NotEct) => Ok(Kind::PcnIncrease),
        _ => Err(Refusal::Unexpected("BECN and ECN of a CNP")),
    }
}

/// Bits of a packet that no header says.
fn unsaid(kind: Kind) -> u8 {
    match kind {
        Kind::Data => MEASURE,
        Kind::Trimmed => MEASURE | LAST_HOP,
        Kind::TrimNak => MEASURE | ECE | LAST_HOP,
        Kind::Ack | Kind::Nak => MEASURE | ECE,
        Kind::TcpAck => ALL,
        _ => 0,
    }
}

/// A packet with what the trailer says of any.
fn packet(kind: Kind, priority: u8, flags: u8, bytes: u16, trailer: &Trailer) -> Packet {
    Packet {
        time: Time::from_ps(trailer.arrival_ps),
        stamp: trailer.stamp,
        flow: trailer.flow,
        slot: trailer.slot,
        aux: trailer.aux,
        ..Packet::new(kind, priority, flags, bytes)
    }
}
