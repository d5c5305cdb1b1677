//! Which flow a congestion point that watches an input accuses, from the frames that lie there.

use rand_core::Rng;
use unpause_protocols::congestion_point;
use unpause_protocols::congestion_point::qcn::Selection;

use crate::fabric::packet::Packet;
use crate::plan::Plan;

/// How the scheme chooses.
pub fn selection(plan: &Plan<'_>) -> Selection {
    match &plan.config.scheme.congestion_point {
        congestion_point::Config::Qcn(params) => params.mode.selection(),
        _ => Selection::Arrived,
    }
}

/// A frame of the flow to be accused, of those that hold memory; `arrived` is the one that has just come.
pub fn choose<'a, R: Rng>(
    selection: Selection,
    arrived: &Packet,
    frames: impl Iterator<Item = &'a Packet> + Clone,
    rng: &mut R,
) -> Option<Packet> {
    match selection {
        Selection::Arrived => Some(*arrived),
        Selection::Largest => largest(frames),
        Selection::RandomUnit => random(frames, rng),
    }
}

/// A frame of the flow that holds most bytes; of equal ones of that whose oldest frame is oldest.
pub fn largest<'a>(frames: impl Iterator<Item = &'a Packet>) -> Option<Packet> {
    // Bytes of each flow, and its oldest frame.
    let mut flows: Vec<(u64, Packet)> = Vec::new();
    for frame in frames {
        let bytes = u64::from(frame.bytes);
        match flows
            .iter_mut()
            .find(|(_, oldest)| oldest.flow == frame.flow)
        {
            Some((held, oldest)) => {
                *held += bytes;
                if frame.time < oldest.time {
                    *oldest = *frame;
                }
            }
            None => flows.push((bytes, *frame)),
        }
    }
    let order =
        |(bytes, oldest): &(u64, Packet)| (*bytes, std::cmp::Reverse((oldest.time, oldest.flow)));
    flows
        .into_iter()
        .max_by_key(order)
        .map(|(_, oldest)| oldest)
}

/// A frame drawn in proportion to its bytes.
fn random<'a, R: Rng>(
    frames: impl Iterator<Item = &'a Packet> + Clone,
    rng: &mut R,
) -> Option<Packet> {
    let total: u64 = frames.clone().map(|frame| u64::from(frame.bytes)).sum();
    let mut left = ((u128::from(rng.next_u64()) * u128::from(total)) >> 64) as u64;
    for frame in frames {
        let bytes = u64::from(frame.bytes);
        if left < bytes {
            return Some(*frame);
        }
        left -= bytes;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::packet::Kind;
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use unpause_protocols::units::Time;

    fn frame(flow: u32, bytes: u16, us: u64) -> Packet {
        Packet {
            flow,
            time: Time::from_us(us),
            ..Packet::new(Kind::Data, 3, 0, bytes)
        }
    }

    #[test]
    fn the_largest_holder_is_accused_and_of_equal_ones_the_oldest() {
        let mut frames = vec![frame(1, 1200, 1), frame(3, 3000, 3), frame(2, 1500, 4)];
        assert_eq!(largest(frames.iter()).map(|it| it.flow), Some(3));
        frames.push(frame(2, 1500, 2));
        let accused = largest(frames.iter()).map(|it| (it.flow, it.time));
        assert_eq!(accused, Some((2, Time::from_us(2))));
        assert!(largest([].iter()).is_none());
    }

    #[test]
    fn random_accuses_in_proportion_to_bytes() {
        let frames = [frame(0, 1000, 1), frame(1, 3000, 2)];
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let drawn = (0..10_000).filter_map(|_| random(frames.iter(), &mut rng));
        let second = drawn.filter(|it| it.flow == 1).count();
        assert!((7_300..7_700).contains(&second), "{second}");
        assert!(random([].iter(), &mut rng).is_none());
    }
}
