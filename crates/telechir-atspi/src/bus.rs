//! The bus that applications talk accessibility on: found through the session bus, asked many
//! things at once.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::future::join_all;
use serde::Serialize;
use telechir_process::{Identity, connect_as};
use tokio::time::timeout;
use zbus::connection::Builder;
use zbus::wire::DynamicDeserialize;
use zbus::{Connection, DynamicType, Message, OwnedVariant};

use crate::error::BusError;
use crate::object::{Object, PROPERTIES};

/// For finding the bus and being let in.
const CONNECT: Duration = Duration::from_millis(900);
/// Questions that wait for their answers at the same time. More gain nothing, and a bus refuses
/// to hold very many.
const AT_ONCE: usize = 256;

/// Where a desktop's session bus listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionBus {
    /// Its socket.
    pub socket: PathBuf,
    /// Whom it runs as, which is whom it lets in; absent means us.
    pub identity: Option<Identity>,
}

impl SessionBus {
    /// The bus at an address such as `unix:path=/run/user/1000/bus`; none when it has no socket of
    /// a file.
    pub fn at(address: &str, identity: Option<Identity>) -> Option<Self> {
        let socket = socket_of(address)?;
        Some(Self { socket, identity })
    }
}

/// The file of the first address that has one.
fn socket_of(addresses: &str) -> Option<PathBuf> {
    addresses.split(';').find_map(|address| {
        let mut members = address.strip_prefix("unix:")?.split(',');
        let path = members.find_map(|member| member.strip_prefix("path="))?;
        Some(PathBuf::from(unescaped(path)?))
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
    pub(crate) async fn find(session: &SessionBus) -> Result<Self, BusError> {
        within("the session bus", CONNECT, async {
            let connection = connect(&session.socket, session.identity).await?;
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
            let bus = Self {
                connection: connect(&socket, session.identity).await?,
            };
            bus.listen().await?;
            Ok(bus)
        })
        .await
        .map_err(|error| match error {
            // Who should be there is not.
            BusError::Refused(message) => BusError::Gone(message),
            BusError::Gone(_) | BusError::Late { .. } | BusError::Garbled(_) => error,
        })
    }

    /// Says that somebody listens: only then do applications of GTK 3 and Chromium begin to keep
    /// a cache. What is listened to hardly ever happens.
    async fn listen(&self) -> Result<(), BusError> {
        let nothing: [&str; 0] = [];
        let event = ("document:page-changed", nothing.as_slice(), "");
        let registered = self.connection.call_method(
            Some("org.a11y.atspi.Registry"),
            "/org/a11y/atspi/registry",
            Some("org.a11y.atspi.Registry"),
            "RegisterEvent",
            &event,
        );
        registered.await?;
        Ok(())
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

async fn connect(socket: &Path, identity: Option<Identity>) -> Result<Connection, BusError> {
    let path = socket.to_owned();
    let connected = tokio::task::spawn_blocking(move || connect_as(identity, &path)).await;
    let gone = |error: &dyn std::error::Error| {
        BusError::Gone(format!("nobody is at {}: {error}", socket.display()))
    };
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
        let socket = |address| socket_of(address).map(|path| path.display().to_string());
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
        assert_eq!(socket("unix:abstract=/tmp/dbus-1"), None);
        assert_eq!(socket("unix:path=/%zz"), None);
    }
}
