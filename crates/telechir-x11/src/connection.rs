//! An asynchronous connection to an X server; every wait for a reply has a timeout.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use rustix::net::sockopt::socket_peercred;
use telechir_process::Readiness;
use tokio::time::timeout;
use x11rb::connection::{Connection as _, ReplyOrError, RequestConnection as _};
use x11rb::cookie::{Cookie, VoidCookie};
use x11rb::errors::ConnectionError;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{ConnectionExt as _, ImageOrder, Screen, Setup, Window};
use x11rb::protocol::{damage, randr, res, shm, xfixes, xinput, xkb, xtest};
use x11rb::reexports::x11rb_protocol::connect::Connect;
use x11rb::rust_connection::{DefaultStream, RustConnection, Stream as _};
use x11rb::x11_utils::TryParse;

use crate::address::Address;
use crate::error::XError;
use crate::stream::NonBlockingStream;
use crate::synthetic_pointer::SyntheticPointer;

/// Maximum wait for a reply. A live server replies within microseconds; a stopped one never does.
const REPLY_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) type X = RustConnection<NonBlockingStream>;

/// One connection, used by one owner at a time.
#[derive(Debug)]
pub(crate) struct Connection {
    x: X,
    socket: Readiness,
    screen: Screen,
    is_local: bool,
    /// Process ID of a local server.
    server: Option<u32>,
    /// Whether the screen changed since the last [`Self::take_damaged`].
    damaged: AtomicBool,
    /// Server time of the first such change, in milliseconds.
    damaged_at: AtomicU32,
    /// Whether the keyboard mapping changed since the last [`Self::take_remapped`].
    remapped: AtomicBool,
    /// Whether the pointer changed since the last [`Self::take_pointer_change`].
    pointer_changed: AtomicBool,
    /// The pointer position that this process set last.
    synthetic_pointer: Arc<SyntheticPointer>,
}

impl Connection {
    /// Connects and authenticates with the cookie of the display.
    pub(crate) async fn open(address: &Address, cookie: Option<&[u8]>) -> Result<Self, XError> {
        within("connect to the X server", Self::connect(address, cookie)).await
    }

    async fn connect(address: &Address, cookie: Option<&[u8]>) -> Result<Self, XError> {
        let stream = NonBlockingStream::new(socket(address).await?);
        let socket = stream.duplicate()?;
        // Remote servers have no peer credentials.
        let server = socket_peercred(&socket).ok();
        let server = server.and_then(|peer| u32::try_from(peer.pid.as_raw_nonzero().get()).ok());
        let readable = Readiness::reading(socket)?;
        let (name, data) = match cookie {
            Some(cookie) => (b"MIT-MAGIC-COOKIE-1".to_vec(), cookie.to_vec()),
            None => (Vec::new(), Vec::new()),
        };
        let (handshake, request) = Connect::with_authorization(name, data);
        send_setup_request(&stream, &request)?;
        let setup = receive_setup(&stream, &readable, handshake).await?;
        let screen = setup.roots.get(address.screen()).cloned().ok_or_else(|| {
            XError::Impossible(format!("the X server has no screen {}", address.screen()))
        })?;
        let x = X::for_connected_stream(stream, setup)?;
        let (damaged, remapped) = (AtomicBool::new(false), AtomicBool::new(false));
        let is_local = address.is_local();
        let connection = Self {
            x,
            socket: readable,
            screen,
            is_local,
            server,
            damaged,
            damaged_at: AtomicU32::new(0),
            remapped,
            pointer_changed: AtomicBool::new(false),
            synthetic_pointer: Arc::new(SyntheticPointer::new()),
        };
        connection.check_pixel_format()?;
        connection.query_extensions().await?;
        Ok(connection)
    }

    /// The requests of the protocol. Await their replies with [`Self::reply`].
    pub(crate) const fn x(&self) -> &X {
        &self.x
    }

    pub(crate) const fn root(&self) -> Window {
        self.screen.root
    }

    /// Whether file descriptors can be passed to the server.
    pub(crate) const fn is_local(&self) -> bool {
        self.is_local
    }

    /// Process ID of a local server; `None` for a remote one.
    pub(crate) const fn server(&self) -> Option<u32> {
        self.server
    }

