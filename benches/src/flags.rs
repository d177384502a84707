//! Flags of the benchmarks that take numbers alone.

use anyhow::{Context, Result, bail, ensure};

/// Sets what the command line says; each flag is followed by a number above zero.
pub fn read(known: &mut [(&str, &mut u64)]) -> Result<()> {
    read_beside(known, "").map(|_| ())
}

/// The same beside one flag that stands alone. Whether that was given.
pub fn read_beside(known: &mut [(&str, &mut u64)], alone: &str) -> Result<bool> {
    let mut words = std::env::args().skip(1);
    let mut is_given = false;
    while let Some(word) = words.next() {
        if word == alone {
            is_given = true;
            continue;
        }
        let Some((_, wanted)) = known.iter_mut().find(|(flag, _)| *flag == word) else {
            let flags: Vec<&str> =
                known.iter().map(|(flag, _)| *flag).chain([alone]).filter(|flag| !flag.is_empty()).collect();
            bail!("{word}: expected one of {}", flags.join(", "));
        };
        **wanted = words.next().context("a number after each flag")?.parse()?;
        ensure!(**wanted > 0, "{word}: expected a number above zero");
    }
    Ok(is_given)
}
