//! The bytes of a trace: messages of Protocol Buffers, each behind its length; the file may be compressed by gzip.

use std::borrow::Cow;
use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use prost::Message;

use crate::FileError;
use unpause_text::limits;

/// With it a file begins that gzip has compressed.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The header of a trace.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Metadata {
    #[prost(string, tag = "1")]
    pub version: String,
    #[prost(message, repeated, tag = "2")]
    pub attributes: Vec<Attribute>,
}

/// A node of a trace. What is not read has no field.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Node {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(int32, tag = "3")]
    pub kind: i32,
    #[prost(uint64, repeated, tag = "4")]
    pub control: Vec<u64>,
    #[prost(uint64, repeated, tag = "5")]
    pub data: Vec<u64>,
    #[prost(uint64, tag = "6")]
    pub start_us: u64,
    #[prost(uint64, tag = "7")]
    pub duration_us: u64,
    #[prost(message, optional, tag = "8")]
    pub inputs: Option<Values>,
    #[prost(message, repeated, tag = "10")]
    pub attributes: Vec<Attribute>,
}

/// Inputs of a node, of which a metadata node has process groups.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Values {
    #[prost(string, tag = "1")]
    pub values: String,
}

/// Something of a node that has a name.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Attribute {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(
        oneof = "Value",
        tags = "7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 28, 29"
    )]
    pub value: Option<Value>,
}

/// Its value. Writers differ in the type of integers.
#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum Value {
    #[prost(int32, tag = "7")]
    Int32(i32),
    #[prost(int64, tag = "9")]
    Int64(i64),
    #[prost(uint32, tag = "11")]
    Uint32(u32),
    #[prost(uint64, tag = "13")]
    Uint64(u64),
    #[prost(sint32, tag = "15")]
    Sint32(i32),
    #[prost(sint64, tag = "17")]
    Sint64(i64),
    #[prost(fixed32, tag = "19")]
    Fixed32(u32),
    #[prost(fixed64, tag = "21")]
    Fixed64(u64),
    #[prost(sfixed32, tag = "23")]
    Sfixed32(i32),
    #[prost(sfixed64, tag = "25")]
    Sfixed64(i64),
    #[prost(bool, tag = "27")]
    Bool(bool),
    #[prost(message, tag = "28")]
    Bools(Bools),
    #[prost(string, tag = "29")]
    Text(String),
}

/// A list of truth values.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Bools {
    #[prost(bool, repeated, tag = "1")]
    pub values: Vec<bool>,
}

impl Value {
    /// The number that it is, if it is one.
    pub fn number(&self) -> Option<i128> {
        Some(match self {
            Self::Int32(it) | Self::Sint32(it) | Self::Sfixed32(it) => i128::from(*it),
            Self::Int64(it) | Self::Sint64(it) | Self::Sfixed64(it) => i128::from(*it),
            Self::Uint32(it) | Self::Fixed32(it) => i128::from(*it),
            Self::Uint64(it) | Self::Fixed64(it) => i128::from(*it),
            Self::Bool(_) | Self::Bools(_) | Self::Text(_) => return None,
        })
    }
}

/// The trace in a file, whether compressed or not.
pub(super) fn unpacked<'b>(bytes: &'b [u8], path: &Path) -> Result<Cow<'b, [u8]>, FileError> {
    if !bytes.starts_with(&GZIP) {
        return Ok(Cow::Borrowed(bytes));
    }
    let error = |found: String, expected: String| FileError::Byte {
        path: path.to_owned(),
        at: 0,
        found,
        expected,
    };
    let mut all = Vec::new();
    let unpack = MultiGzDecoder::new(bytes)
        .take(limits::PROGRAM_BYTES + 1)
        .read_to_end(&mut all);
    unpack.map_err(|reason| {
        let found = format!("gzip data that cannot be decompressed ({reason})");
        error(found, "a whole file of gzip".into())
    })?;
    if all.len() as u64 > limits::PROGRAM_BYTES {
        let expected = format!("at most {} MiB when unpacked", limits::PROGRAM_BYTES >> 20);
        return Err(error("a larger trace".into(), expected));
    }
    Ok(Cow::Owned(all))
}

/// Messages of a trace, one after the other.
pub(super) struct Messages<'b> {
    bytes: &'b [u8],
    path: &'b Path,
    at: usize,
}

impl<'b> Messages<'b> {
    pub fn of(bytes: &'b [u8], path: &'b Path) -> Self {
        Self { bytes, path, at: 0 }
    }

    /// A mistake at a byte.
    pub fn error(
        &self,
        at: u64,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> FileError {
        FileError::Byte {
            path: self.path.to_owned(),
            at,
            found: found.into(),
            expected: expected.into(),
        }
    }

    /// The next message and where its length stands; `what` says what it has to be.
    pub fn next<M: Message + Default>(
        &mut self,
        what: &str,
    ) -> Result<Option<(u64, M)>, FileError> {
        let place = self.at as u64;
        let mut rest = &self.bytes[self.at..];
        if rest.is_empty() {
            return Ok(None);
        }
        let Ok(length) = prost::encoding::decode_varint(&mut rest) else {
            let found = "an endless length";
            return Err(self.error(place, found, format!("the length of {what}")));
        };
        if length > rest.len() as u64 {
            let found = format!("a message of {length} B that ends after {} B", rest.len());
            return Err(self.error(
                place,
                found,
                format!("all of {what}: is the file truncated?"),
            ));
        }
        let (own, _) = rest.split_at(length as usize);
        self.at = self.bytes.len() - rest.len() + own.len();
        let read = M::decode(own).map_err(|reason| {
            let found = format!("an invalid message ({reason})");
            self.error(place, limits::shorten(&found), what)
        })?;
        Ok(Some((place, read)))
    }
}
