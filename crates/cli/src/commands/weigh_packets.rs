//! `tare weigh packets`: the time that the system takes for a packet, and the rates that runs keep, by port and
//! frame size.

use crate::commands::weigh::WeighOutput;
use crate::commands::weigh_place::PlaceArgs;
use anyhow::anyhow;
use clap::{Args, ValueEnum};
use port::{Address, PortError, Wish};
use run::Failure;
use units::{Count, Picos};
use weigh::packets::Options;
use weigh::session::{PacketsPlan, Place};
use weigh::{Wall, Way};

const MOST_TRIALS: u64 = 1_000;
const SIZES: std::ops::RangeInclusive<usize> = 64..=1_518;

/// Measure the system's time per packet, and the highest packet rates
#[derive(Args, Clone, Debug)]
pub struct WeighPacketsArgs {
    /// Ports: udp, packet, xdp, live, mem, all of these (all), or an FPGA module: fpga:sim, fpga:INTERFACE
    #[arg(short = 'p', long, value_name = "PORT,…", value_delimiter = ',', default_value = "udp")]
    port: Vec<String>,
    /// Frame sizes with FCS
    #[arg(short = 's', long, value_name = "BYTES,…", value_delimiter = ',', default_value = "64")]
    sizes: Vec<usize>,
    /// Trials of each combination, for confidence intervals
    #[arg(short = 'n', long, value_name = "N", default_value = "10")]
    trials: Count,
    /// Approximate number of packets per trial (fpga:sim: at most 2000, in at most three trials)
    #[arg(long, value_name = "N", default_value = "1M")]
    packets: Count,
    /// Longest duration of a trial
    #[arg(short = 't', long, value_name = "TIME", default_value = "20s")]
    time: Picos,
    /// Source of transmit timestamps: the driver (tx), or a capture on the same machine
    #[arg(long, value_name = "WHO", default_value = "tx")]
    stamp: Stamp,
    /// Generator threads [default: the number that sends most while losing under 5 % of the timestamps]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Packets per system call [default: 1; mem 64]
    #[arg(long, value_name = "N")]
    batch: Option<usize>,
    /// Timestamp one in N packets; N is a power of two up to 256 [default: 1; live 64]
    #[arg(long, value_name = "N")]
    each: Option<u64>,
    /// Do not search for the highest rate of `tare send` with a VALID verdict
    #[arg(long)]
    no_rates: bool,
    /// Put a wrapper in front of the port, to test the weighing itself: fault,delay=100%,hold=1ms
    #[arg(long, value_name = "WRAPPER")]
    through: Option<String>,
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    pub output: WeighOutput,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Stamp {
    /// The driver's timestamps, from the socket's error queue (SO_TIMESTAMPING)
    Tx,
    /// A capture on the same machine
    Capture,
}

impl WeighPacketsArgs {
    pub fn plan(&self) -> Result<PacketsPlan, Failure> {
        let wrong = |flag: &str, problem: String| Failure::wrong(anyhow!("{flag}: {problem}"));
        let (modules, ports) = modules(&self.port)?;
        let ways = ways(&ports)?;
        let sizes = sizes(&self.sizes)?;
        if !(1..=MOST_TRIALS).contains(&self.trials.get()) {
            return Err(wrong("--trials", format!("{} is not between 1 and {MOST_TRIALS}", self.trials)));
        }
        if !(1_000..=1_000_000_000).contains(&self.packets.get()) {
            return Err(wrong("--packets", format!("{} is not between 1k and 1G", self.packets)));
        }
        if !(Picos::from_millis(200)..=Picos::from_secs(3_600)).contains(&self.time) {
            return Err(wrong("--time", format!("{} is not between 200ms and 1h", self.time)));
        }
        if self.threads.is_some_and(|threads| !(1..=64).contains(&threads)) {
            return Err(wrong("--threads", "expected a number from 1 to 64".into()));
        }
        if self.batch.is_some_and(|batch| !(1..=64).contains(&batch)) {
            return Err(wrong("--batch", "expected a number from 1 to 64".into()));
        }
        if self.each.is_some_and(|each| !each.is_power_of_two() || each > 256) {
            return Err(wrong("--each", "expected a power of two up to 256".into()));
        }
        let place = self.place.place()?;
        let is_named = matches!(place, Place::Named { .. });
        if let Some(module) = modules.first()
            && (is_named || self.through.is_some())
        {
            let flag = if is_named { "--interface" } else { "--through" };
            return Err(wrong("--port", format!("{module} sends on its own wire; leave out {flag}")));
        }
        let options = Options {
            ways,
            modules,
            sizes,
            trials: self.trials.get() as usize,
            packets: self.packets.get(),
            longest_ns: self.time.as_nanos(),
            threads: self.threads,
            capture: self.stamp == Stamp::Capture,
            each: self.each,
            batch: self.batch,
            through: self.through.clone(),
            wall: Wall::default(),
        };
        let has_rates = !self.no_rates && self.through.is_none() && matches!(place, Place::Bed);
        Ok(PacketsPlan { options, place, has_rates, is_quick: false })
    }
}

/// Addresses of FPGA modules, and the other words. Commas separate ports, but also a module's options.
///
/// # Errors
/// An address that cannot be.
pub fn modules(words: &[String]) -> Result<(Vec<Address>, Vec<String>), Failure> {
    let wrong = |why: String| Failure::wrong(anyhow!("--port: {why}"));
    let (mut modules, mut others) = (Vec::new(), Vec::new());
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if word != "fpga" && !word.starts_with("fpga:") {
            others.push(word.clone());
            continue;
        }
        let mut text = word.clone();
        while !text.replace("\\:", "").contains(':')
            && let Some(more) = rest.next()
        {
            text = format!("{text},{more}");
        }
        modules.push(module(&text).map_err(wrong)?);
    }
    Ok((modules, others))
}

