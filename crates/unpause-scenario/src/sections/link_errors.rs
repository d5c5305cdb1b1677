//! `kind = "error-rate"` of `[[event]]`: frames that are lost to errors.

use std::ops::Range;
use unpause_protocols::names::Names;
use unpause_text::error::{Checked, Problem};

use serde_spanned::Spanned;
use unpause_protocols::units::Rate;
use unpause_sim::config::{Fec, FrameErrors};

use crate::text::keys::{WithDefault, Written};
use crate::text::kind::OneOf;

/// How bits are corrected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Names)]
pub(crate) enum FecName {
    None,
    #[name = "rs-544"]
    Rs544,
    #[name = "rs-272"]
    Rs272,
}

/// Most codewords that a frame's bits may be spread over.
const MOST_INTERLEAVED: u8 = 8;

/// The errors that an entry asks for; those of codewords depend on a link's rate.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asked {
    /// The same on every link.
    Same(FrameErrors),
    /// Interleaved as the rate says.
    ByRate(Fec, f64),
}

impl Asked {
    /// On a link of this rate.
    pub(super) fn at(self, rate: Rate) -> FrameErrors {
        match self {
            Self::Same(errors) => errors,
            Self::ByRate(fec, codeword_errors) => FrameErrors::Codewords {
                fec,
                interleave: interleave(rate),
                codeword_errors,
            },
        }
    }
}

/// Codewords that are interleaved on a link of this rate.
fn interleave(rate: Rate) -> u8 {
    if rate <= Rate::from_gbps(100) {
        1
    } else if rate <= Rate::from_gbps(400) {
        2
    } else {
        4
    }
}

/// The errors of the keys `loss` and `ber`, `fec` and `interleave` of the table at `place`.
pub(super) fn asked(
    (loss, ber): (&Written<f64>, &Written<f64>),
    (fec, interleave): (&WithDefault<OneOf<FecName>>, &Written<u8>),
    place: Range<usize>,
) -> Checked<Asked> {
    let wrong_bits = match (loss.get(), ber.get()) {
        (Some(loss), None) => {
            let share = within(loss, 1.0, "a share from 0 to 1 of all frames")?;
            return Ok(Asked::Same(if share > 0.0 {
                FrameErrors::Frames(share)
            } else {
                FrameErrors::None
            }));
        }
        (None, Some(ber)) => within(ber, 0.5, "a share from 0 to 0.5 of all bits")?,
        (Some(loss), Some(ber)) => {
            return Problem::new("both `loss` and `ber` are set")
                .at(loss.span(), "either this")
                .at(ber.span(), "or this")
                .err();
        }
        (None, None) => {
            return Problem::new("neither `loss` nor `ber` is set")
                .at(place, "this table needs `loss` or `ber`")
                .help("write loss = 1e-4, the share of frames that are lost, or ber = 1e-6, that of wrong bits")
                .err();
        }
    };
    let fec = match fec.value().0 {
        FecName::None => {
            return Ok(Asked::Same(if wrong_bits > 0.0 {
                FrameErrors::Bits(wrong_bits)
            } else {
                FrameErrors::None
            }));
        }
        FecName::Rs544 => Fec::Rs544,
        FecName::Rs272 => Fec::Rs272,
    };
    let codeword_errors = fec.codeword_errors(wrong_bits);
    Ok(match interleave.get() {
        _ if codeword_errors <= 0.0 => {
            return Problem::new("no codeword is ever lost")
                .at(
                    ber.get().map_or(place, Spanned::span),
                    "all errors are corrected",
                )
                .help("raise `ber`, or remove the event; loss = 0 ends earlier errors")
                .err();
        }
        None => Asked::ByRate(fec, codeword_errors),
        Some(count) if !(1..=MOST_INTERLEAVED).contains(count.get_ref()) => {
            return Problem::new(format!("{} codewords", count.get_ref()))
                .at(count.span(), format!("from 1 to {MOST_INTERLEAVED}"))
                .err();
        }
        Some(count) => Asked::Same(FrameErrors::Codewords {
            fec,
            interleave: *count.get_ref(),
            codeword_errors,
        }),
    })
}

/// A number from 0 to `most`.
fn within(number: &Spanned<f64>, most: f64, expected: &str) -> Checked<f64> {
    let found = *number.get_ref();
    if (0.0..=most).contains(&found) {
        Ok(found)
    } else {
        Problem::new(format!("{found} is not {expected}"))
            .at(number.span(), "here")
            .err()
    }
}
