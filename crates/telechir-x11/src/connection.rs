//! A connection to an X server whose every wait is on the runtime and has a ceiling.

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
use x11rb::protocol::{damage, randr, res, shm, xfixes, xkb, xtest};
use x11rb::reexports::x11rb_protocol::connect::Connect;
use x11rb::rust_connection::{DefaultStream, RustConnection, Stream as _};
use x11rb::x11_utils::TryParse;

use crate::address::Address;
use crate::error::XError;
use crate::kill_switch::Hand;
use crate::stream::ImpatientStream;

/// A server that is alive answers in microseconds; one that is stopped never does.
const REPLY_CEILING: Duration = Duration::from_secs(5);

pub(crate) type X = RustConnection<ImpatientStream>;

/// One connection, used by one owner at a time.
#[derive(Debug)]
pub(crate) struct Connection {
    x: X,
    socket: Readiness,
    screen: Screen,
    is_local: bool,
    /// The server's process.
    server: Option<u32>,
    /// The screen changed since somebody asked.
    damaged: AtomicBool,
    /// When it did first, by the server's clock.
    damaged_at: AtomicU32,
    /// The keyboard's mapping changed since somebody asked.
    remapped: AtomicBool,
    /// Where we put the pointer last.
    hand: Arc<Hand>,
}

impl Connection {
    /// Connects with the cookie that goes with the address.
    pub(crate) async fn open(address: &Address, cookie: Option<&[u8]>) -> Result<Self, XError> {
        within("connect to the X server", Self::connect(address, cookie)).await
    }