/// A module that can be weighed, as far as that is known before.
fn module(text: &str) -> Result<Address, String> {
    let address: Address = text.parse().map_err(|error: PortError| error.to_string())?;
    port::check(&address, &Wish::default()).map_err(|error| error.to_string())?;
    let taken = ["pcap", "traffic", "wire", "tap"].into_iter().find(|name| address.option(name).is_some());
    match taken {
        None => Ok(address),
        Some(option) => Err(format!("{address}: the weighing uses its own wire; leave out {option}=")),
    }
}

/// Ports by name; `all` is all of them.
pub fn ways(words: &[String]) -> Result<Vec<Way>, Failure> {
    if words.iter().any(|word| word == "all") {
        return Ok(Way::ALL.to_vec());
    }
    words
        .iter()
        .map(|word| word.parse().map_err(|why: String| Failure::wrong(anyhow!("--port: {why}"))))
        .collect()
}

pub fn sizes(sizes: &[usize]) -> Result<Vec<usize>, Failure> {
    match sizes.iter().find(|size| !SIZES.contains(size)) {
        None => Ok(sizes.to_vec()),
        Some(size) => Err(Failure::wrong(anyhow!(
            "--sizes: {size} is not between {} and {} bytes with FCS",
            SIZES.start(),
            SIZES.end()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(Vec<String>, Vec<String>), String> {
        let words: Vec<String> = text.split(',').map(str::to_owned).collect();
        let (modules, others) = modules(&words).map_err(|failure| format!("{failure:?}"))?;
        Ok((modules.iter().map(ToString::to_string).collect(), others))
    }

    #[test]
    fn a_modules_options_are_told_from_ports() {
        let of = |modules: &[&str], others: &[&str]| {
            let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
            Ok((owned(modules), owned(others)))
        };
        assert_eq!(read("udp,xdp"), of(&[], &["udp", "xdp"]));
        assert_eq!(read("udp,fpga:sim,xdp"), of(&["fpga:sim"], &["udp", "xdp"]));
        assert_eq!(
            read("fpga,seed=7,carrier=yes:sim,mem,fpga:sim"),
            of(&["fpga,seed=7,carrier=yes:sim", "fpga:sim"], &["mem"])
        );
        for (wrong, why) in [
            ("fpga", "fpga"),
            ("fpga,wire=x:sim", "its own wire; leave out wire="),
            ("fpga,pcap=x:sim", "leave out pcap="),
            ("fpga,no=x:sim", "no"),
            ("fpga,delay=1us:sim", "delay is for sessions"),
            ("fpga:no-such0", "no-such0"),
        ] {
            assert!(read(wrong).unwrap_err().contains(why), "{wrong}: {:?}", read(wrong));
        }
    }
}
