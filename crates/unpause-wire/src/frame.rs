//! Whole frames.

use crate::error::{Error, Layer, Result, field};
use crate::ethernet::{EtherType, Ethernet};
use crate::ipv4::{Ipv4, Protocol};
use crate::mac_control::{MacControl, Pause, Pfc};
use crate::qcn::{CnTag, Cnm};
use crate::roce::{Bth, ROCE_PORT, RoceBody, icrc};
use crate::tcp::Tcp;
use crate::udp::Udp;

/// The content of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Body<'a> {
    /// 802.3x PAUSE.
    Pause(Pause),
    /// 802.1Qbb PFC.
    Pfc(Pfc),
    /// 802.1Qau congestion notification message.
    Cnm(Cnm<'a>),
    /// RoCEv2.
    Roce {
        /// IPv4 header.
        ip: Ipv4,
        /// UDP's source port: entropy for ECMP.
        source_port: u16,
        /// Base transport header.
        bth: Bth,
        /// The part behind it.
        body: RoceBody<'a>,
    },
    /// UDP to another port than RoCEv2's.
    Udp {
        /// IPv4 header.
        ip: Ipv4,
        /// UDP header.
        udp: Udp,
        /// Data.
        payload: &'a [u8],
    },
    /// TCP.
    Tcp {
        /// IPv4 header.
        ip: Ipv4,
        /// TCP header.
        tcp: Tcp,
        /// Data.
        payload: &'a [u8],
    },
}

/// A frame without its FCS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame<'a> {
    /// Ethernet header.
    pub ethernet: Ethernet,
    /// 802.1Qau tag, if it has one.
    pub cn_tag: Option<CnTag>,
    /// The content.
    pub body: Body<'a>,
}

impl<'a> Frame<'a> {
    /// Reads a frame; gives what follows the packet in it: padding, or a trailer.
    ///
    /// # Errors
    /// The layer and field in which the frame is invalid. A frame of another protocol is a
    /// [`Error::Field`] of the layer that names the protocol.
    pub fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8])> {
        let (ethernet, mut ether_type, mut rest) = Ethernet::parse(bytes)?;
        let mut cn_tag = None;
        if ether_type == EtherType::CN_TAG {
            let (tag, next, after) = CnTag::parse(rest)?;
            (cn_tag, ether_type, rest) = (Some(tag), next, after);
        }
        let (body, rest) = match ether_type {
            EtherType::MAC_CONTROL => match MacControl::parse(rest)? {
                (MacControl::Pause(pause), rest) => (Body::Pause(pause), rest),
                (MacControl::Pfc(pfc), rest) => (Body::Pfc(pfc), rest),
            },
            EtherType::CNM => {
                let (cnm, rest) = Cnm::parse(rest)?;
                (Body::Cnm(cnm), rest)
            }
            EtherType::IPV4 => Body::parse_ip(rest)?,
            other => return field(Layer::Ethernet, "EtherType", other.0),
        };
        let frame = Self {
            ethernet,
            cn_tag,
            body,
        };
        Ok((frame, rest))
    }

    /// Bytes of the frame without FCS, with the padding up to Ethernet's minimum.
    pub fn length(&self) -> usize {
        let tag = self.cn_tag.map_or(0, |_| CnTag::LENGTH);
        let length = self.ethernet.length() + tag + self.body.length();
        length.max(Ethernet::MIN_FRAME)
    }

    /// Writes the frame at the beginning of `out`; gives its length.
    ///
    /// # Errors
    /// `out` is shorter than [`Frame::length`], or a field does not hold its value.
    pub fn build(&self, out: &mut [u8]) -> Result<usize> {
        let needed = self.length();
        let found = out.len();
        let out = out.get_mut(..needed).ok_or(Error::Truncated {
            layer: Layer::Ethernet,
            needed,
            found,
        })?;
        let ether_type = self.body.ether_type();
        let mut at = match self.cn_tag {
            Some(tag) => {
                let at = self.ethernet.build(EtherType::CN_TAG, out)?;
                at + tag.build(ether_type, &mut out[at..])?
            }
            None => self.ethernet.build(ether_type, out)?,
        };
        at += self.body.build(&mut out[at..])?;
        out[at..].fill(0);
        Ok(needed)
    }
}

