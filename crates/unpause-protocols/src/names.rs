//! Names of the values of enums, as users write them.

pub use unpause_derive::Names;

/// An enum whose values have names.
pub trait Names: Copy + PartialEq + 'static {
    /// Each value with its name. The first is the usual one.
    const NAMES: &'static [(&'static str, Self)];

    /// The value of this name.
    fn by_name(name: &str) -> Option<Self> {
        let mut all = Self::NAMES.iter();
        all.find(|(known, _)| *known == name)
            .map(|(_, value)| *value)
    }

    /// Its name.
    fn name(self) -> &'static str {
        let mut all = Self::NAMES.iter();
        all.find(|(_, value)| *value == self)
            .map_or("", |(name, _)| name)
    }
}
