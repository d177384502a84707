//! Files that a load is made of. A plan has their names alone, but what they hold is a part of the load.

use crate::model::{Arrivals, Body, Load, Plan, RequestSource, Shape};
use crate::template::Template;
use std::path::{Path, PathBuf};

impl Plan {
    /// Files with requests, their bodies, lines that go into them, and times; not those that lines of such a
    /// file name. Relative paths are seen from the working directory.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        if let RequestSource::File { path, .. } = &self.source {
            files.push(path.clone());
        }
        if let Body::File(path) | Body::Streamed(path) = &self.request.body {
            files.push(path.clone());
        }
        if let Load::Open { arrivals: Arrivals { shape: Shape::At(path), .. }, .. } = &self.load {
            files.push(path.clone());
        }
        if self.request.templates {
            let mut lines = Vec::new();
            for text in self.texts() {
                let _ = Template::compile_with(text, &mut lines);
            }
            files.extend(lines.into_iter().map(PathBuf::from));
        }
        files
    }

    /// Texts that may have placeholders.
    fn texts(&self) -> impl Iterator<Item = &str> {
        let (url, requests) = match &self.source {
            RequestSource::Url(url) => (Some(url.as_str()), &[][..]),
            RequestSource::File { .. } => (None, &[][..]),
            RequestSource::Inline { requests, .. } => (None, &requests[..]),
        };
        let of_requests = requests.iter().flat_map(|request| {
            let values = request.headers.iter().map(|(_, value)| value.as_str());
            [request.url.as_str()].into_iter().chain(values).chain(request.body.as_deref())
        });
        let headers = self.request.headers.iter().map(|(_, value)| value.as_str());
        let body = match &self.request.body {
            Body::Inline(text) => Some(text.as_str()),
            Body::None | Body::File(_) | Body::Streamed(_) => None,
        };
        url.into_iter().chain(headers).chain(body).chain(of_requests)
    }

    /// The canonical text with absolute paths, so that it can be run from another folder. The hash stays that
    /// of what was typed.
    pub fn to_toml_from_anywhere(&self) -> String {
        let mut plan = self.clone();
        if let RequestSource::File { path, .. } = &mut plan.source {
            make_absolute(path);
        }
        if let Body::File(path) | Body::Streamed(path) = &mut plan.request.body {
            make_absolute(path);
        }
        if let Load::Open { arrivals: Arrivals { shape: Shape::At(path), .. }, .. } = &mut plan.load {
            make_absolute(path);
        }
        plan.tls.ca.iter_mut().for_each(make_absolute);
        if let Some((chain, key)) = &mut plan.tls.client {
            make_absolute(chain);
            make_absolute(key);
        }
        plan.connection.unix.iter_mut().for_each(make_absolute);
        if plan.request.templates {
            plan.texts_mut().for_each(make_lines_absolute);
        }
        plan.to_toml()
    }

    fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let (url, requests) = match &mut self.source {
            RequestSource::Url(url) => (Some(url), &mut [][..]),
            RequestSource::File { .. } => (None, &mut [][..]),
            RequestSource::Inline { requests, .. } => (None, &mut requests[..]),
        };
        let of_requests = requests.iter_mut().flat_map(|request| {
            let values = request.headers.iter_mut().map(|(_, value)| value);
            [&mut request.url].into_iter().chain(values).chain(&mut request.body)
        });
        let headers = self.request.headers.iter_mut().map(|(_, value)| value);
        let body = match &mut self.request.body {
            Body::Inline(text) => Some(text),
            Body::None | Body::File(_) | Body::Streamed(_) => None,
        };
        url.into_iter().chain(headers).chain(body).chain(of_requests)
    }
}

/// `{line:names}` becomes `{line:/home/me/names}`. A text with an escaped one stays as it is.
fn make_lines_absolute(text: &mut String) {
    let mut names = Vec::new();
    if text.contains("{{line:") || Template::compile_with(text, &mut names).is_err() {
        return;
    }
    for name in names {
        let mut path = PathBuf::from(&name);
        make_absolute(&mut path);
        *text = text.replace(&format!("{{line:{name}}}"), &format!("{{line:{}}}", path.display()));
    }
}

/// One that is not UTF-8 has no text anyway.
fn make_absolute(path: &mut PathBuf) {
    if let Ok(absolute) = std::path::absolute(&*path)
        && Path::to_str(&absolute).is_some()
    {
        *path = absolute;
    }
}

#[cfg(test)]
mod tests {
    use crate::PlanFile;
    use std::path::PathBuf;

    #[test]
    fn all_that_requests_are_made_of_is_listed() {
        let text = "file = \"u.txt\"\n[load]\nat = \"times\"\n\
                    [request]\nheaders = [\"X: {line:a}\", \"Y: {line:a}{seq}\"]\n\
                    method = \"POST\"\nbody_file = \"/b\"\n";
        let plan = PlanFile::from_toml(text, "a test").unwrap().resolve().unwrap();
        assert_eq!(plan.files(), ["u.txt", "/b", "times", "a"].map(PathBuf::from));
        let literal = PlanFile::from_toml(&format!("{text}templates = false\n"), "a test").unwrap();
        assert_eq!(literal.resolve().unwrap().files().len(), 3);
        let inside = "[[requests]]\nurl = \"http://h/{line:a}\"\n\
                      [[requests]]\nurl = \"http://h/\"\nbody = \"{line:b}\"\n";
        let plan = PlanFile::from_toml(inside, "a test").unwrap().resolve().unwrap();
        assert_eq!(plan.files(), ["a", "b"].map(PathBuf::from));
    }

    #[test]
    fn a_plan_for_any_folder_names_the_same_files_and_keeps_its_hash() {
        let text =
            "file = \"u.txt\"\n[request]\nheaders = [\"X: {line:a}{seq}\"]\n[tls]\nca = \"/etc/ca.pem\"\n";
        let plan = PlanFile::from_toml(text, "a test").unwrap().resolve().unwrap();
        let there = PlanFile::from_toml(&plan.to_toml_from_anywhere(), "a test").unwrap().resolve().unwrap();
        let here = std::env::current_dir().unwrap();
        assert_eq!(there.files(), [here.join("u.txt"), here.join("a")]);
        assert_eq!(there.to_toml(), there.to_toml_from_anywhere());
    }
}