    /// The reply to a request. Dropping the future discards the reply.
    pub(crate) async fn reply<R: TryParse>(&self, request: Cookie<'_, X, R>) -> Result<R, XError> {
        let sequence = request.sequence_number();
        let bytes = within("receive a reply from the X server", async {
            let reply_or_error =
                self.retry_when_readable(|x| match x.wait_for_reply_or_raw_error(sequence) {
                    Ok(reply_or_error) => Ok(Some(reply_or_error)),
                    Err(error) => or_would_block(error),
                });
            match reply_or_error.await? {
                ReplyOrError::Reply(bytes) => Ok(bytes),
                ReplyOrError::Error(raw) => Err(XError::Refused(self.x.parse_error(&raw)?)),
            }
        });
        Ok(R::try_parse(&bytes.await?)?.0)
    }

    /// Waits until the server has executed a request that has no reply.
    pub(crate) async fn checked(&self, request: VoidCookie<'_, X>) -> Result<(), XError> {
        let sequence = request.sequence_number();
        let raw = within("receive a confirmation from the X server", async {
            self.retry_when_readable(|x| match x.check_for_raw_error(sequence) {
                Ok(outcome) => Ok(Some(outcome)),
                Err(error) => or_would_block(error),
            })
            .await
        });
        match raw.await? {
            Some(raw) => Err(XError::Refused(self.x.parse_error(&raw)?)),
            None => Ok(()),
        }
    }

    /// Waits until the server has executed all requests sent so far.
    pub(crate) async fn sync(&self) -> Result<(), XError> {
        self.reply(self.x.get_input_focus()?).await.map(drop)
    }

    /// Sends the buffered requests without waiting for the server.
    pub(crate) fn flush(&self) -> Result<(), XError> {
        Ok(self.x.flush()?)
    }

    /// Processes the events received so far.
    pub(crate) fn drain(&self) -> Result<(), XError> {
        while let Some(event) = self.x.poll_for_event()? {
            self.record_event(&event);
        }
        Ok(())
    }

    /// The next event. Has no timeout: the caller sets one.
    pub(crate) async fn next_event(&self) -> Result<Event, XError> {
        self.flush()?;
        let event = self
            .retry_when_readable(|x| Ok(x.poll_for_event()?))
            .await?;
        self.record_event(&event);
        Ok(event)
    }

    /// The pointer position that this process set last, to distinguish it from motions by the user.
    pub(crate) const fn synthetic_pointer(&self) -> &Arc<SyntheticPointer> {
        &self.synthetic_pointer
    }

    /// Server time in milliseconds of the first change since the last call; `None` if nothing
    /// changed.
    pub(crate) fn take_damaged(&self) -> Option<u32> {
        let is_damaged = self.damaged.swap(false, Ordering::Relaxed);
        is_damaged.then(|| self.damaged_at.load(Ordering::Relaxed))
    }

    /// Whether the keyboard mapping changed since the last call.
    pub(crate) fn take_remapped(&self) -> bool {
        self.remapped.swap(false, Ordering::Relaxed)
    }

    /// Whether the pointer was reported to have moved, or to have another shape, since the last call.
    pub(crate) fn take_pointer_change(&self) -> bool {
        self.pointer_changed.swap(false, Ordering::Relaxed)
    }

    /// Records changes of screen, pointer and mapping from any event, whichever task reads it.
    fn record_event(&self, event: &Event) {
        if let Event::DamageNotify(damage) = event {
            if !self.damaged.swap(true, Ordering::Relaxed) {
                self.damaged_at.store(damage.timestamp, Ordering::Relaxed);
            }
        } else if matches!(
            event,
            Event::MappingNotify(_) | Event::XkbMapNotify(_) | Event::XkbNewKeyboardNotify(_)
        ) {
            self.remapped.store(true, Ordering::Relaxed);
        } else if matches!(
            event,
            Event::XinputRawMotion(_) | Event::XfixesCursorNotify(_)
        ) {
            self.pointer_changed.store(true, Ordering::Relaxed);
        } else if let Event::Error(error) = event {
            tracing::debug!(?error, "the X server refused a request");
        }
    }

