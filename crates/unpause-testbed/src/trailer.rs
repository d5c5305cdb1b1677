//! The trailer behind each frame on a wire of the testbed.

use unpause_sim::exchange::{Kind, Packet};
use unpause_wire::fcs;

use crate::refusal::Refusal;

/// The fields of a packet that no header carries. It follows the true frame, and a frame check sequence over both follows
/// it, as a virtual wire has none of its own. Network byte order:
///
/// | bytes | what |
/// |---|---|
/// | 8 | simulated arrival of the last bit, ps |
/// | 8 | stamp: start of transmission or its echo, ps; PFC: pause, ps; CNM: offset and delta, B |
/// | 4 | flow |
/// | 4 | its place in the tables of the destination |
/// | 4 | its place in those of the source; an acknowledgement: bytes of the frame acknowledged, and in the upper half of a NAK by how much it is ahead of the packet missing |
/// | 1 | bits 24 to 31 of the packet's number, of which a BTH has 24 |
/// | 1 | flags: an RTT is measured; RoCE: what is acknowledged had a mark; TCP: the receiver has the whole flow |
/// | 2 | 0 |
/// | 4 | "UNPS" |
/// | 4 | frame check sequence (IEEE 802.3, clause 3.2.9) |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trailer {
    /// Simulated arrival of the last bit, ps.
    pub arrival_ps: u64,
    /// [`Packet::stamp`].
    pub stamp: u64,
    /// Flow.
    pub flow: u32,
    /// [`Packet::slot`].
    pub slot: u32,
    /// [`Packet::aux`], where no header says it; of a CNM, its source port.
    pub aux: u32,
    /// High bits of the packet's number.
    pub number: u8,
    /// Bits of [`Packet::bits`] that no header says.
    pub flags: u8,
}

const MAGIC: [u8; 4] = *b"UNPS";
const WITHOUT_FCS: usize = 36;

impl Trailer {
    /// Bytes with the frame check sequence.
    pub const LENGTH: usize = WITHOUT_FCS + 4;

    /// Of `packet`, whose number on the wire is `number`.
    pub(crate) fn new(packet: &Packet, number: u32, flags: u8) -> Self {
        Self {
            arrival_ps: packet.time.as_ps(),
            stamp: packet.stamp,
            flow: packet.flow,
            slot: packet.slot,
            aux: match packet.kind {
                Kind::Cnm => packet.source_port.into(),
                _ => packet.aux,
            },
            number: (number >> 24) as u8,
            flags,
        }
    }

    /// Writes it behind the first `frame` bytes of `out`; gives the length of both.
    ///
    /// # Panics
    ///
    /// If `out` is too short.
    pub fn write(&self, frame: usize, out: &mut [u8]) -> usize {
        let (before, after) = out.split_at_mut(frame);
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            after[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        put(&self.arrival_ps.to_be_bytes());
        put(&self.stamp.to_be_bytes());
        put(&self.flow.to_be_bytes());
        put(&self.slot.to_be_bytes());
        put(&self.aux.to_be_bytes());
        put(&[self.number, self.flags, 0, 0]);
        put(&MAGIC);
        debug_assert_eq!(at, WITHOUT_FCS);
        let end = before.len() + WITHOUT_FCS;
        let check = fcs(&out[..end]);
        out[end..end + 4].copy_from_slice(&check);
        end + 4
    }

    /// Splits what has come into the frame and its trailer.
    ///
    /// # Errors
    ///
    /// [`Refusal::Foreign`] if it has none, [`Refusal::Damaged`] if the frame check sequence is another.
    pub fn split(bytes: &[u8]) -> Result<(&[u8], Self), Refusal> {
        let parts = bytes.split_last_chunk::<4>();
        let (rest, check) = parts.ok_or(Refusal::Foreign)?;
        let parts = rest.split_last_chunk::<WITHOUT_FCS>();
        let (frame, trailer) = parts.ok_or(Refusal::Foreign)?;
        if trailer[32..] != MAGIC {
            return Err(Refusal::Foreign);
        }
        if *check != fcs(rest) {
            return Err(Refusal::Damaged);
        }
        let long = |at: usize| u64::from_be_bytes(std::array::from_fn(|i| trailer[at + i]));
        let word = |at: usize| u32::from_be_bytes(std::array::from_fn(|i| trailer[at + i]));
        let trailer = Self {
            arrival_ps: long(0),
            stamp: long(8),
            flow: word(16),
            slot: word(20),
            aux: word(24),
            number: trailer[28],
            flags: trailer[29],
        };
        Ok((frame, trailer))
    }
}
