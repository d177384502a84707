//! A headless Chromium that opens one page and says what became of it.
//!
//! ```text
//! report.html ─► a copy with a probe (script) at its end ─► chromium --dump-dom ─► what the probe saw,
//!                                                                                  console, requests
//! ```
//!
//! The probe is a function's body that returns anything JSON can say; it runs after the page's own script. No
//! name is resolved, so that a page that asks the network for something fails.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// What came of a page.
pub struct Opened {
    /// The whole document after scripts have run.
    pub dom: String,
    /// Lines that the page, or the browser about the page, wrote to the console.
    pub console: Vec<String>,
    /// What the probe returned; null without one.
    pub seen: Value,
}

/// Opens a file as it is.
pub fn open(page: &Path, width: u32) -> Opened {
    crate::need("chromium");
    let home = crate::scratch();
    let out = Command::new("timeout")
        .args(["--kill-after=2", "60", "chromium", "--headless", "--no-sandbox", "--disable-gpu"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--no-first-run", "--hide-scrollbars", "--enable-logging=stderr", "--disable-dev-shm-usage"])
        .arg("--host-resolver-rules=MAP * ~NOTFOUND")
        .arg(format!("--user-data-dir={}", home.path().display()))
        .arg(format!("--window-size={width},900"))
        .args(["--virtual-time-budget=3000", "--dump-dom"])
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("chromium can be started");
    let errors = String::from_utf8_lossy(&out.stderr);
    let console = errors.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect();
    let dom = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(dom.contains("</html>"), "chromium showed nothing: {errors}");
    let seen = dom.split("<data id=\"seen\" value=\"").nth(1).map_or(Value::Null, |rest| {
        let text =
            STANDARD.decode(rest.split('"').next().unwrap_or_default()).expect("the probe writes base64");
        serde_json::from_slice(&text).expect("the probe writes JSON")
    });
    Opened { dom, console, seen }
}

/// Opens a copy with a probe at its end.
pub fn probe(page: &Path, width: u32, body: &str) -> Opened {
    let folder = crate::scratch();
    let copy = folder.path().join("probed.html");
    std::fs::write(&copy, with_probe(&crate::process::text_of(page), body)).expect("a scratch file");
    open(&copy, width)
}

/// The page lets no other script run than its own; the copy must.
fn with_probe(page: &str, body: &str) -> String {
    let (before, after) = page.split_once("script-src ").expect("the page has a policy");
    let (_, after) = after.split_once('"').expect("the policy ends");
    let script = format!(
        "<script>\n{}\nlet seen;\ntry {{ seen = (() => {{\n{body}\n}})(); }} catch (error) {{ seen = {{ error: String(error.stack ?? error) }}; }}\nreport(seen);\n</script>\n</body>",
        include_str!("browser.js")
    );
    format!("{before}script-src 'unsafe-inline'\"{after}").replacen("</body>", &script, 1)
}
