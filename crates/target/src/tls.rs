//! TLS in the same loop: rustls without its own buffers, so that a record is decrypted and encrypted in place.

use crate::config::{Tls, TlsVersions};
pub(crate) use crate::tls_error::Received;
pub use crate::tls_error::TlsError;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};
use rustls::RootCertStore;
pub(crate) use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{NoServerSessionStorage, UnbufferedServerConnection, WebPkiClientVerifier};
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncryptError, InsufficientSizeError, UnbufferedStatus,
};
use std::path::Path;
use std::sync::Arc;

/// Largest plaintext of one record (RFC 8446 §5.1), and a bound on what its encryption adds.
const RECORD: usize = 16_384;
const RECORD_OVERHEAD: usize = 64;

impl From<rcgen::Error> for TlsError {
    fn from(why: rcgen::Error) -> Self {
        Self::Make(why.to_string())
    }
}

impl From<rustls::Error> for TlsError {
    fn from(why: rustls::Error) -> Self {
        Self::Use(why.to_string())
    }
}

/// rustls' settings for a target.
pub(crate) fn server_config(tls: &Tls) -> Result<Arc<ServerConfig>, TlsError> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let versions: &[_] = match tls.versions {
        TlsVersions::Both => &[&rustls::version::TLS13, &rustls::version::TLS12],
        TlsVersions::Only12 => &[&rustls::version::TLS12],
        TlsVersions::Only13 => &[&rustls::version::TLS13],
    };
    let builder = ServerConfig::builder_with_provider(provider.clone()).with_protocol_versions(versions)?;
    let builder = match &tls.client_ca {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let mut roots = RootCertStore::empty();
            for cert in read_certs(path)? {
                roots.add(cert)?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .build()
                .map_err(|why| TlsError::ClientCa(why.to_string()))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let (chain, key, trusted) = match (&tls.cert, &tls.key) {
        (Some(cert), Some(key)) => {
            let key = PrivateKeyDer::from_pem_file(key).map_err(|why| unreadable(key, &why))?;
            (read_certs(cert)?, key, None)
        }
        _ => {
            let (chain, key, trusted) = make_certificate()?;
            (chain, key, Some(trusted))
        }
    };
    if let (Some(path), Some(pem)) = (&tls.write_cert, trusted) {
        os::output::write(path, pem)
            .map_err(|why| TlsError::Write { path: path.display().to_string(), why })?;
    }
    let mut config = builder.with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec(), b"http/1.0".to_vec()];
    if tls.tickets {
        config.ticketer = rustls::crypto::aws_lc_rs::Ticketer::new()?;
    } else {
        config.send_tls13_tickets = 0;
        config.session_storage = Arc::new(NoServerSessionStorage {});
    }
    Ok(Arc::new(config))
}

fn read_certs(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let certs: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(path).map_err(|why| unreadable(path, &why))?.collect();
    let certs = certs.map_err(|why| unreadable(path, &why))?;
    if certs.is_empty() {
        return Err(TlsError::Pem {
            path: path.display().to_string(),
            why: "it holds no certificate".into(),
        });
    }
    Ok(certs)
}

fn unreadable(path: &Path, why: &dyn std::fmt::Display) -> TlsError {
    TlsError::Pem { path: path.display().to_string(), why: why.to_string() }
}

type Made = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>, String);

/// An authority, and a certificate of it for `localhost` and the loopback addresses (ECDSA P-256); the
/// authority's PEM is what a client must trust.
fn make_certificate() -> Result<Made, TlsError> {
    let mut authority = CertificateParams::new(Vec::<String>::new())?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.distinguished_name.push(DnType::CommonName, "tare target throw-away authority");
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
    let names = ["localhost", "target.test", "127.0.0.1", "::1"].map(String::from);
    let mut params = CertificateParams::new(names.to_vec())?;
    params.distinguished_name.push(DnType::CommonName, "tare target");
    params.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate()?;
    let cert = params.signed_by(&key, &authority)?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    Ok((vec![cert.der().clone()], key, authority.pem()))
}

/// One connection's TLS.
pub(crate) struct Link {
    tls: UnbufferedServerConnection,
    /// A record that is not complete yet.
    input: Vec<u8>,
    established: bool,
}

