//! Landlock's scopes around a confinement: a second wall where the kernel has it.
//!
//! Its rules for files cannot be had here: whoever is under them may not mount, and bubblewrap
//! must. What is left is that nothing inside reaches an abstract socket or a process outside,
//! which the namespaces see to as well.

use std::os::fd::OwnedFd;

use landlock::{CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetError, Scope};

/// The ruleset; none where the kernel has no scopes.
pub(super) fn ruleset() -> Option<OwnedFd> {
    let made = || -> Result<Option<OwnedFd>, RulesetError> {
        let scopes = Scope::AbstractUnixSocket | Scope::Signal;
        let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        Ok(rules.scope(scopes)?.create()?.into())
    };
    made().ok().flatten()
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener};

    use super::*;
    use crate::Spawn;

    /// Connects to an abstract socket and sends us a signal that does nothing; exit code 0 when
    /// both work, 3 when neither does.
    const REACH: &str = "use Socket; socket(my $s, AF_UNIX, SOCK_STREAM, 0); \
        my $met = connect($s, pack_sockaddr_un(\"\\0\" . $ARGV[0])); \
        my $hit = kill(0, getppid()); exit(($met ? 0 : 1) + ($hit ? 0 : 2))";

    #[tokio::test]
    async fn a_descriptor_that_the_child_wants_does_not_take_the_ruleset_s_number() {
        let ruleset = ruleset();
        let file = File::open("/dev/null").expect("a file");
        let number = ruleset.as_ref().map_or(3, AsRawFd::as_raw_fd);
        let spawn = Spawn::new("true").fd(number, file.into());
        let child = spawn.landlock(ruleset).spawn().await.expect("it starts");
        assert_eq!(child.wait().await.expect("an end").code(), Some(0));
    }

    #[tokio::test]
    async fn nothing_outside_is_reached_where_the_kernel_has_scopes() {
        let name = format!("telechir-scope-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).expect("an address");
        let _listener = UnixListener::bind_addr(&address).expect("a socket");
        let reach = |ruleset| {
            let perl = Spawn::new("perl").args(["-e", REACH, &name]);
            async move {
                let child = perl.landlock(ruleset).spawn().await.expect("perl");
                child.wait().await.expect("an end").code()
            }
        };
        assert_eq!(reach(None).await, Some(0));
        let has_scopes = crate::landlock_abi().is_some_and(|abi| abi >= 6);
        let ruleset = ruleset();
        assert_eq!(ruleset.is_some(), has_scopes);
        if has_scopes {
            assert_eq!(reach(ruleset).await, Some(3));
        }
    }
}
