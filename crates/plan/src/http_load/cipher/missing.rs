//! Why a suite that OpenSSL has a name for is not here.

/// Parts of suites' names, by OpenSSL and by IANA.
const PARTS: &str = "\
    TLS SSL WITH ECDHE ECDH ECDSA RSA DHE EDH DH ADH AECDH DSS ANON PSK SRP AES AES128 AES256 128 \
        256 GCM CCM CCM8 8 CBC CBC3 DES 3DES EDE RC2 RC4 40 56 MD5 SHA SHA1 SHA256 SHA384 CAMELLIA \
        CAMELLIA128 CAMELLIA256 ARIA ARIA128 ARIA256 SEED IDEA CHACHA20 POLY1305 NULL EXP EXP1024 EXPORT \
        KRB5 GOST GOST94 GOST2001 GOST2012 GOST89 GOST8912 MAGMA KUZNYECHIK OMAC CTR";

/// What decides, in this order: the first part that a name has.
const REASONS: [(&[&str], &str); 9] = [
    (&["NULL"], "encrypts nothing"),
    (&["EXP", "EXP1024", "EXPORT", "40", "56"], "is export-grade, which anyone can break"),
    (&["ANON", "ADH", "AECDH"], "does without a certificate, which rustls does not support"),
    (&["PSK"], "needs a key shared in advance, which rustls does not support for TLS 1.2"),
    (&["SRP", "KRB5"], "needs a password or ticket, which rustls does not support"),
    (&["RC2", "RC4", "DES", "3DES", "CBC3", "IDEA", "SEED", "MD5"], "is obsolete: rustls has no such cipher"),
    (
        &[
            "ARIA",
            "ARIA128",
            "ARIA256",
            "CAMELLIA",
            "CAMELLIA128",
            "CAMELLIA256",
            "CCM",
            "CCM8",
            "GOST",
            "GOST94",
            "GOST2001",
            "GOST2012",
            "GOST89",
            "GOST8912",
            "MAGMA",
            "KUZNYECHIK",
        ],
        "has a cipher that rustls lacks: it has AES-GCM and ChaCha20-Poly1305",
    ),
    (
        &["DHE", "EDH", "DH", "DSS"],
        "exchanges keys by Diffie-Hellman in a finite field; rustls has ECDHE alone",
    ),
    (&["ECDHE"], "is in CBC mode, which rustls leaves out: attacks on its padding keep coming back"),
];

/// Why a suite is left out, or `None` if the word is no suite's name, as OpenSSL or IANA writes it.
pub(super) fn reason(name: &str) -> Option<&'static str> {
    let upper = name.to_ascii_uppercase();
    let parts: Vec<&str> = upper.split(['-', '_']).collect();
    let is_name =
        parts.len() > 1 && parts.iter().all(|part| PARTS.split_whitespace().any(|known| known == *part));
    if !is_name {
        return None;
    }
    let has = |marks: &[&str]| parts.iter().any(|part| marks.contains(part));
    let found = REASONS.iter().find(|(marks, _)| has(marks)).map(|(_, reason)| *reason);
    Some(
        found.unwrap_or(
            "exchanges keys by RSA itself, without forward secrecy, which rustls does not support",
        ),
    )
}
