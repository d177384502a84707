//! A row group that is being made: all its columns grow side by side, encoded, in memory.
//!
//! ```text
//! Batch ─► 19 column writers ─► encoded pages of each column ─► the file, column after column
//! ```
//!
//! The row group writer of `parquet` takes a whole column before the next one, so every row would have to wait
//! in memory. Here rows are encoded as they come, in a third of the memory and without a long pause per row
//! group.

use crate::samples::{Batch, Data, Dictionary, Values};
use bytes::Bytes;
use parquet::column::page::{CompressedPage, PageWriteSpec, PageWriter};
use parquet::column::writer::{
    ColumnCloseResult, ColumnWriter, get_column_writer, get_typed_column_writer_mut,
};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Columns in the order of the schema.
pub struct RowGroup {
    columns: Vec<Column>,
    rows: usize,
}

impl RowGroup {
    /// An empty one, of the schema and with the properties of the file.
    pub fn new(file: &SerializedFileWriter<File>) -> Self {
        let column = |description: &ColumnDescPtr| {
            let pages = Pages::default();
            let to = Box::new(pages.clone());
            let writer = get_column_writer(description.clone(), file.properties().clone(), to);
            Column { writer, pages, texts: Texts::default() }
        };
        Self { columns: file.schema_descr().columns().iter().map(column).collect(), rows: 0 }
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn write(&mut self, batch: &Batch) -> Result<(), ParquetError> {
        for (column, values) in self.columns.iter_mut().zip(&batch.columns) {
            column.write(values)?;
        }
        self.rows += batch.rows;
        Ok(())
    }

    /// Writes it behind what the file has.
    pub fn end(self, file: &mut SerializedFileWriter<File>) -> Result<(), ParquetError> {
        let mut group = file.next_row_group()?;
        for column in self.columns {
            let (chunk, closed) = column.close()?;
            group.append_column(&chunk, closed)?;
        }
        group.close()?;
        Ok(())
    }
}

/// A column, and its pages so far.
struct Column {
    writer: ColumnWriter<'static>,
    pages: Pages,
    texts: Texts,
}

impl Column {
    fn write(&mut self, values: &Values) -> Result<(), ParquetError> {
        let present = values.present.as_deref();
        match &values.data {
            Data::Booleans(values) => self.put::<BoolType>(values, present),
            Data::Shorts(values) => {
                let values: Vec<i32> = values.iter().copied().map(i32::from).collect();
                self.put::<Int32Type>(&values, present)
            }
            Data::Longs(values) => self.put::<Int64Type>(values, present),
            Data::Texts(indices, dictionary) => {
                let texts = self.texts.of(indices, dictionary);
                let writer = get_typed_column_writer_mut::<ByteArrayType>(&mut self.writer);
                writer.write_batch(texts, present, None).map(|_| ())
            }
        }
    }

    fn put<T: DataType>(&mut self, values: &[T::T], present: Option<&[i16]>) -> Result<(), ParquetError> {
        get_typed_column_writer_mut::<T>(&mut self.writer).write_batch(values, present, None).map(|_| ())
    }

    /// Its bytes, and what the footer says of them.
    fn close(self) -> Result<(Bytes, ColumnCloseResult), ParquetError> {
        let closed = self.writer.close()?;
        let pages = std::mem::replace(&mut *self.pages.lock(), TrackedWrite::new(Vec::new()));
        Ok((pages.into_inner()?.into(), closed))
    }
}

/// Rows of texts as the column writer takes them.
///
/// Cloning a text counts references atomically, which costs as much as encoding it. So a row keeps the text
/// that it had in the last batch, if it is the same one: with few outcomes, nearly all are.
#[derive(Default)]
struct Texts {
    dictionary: Vec<ByteArray>,
    indices: Vec<u16>,
    rows: Vec<ByteArray>,
}

impl Texts {
    fn of(&mut self, indices: &[u16], dictionary: &Dictionary) -> &[ByteArray] {
        if self.dictionary.is_empty() {
            self.dictionary = dictionary.iter().map(|text| text.as_str().into()).collect();
        }
        for ((row, last), index) in self.rows.iter_mut().zip(&mut self.indices).zip(indices) {
            if last != index {
                *last = *index;
                *row = self.dictionary[usize::from(*index)].clone();
            }
        }
        if let Some(more) = indices.get(self.rows.len()..) {
            self.indices.extend(more);
            self.rows.extend(more.iter().map(|index| self.dictionary[usize::from(*index)].clone()));
        }
        &self.rows[..indices.len()]
    }
}

/// Pages of one column, in memory. Its writer owns one end, the row group the other.
#[derive(Clone)]
struct Pages(Arc<Mutex<TrackedWrite<Vec<u8>>>>);

impl Default for Pages {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(TrackedWrite::new(Vec::new()))))
    }
}

impl Pages {
    /// Both ends are in one thread, so nobody waits here.
    fn lock(&self) -> MutexGuard<'_, TrackedWrite<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PageWriter for Pages {
    fn write_page(&mut self, page: CompressedPage) -> Result<PageWriteSpec, ParquetError> {
        SerializedPageWriter::new(&mut self.lock()).write_page(page)
    }

    fn close(&mut self) -> Result<(), ParquetError> {
        Ok(())
    }
}
