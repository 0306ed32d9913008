//! A loopback HTTP server with arbitrary responses.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The response to a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    /// The status line without the HTTP version.
    pub(crate) status: &'static str,
    /// Header lines except the content length.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// The declared length, if it differs from the body's; the missing bytes never arrive.
    pub(crate) content_length: Option<u64>,
}

impl Answer {
    pub(crate) fn page(html: &str) -> Self {
        Self::file("text/html", html.as_bytes())
    }

    pub(crate) fn file(kind: &str, body: &[u8]) -> Self {
        Self {
            status: "200 OK",
            head: format!("content-type: {kind}\r\n"),
            body: body.to_vec(),
            content_length: None,
        }
    }

    /// A download with this file name.
    pub(crate) fn saved_as(mut self, name: &str) -> Self {
        self.head += &format!("content-disposition: attachment; filename=\"{name}\"\r\n");
        self
    }
}

/// A server that stops on drop.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Server {
    /// Responds by path; `None` leaves the connection open without a response.
    pub(crate) async fn start(
        answer: impl Fn(&str) -> Option<Answer> + Send + Sync + Copy + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut request = vec![0; 16 << 10];
                    let count = stream.read(&mut request).await.unwrap_or(0);
                    let request = String::from_utf8_lossy(&request[..count]).into_owned();
                    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
                    let Some(answer) = answer(&path) else {
                        return std::future::pending().await;
                    };
                    let length = answer.content_length.unwrap_or(answer.body.len() as u64);
                    let head = format!(
                        "HTTP/1.1 {}\r\n{}content-length: {length}\r\nconnection: close\r\n\r\n",
                        answer.status, answer.head
                    );
                    let _the_client_may_be_gone = stream.write_all(head.as_bytes()).await;
                    let _the_client_may_be_gone = stream.write_all(&answer.body).await;
                    if answer.content_length.is_some() {
                        std::future::pending::<()>().await;
                    }
                });
            }
        });
        Self { address, task }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}
