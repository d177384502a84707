//! What `tare --version` says: the version, the commit that it was built from, and the features that it has.

/// What can be left out of the program (crates/cli/Cargo.toml), and whether it is there.
const FEATURES: [(&str, bool); 13] = [
    ("doctor", cfg!(feature = "doctor")),
    ("influx", cfg!(feature = "influx")),
    ("lua", cfg!(feature = "lua")),
    ("otlp", cfg!(feature = "otlp")),
    ("page", cfg!(feature = "page")),
    ("parquet", cfg!(feature = "parquet")),
    ("prometheus", cfg!(feature = "prometheus")),
    ("redis", cfg!(feature = "redis")),
    ("sqlite", cfg!(feature = "sqlite")),
    ("target", cfg!(feature = "target")),
    ("tls", cfg!(feature = "tls")),
    ("view", cfg!(feature = "view")),
    ("weigh", cfg!(feature = "weigh")),
];

/// All of it, after the name of the program.
pub fn long() -> String {
    let mut text = env!("CARGO_PKG_VERSION").to_owned();
    // None in sources that came without their history.
    if let Some(commit) = option_env!("TARE_COMMIT") {
        text.push_str(&format!("\ncommit: {commit}"));
    }
    for (title, is_there) in [("features", true), ("left out", false)] {
        let names: Vec<&str> =
            FEATURES.iter().filter(|feature| feature.1 == is_there).map(|feature| feature.0).collect();
        if !names.is_empty() {
            text.push_str(&format!("\n{title}: {}", names.join(", ")));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_feature_of_the_manifest_is_there_or_left_out() {
        let manifest = include_str!("../Cargo.toml");
        let listed =
            manifest.split("\n[features]\n").nth(1).and_then(|rest| rest.split("\n[").next()).unwrap();
        let names = listed.lines().filter_map(|line| line.split_once(" = ")).map(|(name, _)| name);
        let names: Vec<&str> = names.filter(|name| *name != "default").collect();
        assert_eq!(names, FEATURES.map(|(name, _)| name));
        let text = long();
        assert!(text.starts_with(env!("CARGO_PKG_VERSION")), "{text}");
        assert!(names.iter().all(|name| text.contains(name)), "{text}");
    }
}
