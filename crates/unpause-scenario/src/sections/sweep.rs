//! `[[sweep]]`: one run for each scheme and value. Several sweeps multiply.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use unpause_text::error::{Checked, Problem, from_toml};
use unpause_text::limits::{self, show_count};
use unpause_text::quantity;

use serde::Deserialize;
use serde_json::json;
use serde_spanned::Spanned;
use toml::de::DeValue;

use crate::text::document::{self, Table, read};
use crate::text::keys::{Keys, Written};
use crate::text::kind::{HasKind, Kind};
use unpause_results::Swept;
use unpause_results::columns;

/// Advice if there are too many points.
pub(crate) const MANY_POINTS: &str = "every run of a scenario is kept in memory; `unpause sweep` varies keys of a \
                                      smaller one, a few runs at a time";

type Paths = Vec<Spanned<String>>;
type Values = Vec<Value>;
type Withs = Vec<With>;

/// `[[sweep]]`
#[derive(Keys)]
#[keys("sweep")]
pub(crate) struct SweepKeys {
    /// numeric column of table `runs`
    pub(crate) name: Spanned<String>,
    /// path of the key that is swept: `"traffic.F1.rate_limit"`, `"pfc.xoff"`, `"scheme.PCN.pcn.w_max"`
    pub(crate) key: Spanned<String>,
    /// further keys that get the same value
    #[key(unset = "none")]
    pub(crate) also: Written<Paths>,
    /// further keys with their own value at each point: `[{ key = "scheme.PCN.pcn.w_min", values = ["1/40", "1/80"] }]`
    #[key(unset = "none")]
    pub(crate) with: Written<Withs>,
    /// text before each value
    #[key(unset = "none")]
    pub(crate) prefix: Written<String>,
    /// text after each value
    #[key(unset = "none")]
    pub(crate) unit: Written<String>,
    /// numbers, or texts such as `"1/128"`; or names such as `"packed"`, which stand as 0, 1, 2, … in the column of table `runs`, with the names in its metadata `names`
    pub(crate) values: Written<Values>,
    /// instead of `values`: first value
    pub(crate) from: Written<f64>,
    /// instead of `values`: last value
    pub(crate) to: Written<f64>,
    /// instead of `values`: difference of successive values
    pub(crate) step: Written<f64>,
}

/// A key that goes with the swept one, with a value for each of its values.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct With {
    key: Spanned<String>,
    values: Spanned<Vec<Value>>,
}

/// A value, as a number or as a text such as `"1/128"`.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum Value {
    Number(f64),
    Text(String),
}

impl HasKind for With {
    fn kind() -> Kind {
        Kind::table("table")
    }
}

impl HasKind for Value {
    fn kind() -> Kind {
        Kind::new("number or text", json!({"type": ["number", "string"]}))
    }
}

/// All points of all sweeps; one point without values if there are none.
pub(crate) struct Sweep {
    pub columns: Vec<String>,
    pub points: Vec<Point>,
    /// Where the last sweep is written.
    pub place: Option<Range<usize>>,
}

impl Sweep {
    /// All keys that are swept, with where they are written.
    pub fn keys(&self) -> impl Iterator<Item = &Spanned<String>> {
        let first = self.points.first();
        let settings = first.into_iter().flat_map(|point| &point.settings);
        settings.map(|(key, _)| key)
    }
}

/// A value for each sweep.
#[derive(Clone, Default)]
pub(crate) struct Point {
    /// For the columns of table `runs`.
    pub values: Vec<Swept>,
    /// The replaced keys: path, its place, and the text or number to put there.
    settings: Vec<(Spanned<String>, Setting)>,
}

#[derive(Clone)]
enum Setting {
    Text(String),
    Number(String),
}

