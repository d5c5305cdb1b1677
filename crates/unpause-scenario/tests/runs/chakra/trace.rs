//! Writes traces byte by byte, as the schema of Chakra says.

/// A trace: GlobalMetadata, then nodes.
pub fn trace(nodes: &[Node]) -> Vec<u8> {
    let mut all = framed(&text(1, "0.0.4"));
    for it in nodes {
        all.extend(framed(&it.0));
    }
    all
}

/// A message behind its length.
pub fn framed(message: &[u8]) -> Vec<u8> {
    [varint(message.len() as u64), message.to_vec()].concat()
}

/// A node, as bytes.
#[derive(Clone)]
pub struct Node(Vec<u8>);

/// The type of a node.
pub enum Kind {
    Metadata = 1,
    MemoryLoad = 2,
    Compute = 4,
    Send = 5,
    Receive = 6,
    Collective = 7,
}

impl Node {
    /// Id 0 is not written.
    pub fn new(id: u64, kind: u64) -> Self {
        let id = if id == 0 { Vec::new() } else { number(1, id) };
        Self([id, number(3, kind)].concat())
    }

    pub fn compute(id: u64, us: u64) -> Self {
        Self::new(id, Kind::Compute as u64).with(number(7, us))
    }

    /// From one rank to another; its integers have different types, as those of real traces.
    pub fn send(id: u64, (from, to): (u32, u32), bytes: u64, tag: u32) -> Self {
        Self::new(id, Kind::Send as u64).message((from, to), bytes, tag)
    }

    pub fn receive(id: u64, (from, to): (u32, u32), bytes: u64, tag: u32) -> Self {
        Self::new(id, Kind::Receive as u64).message((from, to), bytes, tag)
    }

    fn message(self, (from, to): (u32, u32), bytes: u64, tag: u32) -> Self {
        self.attribute("comm_src", number(7, from.into()))
            .attribute("comm_dst", number(11, to.into()))
            .attribute("comm_size", number(9, bytes))
            .attribute("comm_tag", number(15, u64::from(tag) << 1))
    }

    /// A collective operation of a process group, of all ranks if it has no name.
    pub fn collective(id: u64, comm_type: u64, bytes: u64, group: &str) -> Self {
        let it = Self::new(id, Kind::Collective as u64)
            .attribute("comm_type", number(9, comm_type))
            .attribute("comm_size", number(13, bytes));
        match group {
            "" => it,
            _ => it.attribute("pg_name", text(29, group)),
        }
    }

    /// A node that lists process groups.
    pub fn groups(id: u64, json: &str) -> Self {
        let inputs = bytes(8, &text(1, json));
        Self::new(id, Kind::Metadata as u64).with(inputs)
    }

    /// It waits for these, as data or as control says.
    pub fn after(self, data: &[u64], control: &[u64]) -> Self {
        let packed = |tag: u64, ids: &[u64]| match ids {
            [] => Vec::new(),
            _ => bytes(
                tag,
                &ids.iter().flat_map(|it| varint(*it)).collect::<Vec<_>>(),
            ),
        };
        let both = [packed(4, control), packed(5, data)].concat();
        self.with(both)
    }

    pub fn name(self, name: &str) -> Self {
        self.with(text(2, name))
    }

    pub fn attribute(self, name: &str, value: Vec<u8>) -> Self {
        self.with(bytes(10, &[text(1, name), value].concat()))
    }

    /// With another field.
    pub fn with(mut self, field: Vec<u8>) -> Self {
        self.0.extend(field);
        self
    }
}

/// A field of an integer.
pub fn number(tag: u64, value: u64) -> Vec<u8> {
    [varint(tag << 3), varint(value)].concat()
}

/// A field of text.
pub fn text(tag: u64, value: &str) -> Vec<u8> {
    bytes(tag, value.as_bytes())
}

/// A field of bytes, or of a message.
pub fn bytes(tag: u64, value: &[u8]) -> Vec<u8> {
    [varint(tag << 3 | 2), framed(value)].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut all = Vec::new();
    while value >= 0x80 {
        all.push(value as u8 | 0x80);
        value >>= 7;
    }
    all.push(value as u8);
    all
}
