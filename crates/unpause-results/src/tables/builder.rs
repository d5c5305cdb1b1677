//! A table, column by column.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray, UInt8Array, UInt16Array,
    UInt32Array, UInt64Array,
};
use arrow_schema::{Field, Schema};
use unpause_protocols::units::Time;
use unpause_sim::config::{NodeId, PortId};

use crate::columns::{self, Column};
use crate::run::Run;
use crate::run::measured::Measured;

/// The values of a column, and the array that they become.
pub trait Value: Sized {
    const NULLABLE: bool = false;
    fn array(values: impl Iterator<Item = Self>) -> ArrayRef;
}

macro_rules! values {
    ($($Type:ty: $Array:ident)+) => {
        $(impl Value for $Type {
            fn array(values: impl Iterator<Item = Self>) -> ArrayRef {
                Arc::new($Array::from_iter_values(values))
            }
        })+
    };
}

values!(&str: StringArray String: StringArray u8: UInt8Array u16: UInt16Array u32: UInt32Array u64: UInt64Array f64: Float64Array);

impl Value for bool {
    fn array(values: impl Iterator<Item = Self>) -> ArrayRef {
        u8::array(values.map(u8::from))
    }
}

impl Value for Time {
    fn array(values: impl Iterator<Item = Self>) -> ArrayRef {
        f64::array(values.map(Time::as_ns_f64))
    }
}

macro_rules! nullable_values {
    ($($Type:ty: $Array:ident)+) => {
        $(impl Value for Option<$Type> {
            const NULLABLE: bool = true;
            fn array(values: impl Iterator<Item = Self>) -> ArrayRef {
                Arc::new($Array::from_iter(values))
            }
        })+
    };
}

nullable_values!(&str: StringArray String: StringArray u8: UInt8Array u16: UInt16Array u32: UInt32Array u64: UInt64Array i32: Int32Array f64: Float64Array);

impl Value for Option<Time> {
    const NULLABLE: bool = true;
    fn array(values: impl Iterator<Item = Self>) -> ArrayRef {
        Option::<f64>::array(values.map(|time| time.map(Time::as_ns_f64)))
    }
}

/// A table under construction: rows, and a column for each closure over them.
pub struct Builder<'a, R> {
    /// The columns that are declared and not there yet.
    declared: Vec<Column>,
    rows: Vec<(&'a Run, R)>,
    fields: Vec<Field>,
    columns: Vec<ArrayRef>,
}

impl<'a, R: Clone> Builder<'a, R> {
    pub fn new(
        declared: &[&[Column]],
        measured: &'a [Measured],
        rows_of: impl Fn(&'a Measured) -> Vec<R>,
    ) -> Self {
        let rows = measured
            .iter()
            .flat_map(|m| rows_of(m).into_iter().map(|row| (&m.run, row)))
            .collect();
        Self {
            declared: [&[columns::RUN], declared].concat().concat(),
            rows,
            fields: Vec::new(),
            columns: Vec::new(),
        }
        .column("run", |run, _| run.index)
        .column("scheme", |run, _| &*run.scheme)
    }

    /// A declared column.
    pub fn column<V: Value>(mut self, name: &str, value: impl Fn(&'a Run, R) -> V) -> Self {
        let found = self.declared.iter().position(|column| column.name == name);
        let Column { unit, text, .. } = self.declared.remove(found.expect("columns are declared"));
        self.push(name, unit, text, value)
    }

    pub fn push<V: Value>(
        mut self,
        name: &str,
        unit: &str,
        text: &str,
        value: impl Fn(&'a Run, R) -> V,
    ) -> Self {
        let column = V::array(self.rows.iter().map(|(run, row)| value(run, row.clone())));
        let metadata = [("text", text), ("unit", unit)].map(|(k, v)| (k.to_owned(), v.to_owned()));
        let field = Field::new(name, column.data_type().clone(), V::NULLABLE);
        self.fields
            .push(field.with_metadata(HashMap::from(metadata)));
        self.columns.push(column);
        self
    }

    /// Lists in the metadata of the last column the names that its numbers stand for, as JSON.
    pub fn note_names(&mut self, names: &[String]) {
        if let (Some(field), false) = (self.fields.last_mut(), names.is_empty()) {
            let names = serde_json::json!(names).to_string();
            field.metadata_mut().insert("names".to_owned(), names);
        }
    }

    /// Columns `node`, `port`, `peer` and `priority`.
    pub fn port(self, port: impl Fn(R) -> (NodeId, PortId, u8)) -> Self {
        let peer = |run: &'a Run, (node, port, _): (NodeId, PortId, u8)| {
            let peers = &run.names.peers[node as usize];
            peers
                .get(usize::from(port))
                .map_or("", |peer| run.names.name(*peer))
        };
        self.column("node", |run, row| run.names.name(port(row).0))
            .column("port", |_, row| port(row).1)
            .column("peer", |run, row| peer(run, port(row)))
            .column("priority", |_, row| port(row).2)
    }

    pub fn build(self) -> RecordBatch {
        assert!(self.declared.is_empty(), "not there: {:?}", self.declared);
        RecordBatch::try_new(Arc::new(Schema::new(self.fields)), self.columns)
            .expect("all columns have a value for each row")
    }
}
