//! `send.script`: Lua that finishes frames. The plan holds its text, so that the text is part of the plan's
//! hash, and the stored plan repeats the run when the file is gone.
//!
//! ```text
//! --script burst.lua ─► read ─► script = "burst.lua", lua = "function burst(b) …"   canonical
//! lua = '''…''' in a plan file ────────────────────────────┘
//! ```

use super::lines::Lines;
use super::send::SendFile;
use crate::error::PlanError;
use crate::table::Table;
use std::fmt::Write;
use std::path::Path;

/// A longer text is no script.
const MOST_BYTES: u64 = 1 << 20;
/// What a script without a file is called in messages.
const NAME: &str = "script.lua";

/// A script, as the plan has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptPlan {
    /// The file's own name, which stands before the lines of messages.
    pub name: String,
    pub text: String,
}

/// The script of `[send]`, read from its file unless its text is there.
pub(super) fn resolve(send: &SendFile, table: &Table<'_>) -> Result<Option<ScriptPlan>, PlanError> {
    let file_name = |file: &str| {
        let name = Path::new(file).file_name().map(|name| name.to_string_lossy().into_owned());
        name.unwrap_or_else(|| NAME.to_owned())
    };
    match (&send.script, &send.lua) {
        (None, None) => Ok(None),
        (name, Some(text)) if text.len() as u64 <= MOST_BYTES => {
            let name = name.as_deref().map_or_else(|| NAME.to_owned(), file_name);
            Ok(Some(ScriptPlan { name, text: text.clone() }))
        }
        (_, Some(text)) => {
            let problem = format!("has {} bytes, more than 1 MiB", text.len());
            Err(table.wrong("lua", "…", problem, "a shorter script"))
        }
        (Some(file), None) => {
            let text = read(file).map_err(|problem| {
                table.wrong("script", file, problem, "a Lua file, as in docs/packets.md")
            })?;
            Ok(Some(ScriptPlan { name: file_name(file), text }))
        }
    }
}

fn read(file: &str) -> Result<String, String> {
    use std::io::Read;
    let cannot = |error: std::io::Error| format!("cannot be read: {error}");
    let mut bytes = Vec::new();
    let opened = os::input::open(file.as_ref()).map_err(cannot)?;
    opened.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err("has more than 1 MiB".to_owned());
    }
    String::from_utf8(bytes).map_err(|_| "is not text: it is not UTF-8".to_owned())
}

impl ScriptPlan {
    /// Its keys in canonical text: the script is on one line.
    pub(super) fn add_to(&self, lines: &mut Lines) {
        lines.text("script", Some(&self.name));
        lines.add("lua", on_one_line(&self.text));
    }
}

/// A basic string of TOML with escapes for what a line cannot have.
fn on_one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len() + 16);
    line.push('"');
    for c in text.chars() {
        match c {
            '"' => line.push_str("\\\""),
            '\\' => line.push_str("\\\\"),
            '\n' => line.push_str("\\n"),
            '\t' => line.push_str("\\t"),
            '\r' => line.push_str("\\r"),
            c if c.is_control() => {
                let _ = write!(line, "\\u{:04x}", u32::from(c));
            }
            c => line.push(c),
        }
    }
    line.push('"');
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::send::SendPlanFile;

    const TEXT: &str =
        "-- \"odd\" \\ text\tport = \"pcap:x\"\r\n\u{7f}\u{1}function burst(b) end -- ä\u{2028}\n";

    fn resolved(toml: &str) -> Result<(Option<ScriptPlan>, String, String), PlanError> {
        let (plan, packet) = SendPlanFile::from_toml(toml, "plan.toml")?.resolve()?;
        Ok((plan.script, packet.to_toml_from_anywhere(|_| None), packet.hash().to_string()))
    }

    #[test]
    fn a_file_and_its_text_in_the_plan_are_the_same_plan() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("odd.lua");
        std::fs::write(&file, TEXT).unwrap();
        let of_file = format!("[send]\nport = \"mem:a\"\nscript = \"{}\"\n", file.display());
        let (script, text, hash) = resolved(&of_file).unwrap();
        assert_eq!(script, Some(ScriptPlan { name: "odd.lua".to_owned(), text: TEXT.to_owned() }));
        std::fs::remove_file(&file).unwrap();
        assert_eq!(resolved(&text).unwrap(), (script, text.clone(), hash.clone()), "{text}");
        assert_eq!(text.lines().filter(|line| line.starts_with("lua = ")).count(), 1);
        let (_, _, other) =
            resolved("[send]\nport = \"mem:a\"\nscript = \"odd.lua\"\nlua = \"x()\"\n").unwrap();
        assert_ne!(other, hash);
        let gone = resolved(&of_file).unwrap_err().to_string();
        assert!(gone.contains("plan.toml, line 3: send.script") && gone.contains("cannot be read"), "{gone}");
    }

    #[test]
    fn what_is_no_script_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |name: &str, bytes: &[u8]| {
            let file = folder.path().join(name);
            std::fs::write(&file, bytes).unwrap();
            resolved(&format!("[send]\nport = \"mem:a\"\nscript = \"{}\"\n", file.display()))
                .unwrap_err()
                .to_string()
        };
        assert!(refused("binary.lua", &[0xff, 0xfe, 0]).contains("not UTF-8"));
        assert!(refused("long.lua", &vec![b' '; (1 << 20) + 1]).contains("more than 1 MiB"));
        let bad =
            "[send]\nport = \"mem:a\"\nlua = \"function burst(b) end\"\n[frames]\nbad_checksum = \"udp\"\n";
        let text = resolved(bad).unwrap_err().to_string();
        assert!(text.contains("contradicts") && text.contains("as_is"), "{text}");
    }
}
