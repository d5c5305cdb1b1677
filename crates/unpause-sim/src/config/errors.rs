//! Frames that are lost to bit errors, with and without forward error correction (FEC).
//!
//! Only additions, multiplications and divisions: these are the same on every machine.

use unpause_protocols::units::Time;

use super::direction::Direction;

/// A change of the errors of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorEvent {
    /// When: it holds for frames that are sent from then on.
    pub at: Time,
    /// Index in [`super::Fabric::links`].
    pub link: usize,
    /// Which of its directions change.
    pub direction: Direction,
    /// The error rate from now on.
    pub errors: FrameErrors,
}

/// Which frames are lost to errors.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum FrameErrors {
    /// None.
    #[default]
    None,
    /// This share of all frames, whatever their length.
    Frames(f64),
    /// Those with a wrong bit, if each bit of a frame is wrong with this probability.
    Bits(f64),
    /// Those in codewords that cannot be corrected.
    Codewords {
        /// The code.
        fec: Fec,
        /// How many codewords the bits of a frame are spread over: where one cannot be corrected, frames in all of them are
        /// lost.
        interleave: u8,
        /// Probability that a codeword cannot be corrected ([`Fec::codeword_errors`]).
        codeword_errors: f64,
    },
}

/// A Reed-Solomon code over symbols of 10 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fec {
    /// RS(544, 514), which corrects 15 symbols: clause 91 of IEEE 802.3 ("KP4").
    Rs544,
    /// RS(272, 257), which corrects 7: the low-latency FEC of the Ethernet Technology Consortium.
    Rs272,
}

/// Bits of a symbol of these codes.
const SYMBOL_BITS: u64 = 10;

impl Fec {
    /// Symbols of a codeword, those of them that carry data, and how many wrong ones can be corrected.
    pub const fn symbols(self) -> (u32, u32, u32) {
        match self {
            Self::Rs544 => (544, 514, 15),
            Self::Rs272 => (272, 257, 7),
        }
    }

    /// The probability that more symbols of a codeword are wrong than can be corrected, where bits are wrong with probability
    /// `ber`, each by itself: the tail of a binomial distribution.
    pub fn codeword_errors(self, ber: f64) -> f64 {
        let (symbols, _, corrected) = self.symbols();
        let wrong = any_of(SYMBOL_BITS, ber);
        let right = 1.0 - wrong;
        if wrong <= 0.0 {
            return 0.0;
        }
        let terms = |from: u32, to: u32, first: f64| {
            let mut term = first;
            let mut sum = 0.0;
            for at in from..=to {
                sum += term;
                term *= f64::from(symbols - at) / f64::from(at + 1) * (wrong / right);
            }
            sum
        };
        let none_wrong = power(right, symbols);
        if f64::from(symbols) * wrong > f64::from(corrected) {
            return if none_wrong > 0.0 {
                1.0 - terms(0, corrected, none_wrong)
            } else {
                1.0
            };
        }
        // The first term of the tail, factor by factor; last the power of the probability of no error, which is near 1 here.
        let least = corrected + 1;
        let chosen = (0..least).map(|at| f64::from(symbols - at) / f64::from(at + 1) * wrong);
        let first = chosen.product::<f64>() * power(right, symbols - least);
        terms(least, symbols, first)
    }

    /// How many codewords this many bytes on a wire fill.
    pub fn codewords(self, wire_bytes: u64) -> f64 {
        let (_, data, _) = self.symbols();
        (wire_bytes * 8) as f64 / (u64::from(data) * SYMBOL_BITS) as f64
    }
}

/// The share of frames that are lost where a codeword cannot be corrected with probability `codeword_errors`, a frame fills
/// this many `codewords`, and this many are interleaved: a frame begins anywhere in a group of interleaved codewords, and is lost
/// if any codeword of any group that it touches is. Where that is rare and frames fill 1/8, it is the frame loss ratio of IEEE
/// 802.3, `codeword_errors * (1 + 8 * interleave) / 8`.
pub fn frame_loss(codeword_errors: f64, interleave: u8, codewords: f64) -> f64 {
    let groups = codewords / f64::from(interleave);
    let (whole, part) = (groups as u64, groups.fract());
    let lost = |groups: u64| any_of(groups * u64::from(interleave), codeword_errors);
    lost(whole + 1) * (1.0 - part) + lost(whole + 2) * part
}

impl FrameErrors {
    /// The probability that a frame is lost of this many `bytes`, and this many on the wire.
    pub fn loss(&self, bytes: u64, wire_bytes: u64) -> f64 {
        match *self {
            Self::None => 0.0,
            Self::Frames(share) => share,
            Self::Bits(ber) => any_of(8 * bytes, ber),
            Self::Codewords {
                fec,
                interleave,
                codeword_errors,
            } => frame_loss(codeword_errors, interleave, fec.codewords(wire_bytes)),
        }
    }
}

/// The probability that any of this many happens of which each has this probability by itself: 1 - (1 - p)^n, exact where p is
/// small.
fn any_of(count: u64, each: f64) -> f64 {
    let mut any = 0.0;
    for bit in (0..u64::BITS - count.leading_zeros()).rev() {
        any *= 2.0 - any;
        if count >> bit & 1 == 1 {
            any += each * (1.0 - any);
        }
    }
    any
}

