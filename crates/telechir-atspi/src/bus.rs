//! The bus that applications talk accessibility on: found through the session bus, asked many
//! things at once.

use std::fmt::{self, Display};
use std::future::Future;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::future::join_all;
use serde::Serialize;
use telechir_process::{Identity, connect_as, is_root};
use tokio::time::{sleep, timeout};
use zbus::connection::Builder;
use zbus::wire::DynamicDeserialize;
use zbus::{Connection, DynamicType, Message, OwnedVariant};

use crate::error::BusError;
use crate::object::{Object, PROPERTIES};

/// For finding the bus and being let in. A bus that is gone says so at once; what is only just being
/// started, its registry among it, takes a while on a busy machine.
const CONNECT: Duration = Duration::from_secs(5);
/// A registry that has its name but knows no questions yet is asked again after so long.
const AGAIN: Duration = Duration::from_millis(10);
/// Questions that wait for their answers at the same time. More gain nothing, and a bus refuses
/// to hold very many.
const AT_ONCE: usize = 256;

/// Where a bus listens, and whom it lets in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusSocket {
    socket: Socket,
    identity: Option<Identity>,
}

/// A socket of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Socket {
    File(PathBuf),
    /// One without a file, by its name.
    Abstract(String),
}

impl BusSocket {
    /// The bus with this socket, which runs as `identity` and lets in nobody else; absent means us.
    pub const fn new(socket: PathBuf, identity: Option<Identity>) -> Self {
        Self {
            socket: Socket::File(socket),
            identity,
        }
    }

    /// The bus of a person at an address such as `unix:path=/run/user/1000/bus`; none when it is
    /// not on this machine. Root is taken for the person whose socket it is.
    pub fn at(address: &str) -> Option<Self> {
        let socket = socket_of(address)?;
        let identity = match &socket {
            Socket::File(path) if is_root() => owner(path),
            Socket::File(_) | Socket::Abstract(_) => None,
        };
        Some(Self { socket, identity })
    }
}

/// Whom a file belongs to; none when that is root.
fn owner(path: &Path) -> Option<Identity> {
    let found = std::fs::metadata(path).ok()?;
    let (uid, gid) = (found.uid(), found.gid());
    (uid != 0).then_some(Identity { uid, gid })
}

impl Socket {
    fn address(&self) -> io::Result<SocketAddr> {
        match self {
            Self::File(path) => SocketAddr::from_pathname(path),
            Self::Abstract(name) => SocketAddr::from_abstract_name(name),
        }
    }
}

impl Display for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Abstract(name) => write!(f, "the abstract socket {name}"),
        }
    }
}

/// A way to the accessibility bus.
#[derive(Clone, Debug)]
pub(crate) enum Way {
    /// It is here.
    Here(BusSocket),
    /// The session bus knows where it is.
    Session(BusSocket),
}

/// The first address of this machine.
fn socket_of(addresses: &str) -> Option<Socket> {
    addresses.split(';').find_map(|address| {
        let members = address.strip_prefix("unix:")?.split(',');
        let named = |key: &str| {
            let mut values = members.clone();
            let value = values.find_map(|member| member.strip_prefix(key)?.strip_prefix('='))?;
            unescaped(value)
        };
        let file = named("path").map(PathBuf::from).map(Socket::File);
        file.or_else(|| named("abstract").map(Socket::Abstract))
    })
}

/// Addresses write bytes beyond letters, digits and `-_/.\*` as `%2f`.
fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?];
        let digits = std::str::from_utf8(&digits).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
    }
    String::from_utf8(bytes).ok()
}

/// The accessibility bus of a desktop.
#[derive(Clone, Debug)]
pub(crate) struct Bus {
    connection: Connection,
}

impl Bus {
    /// The first of these ways that leads there.
    pub(crate) async fn find(ways: &[Way]) -> Result<Self, BusError> {
        let mut why = BusError::Gone("none is known".to_owned());
        for way in ways {
            let found = match way {
                Way::Here(bus) => Self::enter("the accessibility bus", bus).await,
                Way::Session(session) => Self::through(session).await,
            };
            match found {
                Ok(bus) => return Ok(bus),
                Err(error) => why = error,
            }
        }
        Err(match why {
            // Who should be there is not.
            BusError::Refused(message) => BusError::Gone(message),
            BusError::Gone(_) | BusError::Late { .. } | BusError::Garbled(_) => why,
        })
    }

    async fn through(session: &BusSocket) -> Result<Self, BusError> {
        let asked = within("the session bus", CONNECT, async {
            let connection = connect(session).await?;
            let launcher = connection.call_method(
                Some("org.a11y.Bus"),
                "/org/a11y/bus",
                Some("org.a11y.Bus"),
                "GetAddress",
                &(),
            );
            let address: String = launcher.await?.body().deserialize()?;
            let socket = socket_of(&address).ok_or_else(|| {
                BusError::Gone(format!("it is at {address:?}, where we cannot reach it"))
            })?;
            let identity = session.identity;
            Ok(BusSocket { socket, identity })
        });
        Self::enter("the session bus", &asked.await?).await
    }

    async fn enter(whom: &'static str, bus: &BusSocket) -> Result<Self, BusError> {
        within(whom, CONNECT, async {
            let connection = connect(bus).await?;
            let bus = Self { connection };
            bus.listen().await?;
            Ok(bus)
        })
        .await
    }

