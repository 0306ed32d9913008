//! Addresses of X servers, parsed from display names such as `:1` or `localhost:10.0`.

use std::path::PathBuf;

/// The address of an X server and the number of one of its screens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// A Unix socket on this machine.
    Local {
        /// Path of the socket file.
        path: PathBuf,
        /// Display number; absent when the display name is a socket path.
        number: Option<u16>,
        /// Index of the screen on that server.
        screen: usize,
    },
    /// A TCP port, as X11 forwarding uses it.
    Remote {
        /// Host name or IP address.
        host: String,
        /// TCP port: 6000 plus the display number.
        port: u16,
        /// Display number, used to select the cookie.
        number: u16,
        /// Index of the screen on that server.
        screen: usize,
    },
}

impl Address {
    /// The local server with this display number, screen 0.
    pub(crate) fn local(number: u16) -> Self {
        Self::Local {
            path: socket_path(number),
            number: Some(number),
            screen: 0,
        }
    }

    /// Parses a display name; `None` if it is malformed.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        if name.starts_with('/') {
            return Some(Self::Local {
                path: name.into(),
                number: None,
                screen: 0,
            });
        }
        let (host, rest) = name.rsplit_once(':')?;
        let (number, screen) = match rest.split_once('.') {
            Some((number, screen)) => (number.parse().ok()?, screen.parse().ok()?),
            None => (rest.parse::<u16>().ok()?, 0),
        };
        match host {
            "" | "unix" => Some(Self::Local {
                path: socket_path(number),
                number: Some(number),
                screen,
            }),
            host => {
                let port = number.checked_add(6000)?;
                Some(Self::Remote {
                    host: host.to_owned(),
                    port,
                    number,
                    screen,
                })
            }
        }
    }

    /// Index of the addressed screen.
    pub(crate) const fn screen(&self) -> usize {
        match self {
            Self::Local { screen, .. } | Self::Remote { screen, .. } => *screen,
        }
    }

    /// Display number, used to select the cookie; absent for a socket path.
    pub(crate) const fn number(&self) -> Option<u16> {
        match self {
            Self::Local { number, .. } => *number,
            Self::Remote { number, .. } => Some(*number),
        }
    }

    /// Whether the server is reached through a Unix socket.
    pub(crate) const fn is_local(&self) -> bool {
        matches!(self, Self::Local { .. })
    }
}

/// Socket path of the local server with this display number.
pub(crate) fn socket_path(number: u16) -> PathBuf {
    format!("/tmp/.X11-unix/X{number}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(number: u16, screen: usize) -> Option<Address> {
        Some(Address::Local {
            path: socket_path(number),
            number: Some(number),
            screen,
        })
    }

    #[test]
    fn parses_local_names() {
        assert_eq!(Address::parse(":0"), local(0, 0));
        assert_eq!(Address::parse(":12.1"), local(12, 1));
        assert_eq!(Address::parse("unix:3"), local(3, 0));
    }

    #[test]
    fn parses_the_name_of_a_forwarded_display() {
        let expected = Address::Remote {
            host: "localhost".into(),
            port: 6010,
            number: 10,
            screen: 0,
        };
        assert_eq!(Address::parse("localhost:10.0"), Some(expected));
    }

    #[test]
    fn refuses_malformed_names() {
        for name in ["", "0", ":", ":x", ":1.y", ":70000", "h:60000"] {
            assert_eq!(Address::parse(name), None, "{name}");
        }
    }
}
