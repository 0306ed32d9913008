//! The accessibility bus: found through the session bus, with many calls in flight.

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
use crate::object::{ObjectRef, PROPERTIES};

/// Maximum time for finding the bus and connecting. A missing bus fails at once; one that is
/// starting takes longer on a busy machine.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval for repeating the registration while the registry is starting.
const REGISTRY_RETRY_INTERVAL: Duration = Duration::from_millis(10);
/// Maximum wait for one reply of an application.
pub(crate) const REPLY_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum number of pending calls. More are not faster, and a bus limits them.
const MAX_PENDING_CALLS: usize = 256;

/// The socket of a bus and the user it accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusSocket {
    socket: BusAddress,
    identity: Option<Identity>,
}

/// A socket on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
enum BusAddress {
    File(PathBuf),
    /// A socket in the abstract namespace, by name.
    Abstract(String),
}

impl BusSocket {
    /// The bus with this socket, which accepts connections from `identity` only; absent means the
    /// current user.
    pub const fn new(socket: PathBuf, identity: Option<Identity>) -> Self {
        Self {
            socket: BusAddress::File(socket),
            identity,
        }
    }

    /// The bus at an address such as `unix:path=/run/user/1000/bus`; `None` if it is not local.
    /// Root connects as the owner of the socket.
    pub fn at(address: &str) -> Option<Self> {
        let socket = socket_of(address)?;
        let identity = match &socket {
            BusAddress::File(path) if is_root() => owner(path),
            BusAddress::File(_) | BusAddress::Abstract(_) => None,
        };
        Some(Self { socket, identity })
    }
}

/// The owner of a file; `None` for root.
fn owner(path: &Path) -> Option<Identity> {
    let found = std::fs::metadata(path).ok()?;
    let (uid, gid) = (found.uid(), found.gid());
    (uid != 0).then_some(Identity { uid, gid })
}

impl BusAddress {
    fn address(&self) -> io::Result<SocketAddr> {
        match self {
            Self::File(path) => SocketAddr::from_pathname(path),
            Self::Abstract(name) => SocketAddr::from_abstract_name(name),
        }
    }
}

impl Display for BusAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Abstract(name) => write!(f, "the abstract socket {name}"),
        }
    }
}

/// A route to the accessibility bus.
#[derive(Clone, Debug)]
pub(crate) enum BusRoute {
    /// The address is known.
    Direct(BusSocket),
    /// The session bus knows the address.
    Session(BusSocket),
}

/// The first local address in a list.
fn socket_of(addresses: &str) -> Option<BusAddress> {
    addresses.split(';').find_map(|address| {
        let members = address.strip_prefix("unix:")?.split(',');
        let named = |key: &str| {
            let mut values = members.clone();
            let value = values.find_map(|member| member.strip_prefix(key)?.strip_prefix('='))?;
            unescaped(value)
        };
        let file = named("path").map(PathBuf::from).map(BusAddress::File);
        file.or_else(|| named("abstract").map(BusAddress::Abstract))
    })
}

/// Addresses escape bytes other than letters, digits and `-_/.\*` as `%2f`.
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

/// A connection to the accessibility bus of a desktop.
#[derive(Clone, Debug)]
pub(crate) struct AtSpiBus {
    connection: Connection,
}

impl AtSpiBus {
    /// Connects by the first route that works.
    pub(crate) async fn find(routes: &[BusRoute]) -> Result<Self, BusError> {
        let mut why = BusError::Gone("no address is known".to_owned());
        for route in routes {
            let found = match route {
                BusRoute::Direct(bus) => Self::open("the accessibility bus", bus).await,
                BusRoute::Session(session) => Self::via_session(session).await,
            };
            match found {
                Ok(bus) => return Ok(bus),
                Err(error) => why = error,
            }
        }
        Err(match why {
            // A refusing launcher means that there is no bus.
            BusError::Refused(message) => BusError::Gone(message),
            BusError::Gone(_) | BusError::TimedOut { .. } | BusError::Malformed(_) => why,
        })
    }

