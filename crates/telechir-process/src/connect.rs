//! Connects to a socket as another user: D-Bus accepts only connections from its own user.

use std::io;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::thread;

use rustix::thread::{set_thread_res_gid, set_thread_res_uid};

use crate::Identity;

/// Connects to a Unix socket as `identity`; `None` means our own user. Does not wait: such a
/// connection is accepted or refused immediately.
///
/// # Errors
/// If nothing listens there, or we may not switch to that user.
pub fn connect_as(identity: Option<Identity>, socket: &SocketAddr) -> io::Result<UnixStream> {
    let Some(identity) = identity else {
        return UnixStream::connect_addr(socket);
    };
    // In the kernel, each thread has its own credentials. This one ends after connecting, so
    // nothing else ever runs as that user.
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let (uid, gid) = (
                rustix::process::Uid::from_raw(identity.uid),
                rustix::process::Gid::from_raw(identity.gid),
            );
            set_thread_res_gid(gid, gid, gid)?;
            set_thread_res_uid(uid, uid, uid)?;
            UnixStream::connect_addr(socket)
        });
        thread
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the connecting thread panicked")))
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_peer_sees_the_requested_user() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let own = Identity::current();
        let target = if crate::is_root() {
            use std::os::unix::fs::PermissionsExt as _;
            let open = |path: &Path| {
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
            };
            open(folder.path());
            open(&path);
            Identity {
                uid: 61_234,
                gid: 61_235,
            }
        } else {
            own
        };
        let _connection =
            connect_as(Some(target), &SocketAddr::from_pathname(&path).unwrap()).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        let peer = rustix::net::sockopt::socket_peercred(&accepted).unwrap();
        assert_eq!(peer.uid.as_raw(), target.uid);
        assert_eq!(peer.gid.as_raw(), target.gid);
        assert_eq!(
            Identity::current(),
            own,
            "our own credentials are unchanged"
        );
    }
}
