//! Tables of a result that anybody may have written: [`crate::columns`] says what each column holds.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;

use crate::columns::{Holds, ORDERED};

/// Times are exact to a thousandth of a nanosecond.
const ROUNDED_NS: f64 = 1e-3;

/// The runs of a result: their ends, schemes and numbers of flows.
#[derive(Debug, Default)]
pub struct Runs {
    end_ns: Vec<f64>,
    schemes: Vec<String>,
    flows: Vec<u64>,
    /// Flows that start earlier are not among them.
    counted_from_ns: Vec<f64>,
    /// The numbers of the flows of each run, once table `flows` has been checked.
    flow_ids: Vec<Vec<u32>>,
}

impl Runs {
    /// The runs of table `runs`, whose columns are those of `sound`; an error says what is wrong with it.
    pub fn of(table: &RecordBatch, sound: &RecordBatch) -> Result<Self, String> {
        if table.num_rows() == 0 {
            return Err("it has no rows".into());
        }
        no_nulls(table, sound)?;
        let runs = table["run"].as_primitive::<UInt32Type>().values();
        if !runs.iter().copied().eq(0..table.num_rows() as u32) {
            return Err("column run does not count its rows from 0".into());
        }
        let schemes = table["scheme"].as_string::<i32>().iter();
        let known = Self {
            end_ns: floats(table, "simulated_ns"),
            schemes: schemes.flatten().map(str::to_owned).collect(),
            counted_from_ns: floats(table, "counted_from_ns"),
            flows: table["flows_started"]
                .as_primitive::<UInt64Type>()
                .values()
                .to_vec(),
            flow_ids: Vec::new(),
        };
        known.values("runs", table)?;
        Ok(known)
    }

    /// `Err` if a table has more or fewer rows than table `runs` says.
    pub fn check_rows(&self, name: &str, rows: u64) -> Result<(), String> {
        let due = self
            .flows
            .iter()
            .fold(0_u64, |sum, it| sum.saturating_add(*it));
        let all_count = self.counted_from_ns.iter().all(|it| *it == 0.0);
        if name != "flows" || rows == due || (rows > due && !all_count) {
            return Ok(());
        }
        Err(format!(
            "it has {rows} rows, but flows_started of runs.parquet is {due}"
        ))
    }

    /// Checks a table, whose columns are those of `sound`; an error says what is wrong. Table `flows` comes before
    /// those that refer to it.
    pub fn check(
        &mut self,
        name: &str,
        table: &RecordBatch,
        sound: &RecordBatch,
    ) -> Result<(), String> {
        no_nulls(table, sound)?;
        let runs = table["run"].as_primitive::<UInt32Type>().values();
        if let Some(run) = runs
            .iter()
            .max()
            .filter(|it| **it as usize >= self.end_ns.len())
        {
            return Err(format!(
                "column run has {run}, and runs.parquet {} runs",
                self.end_ns.len()
            ));
        }
        let schemes = table["scheme"].as_string::<i32>().iter().flatten();
        for (run, scheme) in runs.iter().zip(schemes) {
            let known = &self.schemes[*run as usize];
            if scheme != known {
                return Err(format!(
                    "run {run} is of scheme {scheme:?}, in runs.parquet of {known:?}"
                ));
            }
        }
        self.values(name, table)?;
        if name == "flows" {
            self.note_flows(table)?;
        }
        Ok(())
    }

    fn note_flows(&mut self, table: &RecordBatch) -> Result<(), String> {
        let runs = table["run"].as_primitive::<UInt32Type>().values();
        let ids = table["flow_id"].as_primitive::<UInt32Type>().values();
        if !runs.iter().zip(ids).is_sorted_by(|a, b| a < b) {
            return Err("column flow_id does not ascend within each run".into());
        }
        self.flow_ids = vec![Vec::new(); self.flows.len()];
        let mut counted = vec![0; self.flows.len()];
        for ((run, id), start) in runs.iter().zip(ids).zip(floats(table, "start_ns")) {
            let run = *run as usize;
            self.flow_ids[run].push(*id);
            counted[run] += u64::from(start >= self.counted_from_ns[run]);
        }
        if counted != self.flows {
            return Err(
                "its runs do not have as many flows as flows_started of runs.parquet says".into(),
            );
        }
        Ok(())
    }

