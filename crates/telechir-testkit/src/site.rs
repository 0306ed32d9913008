//! Serves a test's own pages on loopback under two sites, so that frames between them run in
//! separate processes, or the files of a folder.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Component, Path as FilePath, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A server with some pages, stopped when dropped.
#[derive(Debug)]
pub struct Site {
    address: SocketAddr,
    server: JoinHandle<()>,
}

impl Site {
    /// Serves pages by name. In them, `{here}` and `{elsewhere}` become the URLs of the two sites,
    /// without a trailing slash.
    ///
    /// # Errors
    /// If no loopback port is available.
    pub async fn serve<const N: usize>(pages: [(&str, &str); N]) -> io::Result<Self> {
        Self::start(|address| {
            let fill = |html: &str| {
                html.replace("{here}", &here(address))
                    .replace("{elsewhere}", &elsewhere(address))
            };
            let pages: HashMap<String, String> = pages
                .into_iter()
                .map(|(name, html)| (name.to_owned(), fill(html)))
                .collect();
            Router::new()
                .route("/{page}", get(page))
                .with_state(Arc::new(pages))
        })
        .await
    }

    /// Serves the files of a folder by their paths. Their pages load nothing from other sites.
    ///
    /// # Errors
    /// If no loopback port is available.
    pub async fn of_folder(folder: PathBuf) -> io::Result<Self> {
        let routes = Router::new()
            .route("/{*path}", get(file))
            .with_state(Arc::new(folder));
        Self::start(|_| routes).await
    }

    /// Starts a server with the routes that are made for its address.
    async fn start(routes: impl FnOnce(SocketAddr) -> Router) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let routes = routes(address);
        let server = tokio::spawn(async move {
            let _until_the_site_is_dropped = axum::serve(listener, routes).await;
        });
        Ok(Self { address, server })
    }

    /// The URL of a page, by its name.
    pub fn url(&self, page: &str) -> String {
        format!("{}/{page}", here(self.address))
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn here(address: SocketAddr) -> String {
    format!("http://{address}")
}

fn elsewhere(address: SocketAddr) -> String {
    format!("http://localhost:{}", address.port())
}

async fn page(
    State(pages): State<Arc<HashMap<String, String>>>,
    Path(name): Path<String>,
) -> Response {
    match pages.get(&name) {
        Some(html) => Html(html.clone()).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Allows what the folder serves, and scripts that build scripts.
const OWN_FILES_ONLY: &str = "default-src 'self' data: blob: 'unsafe-inline' 'unsafe-eval'";

async fn file(State(folder): State<Arc<PathBuf>>, Path(path): Path<String>) -> Response {
    let is_plain = |path: &FilePath| {
        path.components()
            .all(|part| matches!(part, Component::Normal(_)))
    };
    let path = FilePath::new(&path);
    let read = match is_plain(path) {
        true => tokio::fs::read(folder.join(path)).await.ok(),
        false => None,
    };
    let kind = mime_guess::from_path(path).first_or_octet_stream();
    let head = [
        (header::CONTENT_TYPE, kind.as_ref()),
        (header::CONTENT_SECURITY_POLICY, OWN_FILES_ONLY),
    ];
    match read {
        Some(body) => (head, body).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
