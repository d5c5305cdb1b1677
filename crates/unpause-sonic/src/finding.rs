//! Findings about a file: severity, position, arithmetic, and advice.

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Frames of a lossless class are lost or wait for ever, or the switch does not take the file as it is meant.
    Error,
    /// Likely not what was meant, or not enough by one of two calculations.
    Warning,
    /// Worth knowing.
    Note,
}

impl Severity {
    /// `error`, `warning`, `note`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// Where something stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// Byte of the file.
    pub at: usize,
    /// As a JSON path: `$.BUFFER_PG['Ethernet0|3-4'].profile`.
    pub path: String,
}

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Given<T> {
    /// The value.
    pub value: T,
    /// Its place.
    pub spot: Spot,
}

/// Something to say of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// Name of the rule that found it.
    pub rule: &'static str,
    /// Where.
    pub spot: Spot,
    /// The fault; the same for every port that has it.
    pub message: String,
    /// The numbers from which that follows, a line each.
    pub arithmetic: Vec<String>,
    /// Advice.
    pub fix: String,
    /// Other places of which the same is true.
    pub also: Vec<Spot>,
    /// How large the fault is for one of several ports or cables that share the value at fault.
    pub(super) case: Option<Case>,
}

/// A fault as one port or cable has it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Case {
    /// Of several cases the largest is reported.
    pub(super) size: u64,
    /// The case in a few words, for the list of the others.
    pub(super) words: String,
}

impl Finding {
    /// A finding without arithmetic.
    pub(super) fn new(
        severity: Severity,
        rule: &'static str,
        spot: &Spot,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self {
            severity,
            rule,
            spot: spot.clone(),
            message: message.into(),
            arithmetic: Vec::new(),
            fix: fix.into(),
            also: Vec::new(),
            case: None,
        }
    }

    /// As one case of a fault that several ports or cables may have: only the worst is reported, and lists the others.
    pub(super) fn case(mut self, size: u64, words: String) -> Self {
        self.case = Some(Case { size, words });
        self
    }

    /// With the numbers from which it follows.
    pub(super) fn because(mut self, lines: impl IntoIterator<Item = String>) -> Self {
        self.arithmetic.extend(lines);
        self
    }
}

/// Cases of one fault that are listed; more are counted.
const MOST_CASES: usize = 4;

/// Keeps the worst case of each fault, with the others in its arithmetic.
fn worst(findings: Vec<Finding>) -> Vec<Finding> {
    let mut cases: BTreeMap<(&'static str, Spot), Vec<Finding>> = BTreeMap::new();
    let mut all = Vec::new();
    for it in findings {
        match it.case {
            None => all.push(it),
            Some(_) => cases
                .entry((it.rule, it.spot.clone()))
                .or_default()
                .push(it),
        }
    }
    for (_, mut own) in cases {
        let size = |it: &Finding| it.case.as_ref().map_or(0, |case| case.size);
        own.sort_by_key(|it| (it.severity, Reverse(size(it))));
        let words = |it: &Finding| it.case.as_ref().map(|case| case.words.clone());
        let mut own = own.into_iter();
        let Some(first) = own.next() else { continue };
        let mut said = vec![words(&first)];
        let mut lines = Vec::new();
        for other in own {
            let text = words(&other);
            if !said.contains(&text) {
                lines.extend(text.iter().map(|text| format!("likewise {text}")));
                said.push(text);
            }
        }
        let more = lines.len().saturating_sub(MOST_CASES);
        lines.truncate(MOST_CASES);
        lines.extend((more > 0).then(|| format!("likewise {more} more")));
        all.push(first.because(lines));
    }
    all
}

/// A finding without its place: severity, rule, message, arithmetic, fix.
type Said = (Severity, &'static str, String, Vec<String>, String);

/// The same of many places once, in the order of the file, the worst first.
pub(super) fn grouped(findings: Vec<Finding>) -> Vec<Finding> {
    let mut groups: BTreeMap<Said, Vec<Spot>> = BTreeMap::new();
    for it in worst(findings) {
        let key = (it.severity, it.rule, it.message, it.arithmetic, it.fix);
        groups.entry(key).or_default().push(it.spot);
    }
    let mut all: Vec<Finding> = Vec::new();
    for ((severity, rule, message, arithmetic, fix), mut spots) in groups {
        spots.sort();
        spots.dedup();
        let spot = spots.remove(0);
        all.push(Finding {
            severity,
            rule,
            spot,
            message,
            arithmetic,
            fix,
            also: spots,
            case: None,
        });
    }
    all.sort_by(|a, b| (a.severity, a.spot.at, a.rule).cmp(&(b.severity, b.spot.at, b.rule)));
    all
}