impl Link {
    pub fn new(config: Arc<ServerConfig>) -> Result<Self, rustls::Error> {
        let tls = UnbufferedServerConnection::new(config)?;
        Ok(Self { tls, input: Vec::new(), established: false })
    }

    pub fn is_established(&self) -> bool {
        self.established
    }

    /// Takes bytes from the wire; `plain` gets what they held, `wire` what must be sent for the handshake.
    pub fn receive(&mut self, bytes: &mut [u8], wire: &mut Vec<u8>, plain: impl FnMut(&[u8])) -> Received {
        if self.input.is_empty() {
            let (used, received) = self.process(bytes, wire, plain);
            self.input.extend_from_slice(&bytes[used..]);
            return received;
        }
        let mut input = std::mem::take(&mut self.input);
        input.extend_from_slice(bytes);
        let (used, received) = self.process(&mut input, wire, plain);
        if used == input.len() {
            input = Vec::new();
        } else {
            input.drain(..used);
        }
        self.input = input;
        received
    }

    fn process(
        &mut self,
        bytes: &mut [u8],
        wire: &mut Vec<u8>,
        mut plain: impl FnMut(&[u8]),
    ) -> (usize, Received) {
        let mut used = 0;
        let mut received = Received::default();
        loop {
            let UnbufferedStatus { discard, state } = self.tls.process_tls_records(&mut bytes[used..]);
            let mut more = true;
            match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(Ok(record)) = traffic.next_record() {
                        plain(record.payload);
                    }
                }
                Ok(ConnectionState::EncodeTlsData(mut data)) => encode(wire, |out| data.encode(out)),
                Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                Ok(ConnectionState::PeerClosed) => received.closed = true,
                Ok(ConnectionState::WriteTraffic(_)) => {
                    received.established = !std::mem::replace(&mut self.established, true);
                    more = false;
                }
                Ok(ConnectionState::ReadEarlyData(_) | ConnectionState::BlockedHandshake) => more = false,
                Ok(ConnectionState::Closed | _) => {
                    received.closed = true;
                    more = false;
                }
                Err(_) if received.failed => more = false,
                // Once more, for the alert that says what was wrong.
                Err(_) => received.failed = true,
            }
            used += discard;
            if !more {
                return (used, received);
            }
        }
    }

    /// Encrypts `plain` to the end of `wire`; false if that is not possible.
    pub fn encrypt(&mut self, plain: &[u8], wire: &mut Vec<u8>) -> bool {
        let UnbufferedStatus { discard, state } = self.tls.process_tls_records(&mut self.input);
        let done = match state {
            Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                let start = wire.len();
                wire.resize(start + plain.len() + (plain.len() / RECORD + 1) * RECORD_OVERHEAD, 0);
                let written = match traffic.encrypt(plain, &mut wire[start..]) {
                    Err(EncryptError::InsufficientSize(InsufficientSizeError { required_size })) => {
                        wire.resize(start + required_size, 0);
                        traffic.encrypt(plain, &mut wire[start..])
                    }
                    other => other,
                };
                wire.truncate(start + written.as_ref().map_or(0, |n| *n));
                written.is_ok()
            }
            _ => false,
        };
        self.input.drain(..discard);
        done
    }

    /// Appends the alert that ends the connection.
    pub fn say_goodbye(&mut self, wire: &mut Vec<u8>) {
        let UnbufferedStatus { discard, state } = self.tls.process_tls_records(&mut self.input);
        if let Ok(ConnectionState::WriteTraffic(mut traffic)) = state {
            let start = wire.len();
            wire.resize(start + RECORD_OVERHEAD, 0);
            let written = traffic.queue_close_notify(&mut wire[start..]).unwrap_or(0);
            wire.truncate(start + written);
        }
        self.input.drain(..discard);
    }
}

fn encode(wire: &mut Vec<u8>, mut data: impl FnMut(&mut [u8]) -> Result<usize, EncodeError>) {
    let start = wire.len();
    let mut room = 2_048;
    loop {
        wire.resize(start + room, 0);
        match data(&mut wire[start..]) {
            Ok(written) => return wire.truncate(start + written),
            Err(EncodeError::InsufficientSize(InsufficientSizeError { required_size })) => {
                room = required_size
            }
            Err(EncodeError::AlreadyEncoded) => return wire.truncate(start),
        }
    }
}
