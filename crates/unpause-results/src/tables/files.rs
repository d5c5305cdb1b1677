//! Tables as files: Parquet (feature `parquet`) and CSV.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;

use unpause_text::error::Error;
use unpause_text::plain;

/// Name and contents of a table's file.
pub fn encode(name: &str, table: &RecordBatch) -> Result<(String, Vec<u8>), Error> {
    #[cfg(feature = "parquet")]
    {
        Ok((
            format!("{name}.parquet"),
            parquet_file::encode(table).map_err(|e| bad(name, &e))?,
        ))
    }
    #[cfg(not(feature = "parquet"))]
    {
        let mut text = Vec::new();
        write_csv(table, &mut text).map_err(|e| bad(name, &e))?;
        Ok((format!("{name}.csv"), text))
    }
}

fn bad(name: &str, error: &dyn std::error::Error) -> Error {
    Error::Other {
        message: format!("cannot write table {name}: {error}"),
        help: None,
    }
}

/// Writes a table as CSV: a line of column names, then the rows; nothing for null. Text that a spreadsheet takes
/// for a formula begins with an apostrophe.
pub fn write_csv(table: &RecordBatch, out: &mut impl std::io::Write) -> Result<(), csv::Error> {
    let mut writer = csv::Writer::from_writer(out);
    let schema = table.schema();
    let names = schema
        .fields()
        .iter()
        .map(|field| plain::cell(field.name()).into_owned());
    writer.write_record(names)?;
    for row in 0..table.num_rows() {
        for column in table.columns() {
            writer.write_field(cell(column.as_ref(), row))?;
        }
        writer.write_record(None::<&[u8]>)?;
    }
    writer.flush()?;
    Ok(())
}

fn cell(column: &dyn Array, row: usize) -> String {
    if column.is_null(row) {
        return String::new();
    }
    match column.data_type() {
        DataType::UInt8 => column.as_primitive::<UInt8Type>().value(row).to_string(),
        DataType::UInt16 => column.as_primitive::<UInt16Type>().value(row).to_string(),
        DataType::UInt32 => column.as_primitive::<UInt32Type>().value(row).to_string(),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).to_string(),
        DataType::Int32 => column.as_primitive::<Int32Type>().value(row).to_string(),
        DataType::Float64 => column.as_primitive::<Float64Type>().value(row).to_string(),
        _ => plain::cell(column.as_string::<i32>().value(row)).into_owned(),
    }
}

#[cfg(feature = "parquet")]
pub use parquet_file::{Batches, Writer, decode, rows};

#[cfg(feature = "parquet")]
mod parquet_file {
    use std::cell::Cell;
    use std::fs::File;
    use std::io;
    use std::panic::{self, AssertUnwindSafe};
    use std::path::{Path, PathBuf};
    use std::sync::Once;

    use arrow_array::RecordBatch;
    use arrow_schema::{Schema, SchemaRef};
    use arrow_select::concat::concat_batches;
    use parquet::arrow::ArrowWriter;
    use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
    use parquet::basic::{Compression, ZstdLevel};
    use parquet::errors::{ParquetError, Result};
    use parquet::file::properties::WriterProperties;

    use crate::machine;
    use unpause_text::error::Error;

    /// Tables with fewer rows are written uncompressed: a compressor takes some 200 KB for each column, which is more than
    /// such a column holds.
    const WORTH_COMPRESSING: usize = 256;
    /// Rows of one piece of memory.
    const MOST_AT_ONCE: usize = 1 << 20;

    /// The same bytes for the same table, whenever and wherever.
    pub fn encode(table: &RecordBatch) -> Result<Vec<u8>> {
        let properties = properties(table.num_rows() >= WORTH_COMPRESSING)?;
        let mut writer = ArrowWriter::try_new(Vec::new(), table.schema(), Some(properties))?;
        writer.write(table)?;
        writer.into_inner()
    }

    fn properties(is_compressed: bool) -> Result<WriterProperties> {
        let compression = if is_compressed {
            Compression::ZSTD(ZstdLevel::try_new(3)?)
        } else {
            Compression::UNCOMPRESSED
        };
        Ok(WriterProperties::builder()
            .set_compression(compression)
            .set_created_by(concat!("unpause ", env!("CARGO_PKG_VERSION")).to_owned())
            .build())
    }

    /// A file that is written batch by batch.
    pub struct Writer {
        path: PathBuf,
        inner: ArrowWriter<File>,
    }

    impl Writer {
        /// An empty file of tables with this schema.
        pub fn create(path: &Path, schema: SchemaRef) -> std::result::Result<Self, Error> {
            let made = || {
                let file = File::create(path)?;
                ArrowWriter::try_new(file, schema, Some(properties(true)?))
            };
            Ok(Self {
                inner: made().map_err(|error| failed("write", path, error))?,
                path: path.to_owned(),
            })
        }

        /// Adds rows.
        pub fn write(&mut self, batch: &RecordBatch) -> std::result::Result<(), Error> {
            let written = self.inner.write(batch);
            written.map_err(|error| failed("write", &self.path, error))
        }

        /// Ends the file, and brings it to the disk.
        pub fn close(self) -> std::result::Result<(), Error> {
            let close = || Ok::<_, ParquetError>(self.inner.into_inner()?.sync_all()?);
            close().map_err(|error| failed("write", &self.path, error))
        }
    }

    fn failed(action: &'static str, path: &Path, error: ParquetError) -> Error {
        Error::io(action, path, io::Error::other(error))
    }

    /// The rows of a file, this many at a time.
    pub struct Batches {
        path: PathBuf,
        inner: ParquetRecordBatchReader,
    }