    /// Says that somebody listens: only then do applications of GTK 3 and Chromium begin to keep
    /// a cache. What is listened to hardly ever happens.
    async fn listen(&self) -> Result<(), BusError> {
        let nothing: [&str; 0] = [];
        let event = ("document:page-changed", nothing.as_slice(), "");
        loop {
            let registered = self.connection.call_method(
                Some("org.a11y.atspi.Registry"),
                "/org/a11y/atspi/registry",
                Some("org.a11y.atspi.Registry"),
                "RegisterEvent",
                &event,
            );
            match registered.await.map_err(BusError::from) {
                Ok(_) => return Ok(()),
                Err(BusError::Refused(why)) if !why.contains("ServiceUnknown") => {
                    tracing::debug!(why, "the registry is not ready");
                }
                Err(error) => return Err(error),
            }
            sleep(AGAIN).await;
        }
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.connection.is_closed()
    }

    /// One question and its answer. Without a limit of its own: whoever asks has one.
    pub(crate) async fn ask<B: Serialize + DynamicType>(
        &self,
        object: &Object,
        interface: &'static str,
        method: &'static str,
        body: &B,
    ) -> Result<Message, BusError> {
        let asked = self.connection.call_method(
            Some(object.bus.as_str()),
            &object.path,
            Some(interface),
            method,
            body,
        );
        Ok(asked.await?)
    }

    /// One question whose answer is of this type.
    pub(crate) async fn get<T, B>(
        &self,
        object: &Object,
        interface: &'static str,
        method: &'static str,
        body: &B,
    ) -> Result<T, BusError>
    where
        T: for<'d> DynamicDeserialize<'d>,
        B: Serialize + DynamicType,
    {
        let answer = self.ask(object, interface, method, body).await?;
        Ok(answer.body().deserialize()?)
    }

    /// One property.
    pub(crate) async fn property<T>(
        &self,
        object: &Object,
        interface: &'static str,
        name: &'static str,
    ) -> Result<T, BusError>
    where
        T: TryFrom<OwnedVariant>,
    {
        let value: OwnedVariant = self
            .get(object, PROPERTIES, "Get", &(interface, name))
            .await?;
        T::try_from(value)
            .map_err(|_| BusError::Garbled(format!("its {name} is not what it should be")))
    }

    /// The same question to each object, all under way at once; answers in their order. One that
    /// cannot be had is none: objects come and go between questions.
    pub(crate) async fn each<'o, T, B>(
        &self,
        objects: impl IntoIterator<Item = &'o Object>,
        interface: &'static str,
        method: &'static str,
        body: &B,
    ) -> Vec<Option<T>>
    where
        T: for<'d> DynamicDeserialize<'d>,
        B: Serialize + DynamicType + Sync,
    {
        let objects: Vec<&Object> = objects.into_iter().collect();
        let mut answers = Vec::with_capacity(objects.len());
        for some in objects.chunks(AT_ONCE) {
            let asked: Vec<_> = some
                .iter()
                .map(|object| self.get(object, interface, method, body))
                .collect();
            let heard = join_all(asked).await;
            answers.extend(heard.into_iter().map(Result::ok));
        }
        answers
    }

    /// The same property of each object.
    pub(crate) async fn properties<'o, T>(
        &self,
        objects: impl IntoIterator<Item = &'o Object>,
        interface: &'static str,
        name: &'static str,
    ) -> Vec<Option<T>>
    where
        T: TryFrom<OwnedVariant>,
    {
        let values: Vec<Option<OwnedVariant>> = self
            .each(objects, PROPERTIES, "Get", &(interface, name))
            .await;
        values
            .into_iter()
            .map(|value| T::try_from(value?).ok())
            .collect()
    }
}

async fn connect(bus: &BusSocket) -> Result<Connection, BusError> {
    let gone = |error: &dyn std::error::Error| {
        BusError::Gone(format!("nobody is at {}: {error}", bus.socket))
    };
    let address = bus.socket.address().map_err(|error| gone(&error))?;
    let identity = bus.identity;
    let connected = tokio::task::spawn_blocking(move || connect_as(identity, &address)).await;
    let stream = connected
        .map_err(|error| gone(&error))?
        .map_err(|error| gone(&error))?;
    let mut builder = Builder::unix_stream(stream);
    if let Some(identity) = identity {
        builder = builder.user_id(identity.uid);
    }
    Ok(builder.build().await?)
}

/// What `work` gives, unless it takes longer.
pub(crate) async fn within<T>(
    whom: &'static str,
    limit: Duration,
    work: impl Future<Output = Result<T, BusError>>,
) -> Result<T, BusError> {
    match timeout(limit, work).await {
        Ok(outcome) => outcome,
        Err(_) => Err(BusError::Late { whom, limit }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_socket() {
        let socket = |address| socket_of(address).map(|socket| socket.to_string());
        assert_eq!(
            socket("unix:path=/run/at-spi/bus_7,guid=00ff").as_deref(),
            Some("/run/at-spi/bus_7")
        );
        assert_eq!(
            socket("unix:guid=1,path=/tmp/a%20b").as_deref(),
            Some("/tmp/a b")
        );
        assert_eq!(
            socket("tcp:host=localhost;unix:path=/x").as_deref(),
            Some("/x")
        );
        assert_eq!(
            socket_of("unix:abstract=/tmp/dbus-1,guid=1"),
            Some(Socket::Abstract("/tmp/dbus-1".to_owned()))
        );
        assert_eq!(socket("unix:path=/%zz"), None);
    }
    #[test]
    fn a_socket_without_a_file_is_reached() {
        use std::os::unix::net::UnixListener;
        let name = format!("telechir-atspi-test-{}", std::process::id());
        let listener = SocketAddr::from_abstract_name(&name).unwrap();
        let listener = UnixListener::bind_addr(&listener).unwrap();
        let socket = socket_of(&format!("unix:abstract={name},guid=1")).unwrap();
        let _reached = connect_as(None, &socket.address().unwrap()).unwrap();
        listener.accept().unwrap();
    }
}
