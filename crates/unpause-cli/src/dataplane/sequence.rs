//! Files of sequences: what happened at queues, and which packets the state machine marked.
//!
//! 16 bytes of [`MAGIC`], the number of records in eight, then records of 44 bytes, all little-endian; the
//! other reader is `dataplane/src/sequence.c`.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use unpause_protocols::congestion_point::Queue;
use unpause_scenario::Error;

use super::mistake::wrong;

const MAGIC: &[u8; 16] = b"unpause-seq-1\n\0\0";
const RECORD: usize = 44;

/// The subject of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A packet has left its queue.
    Departure = 0,
    /// A PAUSE takes effect on the queue.
    Pause = 1,
    /// The queue may transmit again.
    Resume = 2,
}

/// A departure, or a change of PAUSE.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// When the packet came, nanoseconds.
    pub enqueued_ns: u64,
    /// When it left, or of the event.
    pub dequeued_ns: u64,
    /// The queue before the packet.
    pub found: Queue,
    /// The queue that remains; of an event, the queue that waits.
    pub left: Queue,
    /// Egress port, from 0.
    pub port: u16,
    /// Priority.
    pub priority: u8,
    /// The event.
    pub event: Event,
    /// Size of the frame.
    pub bytes: u32,
    /// Two bits of ECN before the switch.
    pub ecn: u8,
    /// The state machine marks it.
    pub mark: bool,
}

impl Record {
    fn to_bytes(self) -> [u8; RECORD] {
        let mut out = [0; RECORD];
        out[0..8].copy_from_slice(&self.enqueued_ns.to_le_bytes());
        out[8..16].copy_from_slice(&self.dequeued_ns.to_le_bytes());
        for (at, queue) in [(16, self.found), (24, self.left)] {
            out[at..at + 4].copy_from_slice(&saturated(queue.bytes).to_le_bytes());
            out[at + 4..at + 8].copy_from_slice(&queue.packets.to_le_bytes());
        }
        out[32..34].copy_from_slice(&self.port.to_le_bytes());
        out[34] = self.priority;
        out[35] = self.event as u8;
        out[36..40].copy_from_slice(&self.bytes.to_le_bytes());
        out[40] = self.ecn;
        out[41] = u8::from(self.mark);
        out
    }

    fn from_bytes(bytes: &[u8; RECORD]) -> Option<Self> {
        let u32_at = |at: usize| {
            bytes[at..at + 4]
                .iter()
                .rev()
                .fold(0, |n, b| n << 8 | u32::from(*b))
        };
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        let queue = |at: usize| Queue {
            bytes: u64::from(u32_at(at)),
            packets: u32_at(at + 4),
        };
        Some(Self {
            enqueued_ns: u64_at(0),
            dequeued_ns: u64_at(8),
            found: queue(16),
            left: queue(24),
            port: u16::from_le_bytes([bytes[32], bytes[33]]),
            priority: bytes[34],
            event: match bytes[35] {
                0 => Event::Departure,
                1 => Event::Pause,
                2 => Event::Resume,
                _ => return None,
            },
            bytes: u32_at(36),
            ecn: bytes[40],
            mark: bytes[41] == 1,
        })
    }
}

/// A length as a switch's traffic manager tells it.
fn saturated(bytes: u64) -> u32 {
    bytes.min(u64::from(u32::MAX)) as u32
}

/// The number of records in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets.
    pub packets: u64,
    /// Packets that the state machine marks.
    pub marks: u64,
    /// Changes of PAUSE.
    pub events: u64,
}

impl Counts {
    /// A line about the file at `path`.
    pub fn text(&self, path: &Path) -> String {
        let Self {
            packets,
            marks,
            events,
        } = self;
        let path = path.display();
        format!("{path}: {packets} packets, {marks} marks, {events} PAUSE and resume\n")
    }
}

/// A file that is being written.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    file: BufWriter<File>,
    counts: Counts,
}