/// Reads the `[[sweep]]` tables.
pub(crate) fn read_all(tables: Vec<Table<'_>>) -> Checked<Sweep> {
    let mut sweep = Sweep {
        columns: Vec::new(),
        points: vec![Point::default()],
        place: None,
    };
    for table in tables {
        let span = table.span();
        let file: SweepKeys = read(table, &[])?;
        if sweep.columns.contains(file.name.get_ref()) || is_reserved(file.name.get_ref()) {
            return Problem::new(format!("column `{}` exists already", file.name.get_ref()))
                .at(file.name.span(), "choose another name")
                .err();
        }
        let values = values(&file, span.clone())?;
        check_with(&file, values.len())?;
        let names = names(&file);
        all_different(&file, &values, span.clone())?;
        let is_seed = sets_only_the_seed(&file);
        let count = values.len() * sweep.points.len();
        if count > limits::RUNS {
            return too_many(&count.to_string(), span).err();
        }
        let mut points = Vec::new();
        for point in &sweep.points {
            for (index, (value, setting)) in values.iter().enumerate() {
                let mut point = point.clone();
                point.values.push(Swept {
                    value: *value,
                    names: Arc::clone(&names),
                    is_seed,
                });
                for key in std::iter::once(&file.key).chain(file.also.value().into_iter().flatten())
                {
                    point.settings.push((key.clone(), setting.clone()));
                }
                for with in file.with.value().into_iter().flatten() {
                    let setting = match &with.values.get_ref()[index] {
                        Value::Number(number) => Setting::Number(number.to_string()),
                        Value::Text(text) => Setting::Text(text.clone()),
                    };
                    point.settings.push((with.key.clone(), setting));
                }
                points.push(point);
            }
        }
        sweep.points = points;
        sweep.place = Some(span);
        sweep.columns.push(file.name.into_inner());
    }
    Ok(sweep)
}

/// True for a sweep that runs the same experiment again.
fn sets_only_the_seed(file: &SweepKeys) -> bool {
    let also = file.also.value().into_iter().flatten().count();
    let with = file.with.value().into_iter().flatten().count();
    let key = document::split_path(file.key.get_ref());
    also + with == 0 && key.is_some_and(|steps| steps == ["seed"])
}

/// Two runs with the same values would be one run twice.
fn all_different(file: &SweepKeys, values: &[(f64, Setting)], span: Range<usize>) -> Checked<()> {
    let mut seen = BTreeSet::new();
    let place = || {
        let written = file.values.peek().map(Spanned::span);
        written.or_else(|| file.step.peek().map(Spanned::span))
    };
    for (value, setting) in values {
        let shown = match setting {
            Setting::Text(name) if file.values.value().is_some_and(|it| are_names(it)) => {
                name.clone()
            }
            _ => value.to_string(),
        };
        if !seen.insert(shown.clone()) {
            return Problem::new(format!("the value {shown} occurs twice"))
                .at(place().unwrap_or(span), "in this sweep")
                .help("write each value once; [[sweep]] of `seed` runs a scenario again")
                .err();
        }
    }
    Ok(())
}

/// True of columns that table `runs` or that of a sweep has anyway.
fn is_reserved(name: &str) -> bool {
    let mut columns = columns::RUN.iter().chain(columns::RUNS);
    name == "name" || columns.any(|column| column.name == name)
}

/// Every key of `with` needs as many values as are swept.
fn check_with(file: &SweepKeys, swept: usize) -> Checked<()> {
    for with in file.with.value().into_iter().flatten() {
        let found = with.values.get_ref().len();
        if found != swept {
            return Problem::new(format!("{found} values go with {swept}"))
                .at(
                    with.values.span(),
                    format!("{swept} are needed, one for each swept"),
                )
                .err();
        }
    }
    Ok(())
}

