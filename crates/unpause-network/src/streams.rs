//! Bytes on their way, and who waits for them: a stream for each tag between two ranks.

use std::collections::{BTreeMap, VecDeque};

/// Sender, receiver, tag.
pub(crate) type Key = (u32, u32, u64);

/// All streams. What waits for bytes is `W`.
#[derive(Debug)]
pub(crate) struct Streams<W> {
    of: BTreeMap<Key, Stream<W>>,
}

#[derive(Debug)]
struct Stream<W> {
    /// Messages under way, in order: their number, their bytes, and whether they have come.
    messages: VecDeque<(u32, u64, bool)>,
    /// Bytes that have come and that nobody has taken.
    bytes: u64,
    receives: VecDeque<(u64, W)>,
}

impl<W> Default for Streams<W> {
    fn default() -> Self {
        Self {
            of: BTreeMap::new(),
        }
    }
}

impl<W> Streams<W> {
    fn stream(&mut self, key: Key) -> &mut Stream<W> {
        self.of.entry(key).or_insert_with(|| Stream {
            messages: VecDeque::new(),
            bytes: 0,
            receives: VecDeque::new(),
        })
    }

    /// A message is on its way.
    pub fn send(&mut self, key: Key, message: u32, bytes: u64) {
        let stream = self.stream(key);
        stream.messages.push_back((message, bytes, false));
    }

    /// It has come. Answers who has all the bytes now that it waits for: those of a message count when all that were sent
    /// before it have come.
    pub fn arrive(&mut self, key: Key, message: u32) -> Vec<W> {
        let stream = self.stream(key);
        let mut messages = stream.messages.iter_mut();
        if let Some((_, _, come)) = messages.find(|(number, ..)| *number == message) {
            *come = true;
        }
        while let Some((_, bytes, true)) = stream.messages.front() {
            stream.bytes += bytes;
            stream.messages.pop_front();
        }
        let mut done = Vec::new();
        while stream
            .receives
            .front()
            .is_some_and(|(bytes, _)| *bytes <= stream.bytes)
        {
            let (bytes, waits) = stream.receives.pop_front().expect("there is one");
            stream.bytes -= bytes;
            done.push(waits);
        }
        self.tidy(key);
        done
    }

    /// Somebody waits for this many bytes; answers it if they are there, and nobody waits for them before.
    pub fn receive(&mut self, key: Key, bytes: u64, waits: W) -> Option<W> {
        let stream = self.stream(key);
        let there = stream.receives.is_empty() && bytes <= stream.bytes;
        let done = if there {
            stream.bytes -= bytes;
            Some(waits)
        } else {
            stream.receives.push_back((bytes, waits));
            None
        };
        self.tidy(key);
        done
    }

    /// Receives that wait.
    pub fn waiting(&self) -> usize {
        self.of.values().map(|stream| stream.receives.len()).sum()
    }

    /// Forgets a stream in which nothing is left.
    fn tidy(&mut self, key: Key) {
        let is_empty = |stream: &Stream<W>| {
            stream.messages.is_empty() && stream.bytes == 0 && stream.receives.is_empty()
        };
        if self.of.get(&key).is_some_and(is_empty) {
            self.of.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = (0, 1, 7);

    #[test]
    fn receives_take_their_bytes_in_order() {
        let mut streams = Streams::default();
        assert_eq!(streams.receive(KEY, 30, "first"), None);
        assert_eq!(streams.receive(KEY, 10, "second"), None);
        streams.send(KEY, 1, 20);
        streams.send(KEY, 2, 25);
        assert!(
            streams.arrive(KEY, 1).is_empty(),
            "10 bytes are not the first's"
        );
        assert_eq!(streams.arrive(KEY, 2), ["first", "second"]);
        assert_eq!(streams.receive(KEY, 6, "third"), None);
        assert_eq!(streams.waiting(), 1);
        streams.send(KEY, 3, 1);
        assert_eq!(streams.arrive(KEY, 3), ["third"]);
        assert!(streams.of.is_empty(), "nothing is kept");
    }

    #[test]
    fn a_message_that_overtakes_waits_for_the_one_before() {
        let mut streams = Streams::default();
        streams.send(KEY, 1, 20);
        streams.send(KEY, 2, 5);
        assert!(streams.arrive(KEY, 2).is_empty());
        assert_eq!(streams.receive(KEY, 5, "early"), None);
        assert_eq!(streams.arrive(KEY, 1), ["early"]);
        assert_eq!(streams.receive(KEY, 20, "late"), Some("late"));
    }

    #[test]
    fn tags_and_ranks_are_apart() {
        let mut streams = Streams::default();
        streams.send(KEY, 1, 1);
        for (number, key) in [(1, 0, 7), (0, 2, 7), (0, 1, 8)].into_iter().enumerate() {
            assert_eq!(streams.receive(key, 1, number), None);
        }
        assert!(streams.arrive(KEY, 1).is_empty());
        assert_eq!(streams.waiting(), 3);
    }

    /// Sizes beyond 32 bits are no matter.
    #[test]
    fn bytes_have_64_bits() {
        let mut streams = Streams::default();
        streams.send(KEY, 1, 5 << 30);
        streams.send(KEY, 2, 5 << 30);
        assert_eq!(streams.receive(KEY, 10 << 30, ()), None);
        assert!(streams.arrive(KEY, 1).is_empty());
        assert_eq!(streams.arrive(KEY, 2).len(), 1);
    }
}