/// The power with a whole exponent, multiplied out.
fn power(base: f64, exponent: u32) -> f64 {
    let mut result = 1.0;
    for bit in (0..u32::BITS - exponent.leading_zeros()).rev() {
        result *= result;
        if exponent >> bit & 1 == 1 {
            result *= base;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bit error ratio before correction, then codeword errors of RS(544, 514), frame losses of these with 1, 2 and 4
    /// codewords interleaved, and codeword errors of RS(272, 257): summed exactly, in 60 digits.
    const EXACT: [(f64, [f64; 5]); 10] = [
        (
            1e-05,
            [
                2.139670e-34,
                2.407128e-34,
                4.546798e-34,
                8.826138e-34,
                6.539748e-18,
            ],
        ),
        (
            3e-05,
            [
                8.327455e-27,
                9.368387e-27,
                1.769584e-26,
                3.435075e-26,
                4.091169e-14,
            ],
        ),
        (
            0.0001,
            [
                1.359811e-18,
                1.529787e-18,
                2.889599e-18,
                5.609221e-18,
                5.279356e-10,
            ],
        ),
        (
            0.0002,
            [
                5.389899e-14,
                6.063637e-14,
                1.145354e-13,
                2.223333e-13,
                1.066119e-07,
            ],
        ),
        (
            0.00024,
            [
                8.151573e-13,
                9.170520e-13,
                1.732209e-12,
                3.362524e-12,
                4.170034e-07,
            ],
        ),
        (
            0.0003,
            [
                2.143223e-11,
                2.411126e-11,
                4.554349e-11,
                8.840795e-11,
                2.156972e-06,
            ],
        ),
        (
            0.0005,
            [
                2.792584e-08,
                3.141657e-08,
                5.934241e-08,
                1.151941e-07,
                8.021886e-05,
            ],
        ),
        (
            0.0007,
            [
                2.245566e-06,
                2.526262e-06,
                4.771829e-06,
                9.262961e-06,
                7.419989e-04,
            ],
        ),
        (
            0.001,
            [
                1.530259e-04,
                1.721541e-04,
                3.251800e-04,
                6.312317e-04,
                6.431015e-03,
            ],
        ),
        (
            0.002,
            [
                7.939087e-02,
                8.931473e-02,
                1.687056e-01,
                3.274874e-01,
                1.753605e-01,
            ],
        ),
    ];

    fn close(found: f64, expected: f64) -> bool {
        (found - expected).abs() <= 1e-6 * expected
    }

    /// The loss of frames that fill this share of a codeword: some touch a group of interleaved codewords, some two.
    fn touching(codeword_errors: f64, interleave: u8, share: f64) -> f64 {
        let kept = (1.0 - codeword_errors).powi(i32::from(interleave));
        let two = share / f64::from(interleave);
        1.0 - (1.0 - two) * kept - two * kept * kept
    }

    /// Errors in several codewords of a frame lose it once.
    #[test]
    fn a_frame_is_not_lost_more_often_than_it_is_sent() {
        for interleave in [1, 2, 4] {
            for codeword_errors in [0.01, 0.3, 0.9, 1.0] {
                let found = frame_loss(codeword_errors, interleave, 0.5);
                let expected = touching(codeword_errors, interleave, 0.5);
                assert!(close(found, expected), "{found} {expected}");
            }
        }
    }

    #[test]
    fn codewords_and_frames_are_lost_as_the_binomial_distribution_says() {
        for (ber, [rs544, one, two, four, rs272]) in EXACT {
            let found = Fec::Rs544.codeword_errors(ber);
            assert!(close(found, rs544), "{ber}: {found} {rs544}");
            for (interleave, expected) in [(1, one), (2, two), (4, four)] {
                // The table adds up the codewords' errors, which is the same where they are rare.
                let expected = if expected < 1e-7 {
                    expected
                } else {
                    touching(rs544, interleave, 0.125)
                };
                let found = frame_loss(found, interleave, 0.125);
                assert!(close(found, expected), "{ber}: {found} {expected}");
            }
            let found = Fec::Rs272.codeword_errors(ber);
            assert!(close(found, rs272), "{ber}: {found} {rs272}");
        }
    }

    #[test]
    fn there_are_no_errors_and_nothing_but_errors_at_the_ends() {
        for fec in [Fec::Rs544, Fec::Rs272] {
            assert!(fec.codeword_errors(0.0) <= 0.0);
            assert!(fec.codeword_errors(0.5) >= 1.0);
            // Where it goes over from one sum to the other they agree.
            let (symbols, _, corrected) = fec.symbols();
            let mean = f64::from(corrected) / f64::from(symbols) / SYMBOL_BITS as f64;
            let steps = [0.9, 0.99, 1.0, 1.01, 1.1].map(|it| fec.codeword_errors(mean * it));
            assert!(steps.is_sorted(), "{steps:?}");
            assert!(steps[4] - steps[0] < 0.3, "{steps:?}");
        }
    }

    #[test]
    fn a_frame_is_lost_to_any_wrong_bit_without_correction() {
        let loss = |ber| FrameErrors::Bits(ber).loss(1000, 1020);
        assert!(close(loss(1e-12), 8e-9));
        assert!(close(loss(1e-4), 1.0 - (1.0_f64 - 1e-4).powi(8000)));
        assert!(FrameErrors::Frames(0.25).loss(64, 84) == 0.25);
        // 1,285 bytes fill two codewords of 642.5.
        let of = FrameErrors::Codewords {
            fec: Fec::Rs544,
            interleave: 4,
            codeword_errors: 1e-3,
        };
        // Half of the frames touch a group of four codewords, and half touch two groups.
        let kept = 0.999_f64;
        let expected = 1.0 - (kept.powi(4) + kept.powi(8)) / 2.0;
        assert!(close(of.loss(1265, 1285), expected));
    }
}
