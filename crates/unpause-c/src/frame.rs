//! Frames: PAUSE, PFC and RoCEv2.

use core::net::Ipv4Addr;
use core::ptr::null;
use core::slice;

use unpause_wire::{
    Aeth, Body, Bth, CnpPayload, Dscp, Ecn, Error, EtherType, Ethernet, Frame, Ipv4, MacAddress,
    Opcode, Pause, Pfc, RoceBody, Syndrome,
};

use crate::status::{guard, read, room, unpause_status};

/// Contents of a frame.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum unpause_frame_kind {
    /// 802.3x PAUSE for `quanta[0]`.
    Pause,
    /// 802.1Qbb PFC: priority n for `quanta[n]`, if bit n of `classes` is set.
    Pfc,
    /// RoCEv2 data: operation `opcode`, `payload`.
    Data,
    /// RoCEv2 acknowledgement: everything up to `psn` has arrived.
    Ack,
    /// RoCEv2 negative acknowledgement: send again from `psn` on.
    Nak,
    /// RoCEv2 congestion notification packet, with PCN's `rec_rate` or 0.
    Cnp,
}

/// A frame without its FCS. Fields that its kind has not are 0 when it is read and without effect when it is
/// written.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct unpause_frame {
    /// An `unpause_frame_kind`.
    pub kind: u32,
    /// PCN's receive rate, in units of its notification point's `rec_rate_unit`.
    pub rec_rate: u32,
    /// Queue pair that it goes to, 24 bits.
    pub destination_qp: u32,
    /// Packet sequence number, 24 bits.
    pub psn: u32,
    /// Message sequence number of an acknowledgement, 24 bits.
    pub msn: u32,
    /// UDP's source port.
    pub source_port: u16,
    /// Pause times in quanta of 512 bit times.
    pub quanta: [u16; 8],
    /// Priorities whose `quanta` count, a bit each.
    pub classes: u8,
    /// Destination address; ignored when PAUSE and PFC are written, which go to 01-80-C2-00-00-01.
    pub destination_mac: [u8; 6],
    /// Source address.
    pub source_mac: [u8; 6],
    /// IPv4 source.
    pub source_ip: [u8; 4],
    /// IPv4 destination.
    pub destination_ip: [u8; 4],
    /// Differentiated services code point, 0 to 63.
    pub dscp: u8,
    /// 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 Congestion Experienced.
    pub ecn: u8,
    /// Time to live.
    pub ttl: u8,
    /// Operation of data: 0x00, 0x01, 0x02, 0x04 are first, middle, last, only packet of a SEND.
    pub opcode: u8,
    /// Backward explicit congestion notification.
    pub becn: bool,
    /// An acknowledgement is asked for.
    pub ack_request: bool,
    /// Payload of data; of a frame that was read, it points into its bytes.
    pub payload: *const u8,
    /// How many bytes.
    pub payload_bytes: usize,
}

use unpause_frame_kind as Kind;

/// A frame of whose fields nothing is known.
const BLANK: unpause_frame = unpause_frame {
    kind: 0,
    rec_rate: 0,
    destination_qp: 0,
    psn: 0,
    msn: 0,
    source_port: 0,
    quanta: [0; 8],
    classes: 0,
    destination_mac: [0; 6],
    source_mac: [0; 6],
    source_ip: [0; 4],
    destination_ip: [0; 4],
    dscp: 0,
    ecn: 0,
    ttl: 0,
    opcode: 0,
    becn: false,
    ack_request: false,
    payload: null(),
    payload_bytes: 0,
};

const ECN: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

/// Fills the fields of `out` that a RoCEv2 packet has.
fn put_roce(out: &mut unpause_frame, ip: &Ipv4, source_port: u16, bth: &Bth, body: &RoceBody<'_>) {
    out.source_port = source_port;
    out.source_ip = ip.source.octets();
    out.destination_ip = ip.destination.octets();
    out.dscp = ip.dscp.value();
    out.ecn = ip.ecn as u8;
    out.ttl = ip.ttl;
    out.becn = bth.becn;
    out.ack_request = bth.ack_request;
    out.destination_qp = bth.destination_qp;
    out.psn = bth.psn;
    out.kind = match *body {
        RoceBody::Data { opcode, payload } => {
            out.opcode = opcode.0;
            out.payload = payload.as_ptr();
            out.payload_bytes = payload.len();
            Kind::Data
        }
        RoceBody::Ack(Aeth { syndrome, msn }) => {
            out.msn = msn;
            match syndrome {
                Syndrome::Ack { .. } => Kind::Ack,
                Syndrome::Nak { .. } | Syndrome::ReceiverNotReady { .. } => Kind::Nak,
            }
        }
        RoceBody::Cnp(payload) => {
            out.rec_rate = payload.rec_rate();
            Kind::Cnp
        }
    } as u32;
}

