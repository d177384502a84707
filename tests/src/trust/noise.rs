//! Whether anything but a run itself had the machine meanwhile.

use std::time::Instant;

/// Ticks of `/proc/stat` in a second (USER_HZ, which is 100 on every Linux).
const TICKS: f64 = 100.0;
/// Others may have so much of one CPU, and other machines such a share of all.
const OTHERS: f64 = 0.10;
const STOLEN: f64 = 0.01;

/// A moment from which on the machine is watched.
pub struct Watch {
    begun: Instant,
    machine: Machine,
    own: f64,
}

#[derive(Clone, Copy)]
struct Machine {
    busy: f64,
    stolen: f64,
    all: f64,
}

impl Watch {
    pub fn start() -> Self {
        Self { begun: Instant::now(), machine: Machine::now(), own: own_ticks() }
    }

    /// Why what was measured since then may be another program's work; `None` on a quiet machine. All processes
    /// of the run must have ended, as their CPU time is known only then. What others had does not matter to a
    /// run that goes `ahead` of them.
    pub fn noise(&self, ahead: bool) -> Option<String> {
        let now = Machine::now();
        let seconds = self.begun.elapsed().as_secs_f64().max(0.01);
        let own = own_ticks() - self.own;
        let others = ((now.busy - self.machine.busy - own) / TICKS / seconds).max(0.0);
        let stolen = (now.stolen - self.machine.stolen) / (now.all - self.machine.all).max(1.0);
        if stolen >= STOLEN {
            return Some(format!("{:.0} % stolen", stolen * 100.0));
        }
        (!ahead && others >= OTHERS).then(|| format!("others had {others:.2} CPUs"))
    }
}

impl Machine {
    fn now() -> Self {
        let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let line = text.lines().next().unwrap_or_default();
        let times: Vec<f64> =
            line.split_whitespace().skip(1).take(8).filter_map(|word| word.parse().ok()).collect();
        let at = |index: usize| times.get(index).copied().unwrap_or(0.0);
        // user nice system idle iowait irq softirq steal. Interrupts are whoever's they are: they are no
        // process's.
        Self { busy: at(0) + at(1) + at(2), stolen: at(7), all: times.iter().sum() }
    }
}

/// CPU time of this process and of its children that have ended: fields 14 to 17 of proc_pid_stat(5).
fn own_ticks() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = text.rfind(')').map_or("", |at| &text[at + 1..]);
    after_name.split_whitespace().skip(14 - 3).take(4).filter_map(|word| word.parse::<f64>().ok()).sum()
}
