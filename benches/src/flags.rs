//! Flags of the benchmarks that take numbers alone.

use anyhow::{Context, Result, bail, ensure};

/// Sets what the command line says; each flag is followed by a number above zero.
pub fn read(known: &mut [(&str, &mut u64)]) -> Result<()> {
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let Some((_, wanted)) = known.iter_mut().find(|(flag, _)| *flag == word) else {
            let flags: Vec<&str> = known.iter().map(|(flag, _)| *flag).collect();
            bail!("{word}: expected one of {}", flags.join(", "));
        };
        **wanted = words.next().context("a number after each flag")?.parse()?;
        ensure!(**wanted > 0, "{word}: expected a number above zero");
    }
    Ok(())
}
