//! TLS by rustls, which does no I/O of its own: bytes in, bytes out, never a wait.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WantsClientCert, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConnection, ConfigBuilder, DigitallySignedStruct, SignatureScheme};
use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::Arc;
use units::Cause;

use crate::protocol::Protocol;
pub use crate::tls_error::TlsError;
use plan::{TlsPlan, TlsVersion};

pub use rustls::ClientConfig;
/// What a target is called where it has to show who it is.
pub type ServerName = rustls::pki_types::ServerName<'static>;

/// The most plaintext that is encrypted at once.
const PIECE: usize = 16 * 1024;

/// One TLS session on a connection.
#[derive(Debug)]
pub struct Layer {
    session: ClientConnection,
    /// Encrypted bytes for the wire, sent up to `at`.
    cipher: Vec<u8>,
    at: usize,
    /// How many bytes of plaintext are in `cipher`.
    plain: usize,
    problem: Option<Box<str>>,
}

impl Layer {
    pub fn new(config: &Arc<ClientConfig>, name: &ServerName) -> Result<Self, rustls::Error> {
        let session = ClientConnection::new(config.clone(), name.clone())?;
        Ok(Self { session, cipher: Vec::new(), at: 0, plain: 0, problem: None })
    }

    pub fn is_handshaking(&self) -> bool {
        self.session.is_handshaking()
    }

    /// In rustls' words, why the session failed.
    pub fn problem(&mut self) -> Option<Box<str>> {
        self.problem.take()
    }

    /// The next bytes for the wire; takes plaintext from `plain`, which sends `plan_body`, once
    /// the handshake is over.
    pub fn output(&mut self, plain: Option<&mut impl Protocol>, plan_body: &[u8]) -> &[u8] {
        if self.at == self.cipher.len() {
            self.cipher.clear();
            self.at = 0;
            if let Some(plain) = plain {
                self.encrypt(plain, plan_body);
            }
            while self.session.wants_write() {
                self.session.write_tls(&mut self.cipher).expect("writing to memory does not fail");
            }
        }
        &self.cipher[self.at..]
    }

    fn encrypt(&mut self, plain: &mut impl Protocol, plan_body: &[u8]) {
        let piece = plain.output(plan_body);
        if piece.is_empty() {
            return;
        }
        let count = piece.len().min(PIECE);
        let taken = self.session.writer().write(&piece[..count]).expect("writing to memory does not fail");
        plain.wrote(taken);
        self.plain = taken;
    }

    /// `count` bytes of `output` are with the kernel. Says how much plaintext has left with them: all that was
    /// encrypted, with the last byte of it, since of a record in part nobody can read anything. With it, how
    /// many bytes it became.
    pub fn wrote(&mut self, count: usize) -> (usize, usize) {
        self.at += count;
        let whole = self.cipher.len();
        if self.at < whole {
            return (0, 0);
        }
        if self.cipher.capacity() > PIECE {
            self.cipher = Vec::new();
            self.at = 0;
        }
        (std::mem::take(&mut self.plain), whole)
    }

    /// Bytes from the wire; plaintext goes to `plain`. True if the target has closed the session.
    pub fn received(&mut self, mut bytes: &[u8], mut plain: impl FnMut(&[u8])) -> Result<bool, Cause> {
        let mut closed = false;
        while !bytes.is_empty() {
            self.session.read_tls(&mut bytes).map_err(|_| Cause::TlsProtocol)?;
            let state = match self.session.process_new_packets() {
                Ok(state) => state,
                Err(error) => {
                    // What came before it is whole.
                    let mut reader = self.session.reader();
                    while let Ok(piece) = reader.fill_buf()
                        && !piece.is_empty()
                    {
                        let count = piece.len();
                        plain(piece);
                        reader.consume(count);
                    }
                    return Err(self.failed(&error));
                }
            };
            closed = state.peer_has_closed();
            let mut left = state.plaintext_bytes_to_read();
            while left > 0 {
                let mut reader = self.session.reader();
                let piece = reader.fill_buf().map_err(|_| Cause::TlsProtocol)?;
                let count = piece.len();
                plain(piece);
                reader.consume(count);
                left = left.saturating_sub(count.max(1));
            }
            if closed {
                break;
            }
        }
        Ok(closed)
    }

