//! TLS of the HTTP API: a certificate with its key, which can be read again while connections go on.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Largest file of a certificate or key in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Permissions of all users but owner and group.
const BY_OTHERS: u32 = 0o007;

/// Certificate and key of a server. Clones share them.
#[derive(Clone, Debug)]
pub struct ServerTls {
    cert: PathBuf,
    key: PathBuf,
    config: Arc<RwLock<Arc<ServerConfig>>>,
}

impl ServerTls {
    /// Reads a certificate chain and its key from PEM files.
    ///
    /// # Errors
    /// With a sentence, if a file cannot be read, others can read the key, or the key is not that of the
    /// certificate.
    pub fn load(cert: &Path, key: &Path) -> Result<Self, String> {
        Ok(Self {
            cert: cert.to_owned(),
            key: key.to_owned(),
            config: Arc::new(RwLock::new(config(cert, key)?)),
        })
    }

    /// Reads both files again; new connections use what was read.
    ///
    /// # Errors
    /// Like [`Self::load`]; then the earlier certificate stays in use.
    pub fn reload(&self) -> Result<(), String> {
        let fresh = config(&self.cert, &self.key)?;
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        Ok(())
    }

    /// What accepts a new connection.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        let config = self.config.read().unwrap_or_else(PoisonError::into_inner);
        TlsAcceptor::from(Arc::clone(&config))
    }
}

fn config(cert: &Path, key: &Path) -> Result<Arc<ServerConfig>, String> {
    let chain: Vec<CertificateDer<'static>> = {
        let pem = read(cert, |_| Ok(()))?;
        let parsed: Result<_, _> = CertificateDer::pem_slice_iter(&pem).collect();
        parsed.map_err(|e| format!("{}: no certificate chain: {e}", cert.display()))?
    };
    if chain.is_empty() {
        return Err(format!(
            "{}: expected a certificate chain in PEM, found no `BEGIN CERTIFICATE`",
            cert.display()
        ));
    }
    let pem = read(key, is_private)?;
    let private = PrivateKeyDer::from_pem_slice(&pem);
    let private = private.map_err(|e| format!("{}: no private key: {e}", key.display()))?;
    let provider = Arc::new(ring::default_provider());
    let made = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| {
            builder
                .with_no_client_auth()
                .with_single_cert(chain, private)
        });
    let mut config = made.map_err(|e| {
        format!(
            "{} and {}: not usable together: {e}",
            cert.display(),
            key.display()
        )
    })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn read(
    path: &Path,
    check: impl FnOnce(&fs::Metadata) -> Result<(), String>,
) -> Result<Vec<u8>, String> {
    let failed = |e: io::Error| format!("failed to read {}: {e}", path.display());
    let file = File::open(path).map_err(failed)?;
    let found = file.metadata().map_err(failed)?;
    check(&found).map_err(|why| format!("{} {why}", path.display()))?;
    let mut bytes = Vec::new();
    let length = file.take(MAX_FILE_BYTES).read_to_end(&mut bytes);
    length.map_err(failed)?;
    Ok(bytes)
}

fn is_private(found: &fs::Metadata) -> Result<(), String> {
    let mode = found.mode() & 0o7777;
    match mode & BY_OTHERS {
        0 => Ok(()),
        _ => Err(format!(
            "has mode {mode:04o}, so all users can use the key; run `chmod o= FILE`"
        )),
    }
}