    /// Repeats `attempt` whenever the socket becomes readable, until it returns a value.
    async fn retry_when_readable<T>(
        &self,
        mut attempt: impl FnMut(&X) -> Result<Option<T>, XError>,
    ) -> Result<T, XError> {
        if let Some(found) = attempt(&self.x)? {
            return Ok(found);
        }
        let woken = self.socket.read(|_socket| match attempt(&self.x) {
            Ok(Some(found)) => Ok(Ok(found)),
            Ok(None) => Err(io::ErrorKind::WouldBlock.into()),
            Err(error) => Ok(Err(error)),
        });
        woken.await?
    }

    /// Frames use BGRX with 32 bits per pixel, the format of all common servers.
    fn check_pixel_format(&self) -> Result<(), XError> {
        let setup = self.x.setup();
        let depth = self.screen.root_depth;
        let format = setup
            .pixmap_formats
            .iter()
            .find(|format| format.depth == depth);
        let bits = format.map_or(0, |format| format.bits_per_pixel);
        if setup.image_byte_order == ImageOrder::LSB_FIRST && bits == 32 && depth >= 24 {
            return Ok(());
        }
        Err(XError::Impossible(format!(
            "the display has {depth} bits of colour in {bits} bits a pixel; \
             a display of depth 24 in little-endian byte order is needed"
        )))
    }

    /// Queries all extensions in one round trip, so that using one never waits.
    async fn query_extensions(&self) -> Result<(), XError> {
        const NAMES: [&str; 8] = [
            xinput::X11_EXTENSION_NAME,
            shm::X11_EXTENSION_NAME,
            xfixes::X11_EXTENSION_NAME,
            damage::X11_EXTENSION_NAME,
            xtest::X11_EXTENSION_NAME,
            xkb::X11_EXTENSION_NAME,
            res::X11_EXTENSION_NAME,
            randr::X11_EXTENSION_NAME,
        ];
        for name in NAMES {
            self.x.prefetch_extension_information(name)?;
        }
        self.sync().await?;
        for name in NAMES {
            self.x.extension_information(name)?;
        }
        Ok(())
    }

    /// Whether the server has an extension. All used extensions were queried by [`Self::connect`].
    pub(crate) fn has(&self, extension: &'static str) -> Result<bool, XError> {
        Ok(self.x.extension_information(extension)?.is_some())
    }
}

/// Applies [`REPLY_TIMEOUT`] to `work`.
async fn within<T>(
    what: &'static str,
    work: impl Future<Output = Result<T, XError>>,
) -> Result<T, XError> {
    match timeout(REPLY_TIMEOUT, work).await {
        Ok(outcome) => outcome,
        Err(_) => Err(XError::TimedOut {
            what,
            limit_ms: 5_000,
        }),
    }
}

/// Maps "would block" to `None`: no state is lost and the attempt can be repeated.
fn or_would_block<T>(error: ConnectionError) -> Result<Option<T>, XError> {
    if let ConnectionError::IoError(error) = &error
        && error.kind() == io::ErrorKind::WouldBlock
    {
        return Ok(None);
    }
    Err(error.into())
}

async fn socket(address: &Address) -> Result<DefaultStream, XError> {
    let (stream, _peer) = match address {
        Address::Local { path, .. } => {
            let stream = tokio::net::UnixStream::connect(path).await?;
            DefaultStream::from_unix_stream(stream.into_std()?)?
        }
        Address::Remote { host, port, .. } => {
            let stream = tokio::net::TcpStream::connect((host.as_str(), *port)).await?;
            stream.set_nodelay(true)?;
            DefaultStream::from_tcp_stream(stream.into_std()?)?
        }
    };
    Ok(stream)
}

/// The setup request is smaller than any socket buffer.
fn send_setup_request(stream: &NonBlockingStream, request: &[u8]) -> Result<(), XError> {
    let mut rest = request;
    while !rest.is_empty() {
        rest = &rest[stream.write(rest, &mut Vec::new())?..];
    }
    Ok(())
}

async fn receive_setup(
    stream: &NonBlockingStream,
    readable: &Readiness,
    mut handshake: Connect,
) -> Result<Setup, XError> {
    let handshake_done = readable.read(|_socket| {
        loop {
            match stream.read(handshake.buffer(), &mut Vec::new())? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count if handshake.advance(count) => return Ok(()),
                _ => {}
            }
        }
    });
    handshake_done.await?;
    Ok(handshake.into_setup()?)
}
