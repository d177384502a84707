//! `[tls]`

use super::Resolver;
use crate::error::PlanError;
use crate::model::{TlsPlan, TlsVersion};
use crate::suggest::nearest;
use std::path::PathBuf;

/// The suites that can be had (IANA names), and the version that each belongs to.
const SUITES: [(&str, TlsVersion); 9] = [
    ("TLS_AES_256_GCM_SHA384", TlsVersion::Tls13),
    ("TLS_AES_128_GCM_SHA256", TlsVersion::Tls13),
    ("TLS_CHACHA20_POLY1305_SHA256", TlsVersion::Tls13),
    ("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", TlsVersion::Tls12),
    ("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", TlsVersion::Tls12),
    ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", TlsVersion::Tls12),
    ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", TlsVersion::Tls12),
    ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", TlsVersion::Tls12),
    ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", TlsVersion::Tls12),
];

impl Resolver<'_> {
    pub(super) fn tls(&mut self) -> Result<TlsPlan, PlanError> {
        let typed = &self.file.tls;
        let versions = [("1.2", TlsVersion::Tls12), ("1.3", TlsVersion::Tls13)];
        let min = self.table.choice("tls.min", typed.min.as_ref().map(|v| v.as_str()), &versions)?;
        let max = self.table.choice("tls.max", typed.max.as_ref().map(|v| v.as_str()), &versions)?;
        let (min, max) = (min.unwrap_or(TlsVersion::Tls12), max.unwrap_or(TlsVersion::Tls13));
        if min > max {
            return Err(self.table.both("tls.min", "tls.max", "the lowest version is above the highest"));
        }
        let insecure = typed.insecure.unwrap_or(false);
        if insecure {
            self.note("INSECURE: certificates are NOT verified; anyone could respond for the target");
        }
        Ok(TlsPlan {
            ca: self.path("tls.ca", typed.ca.as_deref())?,
            client: self.client()?,
            insecure,
            min_version: min,
            max_version: max,
            ciphers: self.ciphers(min, max)?,
            resumption: typed.resumption.unwrap_or(true),
            server_name: self.server_name()?,
            alpn: self.alpn()?,
        })
    }

    fn path(&self, field: &str, typed: Option<&str>) -> Result<Option<PathBuf>, PlanError> {
        match typed {
            Some("") => Err(self.table.wrong(field, "", "names no file", "a PEM file")),
            _ => Ok(typed.map(PathBuf::from)),
        }
    }

    fn client(&self) -> Result<Option<(PathBuf, PathBuf)>, PlanError> {
        let cert = self.path("tls.cert", self.file.tls.cert.as_deref())?;
        let key = self.path("tls.key", self.file.tls.key.as_deref())?;
        match (cert, key) {
            (Some(cert), Some(key)) => Ok(Some((cert, key))),
            (None, None) => Ok(None),
            (Some(_), None) => Err(self.table.missing(
                "tls.cert",
                "--key (tls.key)",
                "a client certificate is useless without its key",
            )),
            (None, Some(_)) => Err(self.table.missing(
                "tls.key",
                "--cert (tls.cert)",
                "a key is useless without its certificate",
            )),
        }
    }

    fn ciphers(&self, min: TlsVersion, max: TlsVersion) -> Result<Vec<String>, PlanError> {
        let mut all: Vec<String> = Vec::new();
        let mut usable = false;
        for (index, text) in self.file.tls.ciphers.iter().flatten().enumerate() {
            let field = format!("tls.ciphers[{index}]");
            let name = text.trim().to_ascii_uppercase();
            let Some((_, version)) = SUITES.iter().find(|(suite, _)| *suite == name) else {
                let names = SUITES.map(|(suite, _)| suite);
                let expected = nearest(&name, names).map_or_else(|| names.join(", "), str::to_owned);
                return Err(self.table.wrong(&field, text, "is not a supported cipher suite", expected));
            };
            if all.contains(&name) {
                return Err(self.table.wrong(&field, text, "is given twice", "each suite once"));
            }
            usable |= (min..=max).contains(version);
            all.push(name);
        }
        if !all.is_empty() && !usable {
            let other = if max == TlsVersion::Tls12 { "tls.max" } else { "tls.min" };
            return Err(self.table.both(
                "tls.ciphers",
                other,
                "no suite in this list belongs to an allowed TLS version",
            ));
        }
        Ok(all)
    }

    fn server_name(&self) -> Result<Option<String>, PlanError> {
        let Some(text) = &self.file.tls.server_name else { return Ok(None) };
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | ':');
        if text.is_empty() || !text.chars().all(allowed) {
            return Err(self.table.wrong(
                "tls.server_name",
                text,
                "is not a name",
                "a DNS name or an address",
            ));
        }
        Ok(Some(text.clone()))
    }

    fn alpn(&self) -> Result<Vec<String>, PlanError> {
        let Some(list) = &self.file.tls.alpn else { return Ok(vec!["http/1.1".to_owned()]) };
        for (index, name) in list.iter().enumerate() {
            let wrong = |problem, expected: &str| {
                Err(self.table.wrong(&format!("tls.alpn[{index}]"), name, problem, expected))
            };
            // A protocol name is 1 to 255 bytes (RFC 7301 §3.1).
            if name.is_empty() || name.len() > 255 {
                return wrong("is not 1 to 255 bytes long", "a protocol such as http/1.1");
            }
            if name == "h2" {
                return wrong("would select HTTP/2, which is not supported", "http/1.1 or http/1.0");
            }
        }
        Ok(list.clone())
    }
}
