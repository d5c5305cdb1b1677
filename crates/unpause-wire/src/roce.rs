//! RoCEv2: base transport header, acknowledgements, congestion notification packets and the invariant
//! CRC (InfiniBand Architecture Specification, volume 1, chapter 9 and Annex A17).

use crate::bytes::{Writer, be24, take, to_be24};
use crate::error::{Error, Layer, Result, field};
use crate::ipv4::Ipv4;
use crate::udp::Udp;

/// UDP's destination port of RoCEv2.
pub const ROCE_PORT: u16 = 4791;

/// Operation code of a base transport header (table 38; Annex A17.9.2 for the CNP).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Opcode(pub u8);

impl Opcode {
    /// Reliable connection: first packet of a SEND.
    pub const SEND_FIRST: Self = Self(0x00);
    /// Reliable connection: neither first nor last packet of a SEND.
    pub const SEND_MIDDLE: Self = Self(0x01);
    /// Reliable connection: last packet of a SEND.
    pub const SEND_LAST: Self = Self(0x02);
    /// Reliable connection: only packet of a SEND.
    pub const SEND_ONLY: Self = Self(0x04);
    /// Reliable connection: acknowledgement, positive or negative.
    pub const ACKNOWLEDGE: Self = Self(0x11);
    /// Congestion notification packet.
    pub const CNP: Self = Self(0x81);
}

/// Base transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bth {
    /// Solicited event.
    pub solicited: bool,
    /// Migration state.
    pub migration: bool,
    /// Partition key; 0xffff is the default partition.
    pub partition: u16,
    /// Forward explicit congestion notification.
    pub fecn: bool,
    /// Backward explicit congestion notification: set in a CNP (Annex A17.9.3).
    pub becn: bool,
    /// Destination queue pair, 24 bits.
    pub destination_qp: u32,
    /// An acknowledgement is asked for.
    pub ack_request: bool,
    /// Packet sequence number, 24 bits.
    pub psn: u32,
}

impl Bth {
    /// Bytes of the header.
    pub const LENGTH: usize = 12;

    /// A header as RoCEv2 cards send it by default, to `destination_qp`.
    pub const fn to(destination_qp: u32, psn: u32) -> Self {
        Self {
            solicited: false,
            migration: true,
            partition: 0xffff,
            fecn: false,
            becn: false,
            destination_qp,
            ack_request: false,
            psn,
        }
    }

    /// Reads the header; gives the operation, the bytes by which the payload was padded, and what
    /// follows.
    ///
    /// # Errors
    /// Truncated, or a transport version other than 0.
    pub fn parse(bytes: &[u8]) -> Result<(Self, Opcode, usize, &[u8])> {
        let (header, rest) = take::<{ Self::LENGTH }>(Layer::Bth, bytes)?;
        let [opcode, flags, p0, p1, ecn, q0, q1, q2, ack, s0, s1, s2] = *header;
        if flags & 0xf != 0 {
            return field(Layer::Bth, "transport header version", flags & 0xf);
        }
        let header = Self {
            solicited: flags & 0x80 != 0,
            migration: flags & 0x40 != 0,
            partition: u16::from_be_bytes([p0, p1]),
            fecn: ecn & 0x80 != 0,
            becn: ecn & 0x40 != 0,
            destination_qp: be24([q0, q1, q2]),
            ack_request: ack & 0x80 != 0,
            psn: be24([s0, s1, s2]),
        };
        Ok((header, Opcode(opcode), usize::from(flags >> 4 & 3), rest))
    }

    /// Writes the header at the beginning of `out`; gives its length.
    ///
    /// # Errors
    /// `out` is too small, `padding` above 3, a queue pair or sequence number beyond 24 bits.
    pub fn build(&self, opcode: Opcode, padding: usize, out: &mut [u8]) -> Result<usize> {
        if padding > 3 {
            return field(Layer::Bth, "pad count", padding as u64);
        }
        if self.destination_qp >> 24 != 0 {
            return field(Layer::Bth, "destination queue pair", self.destination_qp);
        }
        if self.psn >> 24 != 0 {
            return field(Layer::Bth, "packet sequence number", self.psn);
        }
        let flags = u8::from(self.solicited) << 7 | u8::from(self.migration) << 6;
        let mut writer = Writer::new(Layer::Bth, out);
        writer.put(&[opcode.0, flags | (padding as u8) << 4])?;
        writer.put(&self.partition.to_be_bytes())?;
        writer.put(&[u8::from(self.fecn) << 7 | u8::from(self.becn) << 6])?;
        writer.put(&to_be24(self.destination_qp))?;
        writer.put(&[u8::from(self.ack_request) << 7])?;
        writer.put(&to_be24(self.psn))?;
        Ok(writer.written())
    }
}

