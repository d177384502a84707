//! Why a run could not be found, tagged or removed.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    #[error("no run is called '{typed}'{}", nearness(near))]
    NotFound { typed: String, near: Vec<String> },
    #[error("there is no run yet: tare http URL makes one, and keeps it unless --no-save is given")]
    Empty,
    #[error("'{typed}' goes back further than there are runs: {}", there_are(*runs))]
    TooFarBack { typed: String, runs: usize },
    #[error("'{typed}' can be any of {}: say more of the name", listed(candidates))]
    Ambiguous { typed: String, candidates: Vec<String> },
    #[error("no run has the tag '{tag}'{}; tare runs tag RUN +{tag} gives it one", nearness(near))]
    NoSuchTag { tag: String, near: Vec<String> },
    #[error("a run is expected: its name, the end of it, 'last', a tag, or a path")]
    NoName,
    #[error("{} holds no run: it has no result.json", .0.display())]
    NotARun(PathBuf),
    #[error("{} does not exist", .0.display())]
    NoSuchPath(PathBuf),
    #[error("{0} is still running: stop it first")]
    Running(String),
    #[error("{} is a link: remove the link or its target yourself", .0.display())]
    Link(PathBuf),
    #[error(
        "'{0}' is not a tag: a tag is at most 64 letters, digits and the signs . _ - =, and begins with a \
         letter or digit"
    )]
    BadTag(String),
    #[error("'{0}' cannot be a tag: it already names a run")]
    ReservedTag(String),
    #[error("{} is not a list of tags: {why}; mend or remove it", path.display())]
    BadTagsFile { path: PathBuf, why: String },
    #[error("cannot {doing} {}: {why}", path.display())]
    Io { doing: &'static str, path: PathBuf, why: io::Error },
    #[error(transparent)]
    Store(#[from] store::StoreError),
}

impl CatalogueError {
    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |why| Self::Io { doing, path, why }
    }
}

fn nearness(near: &[String]) -> String {
    match near {
        [] => "; tare runs lists them".to_owned(),
        near => format!("; did you mean {}?", listed(near)),
    }
}

/// `a, b or c`, of many only the first.
fn listed(names: &[String]) -> String {
    const MOST: usize = 5;
    match names {
        [] => String::new(),
        [one] => one.clone(),
        names if names.len() > MOST => {
            format!("{} and {} more", names[..MOST].join(", "), names.len() - MOST)
        }
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

fn there_are(runs: usize) -> String {
    match runs {
        1 => "there is 1".to_owned(),
        runs => format!("there are {runs}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_what_would_be_right() {
        let error = CatalogueError::NotFound { typed: "x".into(), near: vec!["a".into(), "b".into()] };
        assert_eq!(error.to_string(), "no run is called 'x'; did you mean a or b?");
        let many = (0..7).map(|n| n.to_string()).collect();
        let error = CatalogueError::Ambiguous { typed: "x".into(), candidates: many };
        assert_eq!(error.to_string(), "'x' can be any of 0, 1, 2, 3, 4 and 2 more: say more of the name");
    }
}