    impl Batches {
        /// Of `file`, which is at `path`.
        pub fn of(path: &Path, file: File, rows: usize) -> std::result::Result<Self, Error> {
            let made = ParquetRecordBatchReaderBuilder::try_new(file)
                .and_then(|builder| builder.with_batch_size(rows).build());
            Ok(Self {
                path: path.to_owned(),
                inner: made.map_err(|error| failed("read", path, error))?,
            })
        }
    }

    impl Iterator for Batches {
        type Item = std::result::Result<RecordBatch, Error>;

        fn next(&mut self) -> Option<Self::Item> {
            let batch = self.inner.next()?;
            Some(batch.map_err(|error| failed("read", &self.path, error.into())))
        }
    }

    /// The table that a file holds, or why there is none. The reader of Parquet panics at some
    /// damaged files; that is an answer, too.
    pub fn decode(bytes: Vec<u8>) -> std::result::Result<RecordBatch, String> {
        decode_within(bytes, machine::most_at_once())
    }

    /// The number of rows that a file claims to have, which is read before any of them.
    pub fn rows(file: &File) -> std::result::Result<u64, String> {
        let count = || {
            let reader = ParquetRecordBatchReaderBuilder::try_new(file.try_clone()?)?;
            let rows = reader.metadata().file_metadata().num_rows();
            u64::try_from(rows).map_err(|error| ParquetError::General(error.to_string()))
        };
        match catch_quietly(count) {
            Some(rows) => rows.map_err(|error| error.to_string()),
            None => Err("it is not a readable Parquet file".into()),
        }
    }

    /// The same, of a table whose rows take no more than `most` bytes of memory.
    pub fn decode_within(bytes: Vec<u8>, most: u64) -> std::result::Result<RecordBatch, String> {
        match catch_quietly(|| read(bytes, most)) {
            Some(table) => table.map_err(|error| error.to_string()),
            None => Err("it is not a readable Parquet file".into()),
        }
    }

    thread_local! {
        static QUIET: Cell<bool> = const { Cell::new(false) };
    }

    /// The result of `work`; `None`, and no message, if it panics.
    fn catch_quietly<T>(work: impl FnOnce() -> T) -> Option<T> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let report = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                if !QUIET.get() {
                    report(info);
                }
            }));
        });
        QUIET.set(true);
        let done = panic::catch_unwind(AssertUnwindSafe(work));
        QUIET.set(false);
        done.ok()
    }

    /// Bytes that rows take at least: equal ones take nearly none in the file.
    fn memory_of(schema: &Schema, rows: u64) -> u64 {
        let fields = schema.fields().iter();
        // A string takes at least the place where it begins.
        let row: usize = fields
            .map(|field| field.data_type().primitive_width().unwrap_or(4))
            .sum();
        rows.saturating_mul(row as u64)
    }

    fn read(bytes: Vec<u8>, most: u64) -> Result<RecordBatch> {
        let reader = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes))?;
        let schema = reader.schema().clone();
        let claimed = reader.metadata().file_metadata().num_rows();
        let needed = u64::try_from(claimed).map_or(0, |rows| memory_of(&schema, rows));
        if needed > most {
            return Err(ParquetError::General(format!(
                "its {claimed} rows would take {needed} bytes of memory; three quarters of the memory here are {most}"
            )));
        }
        // Memory is asked for as rows come, whatever number of them the file claims.
        let at_once = usize::try_from(claimed).map_or(1, |rows| rows.clamp(1, MOST_AT_ONCE));
        let mut parts: Vec<RecordBatch> = Vec::new();
        let mut taken = 0;
        for part in reader.with_batch_size(at_once).build()? {
            let part = part?;
            taken += part.get_array_memory_size() as u64;
            parts.push(part);
            // Several parts are copied into one table.
            if taken * if parts.len() > 1 { 2 } else { 1 } > most {
                return Err(ParquetError::General(format!(
                    "its {claimed} rows take more memory than three quarters of what is here, {most} bytes"
                )));
            }
        }
        let table = match parts.as_slice() {
            [whole] => whole.clone(),
            parts => concat_batches(&schema, parts)?,
        };
        match i64::try_from(table.num_rows()) {
            Ok(rows) if rows == claimed => Ok(table),
            _ => Err(ParquetError::General(format!(
                "it claims {claimed} rows and has {}",
                table.num_rows()
            ))),
        }
    }
}

#[cfg(all(test, feature = "parquet"))]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, UInt32Array};

    use super::*;
    use crate::tables::Tables;

    #[test]
    fn a_file_says_what_its_columns_mean() {
        for (name, table) in Tables::default().all() {
            let (_, bytes) = encode(name, table).unwrap();
            let read = decode(bytes).unwrap();
            for (before, after) in table.schema().fields().iter().zip(read.schema().fields()) {
                assert!(!after.metadata()["text"].is_empty());
                assert_eq!(before, after);
            }
        }
    }
    #[test]
    fn rows_that_take_more_memory_than_there_is_are_refused() {
        let rows = 4_000_000;
        let column: ArrayRef = Arc::new(UInt32Array::from_value(7, rows));
        let table = RecordBatch::try_from_iter([("flow_id", column)]).unwrap();
        let (_, bytes) = encode("flows", &table).unwrap();
        assert!(bytes.len() < 100_000, "{}", bytes.len());
        let said = parquet_file::decode_within(bytes.clone(), 15_000_000).unwrap_err();
        assert!(
            said.contains("4000000 rows would take 16000000 bytes"),
            "{said}"
        );
        assert_eq!(
            parquet_file::decode_within(bytes, 40_000_000)
                .unwrap()
                .num_rows(),
            rows
        );
    }
}