/// The syndrome of an acknowledgement (section 9.7.5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Syndrome {
    /// Everything up to the PSN has come; credit count, 31 for none.
    Ack {
        /// 0 to 31.
        credits: u8,
    },
    /// The receiver is not ready.
    ReceiverNotReady {
        /// Code of the time to wait, 0 to 31.
        timer: u8,
    },
    /// Negative acknowledgement.
    Nak {
        /// 0: PSN sequence error; others are errors of the operation.
        code: u8,
    },
}

impl Syndrome {
    /// A packet is missing: send again from the PSN on.
    pub const SEQUENCE_ERROR: Self = Self::Nak { code: 0 };
}

/// Acknowledgement extended transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Aeth {
    /// The content.
    pub syndrome: Syndrome,
    /// Message sequence number, 24 bits.
    pub msn: u32,
}

impl Aeth {
    /// Bytes of the header.
    pub const LENGTH: usize = 4;

    fn parse(bytes: &[u8]) -> Result<(Self, &[u8])> {
        let (header, rest) = take::<{ Self::LENGTH }>(Layer::Aeth, bytes)?;
        let [syndrome, m0, m1, m2] = *header;
        let value = syndrome & 0x1f;
        let syndrome = match syndrome >> 5 {
            0 => Syndrome::Ack { credits: value },
            1 => Syndrome::ReceiverNotReady { timer: value },
            3 => Syndrome::Nak { code: value },
            _ => return field(Layer::Aeth, "syndrome", syndrome),
        };
        let msn = be24([m0, m1, m2]);
        Ok((Self { syndrome, msn }, rest))
    }

    fn bytes(&self) -> Result<[u8; Self::LENGTH]> {
        let (class, value) = match self.syndrome {
            Syndrome::Ack { credits } => (0, credits),
            Syndrome::ReceiverNotReady { timer } => (1, timer),
            Syndrome::Nak { code } => (3, code),
        };
        if value > 31 {
            return field(Layer::Aeth, "syndrome's value", value);
        }
        if self.msn >> 24 != 0 {
            return field(Layer::Aeth, "message sequence number", self.msn);
        }
        let [a, b, c] = to_be24(self.msn);
        Ok([class << 5 | value, a, b, c])
    }
}

/// The 16 bytes after a CNP's base transport header: reserved and zero in Annex A17.9.3; PCN (NSDI
/// 2020, section 4.2) carries the receive rate in 32 of their bits, here the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CnpPayload(pub [u8; 16]);

impl CnpPayload {
    /// PCN's, with `rec_rate` in the unit of the notification point (the paper says Mb/s).
    pub const fn with_rec_rate(rec_rate: u32) -> Self {
        let [a, b, c, d] = rec_rate.to_be_bytes();
        Self([a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    }
    /// PCN's receive rate; 0 in the standard's CNP and in an increase of PCN's.
    pub const fn rec_rate(self) -> u32 {
        let [a, b, c, d, ..] = self.0;
        u32::from_be_bytes([a, b, c, d])
    }
}

/// The part behind the base transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RoceBody<'a> {
    /// A packet of data. Extended headers of operations other than SEND stand at its beginning.
    Data {
        /// Any but [`Opcode::ACKNOWLEDGE`] and [`Opcode::CNP`].
        opcode: Opcode,
        /// Without padding.
        payload: &'a [u8],
    },
    /// An acknowledgement.
    Ack(Aeth),
    /// A congestion notification packet.
    Cnp(CnpPayload),
}

impl<'a> RoceBody<'a> {
    /// Bytes of the invariant CRC.
    pub(crate) const ICRC: usize = 4;

    fn padding(&self) -> usize {
        match self {
            Self::Data { payload, .. } => payload.len().wrapping_neg() & 3,
            Self::Ack(_) | Self::Cnp(_) => 0,
        }
    }

