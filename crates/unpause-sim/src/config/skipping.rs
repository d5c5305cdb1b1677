//! Whether a run skips what repeats itself.

/// Whether what repeats itself is skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Skipping {
    /// Repetition is looked for only as often as is nearly free.
    #[default]
    WhereItPays,
    /// It is looked for before every window, whatever that costs: for tests.
    Always,
    /// Every packet is simulated.
    Never,
}
