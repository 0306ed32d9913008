//! Standard input and output as the connection to one client, and the moment at which it is gone.
//!
//! The end of a session must not depend on one sign: clients close only one of the two streams, or
//! exit while another process keeps both open.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as BlockingUnixStream;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use rustix::process::{PidfdFlags, getppid, pidfd_open};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, stdin, stdout};
use tokio::net::UnixStream;
use tokio::net::unix::pipe::{OpenOptions, Receiver, Sender};
use tokio::sync::watch;

/// Standard input, which reports its end.
pub(crate) struct Input {
    stream: Box<dyn AsyncRead + Send + Unpin>,
    client: ClientSender,
}

/// Standard output, which reports a failed write.
pub(crate) struct Output {
    stream: Box<dyn AsyncWrite + Send + Unpin>,
    client: ClientSender,
}

/// Whether the client is still there.
#[derive(Debug)]
pub(crate) struct ClientPresence {
    is_gone: watch::Receiver<bool>,
}

/// Reports that the client is gone. Streams keep it, so that the channel stays open.
type ClientSender = watch::Sender<bool>;

/// Opens both streams and begins to watch the client.
///
/// # Errors
/// When a stream is not open.
pub(crate) fn open() -> io::Result<(Input, Output, ClientPresence)> {
    let (client, is_gone) = watch::channel(false);
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let end = output.as_fd().try_clone_to_owned()?;
    let input = Input {
        stream: reader(input)?,
        client: client.clone(),
    };
    let output = Output {
        stream: writer(output)?,
        client: client.clone(),
    };
    let parent = parent();
    // A thread, because the runtime cannot wait for these signs without unsafe code. It ends with
    // the process.
    let _watches_until_the_end = thread::Builder::new()
        .name("client-watch".to_owned())
        .spawn(move || watch_client(&client, &end, parent.as_ref()))?;
    Ok((input, output, ClientPresence { is_gone }))
}

impl ClientPresence {
    /// Waits until the client is gone. Cancel-safe.
    pub(crate) async fn ended(&mut self) {
        // An error says that both streams are dropped.
        let _reported = self.is_gone.wait_for(|is_gone| *is_gone).await;
    }
}

/// How a stream is read or written without blocking; a blocking read would outlive the runtime.
enum StreamKind {
    /// Of most clients.
    Pipe,
    /// Of clients that run in Node.
    Socket,
    /// A file or a terminal, which a thread of the runtime reads.
    Other,
}

impl StreamKind {
    fn of(file: &File) -> io::Result<Self> {
        Ok(match FileType::from_raw_mode(fstat(file)?.st_mode) {
            FileType::Fifo => Self::Pipe,
            FileType::Socket => Self::Socket,
            FileType::RegularFile
            | FileType::Directory
            | FileType::Symlink
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => Self::Other,
        })
    }
}

fn reader(file: File) -> io::Result<Box<dyn AsyncRead + Send + Unpin>> {
    Ok(match StreamKind::of(&file)? {
        StreamKind::Pipe => {
            // A description of its own keeps O_NONBLOCK from processes that share the stream. It
            // cannot be had for a pipe of another user.
            let own = OpenOptions::new().open_receiver("/proc/self/fd/0");
            Box::new(own.or_else(|_| Receiver::from_owned_fd(file.into()))?)
        }
        StreamKind::Socket => Box::new(socket(file)?),
        StreamKind::Other => Box::new(stdin()),
    })
}

fn writer(file: File) -> io::Result<Box<dyn AsyncWrite + Send + Unpin>> {
    Ok(match StreamKind::of(&file)? {
        StreamKind::Pipe => {
            let own = OpenOptions::new().open_sender("/proc/self/fd/1");
            Box::new(own.or_else(|_| Sender::from_owned_fd(file.into()))?)
        }
        StreamKind::Socket => Box::new(socket(file)?),
        StreamKind::Other => Box::new(stdout()),
    })
}

fn socket(file: File) -> io::Result<UnixStream> {
    let stream = BlockingUnixStream::from(OwnedFd::from(file));
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}

/// The process that started this one; absent for the first process of a PID namespace.
fn parent() -> Option<OwnedFd> {
    pidfd_open(getppid()?, PidfdFlags::NONBLOCK).ok()
}

/// Reports when nobody reads standard output any more, or when the parent exits. A file as standard
/// output has no such sign.
fn watch_client(client: &ClientSender, output: &OwnedFd, parent: Option<&OwnedFd>) {
    // Without events, poll reports only errors and the other end's close.
    let mut signs = vec![PollFd::new(output, PollFlags::empty())];
    signs.extend(parent.map(|parent| PollFd::new(parent, PollFlags::IN)));
    while let Err(Errno::INTR) = poll(&mut signs, None) {}
    client.send_replace(true);
}

impl AsyncRead for Input {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let has_room = buffer.remaining() > 0;
        let read = ready!(Pin::new(&mut self.stream).poll_read(context, buffer));
        if read.is_err() || (has_room && buffer.filled().len() == before) {
            self.client.send_replace(true);
        }
        Poll::Ready(read)
    }
}

impl Output {
    /// Passes a result on; an error says that nobody reads.
    fn noted<T>(&self, result: io::Result<T>) -> Poll<io::Result<T>> {
        if result.is_err() {
            self.client.send_replace(true);
        }
        Poll::Ready(result)
    }
}

impl AsyncWrite for Output {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes));
        self.noted(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = ready!(Pin::new(&mut self.stream).poll_flush(context));
        self.noted(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