    async fn connect(address: &Address, cookie: Option<&[u8]>) -> Result<Self, XError> {
        let stream = ImpatientStream::new(socket(address).await?);
        let socket = stream.duplicate()?;
        // Of a server elsewhere there is none.
        let server = socket_peercred(&socket).ok();
        let server = server.and_then(|peer| u32::try_from(peer.pid.as_raw_nonzero().get()).ok());
        let readable = Readiness::reading(socket)?;
        let (name, data) = match cookie {
            Some(cookie) => (b"MIT-MAGIC-COOKIE-1".to_vec(), cookie.to_vec()),
            None => (Vec::new(), Vec::new()),
        };
        let (handshake, request) = Connect::with_authorization(name, data);
        greet(&stream, &request)?;
        let setup = hear_greeting(&stream, &readable, handshake).await?;
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
            hand: Arc::new(Hand::new()),
        };
        connection.check_pixels()?;
        connection.learn_extensions().await?;
        Ok(connection)
    }

    /// The requests of the protocol. Their replies are waited for with [`Self::reply`].
    pub(crate) const fn x(&self) -> &X {
        &self.x
    }

    pub(crate) const fn root(&self) -> Window {
        self.screen.root
    }

    /// Whether descriptors can be passed to the server.
    pub(crate) const fn is_local(&self) -> bool {
        self.is_local
    }

    /// The process of the server, when it is one of this machine.
    pub(crate) const fn server(&self) -> Option<u32> {
        self.server
    }

    /// The reply to a request. Dropping the future drops the reply when it comes.
    pub(crate) async fn reply<R: TryParse>(&self, request: Cookie<'_, X, R>) -> Result<R, XError> {
        let sequence = request.sequence_number();
        let bytes = within("get a reply from the X server", async {
            let answer = self.wait_for(|x| match x.wait_for_reply_or_raw_error(sequence) {
                Ok(answer) => Ok(Some(answer)),
                Err(error) => not_yet(error),
            });
            match answer.await? {
                ReplyOrError::Reply(bytes) => Ok(bytes),
                ReplyOrError::Error(raw) => Err(XError::Refused(self.x.parse_error(&raw)?)),
            }
        });
        Ok(R::try_parse(&bytes.await?)?.0)
    }

    /// Waits until the server carried out a request that has no reply.
    pub(crate) async fn checked(&self, request: VoidCookie<'_, X>) -> Result<(), XError> {
        let sequence = request.sequence_number();
        let raw = within("get the X server to confirm", async {
            self.wait_for(|x| match x.check_for_raw_error(sequence) {
                Ok(outcome) => Ok(Some(outcome)),
                Err(error) => not_yet(error),
            })
            .await
        });
        match raw.await? {
            Some(raw) => Err(XError::Refused(self.x.parse_error(&raw)?)),
            None => Ok(()),
        }
    }

    /// Waits until the server has carried out everything sent so far.
    pub(crate) async fn sync(&self) -> Result<(), XError> {
        self.reply(self.x.get_input_focus()?).await.map(drop)
    }

    /// Sends what is still in our buffer. Does not wait for the server.
    pub(crate) fn flush(&self) -> Result<(), XError> {
        Ok(self.x.flush()?)
    }

    /// Takes in the events that are already here.
    pub(crate) fn drain(&self) -> Result<(), XError> {
        while let Some(event) = self.x.poll_for_event()? {
            self.notice(&event);
        }
        Ok(())
    }

    /// The next event, however long it takes: the caller sets the ceiling.
    pub(crate) async fn next_event(&self) -> Result<Event, XError> {
        self.flush()?;
        let event = self.wait_for(|x| Ok(x.poll_for_event()?)).await?;
        self.notice(&event);
        Ok(event)
    }

    /// Where we put the pointer last, for those who must tell us from a person.
    pub(crate) const fn hand(&self) -> &Arc<Hand> {
        &self.hand
    }

    /// When the screen changed first since the last call, in milliseconds of the server's clock;
    /// none when it did not.
    pub(crate) fn take_damaged(&self) -> Option<u32> {
        let is_damaged = self.damaged.swap(false, Ordering::Relaxed);
        is_damaged.then(|| self.damaged_at.load(Ordering::Relaxed))
    }

    /// Whether the keyboard's mapping changed since the last call.
    pub(crate) fn take_remapped(&self) -> bool {
        self.remapped.swap(false, Ordering::Relaxed)
    }

    /// Whoever takes an event off the connection, what others need of it is kept here.
    fn notice(&self, event: &Event) {
        if let Event::DamageNotify(damage) = event {
            if !self.damaged.swap(true, Ordering::Relaxed) {
                self.damaged_at.store(damage.timestamp, Ordering::Relaxed);
            }
        } else if matches!(
            event,
            Event::MappingNotify(_) | Event::XkbMapNotify(_) | Event::XkbNewKeyboardNotify(_)
        ) {
            self.remapped.store(true, Ordering::Relaxed);
        } else if let Event::Error(error) = event {
            tracing::debug!(?error, "the X server refused a request");
        }
    }

    /// Tries again whenever bytes came in, until it gives something.
    async fn wait_for<T>(
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

    /// Frames are blue, green, red, unused: what every common server speaks.
    fn check_pixels(&self) -> Result<(), XError> {
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

    /// Asks for all extensions in one go; afterwards using one never waits.
    async fn learn_extensions(&self) -> Result<(), XError> {
        const NAMES: [&str; 7] = [
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

    /// Whether the server has an extension. All that we use were asked for at the start.
    pub(crate) fn has(&self, extension: &'static str) -> Result<bool, XError> {
        Ok(self.x.extension_information(extension)?.is_some())
    }
}

/// Runs `work` under the ceiling that every exchange with the server has.
async fn within<T>(
    what: &'static str,
    work: impl Future<Output = Result<T, XError>>,
) -> Result<T, XError> {
    match timeout(REPLY_CEILING, work).await {
        Ok(outcome) => outcome,
        Err(_) => Err(XError::Silent {
            what,
            limit_ms: 5_000,
        }),
    }
}

/// "Not yet" is no error: nothing was lost, and the attempt can be made again.
fn not_yet<T>(error: ConnectionError) -> Result<Option<T>, XError> {
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

/// The first words are shorter than any socket's buffer.
fn greet(stream: &ImpatientStream, request: &[u8]) -> Result<(), XError> {
    let mut rest = request;
    while !rest.is_empty() {
        rest = &rest[stream.write(rest, &mut Vec::new())?..];
    }
    Ok(())
}

async fn hear_greeting(
    stream: &ImpatientStream,
    readable: &Readiness,
    mut handshake: Connect,
) -> Result<Setup, XError> {
    let whole = readable.read(|_socket| {
        loop {
            match stream.read(handshake.buffer(), &mut Vec::new())? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count if handshake.advance(count) => return Ok(()),
                _ => {}
            }
        }
    });
    whole.await?;
    Ok(handshake.into_setup()?)
}
