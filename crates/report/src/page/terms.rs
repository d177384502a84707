//! The definitions of the words: `docs/terminology.md`, rendered. The parts of Markdown that it uses are
//! headings, paragraphs, pictures made of letters, lists of definitions, emphasis, code and links.

use crate::markup::escape;
use std::fmt::{Result, Write};

/// The source of every definition.
const TERMINOLOGY: &str = include_str!("../../../../docs/terminology.md");

pub fn write(out: &mut String) -> Result {
    writeln!(out, "<section><h2>Words</h2><details id=\"words\"><summary>what each word means</summary>")?;
    render(out, TERMINOLOGY)?;
    writeln!(out, "</details></section>")
}

fn render(out: &mut String, text: &str) -> Result {
    for block in text.split("\n\n").map(str::trim).filter(|block| !block.is_empty()) {
        match block.trim_start_matches('#') {
            title if title.len() + 1 < block.len() => writeln!(out, "<h3>{}</h3>", inline(title.trim()))?,
            // The page has a title of its own.
            title if title.len() < block.len() => {}
            _ if block.starts_with("- ") => definitions(out, block)?,
            _ if block.starts_with("```") => picture(out, block)?,
            _ => writeln!(out, "<p>{}</p>", inline(block))?,
        }
    }
    Ok(())
}

/// Lines between fences, as they stand.
fn picture(out: &mut String, block: &str) -> Result {
    let lines: Vec<&str> = block.lines().filter(|line| !line.starts_with("```")).collect();
    writeln!(out, "<pre>{}</pre>", escape(&lines.join("\n")))
}

/// Items `- word: meaning`; a line that is indented goes on with the one before it.
fn definitions(out: &mut String, list: &str) -> Result {
    writeln!(out, "<dl>")?;
    for item in list.split("\n- ") {
        let item = item.trim_start_matches("- ").replace("\n  ", " ");
        let (word, meaning) = item.split_once(": ").unwrap_or((&item, ""));
        writeln!(out, "<dt>{}</dt><dd>{}</dd>", inline(word), inline(meaning))?;
    }
    writeln!(out, "</dl>")
}

/// `*emphasis*` and `` `code` ``; of a link its words, as a page that is alone has nowhere to lead.
fn inline(text: &str) -> String {
    let mut html = String::new();
    for (index, part) in text.split('`').enumerate() {
        match index % 2 {
            1 => html.push_str(&format!("<code>{}</code>", escape(part))),
            _ => html.push_str(&emphasis(&unlinked(part))),
        }
    }
    html
}

fn emphasis(text: &str) -> String {
    let part = |(index, part): (usize, &str)| match index % 2 {
        1 => format!("<em>{}</em>", escape(part)),
        _ => escape(part),
    };
    text.split('*').enumerate().map(part).collect()
}

/// `[words](place)` → `words`.
fn unlinked(text: &str) -> String {
    let mut said = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        let Some((words, after)) = link.split_once("](") else { break };
        let Some((_, after)) = after.split_once(')') else { break };
        said.push_str(before);
        said.push_str(words);
        rest = after;
    }
    said + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_becomes_html() {
        let text = "# Title\n\n## Time\n\n- *a* (b): see [c](d.md),\n  `x < y`\n- *e*: f: g\n\nSaid <so>.\n\n```text\n a <- b\n```\n";
        let mut out = String::new();
        render(&mut out, text).unwrap();
        assert_eq!(
            out,
            "<h3>Time</h3>\n<dl>\n<dt><em>a</em> (b)</dt><dd>see c, <code>x &lt; y</code></dd>\n<dt><em>e</em></dt><dd>f: g</dd>\n</dl>\n<p>Said &lt;so&gt;.</p>\n<pre> a &lt;- b</pre>\n"
        );
    }

    #[test]
    fn every_definition_of_the_source_is_there() {
        let mut out = String::new();
        write(&mut out).unwrap();
        let rows = TERMINOLOGY.lines().filter(|line| line.starts_with("- *")).count();
        assert!(rows > 30);
        assert_eq!(out.matches("<dt>").count(), rows);
        assert!(!out.contains("](") && !out.contains('|') && !out.contains("##"));
    }
}
