//! The account files that a sandboxed program finds in `/etc`.

use std::fmt::Write as _;

use crate::Identity;

/// The user of a sandbox. A session's user may have no name, and many programs refuse to run as
/// such a user.
#[derive(Clone, Copy, Debug)]
pub struct Account<'a> {
    /// Name of the user and of its group.
    pub name: &'a str,
    /// User and group id; `None` means our own.
    pub identity: Option<Identity>,
    /// Absolute path of the home directory.
    pub home: &'a str,
}

impl Account<'_> {
    /// Contents of `/etc/passwd`: root, this user and nobody.
    pub fn passwd(&self) -> String {
        let Identity { uid, gid } = self.numbers();
        let Self { name, home, .. } = self;
        let mut text = "root:x:0:0:root:/root:/bin/bash\n".to_owned();
        let _infallible = writeln!(text, "{name}:x:{uid}:{gid}:{name}:{home}:/bin/bash");
        text + "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
    }

    /// Contents of `/etc/group`: root, this user's group and nogroup.
    pub fn group(&self) -> String {
        let gid = self.numbers().gid;
        format!("root:x:0:\n{}:x:{gid}:\nnogroup:x:65534:\n", self.name)
    }

    /// Contents of `/etc/hosts`, which maps `localhost` and `telechir` to the loopback interface.
    pub const fn hosts() -> &'static str {
        "127.0.0.1 localhost telechir\n::1 localhost\n"
    }

    fn numbers(&self) -> Identity {
        self.identity.unwrap_or_else(Identity::current)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_files_name_root_this_user_and_nobody() {
        let account = Account {
            name: "me",
            identity: Some(Identity { uid: 7, gid: 8 }),
            home: "/w",
        };
        assert_eq!(
            account.passwd(),
            "root:x:0:0:root:/root:/bin/bash\n\
             me:x:7:8:me:/w:/bin/bash\n\
             nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
        );
        assert_eq!(account.group(), "root:x:0:\nme:x:8:\nnogroup:x:65534:\n");
        let ours = Account {
            identity: None,
            ..account
        };
        let Identity { uid, gid } = Identity::current();
        let line = format!("me:x:{uid}:{gid}:me:/w:/bin/bash\n");
        assert!(ours.passwd().contains(&line));
        let hosts = "127.0.0.1 localhost telechir\n::1 localhost\n";
        assert_eq!(Account::hosts(), hosts);
    }
}