fn values(file: &SweepKeys, span: Range<usize>) -> Checked<Vec<(f64, Setting)>> {
    let affixes = (file.prefix.value(), file.unit.value());
    match (
        file.values.get(),
        file.from.get(),
        file.to.get(),
        file.step.get(),
    ) {
        (Some(values), None, None, None) if are_names(values.get_ref()) => {
            let all = values.get_ref().iter().zip(0_u32..);
            let named = all.filter_map(|(value, number)| match value {
                Value::Text(text) => Some((number.into(), Setting::Text(text.clone()))),
                Value::Number(_) => None,
            });
            Ok(named.collect())
        }
        (Some(values), None, None, None) if !values.get_ref().is_empty() => values
            .get_ref()
            .iter()
            .map(|value| match value {
                Value::Number(number) => Ok((*number, setting(*number, affixes))),
                Value::Text(text) => match quantity::parse_ratio(text) {
                    Ok(ratio) => Ok((ratio.as_f64(), Setting::Text(text.clone()))),
                    Err(_) => Problem::new(format!("`{text}` is not a number"))
                        .at(values.span(), "in these values")
                        .help("write numbers and their `unit`: values = [1, 2, 5], unit = \"us\"")
                        .err(),
                },
            })
            .collect(),
        (None, Some(from), Some(to), Some(step)) => {
            let steps = (to.get_ref() - from.get_ref()) / step.get_ref();
            if steps.is_finite() && steps >= limits::RUNS as f64 {
                return too_many(&show_count(steps.floor() + 1.0), step.span())
                    .at(from.span(), "from here")
                    .at(to.span(), "to here")
                    .err();
            }
            if !steps.is_finite() || steps < 0.0 {
                return Problem::new("a sweep that never reaches its end")
                    .at(step.span(), "this step")
                    .at(from.span(), "from here")
                    .at(to.span(), "to here")
                    .err();
            }
            let value = |step_index| from.get_ref() + f64::from(step_index) * step.get_ref();
            Ok((0..=(steps + 1e-9) as u32)
                // Steps of 0.1 add up to 0.30000000000000004: twelve digits are meant.
                .map(|index| (value(index) * 1e9).round() / 1e9)
                .map(|value| (value, setting(value, affixes)))
                .collect())
        }
        _ => Problem::new("a sweep needs either `values` or `from`, `to` and `step`")
            .at(span, "this table")
            .err(),
    }
}

/// The values of a sweep over names.
fn names(file: &SweepKeys) -> Arc<[String]> {
    let values = file.values.value().filter(|values| are_names(values));
    let texts = values
        .into_iter()
        .flatten()
        .filter_map(|value| match value {
            Value::Text(text) => Some(text.clone()),
            Value::Number(_) => None,
        });
    texts.collect()
}

/// True of names, such as `"packed"`: a quantity begins with a digit.
fn are_names(values: &[Value]) -> bool {
    let is_name = |value: &Value| match value {
        Value::Text(text) => text.starts_with(|it: char| it.is_ascii_alphabetic()),
        Value::Number(_) => false,
    };
    !values.is_empty() && values.iter().all(is_name)
}

fn too_many(points: &str, place: Range<usize>) -> Problem {
    Problem::new(format!("a sweep of {points} points"))
        .at(place, format!("at most {} runs are possible", limits::RUNS))
        .help(MANY_POINTS)
}

/// The number between its prefix and its unit, or alone.
fn setting(value: f64, affixes: (Option<&String>, Option<&String>)) -> Setting {
    match affixes {
        (None, None) => Setting::Number(value.to_string()),
        (prefix, unit) => {
            let text = |affix: Option<&String>| affix.cloned().unwrap_or_default();
            Setting::Text(text(prefix) + &value.to_string() + &text(unit))
        }
    }
}

impl Point {
    /// The same point with another seed.
    pub fn with_seed(mut self, seed: u64) -> Self {
        let setting = Setting::Number(seed.to_string());
        self.settings
            .push((Spanned::new(0..0, "seed".into()), setting));
        self
    }

    /// Replaces the swept keys in the document.
    pub fn apply<'i>(&'i self, root: &mut Table<'i>) -> Checked<()> {
        for (key, setting) in &self.settings {
            let value = match setting {
                Setting::Text(text) => DeValue::String(text.as_str().into()),
                Setting::Number(text) => match DeValue::parse(text) {
                    Ok(value) => value.into_inner(),
                    Err(error) => return Err(from_toml(&error, &[])),
                },
            };
            document::set(
                root,
                key.get_ref(),
                key.span(),
                Spanned::new(key.span(), value),
            )?;
        }
        Ok(())
    }
}
