//! The mechanisms that there are vectors of.

use std::ffi::CStr;

use unpause_protocols::by_name::{Config, Kind};

/// A mechanism that there are vectors of.
#[derive(Clone, Debug)]
pub struct Mechanism {
    /// Its name: `pcn`.
    pub name: &'static str,
    /// Its kind; some names stand for several.
    pub kind: Kind,
    pub(crate) config: Config,
}

/// One parameter: its name, its unit, and its value, if it is set.
pub type Parameter = (&'static str, String, Option<String>);

/// Mechanisms of a kind with their defaults.
pub(crate) fn every_of(kind: Kind) -> Vec<(&'static str, Config)> {
    let all = Config::all(kind);
    all.map(|(name, config)| (name.to_str().unwrap_or_default(), config))
        .collect()
}

/// Every mechanism, by kind. Not `none`, which does nothing, nor `telemetry`, whose records are its port's.
pub fn mechanisms() -> Vec<Mechanism> {
    let all = Kind::ALL.into_iter().flat_map(|kind| {
        let every = every_of(kind).into_iter();
        every.map(move |(name, config)| Mechanism { name, kind, config })
    });
    all.filter(|it| !matches!(it.name, "none" | "telemetry"))
        .collect()
}

/// The mechanisms of a name, one for each kind, or for `kind` alone (`congestion-control`).
///
/// # Errors
/// There is none; the text says what there is.
pub fn find(name: &str, kind: Option<&str>) -> Result<Vec<Mechanism>, String> {
    let every = mechanisms();
    if let Some(kind) = kind
        && !Kind::ALL.iter().any(|it| it.name() == kind)
    {
        let kinds: Vec<_> = Kind::ALL.iter().map(|it| it.name()).collect();
        return Err(format!(
            "no kind of mechanism is called {kind}; there are {}",
            kinds.join(", ")
        ));
    }
    let found: Vec<Mechanism> = every
        .iter()
        .filter(|it| it.name == name && kind.is_none_or(|kind| it.kind.name() == kind))
        .cloned()
        .collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let of_name: Vec<_> = every.iter().filter(|it| it.name == name).collect();
    if !of_name.is_empty() {
        let kinds: Vec<_> = of_name.iter().map(|it| it.kind.name()).collect();
        return Err(format!("{name} is a {}", kinds.join(" and a ")));
    }
    let distance = |it: &&Mechanism| strsim::damerau_levenshtein(it.name, name);
    let nearest = every
        .iter()
        .min_by_key(distance)
        .filter(|name| distance(name) <= 3)
        .map_or_else(String::new, |it| format!("; did you mean {}?", it.name));
    Err(format!("no mechanism is called {name}{nearest}"))
}

impl Mechanism {
    /// Its parameters.
    pub fn parameters(&self) -> Vec<Parameter> {
        let mut found = Vec::new();
        self.config.clone().visit(&mut |it| {
            let named = |text: &'static CStr| text.to_str().unwrap_or_default();
            let choice = |value: u64| it.choices.get(usize::try_from(value).ok()?);
            let value = it.value.map(|value| {
                choice(value).map_or(value.to_string(), |name| named(name).to_owned())
            });
            let unit = if it.choices.is_empty() {
                named(it.unit).to_owned()
            } else {
                let names: Vec<_> = it.choices.iter().map(|name| named(name)).collect();
                names.join(" | ")
            };
            found.push((named(it.name), unit, value));
        });
        found
    }

    /// Sets a parameter, a number in its unit or the name of a choice.
    ///
    /// # Errors
    /// It has none of this name (`Ok(false)`), or not this value: the text says what it takes.
    pub fn set(&mut self, parameter: &str, value: &str) -> Result<bool, String> {
        let set = self.config.parameter(
            |name| name.to_str() == Ok(parameter),
            |it| {
                let named = |name: &&CStr| name.to_str() == Ok(value);
                let number = match it.choices {
                    [] => value.replace('_', "").parse().ok(),
                    choices => choices.iter().position(named).map(|at| at as u64),
                };
                number.is_some_and(|number| (it.set)(number))
            },
        );
        match set {
            None => Ok(false),
            Some(true) => Ok(true),
            Some(false) => {
                let every = self.parameters();
                let found = every.into_iter().find(|(name, ..)| *name == parameter);
                let unit = found.map_or_else(String::new, |(_, unit, _)| unit);
                let expected = if unit.contains(" | ") {
                    unit
                } else {
                    format!("a whole number [{unit}] that it can hold")
                };
                Err(format!(
                    "{parameter} cannot be {value}: expected {expected}"
                ))
            }
        }
    }
}
