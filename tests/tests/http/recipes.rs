//! Every recipe of the pages works as it stands there.
//!
//! Each block that begins with ```` ```sh ```` is run by `bash -eu`, those of a page in one scratch folder,
//! from top to bottom, against `tare target`. (Long pages go in parts.) Runs that it saves must have lost
//! nothing and, unless the block says ```` ```sh fails ````, failed nothing.

use serde_json::Value;
use std::process::{Command, Stdio};
use tare_system_tests::recipe::{Recipe, adds_up, path_with_tare, recipes, results_under};
use tare_system_tests::{Target, beside_others, need, scratch};

/// Pages of docs/ with recipes.
const PAGES: [&str; 5] = ["http.md", "run-folder.md", "compare.md", "statistics.md", "live.md"];

/// Servers for every recipe, and what is in the environment for them.
struct Kitchen {
    folder: tempfile::TempDir,
    #[expect(dead_code, reason = "held so that they serve")]
    targets: Vec<Target>,
    environment: Vec<(&'static str, String)>,
}

impl Kitchen {
    fn open() -> Self {
        let folder = scratch();
        let at = |name: &str| folder.path().join(name).display().to_string();
        // The client's own certificate is its authority.
        need("openssl");
        let made = Command::new("openssl")
            .args([
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:P-256",
                "-nodes",
                "-days",
                "2",
            ])
            .args(["-subj", "/CN=client", "-addext", "basicConstraints=critical,CA:FALSE"])
            .args(["-addext", "extendedKeyUsage=clientAuth"])
            .args(["-keyout", &at("client.key"), "-out", &at("client.pem")])
            .output()
            .expect("openssl can be run");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));

        let plain = Target::start("--no-truth");
        let tls = Target::start(&format!("--no-truth --tls-write-cert {}", at("ca.pem")));
        let mutual_ca = at("mutual-ca.pem");
        let mutual = Target::start(&format!(
            "--no-truth --tls-write-cert {mutual_ca} --client-ca {}",
            at("client.pem")
        ));
        let proxy = Target::start("--no-truth --proxy-mode");
        let socket = at("target.sock");
        let unix = Target::start(&format!("--no-truth --listen 0 --unix {socket}"));
        let both =
            [at("ca.pem"), mutual_ca].map(|path| std::fs::read_to_string(path).expect("the target wrote it"));
        std::fs::write(at("ca.pem"), both.concat()).expect("a scratch file");

        let environment = vec![
            ("PATH", path_with_tare(folder.path())),
            ("URL", plain.url()),
            ("PORT", plain.port().to_string()),
            ("TLS_URL", tls.url()),
            ("MUTUAL_TLS_URL", mutual.url()),
            ("PROXY", format!("127.0.0.1:{}", proxy.port())),
            ("SOCKET", socket),
        ];
        Self { folder, targets: vec![plain, tls, mutual, proxy, unix], environment }
    }

    /// Runs one and checks what it left behind.
    fn cook(&self, recipe: &Recipe) -> Result<(), String> {
        let state = scratch();
        let said = Command::new("bash")
            .args(["-euc", &recipe.script])
            .current_dir(self.folder.path())
            .envs(self.environment.iter().map(|(key, value)| (*key, value.as_str())))
            .env("XDG_STATE_HOME", state.path())
            .stdin(Stdio::null())
            .output()
            .expect("bash can be run");
        let text = [said.stdout, said.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        // On a machine that is too busy for the rate, a run may well be INVALID: the recipe is right all the
        // same.
        if !matches!(said.status.code(), Some(0 | 4)) {
            return Err(format!("{}\n{text}", said.status));
        }
        let results = results_under(state.path());
        results
            .iter()
            .try_for_each(|result| check(result, recipe.fails))
            .map_err(|why| format!("{why}\n{text}"))
    }
}

/// offered = done + failed + missed + cut off; and what is done is all that is offered, unless it may fail.
fn check(result: &Value, fails: bool) -> Result<(), String> {
    let total = |key: &str| result["totals"][key].as_u64().unwrap_or(u64::MAX);
    adds_up(result)?;
    if total("offered") == 0 {
        return Err(format!("nothing was offered: {}", result["totals"]));
    }
    if !fails && total("failed") > 0 {
        return Err(format!("requests failed: {}", result["outcomes"]));
    }
    if !fails && result["partial"] == false && total("done") == 0 {
        return Err(format!("nothing was answered: {}", result["outcomes"]));
    }
    Ok(())
}

/// Blocks of a long page that follow each other in one folder: each block makes the files that it needs.
const PART: usize = 10;

/// The recipes of one page, or of a part of it, from top to bottom; what is wrong with them.
fn cook_page(page: &[Recipe]) -> Vec<String> {
    let kitchen = Kitchen::open();
    let wrong = page.iter().filter_map(|recipe| {
        let why = kitchen.cook(recipe).err()?;
        Some(format!("docs/{}:{}\n{}{why}", recipe.page, recipe.line, recipe.script))
    });
    wrong.collect()
}

#[test]
fn every_recipe_works_as_it_stands() {
    let _shared = beside_others();
    let all: Vec<Recipe> = PAGES.into_iter().flat_map(recipes).collect();
    assert!(all.len() >= 28, "the pages have their recipes: {} found", all.len());
    // Most of their time they wait for runs to end: the parts go side by side.
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let pages = all.chunk_by(|one, next| one.page == next.page);
        let parts = pages.flat_map(|page| page.chunks(PART));
        let threads: Vec<_> = parts.map(|page| scope.spawn(|| cook_page(page))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("it tells what is wrong")).collect()
    });
    assert!(wrong.is_empty(), "{} of {} recipes fail:\n\n{}", wrong.len(), all.len(), wrong.join("\n\n"));
}
