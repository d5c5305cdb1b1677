//! Bytes that have arrived ahead of a gap.

/// Disjoint ranges of bytes, in order, with a gap before each.
#[derive(Clone, Debug, Default)]
pub struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// True if there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the bytes from `start` up to `end`; some may be there already.
    pub fn insert(&mut self, start: u64, end: u64) {
        let first = self.0.partition_point(|&(_, to)| to < start);
        let behind = self.0.partition_point(|&(from, _)| from <= end);
        let mut whole = (start, end);
        if let [earliest, ..] = self.0[first..behind] {
            whole.0 = start.min(earliest.0);
            whole.1 = end.max(self.0[behind - 1].1);
        }
        self.0.splice(first..behind, [whole]);
    }

    /// Takes what joins the bytes before `end`; answers where they end now.
    pub fn take_from(&mut self, end: u64) -> u64 {
        let joining = self.0.partition_point(|&(from, _)| from <= end);
        let last = self.0.drain(..joining).next_back();
        last.map_or(end, |(_, to)| to.max(end))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn behave_as_a_set_of_bytes(
            ranges in prop::collection::vec((1u64..60, 1u64..9), 0..40),
            end in 0u64..70,
        ) {
            let mut bytes = [false; 80];
            let mut set = Ranges::default();
            for (start, length) in ranges {
                set.insert(start, start + length);
                bytes[start as usize..(start + length) as usize].fill(true);
                prop_assert!(set.0.windows(2).all(|pair| pair[0].1 < pair[1].0));
            }
            let all: Vec<bool> = (0..80).map(|i| set.0.iter().any(|r| (r.0..r.1).contains(&i))).collect();
            prop_assert_eq!(&all[..], &bytes[..]);
            let joined = set.take_from(end);
            let expected = (end..).find(|&i| !bytes[i as usize]).unwrap();
            prop_assert_eq!(joined, expected);
            prop_assert!(set.0.iter().all(|&(from, _)| from > joined));
        }
    }
}
