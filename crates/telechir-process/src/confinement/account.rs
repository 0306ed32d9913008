//! The names that a confined program finds in `/etc`.

use std::fmt::Write as _;

use crate::Identity;

/// The user of a confinement: a session's user may be only a number, which many programs refuse
/// to talk to.
#[derive(Clone, Copy, Debug)]
pub struct Account<'a> {
    /// Its name, also that of its group.
    pub name: &'a str,
    /// Its numbers; none means ours.
    pub identity: Option<Identity>,
    /// Its home.
    pub home: &'a str,
}

impl Account<'_> {
    /// The text of `/etc/passwd`.
    pub fn passwd(&self) -> String {
        let Identity { uid, gid } = self.numbers();
        let Self { name, home, .. } = self;
        let mut text = "root:x:0:0:root:/root:/bin/bash\n".to_owned();
        let _infallible = writeln!(text, "{name}:x:{uid}:{gid}:{name}:{home}:/bin/bash");
        text + "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
    }

    /// The text of `/etc/group`.
    pub fn group(&self) -> String {
        let gid = self.numbers().gid;
        format!("root:x:0:\n{}:x:{gid}:\nnogroup:x:65534:\n", self.name)
    }

    /// The text of `/etc/hosts`.
    pub const fn hosts() -> &'static str {
        "127.0.0.1 localhost telechir\n::1 localhost\n"
    }

    fn numbers(&self) -> Identity {
        self.identity.unwrap_or_else(Identity::current)
    }
}
