//! Addresses for nodes, which have none in a simulation.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use crate::frames::ip_address;

/// Numbers nodes in the natural order of their names: H2 comes before H10.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    numbers: HashMap<String, u32>,
}

impl Addresses {
    pub(crate) fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names: Vec<&str> = names.into_iter().collect();
        names.sort_unstable_by(|a, b| natord::compare(a, b).then(a.cmp(b)));
        names.dedup();
        let numbers = names.iter().map(|name| (*name).to_owned()).zip(1..);
        Self {
            numbers: numbers.collect(),
        }
    }

    /// 1 for the first, 0 for a name that is not among them.
    pub(crate) fn number(&self, name: &str) -> u32 {
        self.numbers.get(name).copied().unwrap_or(0)
    }

    /// 10.0.0.1 for the first.
    fn ip(&self, name: &str) -> Ipv4Addr {
        ip_address(self.number(name))
    }

    /// Addresses and names, in the order of addresses.
    pub(crate) fn all(&self) -> Vec<(Ipv4Addr, &str)> {
        let mut all: Vec<_> = self.numbers.keys().map(|n| (self.ip(n), &**n)).collect();
        all.sort_unstable();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_numbered_as_people_do() {
        let addresses = Addresses::new(["S0", "H10", "H2", "H0", "H2"]);
        let all = addresses.all();
        let names: Vec<&str> = all.iter().map(|(_, name)| *name).collect();
        assert_eq!(names, ["H0", "H2", "H10", "S0"]);
        assert_eq!(addresses.ip("H2"), Ipv4Addr::new(10, 0, 0, 2));
        assert_eq!(addresses.number("S0"), 4);
    }
}
