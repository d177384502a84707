//! What becomes of the requests of a plan, without a target.

use super::*;
use plan::PlanFile;
use std::io::Write;

fn requests(toml: &str) -> Arc<Requests> {
    let plan = PlanFile::from_toml(toml, "test").unwrap().resolve().unwrap();
    let mut endpoints = Endpoints::new(None, None);
    Arc::new(Requests::open(&plan, &mut endpoints).unwrap())
}

fn three(order: &str, seed: u64) -> Arc<Requests> {
    let each = |name: &str| format!("[[requests]]\nurl = \"http://h/{name}\"\n");
    requests(&format!("seed = {seed}\norder = \"{order}\"\n{}{}{}", each("a"), each("b"), each("c")))
}

#[test]
fn the_same_seed_chooses_the_same_requests_and_another_does_not() {
    for order in ["random", "shuffle"] {
        assert_eq!(three(order, 7).preview(200), three(order, 7).preview(200));
        assert_ne!(three(order, 7).preview(200), three(order, 8).preview(200));
    }
    assert_eq!(three("sequential", 1).preview(4), ["http://h/a", "http://h/b", "http://h/c", "http://h/a"]);
}

#[test]
fn a_shuffle_takes_each_request_once_a_pass() {
    for pass in three("shuffle", 3).preview(300).chunks(3) {
        let mut pass = pass.to_vec();
        pass.sort();
        assert_eq!(pass, ["http://h/a", "http://h/b", "http://h/c"]);
    }
}

#[test]
fn weights_are_shares() {
    let file = "[[requests]]\nurl = \"http://h/a\"\nweight = 3\n[[requests]]\nurl = \"http://h/b\"\n";
    let chosen = requests(&format!("order = \"random\"\n{file}")).preview(8_000);
    let a = chosen.iter().filter(|url| url.ends_with('a')).count() as f64;
    // 6 000 expected of 8 000; standard deviation √(8 000 · ¾ · ¼) = 38.7; five of them are 194.
    assert!((a - 6_000.0).abs() < 194.0, "{a}");
}

#[test]
fn a_request_is_written_as_it_is_meant() {
    let requests = requests(
        "url = \"http://user:p%20w@h:8080/p?q=1\"\n[request]\nmethod = \"POST\"\nbody = \"n={seq}\"\n\
         headers = [\"X-A: 1\", \"User-Agent: me\"]\n",
    );
    let plan = PlanFile::from_toml("url = \"http://h:8080/\"", "test").unwrap().resolve().unwrap();
    let mut endpoints = Endpoints::new(None, None);
    requests.teach(&mut endpoints, &plan);
    let mut out = Vec::new();
    let mut chooser = Chooser::new(&requests, &plan, 0);
    chooser.stage(12, Instant::EPOCH, &plan, &mut endpoints, &mut out).unwrap();
    // `printf 'user:p w' | base64` gives the credentials; "n=12" has four bytes.
    let expected = "POST /p?q=1 HTTP/1.1\r\nHost: h:8080\r\nX-A: 1\r\nUser-Agent: me\r\n\
         Authorization: Basic dXNlcjpwIHc=\r\nContent-Length: 4\r\n\r\nn=12";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn names_make_groups_and_a_bad_line_is_named() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    writeln!(file, "{{\"url\":\"http://h/1\",\"name\":\"buy\"}}\n{{\"url\":\"http://h/2\"}}").unwrap();
    let path = file.path().display().to_string();
    assert_eq!(requests(&format!("file = {path:?}")).groups, ["buy", "(unnamed)"]);

    writeln!(file, "{{\"url\":\"ftp://h/\"}}").unwrap();
    let plan = PlanFile::from_toml(&format!("file = {path:?}"), "test").unwrap().resolve().unwrap();
    let error = Requests::open(&plan, &mut Endpoints::new(None, None)).unwrap_err().to_string();
    assert!(error.contains("line 3") && error.contains("scheme"), "{error}");
}

/// A thread's way through the requests of this plan.
struct Staging {
    plan: Plan,
    endpoints: Endpoints,
    chooser: Chooser,
}

impl Staging {
    fn of(toml: &str) -> Self {
        let plan = PlanFile::from_toml(toml, "test").unwrap().resolve().unwrap();
        let mut endpoints = Endpoints::new(None, None);
        let requests = Arc::new(Requests::open(&plan, &mut endpoints).unwrap());
        let chooser = Chooser::new(&requests, &plan, 0);
        Self { plan, endpoints, chooser }
    }

    fn url(&mut self, seq: u64) -> UrlKey {
        let (plan, endpoints) = (&self.plan, &mut self.endpoints);
        let staged = self.chooser.stage(seq, Instant::EPOCH, plan, endpoints, &mut Vec::new());
        staged.unwrap().url.expect("bodies are compared")
    }
}

#[test]
fn each_url_that_placeholders_make_is_compared_with_itself_alone() {
    let compared = |url: &str, header: &str| {
        let request = format!("[request]\nsame_checksum = true\nheaders = [\"{header}\"]\n");
        Staging::of(&format!("url = \"{url}\"\n{request}"))
    };
    let mut filled = compared("http://h/{seq}", "X: 1");
    assert_ne!(filled.url(0), filled.url(1));
    assert_eq!(filled.url(0), filled.url(0));
    let mut same = compared("http://h/a", "X: {seq}");
    assert_eq!(same.url(0), same.url(1));
}

#[test]
fn a_placeholder_in_a_login_is_refused_with_what_to_give_instead() {
    let open = |toml: &str| {
        let plan = PlanFile::from_toml(toml, "test").unwrap().resolve().unwrap();
        let opened = Requests::open(&plan, &mut Endpoints::new(None, None));
        opened.err().map(|error| error.to_string())
    };
    for (toml, place) in [
        ("url = \"http://{line:users.txt}:pw@h/\"", "the login in the URL"),
        ("url = \"http://h/\"\n[request]\nuser = \"me:{seq}\"\n", "--user"),
        (
            "[[requests]]\nurl = \"http://h/\"\n[[requests]]\nurl = \"http://u:{uuid}@h/\"\n",
            "the login in the URL",
        ),
    ] {
        let error = open(toml).unwrap();
        assert!(error.contains(place) && error.contains("-H 'Authorization: Basic {line:FILE}'"), "{error}");
    }
    // Braces alone are part of a password.
    for toml in [
        "url = \"http://u:{{pw}}@h/{seq}\"",
        "url = \"http://h/\"\n[request]\nuser = \"me:{}\"\n",
        "url = \"http://u:{seq}@h/\"\n[request]\ntemplates = false\n",
    ] {
        assert_eq!(open(toml), None, "{toml}");
    }
}
