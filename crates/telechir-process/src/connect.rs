//! Connects to a socket as another user: a bus lets in only the user it runs as.

use std::io;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::thread;

use rustix::thread::{set_thread_res_gid, set_thread_res_uid};

use crate::Identity;

/// A connection to a socket that its other end takes for one of `identity`; none means ours. Ends
/// at once: a socket answers or refuses.
///
/// # Errors
/// When nobody listens there, or we may not become that user.
pub fn connect_as(identity: Option<Identity>, socket: &SocketAddr) -> io::Result<UnixStream> {
    let Some(identity) = identity else {
        return UnixStream::connect_addr(socket);
    };
    // To the kernel a thread has a user of its own. This one ends with its errand, so nothing
    // else is ever done as that user.
    thread::scope(|scope| {
        let errand = scope.spawn(|| {
            let (uid, gid) = (
                rustix::process::Uid::from_raw(identity.uid),
                rustix::process::Gid::from_raw(identity.gid),
            );
            set_thread_res_gid(gid, gid, gid)?;
            set_thread_res_uid(uid, uid, uid)?;
            UnixStream::connect_addr(socket)
        });
        errand
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the thread that connects ended")))
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_other_end_sees_the_user_we_connect_as() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let ours = Identity::current();
        let wanted = if crate::is_root() {
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
            ours
        };
        let _connection =
            connect_as(Some(wanted), &SocketAddr::from_pathname(&path).unwrap()).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        let peer = rustix::net::sockopt::socket_peercred(&accepted).unwrap();
        assert_eq!(peer.uid.as_raw(), wanted.uid);
        assert_eq!(peer.gid.as_raw(), wanted.gid);
        assert_eq!(Identity::current(), ours, "we are who we were");
    }
}
