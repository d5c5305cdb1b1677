//! Tables of several runs, put together.

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use arrow_select::concat::concat_batches;

use crate::tables::{TABLES, Tables};
use unpause_text::error::Error;

impl Tables {
    /// The rows of several, one after the other. Those of one are not copied, and parts of a table go when it is
    /// joined.
    pub fn joined(parts: Vec<Self>) -> Result<Self, Error> {
        let mut lists: Vec<Vec<RecordBatch>> = vec![Vec::new(); TABLES.len()];
        for part in parts {
            for ((_, table), list) in part.all().zip(&mut lists) {
                list.push(table.clone());
            }
        }
        let join = |mut list: Vec<RecordBatch>| match (list.len(), list.first()) {
            (1, _) => Ok(list.remove(0)),
            (_, Some(first)) => concat_batches(&first.schema(), &list),
            (_, None) => Err(ArrowError::InvalidArgumentError("no runs".into())),
        };
        let joined: Result<Vec<_>, _> = lists.into_iter().map(join).collect();
        let joined = joined.map_err(|error| Error::Other {
            message: format!("the tables of the runs cannot be joined: {error}"),
            help: None,
        })?;
        Ok(Self::from_list(joined).expect("one for each name"))
    }
}