impl Writer {
    /// Creates it, and the directory that it is in.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let fail = |error| Error::io("write", path, error);
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory).map_err(fail)?;
        }
        let mut file = BufWriter::new(File::create(path).map_err(fail)?);
        file.write_all(MAGIC).map_err(fail)?;
        file.write_all(&0_u64.to_le_bytes()).map_err(fail)?;
        Ok(Self {
            path: path.into(),
            file,
            counts: Counts::default(),
        })
    }

    /// Adds a record.
    pub fn push(&mut self, record: &Record) -> Result<(), Error> {
        if record.event == Event::Departure {
            self.counts.packets += 1;
            self.counts.marks += u64::from(record.mark && record.ecn != 3);
        } else {
            self.counts.events += 1;
        }
        let written = self.file.write_all(&record.to_bytes());
        written.map_err(|error| Error::io("write", &self.path, error))
    }

    /// Writes the number of records.
    pub fn finish(mut self) -> Result<Counts, Error> {
        let records = self.counts.packets + self.counts.events;
        let done = (|| {
            self.file.seek(SeekFrom::Start(MAGIC.len() as u64))?;
            self.file.write_all(&records.to_le_bytes())?;
            self.file.flush()
        })();
        done.map_err(|error| Error::io("write", &self.path, error))?;
        Ok(self.counts)
    }
}

/// All records of a file.
pub fn read(path: &Path) -> Result<Vec<Record>, Error> {
    let fail = |error| Error::io("read", path, error);
    let no_sequence = || {
        wrong(
            format!(
                "{}: this is not a sequence, or it is damaged",
                path.display()
            ),
            "`unpause dataplane record` and `random` write them",
        )
    };
    let mut file = BufReader::new(File::open(path).map_err(fail)?);
    let mut head = [0; 24];
    file.read_exact(&mut head).map_err(|_| no_sequence())?;
    if &head[..16] != MAGIC {
        return Err(no_sequence());
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(fail)?;
    let (records, rest) = bytes.as_chunks::<RECORD>();
    let records: Option<Vec<Record>> = records.iter().map(Record::from_bytes).collect();
    let count = records.as_ref().map(|records| records.len() as u64);
    if !rest.is_empty()
        || count.map(u64::to_le_bytes).as_ref().map(|it| &it[..]) != Some(&head[16..])
    {
        return Err(no_sequence());
    }
    records.ok_or_else(no_sequence)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        Record {
            enqueued_ns: 0x0123_4567_89ab_cdef,
            dequeued_ns: u64::MAX - 7,
            found: Queue {
                bytes: 1_000_000,
                packets: 1000,
            },
            left: Queue {
                bytes: u64::MAX,
                packets: 3,
            },
            port: 127,
            priority: 6,
            event: Event::Resume,
            bytes: 1518,
            ecn: 1,
            mark: true,
        }
    }

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("in/a.seq");
        let mut writer = Writer::create(&path).expect("it is created");
        let departure = Record {
            event: Event::Departure,
            ..record()
        };
        writer.push(&departure).expect("it is written");
        writer.push(&record()).expect("it is written");
        let counts = writer.finish().expect("it is finished");
        assert_eq!((counts.packets, counts.marks, counts.events), (1, 1, 1));

        let [first, second] = read(&path)
            .expect("it is read")
            .try_into()
            .expect("two records");
        assert_eq!(
            (first.event, second.event),
            (Event::Departure, Event::Resume)
        );
        let mut expected = departure.to_bytes();
        assert_eq!(first.to_bytes(), expected);
        // A length that does not fit is the longest that does.
        assert_eq!(first.left.bytes, u64::from(u32::MAX));
        expected[35] = 2;
        assert_eq!(second.to_bytes(), expected);
        assert_eq!(first.enqueued_ns, record().enqueued_ns);
        assert_eq!(first.dequeued_ns, record().dequeued_ns);
    }

    #[test]
    fn a_damaged_file_is_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.seq");
        let mut writer = Writer::create(&path).expect("it is created");
        writer.push(&record()).expect("it is written");
        writer.finish().expect("it is finished");
        let good = std::fs::read(&path).expect("it is there");
        let mut bad_event = good.clone();
        bad_event[24 + 35] = 3;
        let mut more = good.clone();
        more.extend_from_slice(&record().to_bytes());
        let cut = good[..good.len() - 1].to_vec();
        for bytes in [bad_event, more, cut, good[1..].to_vec(), Vec::new()] {
            std::fs::write(&path, bytes).expect("it is written");
            let error = read(&path).expect_err("it is refused").to_string();
            assert!(
                error.ends_with("this is not a sequence, or it is damaged"),
                "{error}"
            );
        }
    }
}
