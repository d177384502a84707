//! What was typed to get in somewhere is in `plan.toml` alone: results, reports and the live page are things to
//! show.

use std::fmt::Write;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tare_system_tests::process::{text_of, wait_until};
use tare_system_tests::{Run, Tare, Target, beside_others, scratch};

const SECRET: &str = "s3cretQ";

/// All texts that a run left in its folder, but for the plan.
fn left_in(folder: &Path) -> Vec<(String, String)> {
    let files =
        std::fs::read_dir(folder).expect("the run folder").map(|entry| entry.expect("an entry").path());
    let files = files.filter(|path| !path.ends_with("plan.toml"));
    files
        .map(|path| {
            (
                path.display().to_string(),
                String::from_utf8_lossy(&std::fs::read(&path).expect("a file")).into_owned(),
            )
        })
        .collect()
}

#[track_caller]
fn shows_none(run: &Run) {
    for (what, text) in [("standard output", &run.stdout), ("standard error", &run.stderr)] {
        assert!(!text.contains(SECRET), "{what} shows it:\n{run}");
    }
}

#[test]
fn nothing_that_is_shown_has_a_password() {
    let _guard = beside_others();
    let (target, folder) = (Target::start(""), scratch());
    let out = folder.path().join("out");
    let file = |name: &str| folder.path().join(name).display().to_string();
    let words = format!(
        "http --rate 50 --duration 2s --accept-invalid --no-progress --live=0 --out {} --junit {} --markdown {} -u bob:{SECRET} \
         --header=X-Api-Key:{SECRET} -HCookie:{SECRET}",
        out.display(),
        file("j.xml"),
        file("m.md")
    );
    let url = target.url().replace("http://", &format!("http://me:{SECRET}@"));
    let running = Tare::new(&words)
        .env("XDG_STATE_HOME", folder.path().display().to_string())
        .arg("-H")
        .arg(format!("X-Amz-Security-Token: {SECRET}"))
        .arg("-H")
        .arg("Accept: text/html")
        .arg("--body")
        .arg(format!("first line\n{SECRET} in the second"))
        .arg(format!("{url}?token={SECRET}"))
        .start();
    wait_until("the page's address", || running.stderr().contains("live: http://"));
    let address =
        running.stderr().lines().find_map(|line| line.strip_prefix("live: http://").map(str::to_owned));
    let address = address.expect("it is there");
    let mut socket = std::net::TcpStream::connect(address.trim_end_matches('/')).expect("the page is there");
    std::io::Write::write_all(
        &mut socket,
        format!("GET /events HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes(),
    )
    .expect("a request");
    let mut live = String::new();
    socket.read_to_string(&mut live).expect("events, until the run has ended");
    assert!(live.contains("Run it again") && !live.contains(SECRET), "the live page shows it:\n{live}");
    let run = running.finish_unchecked();
    assert_eq!(run.code, Some(0), "{run}");
    shows_none(&run);

    for (path, text) in left_in(&out) {
        assert!(!text.contains(SECRET), "{path} has it");
    }
    for name in ["j.xml", "m.md"] {
        assert!(!text_of(&folder.path().join(name)).contains(SECRET), "{name} has it");
    }
    let mut shown = String::new();
    for form in ["report --text", "report --html", "report --json", "runs show"] {
        let words = format!("{form} {}", out.display());
        let run = Tare::new(&words).start().finish_unchecked();
        assert_eq!(run.code, Some(0), "{run}");
        shows_none(&run);
        write!(shown, "{}", run.stdout).expect("a String");
    }
    assert!(
        shown.contains("Accept: text/html") && shown.contains("me:***@"),
        "what is no secret is shown:\n{shown}"
    );
    let list = Tare::new("runs --json")
        .env("XDG_STATE_HOME", folder.path().display().to_string())
        .start()
        .finish_unchecked();
    assert!(list.stdout.contains("-u '***'"), "{list}");
    shows_none(&list);

    // The plan is complete, and its owner's.
    let plan = out.join("plan.toml");
    assert_eq!(text_of(&plan).matches(SECRET).count(), 7, "{}", text_of(&plan));
    let mode = std::fs::metadata(&plan).expect("the plan").permissions().mode();
    assert_eq!(mode & 0o077, 0, "others can read it");
}

#[test]
fn urls_of_a_file_are_names_without_passwords_and_the_report_says_from_where_it_runs() {
    let _guard = beside_others();
    let (target, folder) = (Target::start(""), scratch());
    let url = target.url().replace("http://", &format!("http://me:{SECRET}@"));
    std::fs::write(folder.path().join("urls.txt"), format!("{url}a\n{url}b\n")).expect("a file");
    let out = folder.path().join("out");
    let run = |words: &str, place: &Path| {
        let inside = format!("env --chdir={}", place.display());
        let run = Tare::new(words).through(&inside).start().finish_unchecked();
        assert_eq!(run.code, Some(0), "{run}");
        shows_none(&run);
        run
    };
    let load = "http urls.txt --rate 100 --duration 0.2s --accept-invalid --out";
    run(&format!("{load} {}", out.display()), folder.path());
    for (path, text) in left_in(&out) {
        assert!(!text.contains(SECRET), "{path} has it");
    }
    let page = text_of(&out.join("report.html"));
    assert!(page.contains("in the folder of this run") && page.contains("tare run plan.toml"), "{page}");
    // And there it runs.
    run("run plan.toml --accept-invalid --no-save", &out);
}