fn parse(bytes: &[u8]) -> Result<unpause_frame, unpause_status> {
    let (frame, _) = Frame::parse(bytes).map_err(refusal)?;
    if frame.ethernet.tag.is_some() || frame.cn_tag.is_some() {
        return Err(unpause_status::UnknownFrame);
    }
    let mut out = BLANK;
    out.destination_mac = frame.ethernet.destination.0;
    out.source_mac = frame.ethernet.source.0;
    match &frame.body {
        Body::Pause(pause) => {
            out.kind = Kind::Pause as u32;
            out.quanta[0] = pause.quanta;
        }
        Body::Pfc(pfc) => {
            out.kind = Kind::Pfc as u32;
            (out.classes, out.quanta) = (pfc.enabled, pfc.quanta);
        }
        Body::Roce {
            ip,
            source_port,
            bth,
            body,
        } => {
            put_roce(&mut out, ip, *source_port, bth, body);
        }
        Body::Cnm(_) | Body::Udp { .. } | Body::Tcp { .. } => {
            return Err(unpause_status::UnknownFrame);
        }
    }
    Ok(out)
}

/// # Safety
/// As the crate says: `payload` leads to as many bytes as it says.
unsafe fn body(frame: &unpause_frame) -> Result<Body<'_>, unpause_status> {
    const PAUSE: u32 = Kind::Pause as u32;
    const PFC: u32 = Kind::Pfc as u32;
    const DATA: u32 = Kind::Data as u32;
    const ACK: u32 = Kind::Ack as u32;
    const NAK: u32 = Kind::Nak as u32;
    const CNP: u32 = Kind::Cnp as u32;
    let acknowledgement = |syndrome| {
        RoceBody::Ack(Aeth {
            syndrome,
            msn: frame.msn,
        })
    };
    let body = match frame.kind {
        PAUSE => {
            return Ok(Body::Pause(Pause {
                quanta: frame.quanta[0],
            }));
        }
        PFC => {
            let (enabled, quanta) = (frame.classes, frame.quanta);
            return Ok(Body::Pfc(Pfc { enabled, quanta }));
        }
        DATA => {
            // SAFETY: `frame.payload` is as the crate requires; `bytes` requires no more.
            let payload = unsafe { bytes(frame.payload, frame.payload_bytes)? };
            let opcode = Opcode(frame.opcode);
            RoceBody::Data { opcode, payload }
        }
        ACK => acknowledgement(Syndrome::Ack { credits: 31 }),
        NAK => acknowledgement(Syndrome::SEQUENCE_ERROR),
        CNP => RoceBody::Cnp(CnpPayload::with_rec_rate(frame.rec_rate)),
        _ => return Err(unpause_status::OutOfRange),
    };
    let ip = Ipv4 {
        dscp: Dscp::new(frame.dscp).ok_or(unpause_status::OutOfRange)?,
        ecn: *ECN
            .get(usize::from(frame.ecn))
            .ok_or(unpause_status::OutOfRange)?,
        identification: 0,
        dont_fragment: true,
        ttl: frame.ttl,
        source: Ipv4Addr::from(frame.source_ip),
        destination: Ipv4Addr::from(frame.destination_ip),
    };
    let bth = Bth {
        becn: frame.becn,
        ack_request: frame.ack_request,
        ..Bth::to(frame.destination_qp, frame.psn)
    };
    Ok(Body::Roce {
        ip,
        source_port: frame.source_port,
        bth,
        body,
    })
}

