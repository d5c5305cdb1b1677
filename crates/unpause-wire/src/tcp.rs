//! TCP (RFC 9293) with the options that fabrics use: maximum segment size, window scale and timestamps
//! (RFC 7323), selective acknowledgement (RFC 2018).

use crate::bytes::{Writer, fold, sum_words, take, take_slice};
use crate::error::{Error, Layer, Result, field};
use crate::ipv4::{Ipv4, Protocol};

/// Control bits, with ECN's of RFC 3168.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u8);

impl Flags {
    /// No more data.
    pub const FIN: Self = Self(0x01);
    /// Synchronise.
    pub const SYN: Self = Self(0x02);
    /// Reset.
    pub const RST: Self = Self(0x04);
    /// Push.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgement number counts.
    pub const ACK: Self = Self(0x10);
    /// The urgent pointer counts.
    pub const URG: Self = Self(0x20);
    /// ECN echo.
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced.
    pub const CWR: Self = Self(0x80);

    /// These and those.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// True if all of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Blocks of a selective acknowledgement: what has come beyond the acknowledgement number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SackBlocks {
    blocks: [(u32, u32); Self::MAX],
    count: usize,
}

impl SackBlocks {
    /// As many as fit into TCP's header.
    pub const MAX: usize = 4;

    /// The first [`SackBlocks::MAX`] of `blocks`: left edge, right edge.
    pub fn new(blocks: &[(u32, u32)]) -> Self {
        let mut all = Self::default();
        for &block in blocks.iter().take(Self::MAX) {
            all.blocks[all.count] = block;
            all.count += 1;
        }
        all
    }
    /// Left and right edges.
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..self.count]
    }
}

/// Options; others are skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// Maximum segment size, bytes; in a SYN.
    pub max_segment: Option<u16>,
    /// Shift of the window, 0 to 14; in a SYN.
    pub window_scale: Option<u8>,
    /// Selective acknowledgements are understood; in a SYN.
    pub sack_permitted: bool,
    /// Timestamp value and echo reply.
    pub timestamps: Option<(u32, u32)>,
    /// Selective acknowledgement.
    pub sack: SackBlocks,
}

const END: u8 = 0;
const NOP: u8 = 1;
const MAX_SEGMENT: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

impl Options {
    /// Most bytes of options.
    const MAX_LENGTH: usize = 40;

    fn parse(mut bytes: &[u8]) -> Result<Self> {
        let mut options = Self::default();
        while let Some((&kind, rest)) = bytes.split_first() {
            match kind {
                END => break,
                NOP => bytes = rest,
                _ => bytes = options.parse_one(kind, bytes)?,
            }
        }
        Ok(options)
    }

    /// One option of `kind` at the beginning of `bytes`; gives what follows.
    fn parse_one<'a>(&mut self, kind: u8, bytes: &'a [u8]) -> Result<&'a [u8]> {
        let (head, _) = take::<2>(Layer::Tcp, bytes)?;
        let length = usize::from(head[1]);
        if length < 2 {
            return field(Layer::Tcp, "option length", head[1]);
        }
        let (option, rest) = take_slice(Layer::Tcp, bytes, length)?;
        match (kind, &option[2..]) {
            (MAX_SEGMENT, &[a, b]) => self.max_segment = Some(u16::from_be_bytes([a, b])),
            (WINDOW_SCALE, &[shift]) if shift <= 14 => self.window_scale = Some(shift),
            (SACK_PERMITTED, []) => self.sack_permitted = true,
            (TIMESTAMPS, &[a, b, c, d, e, f, g, h]) => {
                let value = u32::from_be_bytes([a, b, c, d]);
                self.timestamps = Some((value, u32::from_be_bytes([e, f, g, h])));
            }
            (SACK, blocks) if blocks.len() % 8 == 0 && blocks.len() / 8 <= SackBlocks::MAX => {
                self.sack = SackBlocks::default();
                for block in blocks.as_chunks::<8>().0 {
                    let [a, b, c, d, e, f, g, h] = *block;
                    let edges = [[a, b, c, d], [e, f, g, h]].map(u32::from_be_bytes);
                    self.sack.blocks[self.sack.count] = edges.into();
                    self.sack.count += 1;
                }
            }
            (MAX_SEGMENT | WINDOW_SCALE | SACK_PERMITTED | TIMESTAMPS | SACK, _) => {
                return field(Layer::Tcp, "option with a wrong length or value", kind);
            }
            _ => {}
        }
        Ok(rest)
    }

    /// Bytes of the options, each at a multiple of four.
    pub fn length(&self) -> usize {
        let sack = match self.sack.count {
            0 => 0,
            blocks => 4 + 8 * blocks,
        };
        4 * usize::from(self.max_segment.is_some())
            + 4 * usize::from(self.window_scale.is_some())
            + 4 * usize::from(self.sack_permitted)
            + 12 * usize::from(self.timestamps.is_some())
            + sack
    }

    fn build(&self, writer: &mut Writer<'_>) -> Result<()> {
        if let Some(bytes) = self.max_segment {
            let [a, b] = bytes.to_be_bytes();
            writer.put(&[MAX_SEGMENT, 4, a, b])?;
        }
        if let Some(shift) = self.window_scale {
            if shift > 14 {
                return field(Layer::Tcp, "window scale", shift);
            }
            writer.put(&[NOP, WINDOW_SCALE, 3, shift])?;
        }
        if self.sack_permitted {
            writer.put(&[NOP, NOP, SACK_PERMITTED, 2])?;
        }
        if let Some((value, echo)) = self.timestamps {
            writer.put(&[NOP, NOP, TIMESTAMPS, 10])?;
            writer.put(&value.to_be_bytes())?;
            writer.put(&echo.to_be_bytes())?;
        }
        if self.sack.count > 0 {
            writer.put(&[NOP, NOP, SACK, 2 + 8 * self.sack.count as u8])?;
            for (left, right) in self.sack.as_slice() {
                writer.put(&left.to_be_bytes())?;
                writer.put(&right.to_be_bytes())?;
            }
        }
        Ok(())
    }
}

/// TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tcp {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgement number.
    pub acknowledgement: u32,
    /// Control bits.
    pub flags: Flags,
    /// Window, not shifted.
    pub window: u16,
    /// Urgent pointer.
    pub urgent: u16,
    /// Options.
    pub options: Options,
}

impl Tcp {
    /// Bytes of the header without options.
    pub const LENGTH: usize = 20;

    /// Bytes of the header.
    pub fn length(&self) -> usize {
        Self::LENGTH + self.options.length()
    }

    /// Reads a segment, the payload of `ip`; gives its data.
    ///
    /// # Errors
    /// Truncated, a wrong checksum, a header shorter than 20 B, a malformed option.
    pub fn parse<'a>(bytes: &'a [u8], ip: &Ipv4) -> Result<(Self, &'a [u8])> {
        let (header, _) = take::<{ Self::LENGTH }>(Layer::Tcp, bytes)?;
        let found = u16::from_be_bytes([header[16], header[17]]);
        // One's complement: the sum over everything but the field is the field's complement.
        let rest = sum_words(&header[..16]) + sum_words(&bytes[18..]);
        let expected = fold(ip.pseudo_sum(Protocol::TCP, bytes.len()) + rest);
        if found != expected {
            return Err(Error::Checksum {
                layer: Layer::Tcp,
                found: found.into(),
                expected: expected.into(),
            });
        }
        let length = usize::from(header[12] >> 4) * 4;
        if length < Self::LENGTH {
            return field(Layer::Tcp, "data offset", header[12] >> 4);
        }
        let (whole, data) = take_slice(Layer::Tcp, bytes, length)?;
        let options = Options::parse(&whole[Self::LENGTH..])?;
        let word = |at: usize| u32::from_be_bytes(core::array::from_fn(|i| header[at + i]));
        let half = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let header = Self {
            source_port: half(0),
            destination_port: half(2),
            sequence: word(4),
            acknowledgement: word(8),
            flags: Flags(header[13]),
            window: half(14),
            urgent: half(18),
            options,
        };
        Ok((header, data))
    }

    /// Writes the segment of `data` in a packet of `ip`; gives its length.
    ///
    /// # Errors
    /// `out` is too small; more than 40 B of options; a window scale above 14.
    pub fn build(&self, data: &[u8], ip: &Ipv4, out: &mut [u8]) -> Result<usize> {
        let options = self.options.length();
        if options > Options::MAX_LENGTH {
            return field(Layer::Tcp, "bytes of options", options as u64);
        }
        let mut writer = Writer::new(Layer::Tcp, out);
        writer.put(&self.source_port.to_be_bytes())?;
        writer.put(&self.destination_port.to_be_bytes())?;
        writer.put(&self.sequence.to_be_bytes())?;
        writer.put(&self.acknowledgement.to_be_bytes())?;
        writer.put(&[(((Self::LENGTH + options) / 4) << 4) as u8, self.flags.0])?;
        writer.put(&self.window.to_be_bytes())?;
        writer.put(&[0, 0])?;
        writer.put(&self.urgent.to_be_bytes())?;
        self.options.build(&mut writer)?;
        writer.put(data)?;
        let length = writer.written();
        let sum = ip.pseudo_sum(Protocol::TCP, length) + sum_words(&out[..length]);
        out[16..18].copy_from_slice(&fold(sum).to_be_bytes());
        Ok(length)
    }
}