    fn values(&self, name: &str, table: &RecordBatch) -> Result<(), String> {
        for field in table.schema().fields() {
            let column = &table[field.name().as_str()];
            let holds = Holds::of(name, field.name(), *field.data_type() == DataType::Float64);
            let said = match holds {
                Holds::Any | Holds::Run => Ok(()),
                Holds::Priority => priorities(column),
                Holds::Flow | Holds::FlowOrZero => self.references(table, column, holds),
                Holds::Within | Holds::Amount | Holds::Finite => self.numbers(table, column, holds),
            };
            said.map_err(|why| format!("column {} has {why}", field.name()))?;
        }
        for [before, after] in ORDERED {
            let column = |name| Some(table.column_by_name(name)?.as_primitive::<Float64Type>());
            if let (Some(first), Some(second)) = (column(before), column(after)) {
                let rows = first.iter().zip(second);
                if rows
                    .into_iter()
                    .any(|(first, second)| second < first && second.is_some())
                {
                    return Err(format!("{after} is before {before} in a row"));
                }
            }
        }
        Ok(())
    }

    fn references(
        &self,
        table: &RecordBatch,
        column: &dyn Array,
        holds: Holds,
    ) -> Result<(), String> {
        let runs = table["run"].as_primitive::<UInt32Type>().values();
        for (run, flow) in runs.iter().zip(column.as_primitive::<UInt32Type>()) {
            let exempt = |id: u32| holds == Holds::FlowOrZero && id == 0;
            let Some(id) = flow.filter(|id| !exempt(*id)) else {
                continue;
            };
            let known = self.flow_ids.get(*run as usize);
            if known.is_none_or(|known| known.binary_search(&id).is_err()) {
                return Err(format!("{id}, no flow of run {run} in flows"));
            }
        }
        Ok(())
    }

    fn numbers(&self, table: &RecordBatch, column: &dyn Array, holds: Holds) -> Result<(), String> {
        let runs = table["run"].as_primitive::<UInt32Type>().values();
        for (run, value) in runs.iter().zip(column.as_primitive::<Float64Type>()) {
            let Some(value) = value else {
                continue;
            };
            if !value.is_finite() {
                return Err(if value.is_nan() { "NaN" } else { "infinity" }.into());
            }
            if holds != Holds::Finite && value < 0.0 {
                return Err(format!("{value}, less than 0"));
            }
            let end = self.end_ns[*run as usize];
            if holds == Holds::Within && value > end + ROUNDED_NS {
                return Err(format!("{value}, and the run ended at {end} ns"));
            }
        }
        Ok(())
    }
}

fn floats(table: &RecordBatch, column: &str) -> Vec<f64> {
    table[column]
        .as_primitive::<Float64Type>()
        .values()
        .to_vec()
}

fn priorities(column: &dyn Array) -> Result<(), String> {
    let largest = column.as_primitive::<UInt8Type>().iter().flatten().max();
    match largest.filter(|it| *it > 7) {
        Some(it) => Err(format!("{it}; priorities are 0 to 7")),
        None => Ok(()),
    }
}

/// A column without an option for null has none, whatever the file says of it.
fn no_nulls(table: &RecordBatch, sound: &RecordBatch) -> Result<(), String> {
    for field in table.schema().fields() {
        let nulls = table[field.name().as_str()].null_count();
        let declared = sound.schema();
        let optional = declared
            .field_with_name(field.name())
            .is_ok_and(|it| it.is_nullable());
        if nulls > 0 && !optional {
            return Err(format!(
                "column {} lacks a value in {nulls} rows",
                field.name()
            ));
        }
    }
    Ok(())
}
