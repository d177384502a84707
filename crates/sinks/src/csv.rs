//! `csv:FILE`: intervals as CSV (RFC 4180), a header with the unit in each name, one line an interval. The same
//! columns as `tare report --csv`.

use crate::exporter::{Exporter, RunInfo, SinkError, SinkRow};
use crate::output::Output;
use crate::place::{Address, Place, SinkKind};
use store::RunResult;

pub const KIND: SinkKind = SinkKind {
    schemes: &["csv"],
    form: "csv:FILE",
    about: "one line per interval",
    address: Address::File,
    options: &[],
    open,
};

fn open(place: &Place) -> Result<Box<dyn Exporter>, SinkError> {
    Ok(Box::new(Csv { output: Output::new(place) }))
}

struct Csv {
    output: Output,
}

impl Exporter for Csv {
    fn begin(&mut self, _run: &RunInfo) -> Result<(), SinkError> {
        self.output.open()?;
        self.output.write(store::csv::header().as_bytes())
    }

    fn interval(&mut self, row: &SinkRow) -> Result<(), SinkError> {
        self.output.write(store::csv::record(&row.row).as_bytes())
    }

    fn wants_histograms(&self) -> bool {
        false
    }

    fn end(&mut self, _result: &RunResult) -> Result<(), SinkError> {
        self.output.sync()
    }
}
