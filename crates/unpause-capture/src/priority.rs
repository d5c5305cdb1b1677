//! From what packets say to the priority of a flow.

use std::str::FromStr;

/// The highest that a flow may have: 7 carries control frames unless a scenario sets `host.control_priority`.
pub(crate) const HIGHEST: u8 = 6;

/// How flows of a capture get their priorities.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PriorityFrom {
    /// By what the capture shows: `Pcp` if a packet with data has a code point above 0, `Sonic` if one has DSCP
    /// 3 or 4, else `Dscp`.
    #[default]
    Auto,
    /// Priority code point of the 802.1Q tag, the outer one of two; 0 without a tag.
    Pcp,
    /// DSCP / 8: the class selector.
    Dscp,
    /// DSCP 3 and 4 are priorities 3 and 4, the lossless ones of stock SONiC; others as `Dscp`.
    Sonic,
    /// Of each DSCP.
    Map(Box<[u8; 64]>),
}

/// The priority fields of a flow's first packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Class {
    pub dscp: u8,
    pub pcp: Option<u8>,
}

impl PriorityFrom {
    /// The rule that fits packets with these classes, for `Auto`.
    pub(crate) fn settled(&self, classes: impl Iterator<Item = Class> + Clone) -> Self {
        if *self != Self::Auto {
            return self.clone();
        }
        if classes
            .clone()
            .any(|class| class.pcp.is_some_and(|pcp| pcp > 0))
        {
            return Self::Pcp;
        }
        let mut classes = classes;
        if classes.any(|class| matches!(class.dscp, 3 | 4)) {
            Self::Sonic
        } else {
            Self::Dscp
        }
    }

    /// The priority, up to 7.
    pub(crate) fn of(&self, class: Class) -> u8 {
        match self {
            Self::Pcp => class.pcp.unwrap_or(0),
            Self::Sonic if matches!(class.dscp, 3 | 4) => class.dscp,
            Self::Map(map) => map[usize::from(class.dscp)],
            _ => class.dscp >> 3,
        }
    }

    /// For people.
    pub fn describe(&self) -> &'static str {
        match self {
            Self::Auto => "chosen by what the capture shows",
            Self::Pcp => "priority code point of the VLAN tag",
            Self::Dscp => "DSCP / 8",
            Self::Sonic => "DSCP 3 and 4 as they are (SONiC's lossless classes), others DSCP / 8",
            Self::Map(_) => "the given map of DSCPs",
        }
    }
}

impl FromStr for PriorityFrom {
    type Err = String;

    /// `auto`, `pcp`, `dscp`, `sonic`, or a map such as `26=3,48=6`; DSCPs that it does not name are priority 0.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => return Ok(Self::Auto),
            "pcp" => return Ok(Self::Pcp),
            "dscp" => return Ok(Self::Dscp),
            "sonic" => return Ok(Self::Sonic),
            _ => {}
        }
        let mut map = Box::new([0; 64]);
        let mut named = 0_u64;
        for part in text.split(',') {
            let (dscp, priority) = part.split_once('=').ok_or_else(|| {
                format!(
                    "found `{part}`, expected auto, pcp, dscp, sonic or a map such as 26=3,48=6"
                )
            })?;
            let number = |text: &str, most: u8, what: &str| match text.trim().parse::<u8>() {
                Ok(number) if number <= most => Ok(number),
                _ => Err(format!("{what} `{text}` in `{part}`: expected 0 to {most}")),
            };
            let dscp = number(dscp, 63, "DSCP")?;
            if named >> dscp & 1 == 1 {
                return Err(format!("DSCP {dscp} is given twice, in `{part}`, too"));
            }
            named |= 1 << dscp;
            map[usize::from(dscp)] = number(priority, HIGHEST, "priority")?;
        }
        Ok(Self::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::PriorityFrom;

    #[test]
    fn a_dscp_has_one_priority() {
        assert!("26=3,48=6".parse::<PriorityFrom>().is_ok());
        let twice = "26=3,26=4".parse::<PriorityFrom>();
        assert_eq!(
            twice.map(|_| ()).unwrap_err(),
            "DSCP 26 is given twice, in `26=4`, too"
        );
    }
}
