use super::*;

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn args(line: &str) -> HttpLoadArgs {
    match parse(&words(line)).unwrap() {
        HttpLoadCommand::Load(args) => *args,
        other => panic!("{other:?}"),
    }
}

fn problem(line: &str) -> String {
    parse(&words(line)).unwrap_err().to_string()
}

fn rate(text: &str) -> Start {
    Start::Rate(text.parse().unwrap())
}

#[test]
fn every_option_has_its_own_spelling() {
    let all = args(
        "-checksum -throttle -proxy cache:3128 -verbose -timeout 7 -sip ips.txt -cipher fastsec -jitter \
         -threads 3 -rate 400 -seconds 10 urls.txt",
    );
    assert!(all.checksum && all.throttle && all.verbose && all.jitter);
    assert_eq!(all.proxy.as_deref(), Some("cache:3128"));
    assert_eq!(all.timeout, Some(Picos::from_secs(7)));
    assert_eq!(all.sip, Some("ips.txt".into()));
    assert_eq!((all.cipher.as_deref(), all.threads), (Some("fastsec"), Some(3)));
    assert_eq!((all.start, all.stop), (rate("400"), Stop::Seconds(Picos::from_secs(10))));
    assert_eq!(all.url_file, "urls.txt");
}

#[test]
fn start_and_stop_come_in_either_order() {
    assert_eq!(args("-rate 5 -seconds 10 urls"), args("-seconds 10 -rate 5 urls"));
    assert_eq!(args("-parallel 5 -fetches 100 urls"), args("-fetches 100 -parallel 5 urls"));
}

#[test]
fn prefixes_mean_what_they_meant_to_http_load() {
    // The first of http_load's list that fits: by hand from its source's order of comparisons.
    for (prefix, name) in [
        ("-c", "-checksum"),
        ("-ci", "-cipher"),
        ("-t", "-throttle"),
        ("-th", "-throttle"),
        ("-thre", "-threads"),
        ("-ti", "-timeout"),
        ("-v", "-verbose"),
        ("-j", "-jitter"),
        ("-p", "-parallel"),
        ("-par", "-parallel"),
        ("-pr", "-proxy"),
        ("-r", "-rate"),
        ("-f", "-fetches"),
        ("-s", "-seconds"),
        ("-sec", "-seconds"),
        ("-si", "-sip"),
    ] {
        assert_eq!(option(prefix).unwrap().0, name, "{prefix}");
    }
    assert_eq!(args("-p 5 -s 10 urls"), args("-parallel 5 -seconds 10 urls"));
}

#[test]
fn what_is_missing_is_named() {
    assert!(
        problem("-seconds 10 urls").contains("-parallel N")
            && problem("-seconds 10 urls").contains("-rate N")
    );
    assert!(problem("-rate 5 urls").contains("-fetches N or -seconds N"));
    assert!(problem("-rate 5 -seconds 10").contains("no url_file"));
    assert!(problem("").contains("no url_file"));
    assert_eq!(problem("-rate 5 -seconds"), "-seconds needs a value: -seconds N");
    assert!(problem("-rate -seconds 10 urls").starts_with("-rate needs a value"));
    assert!(problem("-parallel 5 -jitter -seconds 10 urls").contains("-jitter needs -rate"));
}

#[test]
fn contradictions_are_named() {
    assert!(problem("-parallel 5 -rate 5 -seconds 10 urls").contains("-parallel contradicts -rate"));
    assert!(problem("-rate 5 -seconds 10 -fetches 5 urls").contains("-fetches contradicts -seconds"));
}

#[test]
fn wrong_values_are_named_with_what_would_be_right() {
    for (line, option, problem_is) in [
        ("-rate 0 -seconds 1 urls", "-rate", "zero"),
        ("-rate -5 -seconds 1 urls", "-rate", "negative"),
        ("-rate NaN -seconds 1 urls", "-rate", "not a number"),
        ("-rate inf -seconds 1 urls", "-rate", "not a number"),
        ("-parallel 0 -seconds 1 urls", "-parallel", "zero"),
        ("-parallel ten -seconds 1 urls", "-parallel", "not a number"),
        ("-parallel 5000000000 -seconds 1 urls", "-parallel", "too large"),
        ("-rate 5 -seconds 0 urls", "-seconds", "zero"),
        ("-rate 5 -fetches 0 urls", "-fetches", "zero"),
        ("-rate 5 -fetches -1 urls", "-fetches", "negative"),
        ("-timeout 0 -rate 5 -seconds 1 urls", "-timeout", "zero"),
        ("-proxy host:70000 -rate 5 -seconds 1 urls", "-proxy", "65535"),
        ("-proxy :80 -rate 5 -seconds 1 urls", "-proxy", "host"),
    ] {
        let said = problem(line);
        assert!(
            said.starts_with(option) && said.contains(problem_is) && said.contains("expected"),
            "{line}: {said}"
        );
    }
}

#[test]
fn unknown_options_get_a_suggestion() {
    assert_eq!(problem("-rat3 5 urls"), "unknown option -rat3; did you mean -rate?");
    assert_eq!(problem("--rate 5 urls"), "unknown option --rate; did you mean -rate?");
    assert_eq!(problem("-rate=5 urls"), "unknown option -rate=5; write -rate 5");
    assert_eq!(problem("-secnods 5 urls"), "unknown option -secnods; did you mean -seconds?");
    assert!(problem("-zzz urls").contains("-checksum"));
}

#[test]
fn the_file_is_the_last_word() {
    assert!(problem("-rate 5 urls -seconds 10").contains("-seconds after urls"));
    assert!(problem("-rate 5 -seconds 10 urls more").contains("left over"));
    assert!(problem("-rate 5 -seconds 10 -t 60 urls").contains("-throttle"));
}

#[test]
fn a_proxy_without_a_port_is_on_80() {
    assert_eq!(args("-proxy cache -rate 5 -seconds 1 urls").proxy.as_deref(), Some("cache:80"));
    assert_eq!(args("-proxy [::1] -rate 5 -seconds 1 urls").proxy.as_deref(), Some("[::1]:80"));
    assert_eq!(args("-proxy [::1]:3128 -rate 5 -seconds 1 urls").proxy.as_deref(), Some("[::1]:3128"));
}

#[test]
fn help_and_version() {
    for word in ["-h", "-help", "--help"] {
        assert_eq!(parse(&words(word)).unwrap(), HttpLoadCommand::Help);
    }
    assert_eq!(parse(&words("--version")).unwrap(), HttpLoadCommand::Version);
}
