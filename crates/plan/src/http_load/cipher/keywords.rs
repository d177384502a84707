//! The suites that rustls has, and which of them each keyword of OpenSSL selects.

/// A suite of TLS 1.2.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Suite {
    pub openssl: &'static str,
    pub iana: &'static str,
    /// Strength of the cipher.
    pub bits: u16,
}

/// In OpenSSL's order of preference.
pub(super) const TLS12: &[Suite] = &[
    Suite {
        openssl: "ECDHE-ECDSA-AES256-GCM-SHA384",
        iana: "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        bits: 256,
    },
    Suite {
        openssl: "ECDHE-RSA-AES256-GCM-SHA384",
        iana: "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        bits: 256,
    },
    Suite {
        openssl: "ECDHE-ECDSA-CHACHA20-POLY1305",
        iana: "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        bits: 256,
    },
    Suite {
        openssl: "ECDHE-RSA-CHACHA20-POLY1305",
        iana: "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
        bits: 256,
    },
    Suite {
        openssl: "ECDHE-ECDSA-AES128-GCM-SHA256",
        iana: "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        bits: 128,
    },
    Suite {
        openssl: "ECDHE-RSA-AES128-GCM-SHA256",
        iana: "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        bits: 128,
    },
];

/// Suites of TLS 1.3 have the same name everywhere.
pub(super) const TLS13: [&str; 3] =
    ["TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"];

/// Whether a suite has what a word asks for.
pub(super) type Has = Box<dyn Fn(&Suite) -> bool>;

impl Suite {
    /// By OpenSSL's or IANA's name, in upper or lower case.
    pub fn named(name: &str) -> Option<&'static Self> {
        let is = |known: &str| known.eq_ignore_ascii_case(name);
        TLS12.iter().find(|suite| is(suite.openssl) || is(suite.iana))
    }

    pub fn is_ecdsa(&self) -> bool {
        self.openssl.contains("-ECDSA-")
    }

    pub fn is_gcm(&self) -> bool {
        self.openssl.contains("-GCM-")
    }
}

/// Keywords of openssl-ciphers(1) that select none of these suites.
const NONE: &str = "\
    COMPLEMENTOFDEFAULT COMPLEMENTOFALL MEDIUM LOW EXP EXPORT EXPORT40 EXPORT56 eNULL NULL aNULL \
        kRSA RSA kDHE kEDH DH DHE EDH kDH kDHr kDHd aDH aDSS DSS ADH AECDH kECDHr kECDHe kECDH aECDH PSK \
        kPSK kECDHEPSK kDHEPSK kRSAPSK aPSK SRP kSRP aSRP kGOST kGOST18 aGOST aGOST01 aGOST12 GOST94 \
        GOST89MAC TLSv1 TLSv1.0 SSLv3 AESCCM AESCCM8 ARIA ARIAGCM ARIA128 ARIA256 CAMELLIA CAMELLIA128 \
        CAMELLIA256 CBC 3DES DES RC4 RC2 IDEA SEED MD5 SHA1 SHA SHA256 SHA384 GOST89 kKRB5 KRB5 FZA";

/// What a keyword selects, or `None` if it is none.
pub(super) fn keyword(word: &str) -> Option<Has> {
    let has: fn(&Suite) -> bool = match word {
        "ALL" | "HIGH" | "TLSv1.2" | "ECDH" | "ECDHE" | "EECDH" | "kECDHE" | "kEECDH" => |_| true,
        "aRSA" => |suite| !suite.is_ecdsa(),
        "aECDSA" | "ECDSA" => Suite::is_ecdsa,
        "AES" | "AESGCM" | "FIPS" => Suite::is_gcm,
        "AES128" => |suite| suite.bits == 128,
        "AES256" => |suite| suite.is_gcm() && suite.bits == 256,
        "CHACHA20" => |suite| !suite.is_gcm(),
        word if NONE.split_whitespace().any(|known| known == word) => |_| false,
        _ => return None,
    };
    Some(Box::new(has))
}
