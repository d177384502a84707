//! The plan and the environment, as they were stored; without what is secret.

use crate::html::Documents;
use crate::markup::escape;
use std::fmt::{Result, Write};
use store::secrets;

pub fn write(out: &mut String, documents: Documents<'_>) -> Result {
    let (environment, plan) = (secrets::in_urls(documents.environment), secrets::in_plan(documents.plan));
    let blocks = [("Environment", environment), ("Plan", plan)];
    for (name, text) in blocks.into_iter().filter(|(_, text)| !text.is_empty()) {
        let text = escape(text.trim_end());
        let id = name.to_ascii_lowercase();
        writeln!(
            out,
            "<section><h2>{name}</h2><details id=\"{id}\"><summary>{id}, {} lines</summary><pre tabindex=\"0\">{text}</pre></details></section>",
            text.lines().count()
        )?;
    }
    Ok(())
}