    fn opcode(&self) -> Result<Opcode> {
        match *self {
            Self::Data { opcode, .. } => match opcode {
                Opcode::ACKNOWLEDGE | Opcode::CNP => field(Layer::Roce, "opcode of data", opcode.0),
                _ => Ok(opcode),
            },
            Self::Ack(_) => Ok(Opcode::ACKNOWLEDGE),
            Self::Cnp(_) => Ok(Opcode::CNP),
        }
    }

    /// Bytes of base transport header, this and CRC.
    pub(crate) fn length(&self) -> usize {
        let body = match self {
            Self::Data { payload, .. } => payload.len() + self.padding(),
            Self::Ack(_) => Aeth::LENGTH,
            Self::Cnp(_) => 16,
        };
        Bth::LENGTH + body + Self::ICRC
    }

    /// Reads what follows UDP's header; `packet` is the whole IPv4 packet, for the CRC.
    pub(crate) fn parse(udp_payload: &'a [u8], packet: &[u8]) -> Result<(Bth, Self)> {
        let (bth, opcode, padding, rest) = Bth::parse(udp_payload)?;
        let (body, found) = rest.split_last_chunk::<4>().ok_or(Error::Truncated {
            layer: Layer::Roce,
            needed: Bth::LENGTH + Self::ICRC,
            found: udp_payload.len(),
        })?;
        let covered = packet.len().saturating_sub(Self::ICRC);
        let expected = icrc(packet.get(..covered).unwrap_or(packet))?;
        if *found != expected {
            return Err(Error::Checksum {
                layer: Layer::Roce,
                found: u32::from_be_bytes(*found),
                expected: u32::from_be_bytes(expected),
            });
        }
        let (parsed, after) = match opcode {
            Opcode::ACKNOWLEDGE => {
                let (aeth, after) = Aeth::parse(body)?;
                (Self::Ack(aeth), after)
            }
            Opcode::CNP => {
                let (reserved, after) = take::<16>(Layer::Cnp, body)?;
                (Self::Cnp(CnpPayload(*reserved)), after)
            }
            _ => (Self::data(opcode, body, padding)?, [].as_slice()),
        };
        if !after.is_empty() {
            return field(Layer::Roce, "bytes after the body", after.len() as u64);
        }
        if padding != parsed.padding() {
            return field(Layer::Bth, "pad count", padding as u64);
        }
        Ok((bth, parsed))
    }

    fn data(opcode: Opcode, body: &'a [u8], padding: usize) -> Result<Self> {
        let payload = body.len().checked_sub(padding).and_then(|n| body.get(..n));
        let payload = payload.ok_or(Error::Truncated {
            layer: Layer::Roce,
            needed: padding,
            found: body.len(),
        })?;
        Ok(Self::Data { opcode, payload })
    }

    /// Writes base transport header and body, without the CRC.
    pub(crate) fn build(&self, bth: &Bth, out: &mut [u8]) -> Result<usize> {
        let padding = self.padding();
        let at = bth.build(self.opcode()?, padding, out)?;
        let mut writer = Writer::new(Layer::Roce, &mut out[at..]);
        match self {
            Self::Data { payload, .. } => {
                writer.put(payload)?;
                writer.zeros(padding)?;
            }
            Self::Ack(aeth) => writer.put(&aeth.bytes()?)?,
            Self::Cnp(reserved) => writer.put(&reserved.0)?,
        }
        Ok(at + writer.written())
    }
}

/// Invariant CRC of an IPv4 packet that ends before it, in the order in which it is sent (Annex
/// A17.3.3): 64 bits of ones in the place of InfiniBand's local route header, then the packet with
/// ones where routers change it (TOS, TTL, IPv4's and UDP's checksum, the FECN and BECN byte).
///
/// # Errors
/// The packet ends before the base transport header does.
pub fn icrc(packet: &[u8]) -> Result<[u8; 4]> {
    const HEADERS: usize = Ipv4::LENGTH + Udp::LENGTH + Bth::LENGTH;
    let (headers, rest) = take::<HEADERS>(Layer::Roce, packet)?;
    let mut masked = *headers;
    for at in [1, 8, 10, 11, 26, 27, 32] {
        masked[at] = 0xff;
    }
    let mut crc = crc32fast::Hasher::new();
    crc.update(&[0xff; 8]);
    crc.update(&masked);
    crc.update(rest);
    Ok(crc.finalize().to_le_bytes())
}