    async fn via_session(session: &BusSocket) -> Result<Self, BusError> {
        let reply = within("the session bus", CONNECT_TIMEOUT, async {
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
                BusError::Gone(format!("its address {address:?} is not a local socket"))
            })?;
            let identity = session.identity;
            Ok(BusSocket { socket, identity })
        });
        Self::open("the session bus", &reply.await?).await
    }

    async fn open(peer: &'static str, bus: &BusSocket) -> Result<Self, BusError> {
        within(peer, CONNECT_TIMEOUT, async {
            let connection = connect(bus).await?;
            let bus = Self { connection };
            bus.register_listener().await?;
            Ok(bus)
        })
        .await
    }

    /// Registers a listener: GTK 3 and Chromium maintain a cache only if there is one. The selected
    /// event is rare.
    async fn register_listener(&self) -> Result<(), BusError> {
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
            sleep(REGISTRY_RETRY_INTERVAL).await;
        }
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.connection.is_closed()
    }

    /// One call and its reply. Without a timeout: callers set one.
    pub(crate) async fn call<B: Serialize + DynamicType>(
        &self,
        object: &ObjectRef,
        interface: &'static str,
        method: &'static str,
        body: &B,
    ) -> Result<Message, BusError> {
        let reply = self.connection.call_method(
            Some(object.bus.as_str()),
            &object.path,
            Some(interface),
            method,
            body,
        );
        Ok(reply.await?)
    }

    /// One call with a typed reply.
    pub(crate) async fn get<T, B>(
        &self,
        object: &ObjectRef,
        interface: &'static str,
        method: &'static str,
        body: &B,
    ) -> Result<T, BusError>
    where
        T: for<'d> DynamicDeserialize<'d>,
        B: Serialize + DynamicType,
    {
        let answer = self.call(object, interface, method, body).await?;
        Ok(answer.body().deserialize()?)
    }

    /// Reads one property.
    pub(crate) async fn property<T>(
        &self,
        object: &ObjectRef,
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
            .map_err(|_| BusError::Malformed(format!("the property {name} has an unexpected type")))
    }

    /// The same call on each object, all in flight at once; replies are in the same order. Failed
    /// calls are `None`: objects may disappear at any time.
    pub(crate) async fn each<'o, T, B>(
        &self,
        objects: impl IntoIterator<Item = &'o ObjectRef>,
        interface: &'static str,
        method: &'static str,
        body: &B,
    ) -> Vec<Option<T>>
    where
        T: for<'d> DynamicDeserialize<'d>,
        B: Serialize + DynamicType + Sync,
    {
        let objects: Vec<&ObjectRef> = objects.into_iter().collect();
        let mut answers = Vec::with_capacity(objects.len());
        for some in objects.chunks(MAX_PENDING_CALLS) {
            let calls: Vec<_> = some
                .iter()
                .map(|object| self.get(object, interface, method, body))
                .collect();
            let replies = join_all(calls).await;
            answers.extend(replies.into_iter().map(Result::ok));
        }
        answers
    }

    /// Reads the same property of each object.
    pub(crate) async fn properties<'o, T>(
        &self,
        objects: impl IntoIterator<Item = &'o ObjectRef>,
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
        BusError::Gone(format!("failed to connect to {}: {error}", bus.socket))
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

/// The result of `work`, limited to a duration.
pub(crate) async fn within<T>(
    peer: &'static str,
    limit: Duration,
    work: impl Future<Output = Result<T, BusError>>,
) -> Result<T, BusError> {
    match timeout(limit, work).await {
        Ok(outcome) => outcome,
        Err(_) => Err(BusError::TimedOut { peer, limit }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_bus_addresses() {
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
            Some(BusAddress::Abstract("/tmp/dbus-1".to_owned()))
        );
        assert_eq!(socket("unix:path=/%zz"), None);
    }

    #[test]
    fn connects_to_an_abstract_socket() {
        use std::os::unix::net::UnixListener;
        let name = format!("telechir-atspi-test-{}", std::process::id());
        let listener = SocketAddr::from_abstract_name(&name).unwrap();
        let listener = UnixListener::bind_addr(&listener).unwrap();
        let socket = socket_of(&format!("unix:abstract={name},guid=1")).unwrap();
        let _reached = connect_as(None, &socket.address().unwrap()).unwrap();
        listener.accept().unwrap();
    }
}
