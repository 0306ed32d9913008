//! Blocking X client connections with the cookie of an authority file.

use std::fs;
use std::os::unix::net::UnixStream;

use x11rb::connection::Connection as _;
use x11rb::protocol::randr::{self, ConnectionExt as _};
use x11rb::protocol::xproto::{ConnectionExt as _, KEY_PRESS_EVENT, KEY_RELEASE_EVENT};
use x11rb::protocol::xtest::ConnectionExt as _;
use x11rb::rust_connection::{DefaultStream, ReplyError, RustConnection};

/// A blocking X connection.
pub type XClient = RustConnection<DefaultStream>;

/// Connects to the display that `environment` names, like a program started with it.
///
/// Returns the connection, its screen number, and the socket; shutting the socket down ends every
/// wait on the connection.
///
/// # Panics
/// If the connection fails.
pub fn connect(environment: &[(String, String)]) -> (XClient, usize, UnixStream) {
    let (stream, socket) = socket(environment);
    let cookie =
        fs::read(value(environment, "XAUTHORITY")).unwrap_or_else(|error| panic!("{error}"));
    // Our authority files have one entry, which ends with the 16 bytes of the cookie.
    let cookie = cookie[cookie.len() - 16..].to_vec();
    let name = b"MIT-MAGIC-COOKIE-1".to_vec();
    match RustConnection::connect_to_stream_with_auth_info(stream, 0, name, cookie) {
        Ok(connection) => (connection, 0, socket),
        Err(error) => panic!("failed to connect to the display: {error}"),
    }
}

/// Codes of the pressed keys, and the mask of the pressed buttons, according to the server.
///
/// # Panics
/// If the display does not reply.
pub fn pressed(environment: &[(String, String)]) -> (Vec<u8>, u16) {
    const BUTTONS: u16 = 0x1f00;
    let (client, screen, _) = connect(environment);
    let root = client.setup().roots[screen].root;
    let request = || -> Result<_, ReplyError> {
        let keys = client.query_keymap()?.reply()?.keys;
        Ok((keys, u16::from(client.query_pointer(root)?.reply()?.mask)))
    };
    let (keys, mask) =
        request().unwrap_or_else(|error| panic!("failed to query the display: {error}"));
    let is_down = |code: &u8| keys[usize::from(*code / 8)] & (1 << (code % 8)) != 0;
    ((0..=u8::MAX).filter(is_down).collect(), mask & BUTTONS)
}

/// Presses and releases a key, like a user.
///
/// # Panics
/// If the display rejects the request.
pub fn press(environment: &[(String, String)], code: u8) {
    let (client, ..) = connect(environment);
    let press = || -> Result<_, ReplyError> {
        for kind in [KEY_PRESS_EVENT, KEY_RELEASE_EVENT] {
            client.xtest_fake_input(kind, code, 0, x11rb::NONE, 0, 0, 0)?;
        }
        client.get_input_focus()?.reply()
    };
    press().unwrap_or_else(|error| panic!("failed to press a key: {error}"));
}

/// The first two keysyms of every key.
///
/// # Panics
/// If the display does not reply.
pub fn keyboard(environment: &[(String, String)]) -> Vec<Vec<u32>> {
    let (client, _, _) = connect(environment);
    let setup = client.setup();
    let (first, count) = (setup.min_keycode, setup.max_keycode - setup.min_keycode + 1);
    let request =
        || -> Result<_, ReplyError> { client.get_keyboard_mapping(first, count)?.reply() };
    let reply = request().unwrap_or_else(|error| panic!("failed to query the display: {error}"));
    let row = |row: &[u32]| row.iter().copied().take(2).collect();
    reply
        .keysyms
        .chunks(usize::from(reply.keysyms_per_keycode))
        .map(row)
        .collect()
}

/// Divides the screen into monitors: name, left, top, width and height of each.
///
/// # Panics
/// If the display rejects the request.
pub fn set_monitors(environment: &[(String, String)], monitors: &[(&str, [u16; 4])]) {
    let (client, screen, _) = connect(environment);
    let root = client.setup().roots[screen].root;
    let request = || -> Result<(), ReplyError> {
        // The first monitor takes the only output, which replaces the automatic monitor.
        let resources = client.randr_get_screen_resources(root)?.reply()?;
        let mut outputs = resources.outputs;
        outputs.truncate(1);
        for (name, [x, y, width, height]) in monitors {
            let name = client.intern_atom(false, name.as_bytes())?.reply()?.atom;
            let monitor = randr::MonitorInfo {
                name,
                primary: false,
                automatic: false,
                x: x.cast_signed(),
                y: y.cast_signed(),
                width: *width,
                height: *height,
                width_in_millimeters: 300,
                height_in_millimeters: 200,
                outputs: std::mem::take(&mut outputs),
            };
            client.randr_set_monitor(root, monitor)?.check()?;
        }
        Ok(())
    };
    request().unwrap_or_else(|error| panic!("failed to set monitors: {error}"));
}

/// Tries to connect without a cookie.
///
/// # Errors
/// The server's reason for rejecting the connection.
pub fn connect_without_cookie(environment: &[(String, String)]) -> Result<XClient, String> {
    let (stream, _socket) = socket(environment);
    RustConnection::connect_to_stream_with_auth_info(stream, 0, Vec::new(), Vec::new())
        .map_err(|error| error.to_string())
}

/// The value of a variable.
///
/// # Panics
/// If the variable is not set.
pub fn value<'a>(environment: &'a [(String, String)], name: &str) -> &'a str {
    let found = environment.iter().find(|(variable, _)| variable == name);
    found.map_or_else(
        || panic!("the environment has no {name}"),
        |(_, value)| value,
    )
}

fn socket(environment: &[(String, String)]) -> (DefaultStream, UnixStream) {
    let number = value(environment, "DISPLAY").trim_start_matches(':');
    let socket = UnixStream::connect(format!("/tmp/.X11-unix/X{number}"));
    let socket = socket.unwrap_or_else(|error| panic!("failed to reach display {number}: {error}"));
    let copy = socket.try_clone().unwrap_or_else(|error| panic!("{error}"));
    match DefaultStream::from_unix_stream(socket) {
        Ok((stream, _peer)) => (stream, copy),
        Err(error) => panic!("{error}"),
    }
}
