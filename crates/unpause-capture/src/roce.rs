//! Data of RoCEv2 packets.

use unpause_wire::{Bth, Opcode};

/// A RoCEv2 packet with data.
pub(crate) struct Part {
    pub qp: u32,
    pub opcode: u8,
    pub psn: u32,
    /// Bytes of data, without headers and padding.
    pub data: u64,
}

/// A packet whose UDP payload has `length` bytes; none of an acknowledgement or a CNP.
pub(crate) fn roce(payload: &[u8], length: u64) -> Option<Part> {
    const ICRC: u64 = 4;
    let (bth, opcode, padding, _) = Bth::parse(payload).ok()?;
    if matches!(opcode, Opcode::ACKNOWLEDGE | Opcode::CNP) {
        return None;
    }
    let headers = Bth::LENGTH as u64 + extensions(opcode.0)?;
    let data = length.checked_sub(headers + padding as u64 + ICRC)?;
    Some(Part {
        qp: bth.destination_qp,
        opcode: opcode.0,
        psn: bth.psn,
        data,
    })
}

/// Bytes of the headers between BTH and data (InfiniBand Architecture 1.4, table 38); none of what carries no data.
fn extensions(opcode: u8) -> Option<u64> {
    /// Of a datagram, and in front of it where it is reliable; of an extended connection.
    const DETH: u64 = 8;
    const RDETH: u64 = 4;
    const XRCETH: u64 = 4;
    /// Address, key and length; acknowledgement; immediate data, or the key that becomes invalid.
    const RETH: u64 = 16;
    const AETH: u64 = 4;
    const IMMEDIATE: u64 = 4;
    let transport = match opcode >> 5 {
        0 | 1 => 0,
        2 => RDETH + DETH,
        3 => DETH,
        5 => XRCETH,
        _ => 0,
    };
    let operation = match opcode & 0x1f {
        // SEND last and only, and WRITE last, with immediate; SEND that invalidates.
        0x03 | 0x05 | 0x09 | 0x16 | 0x17 => IMMEDIATE,
        // WRITE first and only.
        0x06 | 0x0a => RETH,
        // WRITE only with immediate.
        0x0b => RETH + IMMEDIATE,
        // READ response but the middle: AETH, of a reliable datagram after RDETH alone.
        0x0d | 0x0f | 0x10 => AETH,
        // READ request, acknowledgements, atomics.
        0x0c | 0x11..=0x14 => return None,
        _ => 0,
    };
    // Responses of reliable datagrams have no DETH.
    let answer = opcode >> 5 == 2 && (0x0d..=0x10).contains(&(opcode & 0x1f));
    Some(transport + operation - if answer { DETH } else { 0 })
}