    fn failed(&mut self, error: &rustls::Error) -> Cause {
        self.problem = Some(error.to_string().into());
        match error {
            rustls::Error::AlertReceived(_) => Cause::TlsAlert,
            rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented => {
                Cause::TlsCertificate
            }
            _ => Cause::TlsProtocol,
        }
    }
}

/// Makes the configuration that all connections of one thread share.
pub fn configure(plan: &TlsPlan) -> Result<Arc<ClientConfig>, TlsError> {
    let provider = Arc::new(provider(plan)?);
    let versions: Vec<_> =
        [(TlsVersion::Tls12, &rustls::version::TLS12), (TlsVersion::Tls13, &rustls::version::TLS13)]
            .into_iter()
            .filter(|(version, _)| (plan.min_version..=plan.max_version).contains(version))
            .map(|(_, version)| version)
            .collect();
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&versions)
        .map_err(|_| TlsError::NoCipher { min: name(plan.min_version), max: name(plan.max_version) })?;
    let builder = if plan.insecure {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(AcceptAny(provider)))
    } else {
        let given =
            plan.ca.as_deref().map(|path| certificates("--ca", path)).transpose()?.unwrap_or_default();
        let authorities = Arc::new(roots(plan.ca.as_deref(), &given)?);
        let usual = WebPkiServerVerifier::builder_with_provider(authorities, provider)
            .build()
            .expect("it has an authority, and no revocation list that could be wrong");
        builder.dangerous().with_custom_certificate_verifier(Arc::new(Trusting { given, usual }))
    };
    let mut config = client_identity(builder, plan)?;
    config.alpn_protocols = plan.alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    if !plan.resumption {
        config.resumption = Resumption::disabled();
    }
    let config = Arc::new(config);
    gather_entropy(&config);
    Ok(config)
}

/// The first session of a process seeds the random generator, which takes 20 to 50 ms of a CPU: now, and not
/// while requests are due.
fn gather_entropy(config: &Arc<ClientConfig>) {
    let nobody = ServerName::try_from("nobody.invalid").expect("it is a name");
    // A configuration that allows no session fails at the first connection, which says why.
    let _ = ClientConnection::new(config.clone(), nobody);
}

/// The name that is sent as SNI and checked in the certificate.
pub fn server_name(host: &str) -> Result<ServerName, TlsError> {
    ServerName::try_from(host.to_owned()).map_err(|_| TlsError::ServerName { name: host.to_owned() })
}

const fn name(version: TlsVersion) -> &'static str {
    match version {
        TlsVersion::Tls12 => "1.2",
        TlsVersion::Tls13 => "1.3",
    }
}

fn provider(plan: &TlsPlan) -> Result<CryptoProvider, TlsError> {
    let mut provider = aws_lc_rs::default_provider();
    if plan.ciphers.is_empty() {
        // AES-128 before AES-256, as browsers on processors with AES instructions offer them: targets follow
        // it.
        provider.cipher_suites.sort_by_key(|suite| !format!("{:?}", suite.suite()).contains("AES_128"));
        return Ok(provider);
    }
    let suite_name =
        |suite: &rustls::SupportedCipherSuite| format!("{:?}", suite.suite()).replace("TLS13_", "TLS_");
    let known = provider.cipher_suites;
    provider.cipher_suites = Vec::new();
    for wanted in &plan.ciphers {
        let suite = known.iter().find(|suite| suite_name(suite) == wanted.replace("TLS13_", "TLS_"));
        provider.cipher_suites.push(*suite.ok_or_else(|| TlsError::Cipher {
            name: wanted.clone(),
            known: known.iter().map(suite_name).collect::<Vec<_>>().join(", "),
        })?);
    }
    Ok(provider)
}

