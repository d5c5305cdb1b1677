//! Why a frame that has come is not obeyed.

use unpause_wire::{Error as FrameError, Layer};

/// Why a frame that has come is counted and not obeyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The frame check sequence is not that of the bytes: it was damaged on its way.
    #[error("frame check sequence: not that of its bytes")]
    Damaged,
    /// A header, checksum or invariant CRC is wrong, or the frame is cut off.
    #[error(transparent)]
    Malformed(#[from] FrameError),
    /// A sound frame without the testbed's trailer: somebody else's.
    #[error("no trailer: not a frame of this testbed")]
    Foreign,
    /// It names a flow that has not started.
    #[error("flow {0} is not there")]
    UnknownFlow(u32),
    /// It is about a flow, but not between its ends, or not in its transport.
    #[error("not of flow {flow}: {what}")]
    NotOfFlow {
        /// Flow.
        flow: u32,
        /// The setting that does not fit.
        what: &'static str,
    },
    /// PFC that makes no sense.
    #[error("PFC: {0}")]
    Pfc(&'static str),
    /// Headers and trailer contradict each other, or the testbed never sends this.
    #[error("{0} is not what this testbed sends")]
    Unexpected(&'static str),
    /// It would arrive before a frame that came earlier: a copy, or an old one.
    #[error("out of order: a copy, or an old frame")]
    OutOfOrder,
}

impl Refusal {
    /// The kind under which refusals are counted.
    pub fn kind(&self) -> String {
        match self {
            Self::Damaged => "wrong frame check sequence".into(),
            Self::Malformed(FrameError::Checksum {
                layer: Layer::Roce, ..
            }) => "wrong invariant CRC".into(),
            Self::Malformed(FrameError::Checksum { layer, .. }) => {
                format!("wrong {layer} checksum")
            }
            Self::Malformed(FrameError::Truncated { .. }) => "truncated".into(),
            Self::Malformed(FrameError::Field { layer, field, .. }) => {
                format!("malformed ({layer} {field})")
            }
            Self::Foreign => "no trailer".into(),
            Self::UnknownFlow(_) => "unknown flow".into(),
            Self::NotOfFlow { what, .. } => format!("not of its flow ({what})"),
            Self::Pfc(what) => format!("PFC ({what})"),
            Self::Unexpected(what) => format!("unexpected {what}"),
            Self::OutOfOrder => "out of order".into(),
        }
    }
}
