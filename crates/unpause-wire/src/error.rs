//! Why a frame is refused.

use core::fmt;

/// Part of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layer {
    /// Ethernet header and tags.
    Ethernet,
    /// IPv4 header.
    Ipv4,
    /// UDP header.
    Udp,
    /// TCP header and options.
    Tcp,
    /// RoCEv2's base transport header.
    Bth,
    /// RoCEv2's acknowledgement extended transport header.
    Aeth,
    /// RoCEv2's payload, padding or invariant CRC.
    Roce,
    /// The 16 bytes of a congestion notification packet.
    Cnp,
    /// 802.3x PAUSE.
    Pause,
    /// 802.1Qbb priority-based flow control.
    Pfc,
    /// 802.1Qau congestion notification message.
    Cnm,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ethernet => "Ethernet",
            Self::Ipv4 => "IPv4",
            Self::Udp => "UDP",
            Self::Tcp => "TCP",
            Self::Bth => "BTH",
            Self::Aeth => "AETH",
            Self::Roce => "RoCEv2",
            Self::Cnp => "CNP",
            Self::Pause => "PAUSE",
            Self::Pfc => "PFC",
            Self::Cnm => "CNM",
        })
    }
}

/// Why a frame is refused, or cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The bytes end before the layer does, or the buffer is too small for it.
    #[error("{layer}: needs {needed} B, {found} B are there")]
    Truncated {
        /// Which layer.
        layer: Layer,
        /// Bytes from the beginning of the layer.
        needed: usize,
        /// Bytes there are.
        found: usize,
    },
    /// A checksum is not that of the bytes.
    #[error("{layer}: checksum {found:#x}, its bytes have {expected:#x}")]
    Checksum {
        /// Which layer.
        layer: Layer,
        /// The value in the frame.
        found: u32,
        /// The value computed from its bytes.
        expected: u32,
    },
    /// A field has a value that is malformed, or that this crate does not speak.
    #[error("{layer}: {field} is {found:#x}")]
    Field {
        /// Which layer.
        layer: Layer,
        /// The field's name in its standard.
        field: &'static str,
        /// Its value.
        found: u64,
    },
}

/// The result of parsing and building.
pub type Result<T> = core::result::Result<T, Error>;

/// A value that is malformed, or not spoken here.
pub(crate) fn field<T>(layer: Layer, field: &'static str, found: impl Into<u64>) -> Result<T> {
    Err(Error::Field {
        layer,
        field,
        found: found.into(),
    })
}
