//! `tare fpga regs`: registers by name.

use super::{connect, print_json};
use clap::Args;
use port::fpga::access::{Access, check, writes};
use port::fpga::register::Register;
use port::fpga::registers::ALL;
use port::fpga::status::named;
use report::RegisterRead;
use run::terminal::print_all;
use run::{Failure, Status};

/// Read and write registers; without names, print all readable registers
#[derive(Args, Debug)]
pub struct RegsArgs {
    /// fpga:INTERFACE or fpga:sim
    #[arg(value_name = "PORT")]
    port: String,
    /// Accesses, in this order: NAME reads, NAME=VALUE writes, NAME.FIELD=VALUE writes that field and sets the
    /// other fields to 0; VALUE is decimal, or hexadecimal after 0x
    #[arg(value_name = "NAME[=VALUE]")]
    names: Vec<String>,
    /// Also write values that the module does not check and would handle wrongly
    #[arg(long)]
    anyway: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &RegsArgs) -> Result<Status, Failure> {
    // Before anything is written.
    let wanted = args
        .names
        .iter()
        .map(|typed| Access::read(typed))
        .collect::<Result<Vec<_>, _>>()
        .map_err(Failure::wrong)?;
    let module = connect(&args.port)?;
    let all = || ALL.iter().filter(|register| !register.is_written()).map(Access::Read).collect();
    let wanted: Vec<Access> = if wanted.is_empty() { all() } else { wanted };
    if !args.anyway {
        check(&module, &wanted).map_err(Failure::wrong)?;
    }
    let mut rows = Vec::new();
    for some in wanted.chunk_by(Access::goes_with) {
        if let [Access::Read(register)] = some {
            rows.push(read(register, module.read(register).map_err(Failure::wrong)?));
        }
        module.write(&writes(some)).map_err(Failure::wrong)?;
    }
    match args.json {
        true => print_json(&report::registers_json(&rows))?,
        false => print_all(&report::registers(&rows))?,
    }
    Ok(Status::Done)
}

fn read(register: &Register, value: u64) -> RegisterRead {
    RegisterRead {
        name: register.name,
        label: named(register),
        address: register.address,
        value,
        fields: register.fields.iter().map(|field| (field.name, field.of(value))).collect(),
        unit: register.fields.first().map_or("", |field| field.unit),
    }
}