/// # Safety
/// As the crate says.
unsafe fn bytes<'a>(pointer: *const u8, count: usize) -> Result<&'a [u8], unpause_status> {
    match count {
        0 => Ok(&[]),
        _ if pointer.is_null() => Err(unpause_status::NullPointer),
        // SAFETY: it is not null, and leads to this many bytes, as this function asks for.
        _ => Ok(unsafe { slice::from_raw_parts(pointer, count) }),
    }
}

/// # Safety
/// As the crate says.
unsafe fn bytes_mut<'a>(pointer: *mut u8, count: usize) -> Result<&'a mut [u8], unpause_status> {
    match count {
        0 => Ok(&mut []),
        _ if pointer.is_null() => Err(unpause_status::NullPointer),
        // SAFETY: it is not null, and leads to this many bytes that nobody else uses, as this function asks for.
        _ => Ok(unsafe { slice::from_raw_parts_mut(pointer, count) }),
    }
}

/// Reads a frame of any origin: nothing beyond `length` is read, and every checksum that it carries is
/// checked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_frame_parse(
    frame_bytes: *const u8,
    length: usize,
    frame: *mut unpause_frame,
) -> unpause_status {
    guard(|| {
        // SAFETY: `frame_bytes` and `frame` are as the crate requires; `bytes` and `room` require no more.
        let (bytes, out) = unsafe { (bytes(frame_bytes, length)?, room(frame)?) };
        out.write(parse(bytes)?);
        Ok(())
    })
}

/// Writes a frame, with its checksums and padding, at the beginning of `buffer`; `length` is how long it is.
/// IPv4's identification, the partition key and the like are those that `unpause-wire` sends by default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_frame_build(
    frame: *const unpause_frame,
    buffer: *mut u8,
    capacity: usize,
    length: *mut usize,
) -> unpause_status {
    guard(|| {
        // SAFETY: `frame` and `buffer` are as the crate requires; `read` and `bytes_mut` require no more.
        let (frame, buffer) = unsafe { (read(frame)?, bytes_mut(buffer, capacity)?) };
        // SAFETY: `length` is as the crate requires; `room` requires no more.
        let out = unsafe { room(length)? };
        // SAFETY: `frame` is as the crate requires; `body` requires no more.
        let body = unsafe { body(frame)? };
        let destination = match body {
            Body::Pause(_) | Body::Pfc(_) => MacAddress::MAC_CONTROL,
            _ => MacAddress(frame.destination_mac),
        };
        let ethernet = Ethernet {
            destination,
            source: MacAddress(frame.source_mac),
            tag: None,
        };
        let whole = Frame {
            ethernet,
            cn_tag: None,
            body,
        };
        if whole.length() > buffer.len() {
            return Err(unpause_status::BufferTooShort);
        }
        out.write(
            whole
                .build(buffer)
                .map_err(|_| unpause_status::OutOfRange)?,
        );
        Ok(())
    })
}

/// Sets Congestion Experienced in an IPv4 frame, in place, and its header's checksum; RoCEv2's ICRC does not
/// cover either. A frame that may not be marked (Not-ECT) is refused as out of range.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unpause_frame_mark_ce(
    frame_bytes: *mut u8,
    length: usize,
) -> unpause_status {
    guard(|| {
        // SAFETY: `frame_bytes` is as the crate requires; `bytes_mut` requires no more.
        let bytes = unsafe { bytes_mut(frame_bytes, length)? };
        let (ethernet, ether_type, packet) = Ethernet::parse(bytes).map_err(refusal)?;
        if ether_type != EtherType::IPV4 {
            return Err(unpause_status::UnknownFrame);
        }
        let (ip, protocol, payload, _) = Ipv4::parse(packet).map_err(refusal)?;
        if ip.ecn == Ecn::NotEct {
            return Err(unpause_status::OutOfRange);
        }
        let marked = Ipv4 { ecn: Ecn::Ce, ..ip };
        let payload = payload.len();
        let header = &mut bytes[ethernet.length()..];
        marked.build(protocol, payload, header).map_err(refusal)?;
        Ok(())
    })
}

fn refusal(error: Error) -> unpause_status {
    match error {
        Error::Truncated { .. } | Error::Checksum { .. } => unpause_status::Malformed,
        Error::Field { .. } => unpause_status::UnknownFrame,
    }
}
