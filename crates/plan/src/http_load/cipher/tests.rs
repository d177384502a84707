use super::*;
use std::process::Command;

fn suites(text: &str) -> Vec<String> {
    ciphers(text).unwrap_or_else(|error| panic!("{text}: {error}")).suites
}

fn refusal(text: &str) -> String {
    ciphers(text).unwrap_err().to_string()
}

/// Independent tool: lines of `openssl ciphers -stdname`, IANA's name and OpenSSL's.
fn by_openssl(text: &str) -> Vec<(String, String)> {
    let output = Command::new("openssl").args(["ciphers", "-stdname", text]).output();
    let text = String::from_utf8(output.expect("openssl is installed").stdout).unwrap();
    let pair = |line: &str| {
        let mut words = line.split_whitespace();
        Some((words.next()?.to_owned(), words.nth(1)?.to_owned()))
    };
    text.lines().filter_map(pair).collect()
}

#[test]
fn openssl_names_become_ianas() {
    assert_eq!(
        suites("ECDHE-RSA-AES128-GCM-SHA256:TLS_AES_128_GCM_SHA256"),
        ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"]
    );
    assert_eq!(suites("tls_ecdhe_rsa_with_aes_128_gcm_sha256"), ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]);
}

#[test]
fn the_three_aliases_have_suites() {
    for alias in ["fastsec", "HIGHSEC", "paranoid"] {
        assert!(is_alias(alias) && suites(alias).len() >= 2, "{alias}");
    }
}

#[test]
fn words_that_openssl_does_not_know_either_are_refused_with_the_list() {
    for text in
        ["fast", "ECDHE-RSA-AES512-GCM", "HIGH:nonsense", "ECDHE+nonsense", "@WEAKNESS", "RSA:DEFAULT"]
    {
        let said = refusal(text);
        assert!(said.starts_with("-cipher: "), "{said}");
    }
    assert!(refusal("HIGH:nonsense").contains("'nonsense'"));
    assert!(refusal("nonsense").contains("ECDHE-RSA-AES128-GCM-SHA256"));
    for text in ["", ":", "!ALL", "HIGH:!ECDHE", "RC4", "kRSA"] {
        assert!(refusal(text).contains("leaves no cipher"), "{text}: {}", refusal(text));
    }
}

/// Independent tool: OpenSSL on the same string, without the suites that are not here.
#[test]
fn strings_mean_what_they_mean_to_openssl() {
    let strings = "ALL HIGH DEFAULT HIGH:!aNULL ECDHE+AESGCM ECDHE+AESGCM:ECDHE+CHACHA20 ALL:+AES256 \
        ALL:-AES256:AES256 CHACHA20:HIGH EECDH+aRSA aECDSA:aRSA HIGH:@STRENGTH AES128:AES256:@STRENGTH \
        kECDHE:!AES128 ALL:!CHACHA20:+aRSA TLSv1.2 FIPS ECDSA+AES AESGCM:!ECDSA AES128:-ALL:ALL \
        ALL:-aRSA:-aECDSA:ALL DEFAULT:!AES256:+ECDSA SUITEB128 SUITEB192 SUITEB128ONLY HIGH:@SECLEVEL=2 \
        ECDHE-RSA-CHACHA20-POLY1305:HIGH ALL:-ECDHE-RSA-AES128-GCM-SHA256 HIGH:RC4-MD5:!DES-CBC3-SHA \
        aRSA:HIGH:!MD5:!3DES:!CAMELLIA ECDHE:ECDHE+aRSA+AES256 MEDIUM:LOW:EXP:HIGH";
    for text in strings.split_whitespace() {
        let ours = suites(text);
        let theirs: Vec<String> = by_openssl(text).into_iter().map(|(iana, _)| iana).collect();
        let here = |name: &&String| TLS13.contains(&name.as_str()) || Suite::named(name).is_some();
        let theirs: Vec<&String> = theirs.iter().filter(here).collect();
        // Suite B's TLS 1.3 suites are the library's own choice; ours keep all three.
        let tls12 = |name: &&&String| !text.starts_with("SUITEB") || !TLS13.contains(&name.as_str());
        assert_eq!(
            ours.iter().filter(|name| tls12(&name)).collect::<Vec<_>>(),
            theirs.into_iter().filter(|name| tls12(&name)).collect::<Vec<_>>(),
            "{text}"
        );
    }
}

/// Independent tool: OpenSSL's own table of both names. Each is here, or its absence has a reason.
#[test]
fn every_suite_of_openssl_is_here_or_has_a_reason() {
    let all = by_openssl("ALL:COMPLEMENTOFALL:@SECLEVEL=0");
    assert!(all.len() > 100, "{}", all.len());
    let mut here = 0;
    for (iana, openssl) in all {
        match ciphers(&openssl) {
            Ok(found) => {
                here += 1;
                assert_eq!(found.suites, [iana.as_str()]);
            }
            Err(why) => {
                let why = why.to_string();
                assert!(why.starts_with(&format!("-cipher: {openssl} ")), "{why}");
                assert!(missing::reason(&iana).is_some(), "{iana}");
                assert_eq!(missing::reason(&iana), missing::reason(&openssl), "{iana}, {openssl}");
            }
        }
    }
    assert_eq!(here, 9);
}

#[test]
fn what_is_left_out_is_told_beside_what_stays() {
    let found = ciphers("RC4-MD5:ECDHE-RSA-AES256-SHA:AES128-SHA:ECDHE-RSA-AES256-GCM-SHA384").unwrap();
    assert_eq!(found.suites, ["TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"]);
    assert_eq!(found.left_out.len(), 3);
    assert!(found.left_out[0].starts_with("RC4-MD5 is obsolete"), "{:?}", found.left_out);
    assert!(found.left_out[1].contains("CBC mode") && found.left_out[2].contains("forward secrecy"));
}
