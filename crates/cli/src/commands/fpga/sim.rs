//! `tare fpga sim`: a simulated module in the foreground, so that one can look at its wire from outside.

use super::connect;
use anyhow::anyhow;
use clap::Args;
use port::fpga::registers::{BAD, BYTES, GOOD};
use port::fpga::{Module, SIMULATION};
use report::{count, counted};
use run::terminal::print_all;
use run::{Failure, Status, interrupt};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const LOOK: Duration = Duration::from_millis(100);

/// Simulate a module until Ctrl-C, with its wire connected to an interface or a tap
#[derive(Args, Debug)]
pub struct SimArgs {
    /// Port with options, e.g. fpga,tap=tare0,address=198.18.0.1/24:sim or
    /// fpga,wire=veth0,pcap=wire.pcapng:sim
    #[arg(value_name = "PORT", default_value = "fpga:sim")]
    port: String,
}

pub fn run(args: &SimArgs) -> Result<Status, Failure> {
    let address: port::Address = args.port.parse().map_err(Failure::wrong)?;
    if address.place() != SIMULATION {
        return Err(Failure::wrong(anyhow!(
            "{address} is not a simulated module; use fpga:sim, or fpga,tap=NAME:sim"
        )));
    }
    let stop = Arc::new(AtomicBool::new(false));
    interrupt::heed(&stop, Some(&stop))?;
    let module = connect(&args.port)?;
    print_all(&described(&module))?;
    let mut last = None;
    while !stop.load(Ordering::Relaxed) {
        if let Some(trouble) = module.trouble() {
            return Err(Failure::wrong(trouble));
        }
        let now = module.read_all(&[&GOOD, &BYTES, &BAD]).map_err(Failure::wrong)?;
        if last.as_ref() != Some(&now) {
            let (frames, bytes, bad) = (counted(now[0], "frame"), counted(now[1], "byte"), count(now[2]));
            print_all(&format!("received {frames}, {bytes}, {bad} bad\n"))?;
        }
        last = Some(now);
        std::thread::sleep(LOOK);
    }
    Ok(Status::Done)
}

fn described(module: &Module) -> String {
    let (major, minor) = module.version();
    let process = module.process_id().map_or_else(String::new, |id| format!(", process {id}"));
    format!(
        "{}: Tare module {major}.{minor}, build {:08x}{process}\n\
         Time is simulated, in cycles of 8 ns, and stands still while the module is idle. Stop with Ctrl-C.\n",
        module.name(),
        module.hello().build
    )
}