impl<'a> Body<'a> {
    fn parse_ip(bytes: &'a [u8]) -> Result<(Self, &'a [u8])> {
        let (ip, protocol, payload, rest) = Ipv4::parse(bytes)?;
        let body = match protocol {
            Protocol::UDP => {
                let (udp, datagram) = Udp::parse(payload)?;
                if udp.destination_port != ROCE_PORT {
                    let payload = datagram;
                    return Ok((Self::Udp { ip, udp, payload }, rest));
                }
                let packet = &bytes[..Ipv4::LENGTH + Udp::LENGTH + datagram.len()];
                let (bth, body) = RoceBody::parse(datagram, packet)?;
                let source_port = udp.source_port;
                Self::Roce {
                    ip,
                    source_port,
                    bth,
                    body,
                }
            }
            Protocol::TCP => {
                let (tcp, payload) = Tcp::parse(payload, &ip)?;
                Self::Tcp { ip, tcp, payload }
            }
            other => return field(Layer::Ipv4, "protocol", other.0),
        };
        Ok((body, rest))
    }

    fn ether_type(&self) -> EtherType {
        match self {
            Self::Pause(_) | Self::Pfc(_) => EtherType::MAC_CONTROL,
            Self::Cnm(_) => EtherType::CNM,
            Self::Roce { .. } | Self::Udp { .. } | Self::Tcp { .. } => EtherType::IPV4,
        }
    }

    fn length(&self) -> usize {
        match self {
            Self::Pause(_) => Pause::LENGTH,
            Self::Pfc(_) => Pfc::LENGTH,
            Self::Cnm(cnm) => cnm.length(),
            Self::Roce { body, .. } => Ipv4::LENGTH + Udp::LENGTH + body.length(),
            Self::Udp { payload, .. } => Ipv4::LENGTH + Udp::LENGTH + payload.len(),
            Self::Tcp { tcp, payload, .. } => Ipv4::LENGTH + tcp.length() + payload.len(),
        }
    }

    fn build(&self, out: &mut [u8]) -> Result<usize> {
        match self {
            Self::Pause(pause) => pause.build(out),
            Self::Pfc(pfc) => pfc.build(out),
            Self::Cnm(cnm) => cnm.build(out),
            Self::Roce {
                ip,
                source_port,
                bth,
                body,
            } => {
                let udp = Udp {
                    source_port: *source_port,
                    destination_port: ROCE_PORT,
                };
                let length = body.length();
                let mut at = ip.build(Protocol::UDP, Udp::LENGTH + length, out)?;
                at += udp.build(length, &mut out[at..])?;
                at += body.build(bth, &mut out[at..])?;
                let crc = icrc(&out[..at])?;
                out[at..at + crc.len()].copy_from_slice(&crc);
                Ok(at + crc.len())
            }
            Self::Udp { ip, udp, payload } => {
                let length = payload.len();
                let mut at = ip.build(Protocol::UDP, Udp::LENGTH + length, out)?;
                at += udp.build(length, &mut out[at..])?;
                let room = out.get_mut(at..at + length).ok_or(Error::Truncated {
                    layer: Layer::Udp,
                    needed: length,
                    found: 0,
                })?;
                room.copy_from_slice(payload);
                Ok(at + length)
            }
            Self::Tcp { ip, tcp, payload } => {
                let length = tcp.length() + payload.len();
                let at = ip.build(Protocol::TCP, length, out)?;
                Ok(at + tcp.build(payload, ip, &mut out[at..])?)
            }
        }
    }
}