/// The host's authorities, and those of the file.
fn roots(ca: Option<&Path>, given: &[CertificateDer<'static>]) -> Result<rustls::RootCertStore, TlsError> {
    let mut store = rustls::RootCertStore::empty();
    let native = rustls_native_certs::load_native_certs();
    store.add_parsable_certificates(native.certs);
    if let Some(path) = ca {
        for certificate in given {
            store
                .add(certificate.clone())
                .map_err(|error| file_error("--ca", path, error.to_string(), CERTIFICATE))?;
        }
    }
    if store.is_empty() {
        let problem = native.errors.first().map_or_else(|| "no certificates".to_owned(), ToString::to_string);
        return Err(TlsError::NoRoots { problem });
    }
    Ok(store)
}

const CERTIFICATE: &str = "one or more certificates";

fn certificates(flag: &'static str, path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = text_of(path).map_err(|problem| file_error(flag, path, problem, CERTIFICATE))?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match all {
        Ok(all) if all.is_empty() => {
            Err(file_error(flag, path, "has no certificate".to_owned(), CERTIFICATE))
        }
        Ok(all) => Ok(all),
        Err(error) => Err(file_error(flag, path, pem_problem(&error, "certificate"), CERTIFICATE)),
    }
}

fn text_of(path: &Path) -> Result<Vec<u8>, String> {
    os::input::read(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::IsADirectory => "is a folder".to_owned(),
        _ => error.to_string(),
    })
}

fn pem_problem(error: &pem::Error, wanted: &str) -> String {
    match error {
        pem::Error::NoItemsFound => format!("has no {wanted}"),
        error => format!("is not readable as PEM ({error})"),
    }
}

fn file_error(flag: &'static str, path: &Path, problem: String, expected: &'static str) -> TlsError {
    TlsError::File { flag, path: path.to_owned(), problem, expected }
}

fn client_identity(
    builder: ConfigBuilder<ClientConfig, WantsClientCert>,
    plan: &TlsPlan,
) -> Result<ClientConfig, TlsError> {
    let Some((certificate, key)) = &plan.client else { return Ok(builder.with_no_client_auth()) };
    let chain = certificates("--cert", certificate)?;
    let wrong = |problem: String| file_error("--key", key, problem, "a private key");
    let text = text_of(key).map_err(&wrong)?;
    let private =
        PrivateKeyDer::from_pem_slice(&text).map_err(|error| wrong(pem_problem(&error, "private key")))?;
    builder
        .with_client_auth_cert(chain, private)
        .map_err(|error| TlsError::Client { problem: client_problem(&error) })
}

fn client_problem(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InconsistentKeys(_) => {
            "the key does not belong to the certificate; expected its own key".to_owned()
        }
        other => other.to_string(),
    }
}

/// The usual checks; and as with curl's `--cacert`, a certificate that was given itself is trusted, also if it
/// is an authority's (`openssl req -x509` makes such) that serves as a target's.
#[derive(Debug)]
struct Trusting {
    given: Vec<CertificateDer<'static>>,
    usual: Arc<WebPkiServerVerifier>,
}

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &rustls::pki_types::ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let usual = self.usual.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match usual {
            Err(error)
                if self.given.iter().any(|given| given == end_entity) && is_only_an_authority(&error) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            usual => usual,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.usual.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.usual.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
}

/// Whether all that is wrong with a certificate is that it is an authority's. Its dates are looked at before
/// that.
fn is_only_an_authority(error: &rustls::Error) -> bool {
    matches!(error, rustls::Error::InvalidCertificate(CertificateError::Other(other))
        if other.to_string() == "CaUsedAsEndEntity")
}

/// `--insecure`: every certificate will do, and its signature is not looked at.
#[derive(Debug)]
struct AcceptAny(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAny {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &rustls::pki_types::ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
