//! `-cipher str`: http_load took OpenSSL's cipher strings; these are the names that still mean something.
//!
//! http_load's three aliases stood for RC4-MD5, DES-CBC3-SHA and AES256-SHA, which no target should accept any
//! more and no TLS library here offers. They keep their intent: fast, strong, strongest.

use super::{Result, bail};

const ALIASES: [(&str, &[&str]); 3] = [
    (
        "fastsec",
        &[
            "TLS_AES_128_GCM_SHA256",
            "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
            "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        ],
    ),
    (
        "highsec",
        &[
            "TLS_AES_256_GCM_SHA384",
            "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
            "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        ],
    ),
    // TLS 1.3 alone: forward secrecy, no renegotiation, an encrypted certificate.
    ("paranoid", &["TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"]),
];

/// OpenSSL's name and IANA's.
const NAMES: [(&str, &str); 6] = [
    ("ECDHE-ECDSA-AES128-GCM-SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"),
    ("ECDHE-ECDSA-AES256-GCM-SHA384", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"),
    ("ECDHE-ECDSA-CHACHA20-POLY1305", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"),
    ("ECDHE-RSA-AES128-GCM-SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"),
    ("ECDHE-RSA-AES256-GCM-SHA384", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"),
    ("ECDHE-RSA-CHACHA20-POLY1305", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"),
];

/// The same under both.
const TLS13: [&str; 3] = ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"];

/// Cipher suites by their IANA names, in order, each once.
pub fn suites(text: &str) -> Result<Vec<String>> {
    let mut all: Vec<String> = Vec::new();
    let names = text.split([':', ',', ' ']).filter(|name| !name.is_empty());
    for name in names {
        for suite in meaning(name)? {
            if !all.iter().any(|known| known == suite) {
                all.push((*suite).to_owned());
            }
        }
    }
    if all.is_empty() {
        bail!("-cipher: '{text}' names no cipher; expected one of {}", known());
    }
    Ok(all)
}

/// Whether the string is one of http_load's aliases, which mean other suites than they did.
pub fn is_alias(text: &str) -> bool {
    ALIASES.iter().any(|(alias, _)| alias.eq_ignore_ascii_case(text))
}

fn meaning(name: &str) -> Result<Vec<&'static str>> {
    if let Some((_, suites)) = ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(name)) {
        return Ok(suites.to_vec());
    }
    let is = |known: &str| known.eq_ignore_ascii_case(name);
    let by_openssl = NAMES.iter().find(|(openssl, iana)| is(openssl) || is(iana)).map(|(_, iana)| *iana);
    match by_openssl.or_else(|| TLS13.into_iter().find(|suite| is(suite))) {
        Some(suite) => Ok(vec![suite]),
        None => bail!("-cipher: '{name}' is not a supported cipher; expected one of {}", known()),
    }
}

fn known() -> String {
    let aliases = ALIASES.iter().map(|(alias, _)| *alias);
    let names = NAMES.iter().map(|(openssl, _)| *openssl);
    aliases.chain(names).chain(TLS13).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openssl_names_become_ianas() {
        assert_eq!(
            suites("ECDHE-RSA-AES128-GCM-SHA256:TLS_AES_128_GCM_SHA256").unwrap(),
            ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"]
        );
        assert_eq!(
            suites("tls_ecdhe_rsa_with_aes_128_gcm_sha256").unwrap(),
            ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]
        );
    }

    #[test]
    fn the_three_aliases_have_suites() {
        for alias in ["fastsec", "HIGHSEC", "paranoid"] {
            assert!(is_alias(alias) && suites(alias).unwrap().len() >= 2, "{alias}");
        }
    }

    #[test]
    fn others_are_refused_with_the_list() {
        for text in ["RC4-MD5", "", "HIGH:!aNULL"] {
            let said = suites(text).unwrap_err().to_string();
            assert!(said.starts_with("-cipher: '") && said.contains("ECDHE-RSA-AES128-GCM-SHA256"), "{said}");
        }
    }

    /// Independent tool: OpenSSL's own table of both names.
    #[test]
    fn names_agree_with_openssl() {
        let output = std::process::Command::new("openssl").args(["ciphers", "-stdname", "ALL"]).output();
        let text = String::from_utf8(output.expect("openssl is installed").stdout).unwrap();
        for (openssl, iana) in NAMES {
            let line = text.lines().find(|line| line.split_whitespace().next() == Some(iana));
            assert_eq!(line.and_then(|line| line.split_whitespace().nth(2)), Some(openssl), "{iana}");
        }
    }
}
