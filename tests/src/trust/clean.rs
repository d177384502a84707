//! Targets that nothing spoils, whose behaviour is known.

/// A target that does what is known, and a load that it bears.
#[derive(Clone, Copy, Debug)]
pub struct Clean {
    pub name: &'static str,
    pub target: &'static str,
    /// Instead of the usual open and closed load.
    pub open: &'static str,
    pub closed: &'static str,
    /// Delays to draw from, for `--delay file-random:`: how many of how many milliseconds.
    pub delays: &'static [(usize, u32)],
}

pub(super) const USUAL: Clean =
    Clean { name: "", target: "", open: "--rate 400", closed: "--parallel 8", delays: &[] };

/// What a target does that nothing spoils.
pub const CLEAN: [Clean; 21] = [
    Clean { name: "constant 5 ms", target: "--delay 5ms", ..USUAL },
    Clean { name: "constant 50 ms", target: "--delay 50ms", ..USUAL },
    Clean { name: "at once", target: "--delay 0ms", closed: "--parallel 1", ..USUAL },
    Clean { name: "uniform", target: "--delay uniform:2ms,20ms", ..USUAL },
    Clean { name: "exponential", target: "--delay exponential:5ms", ..USUAL },
    Clean { name: "lognormal", target: "--delay lognormal:5ms,0.5", ..USUAL },
    Clean { name: "heavy tail", target: "--delay lognormal:2ms,1.5", ..USUAL },
    Clean { name: "bimodal", delays: &[(80, 3), (20, 30)], ..USUAL },
    Clean { name: "rare and slow", delays: &[(970, 2), (25, 20), (5, 100)], ..USUAL },
    Clean { name: "a stall", target: "--delay 2ms --stall 1s,200ms", ..USUAL },
    Clean { name: "two stalls", target: "--delay 5ms --stall 500ms,100ms --stall 1500ms,300ms", ..USUAL },
    Clean { name: "sizes", target: "--delay 3ms --size uniform:100,64KiB", ..USUAL },
    Clean { name: "100 kB", target: "--delay 3ms --size 100kB", open: "--rate 200", ..USUAL },
    Clean { name: "chunked", target: "--delay 3ms --size 20KiB --chunk 1KiB", ..USUAL },
    Clean { name: "errors", target: "--delay lognormal:3ms,0.3 --error 503=20%", ..USUAL },
    Clean { name: "resets", target: "--delay 3ms --reset 2%", ..USUAL },
    Clean {
        name: "silence",
        target: "--delay 3ms --silent 0.5%",
        open: "--rate 400 --timeout 1s",
        closed: "--parallel 8 --timeout 1s",
        ..USUAL
    },
    Clean {
        name: "ramp",
        target: "--delay uniform:1ms,5ms",
        open: "--ramp 50..800:2500ms",
        closed: "--parallel 32",
        ..USUAL
    },
    Clean { name: "served at a rate", target: "--rate 500", open: "--poisson --rate 300", ..USUAL },
    Clean { name: "trickle", target: "--delay 1ms --size 1000 --trickle 300 --trickle-gap 1ms", ..USUAL },
    Clean { name: "closes", target: "--delay 3ms --close-after 10", ..USUAL },
];
