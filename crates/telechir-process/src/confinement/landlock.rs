//! Landlock scopes around a sandbox: a second layer on kernels that support them.
//!
//! Landlock's file rules cannot be used: they forbid mounting, which bubblewrap needs. The scopes
//! keep programs inside from abstract sockets and processes outside, as the namespaces do, too.

use std::os::fd::OwnedFd;

use landlock::{CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetError, Scope};

/// Creates the ruleset; `None` if the kernel has no scopes.
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

    /// Connects to an abstract socket and sends us signal 0. Exit code 0 if both work, 3 if neither
    /// does.
    const REACH: &str = "use Socket; socket(my $s, AF_UNIX, SOCK_STREAM, 0); \
        my $met = connect($s, pack_sockaddr_un(\"\\0\" . $ARGV[0])); \
        my $hit = kill(0, getppid()); exit(($met ? 0 : 1) + ($hit ? 0 : 2))";

    #[tokio::test]
    async fn a_mapped_descriptor_does_not_overwrite_the_ruleset() {
        let ruleset = ruleset();
        let file = File::open("/dev/null").expect("a file");
        let number = ruleset.as_ref().map_or(3, AsRawFd::as_raw_fd);
        let spawn = Spawn::new("true").fd(number, file.into());
        let child = spawn.landlock(ruleset).spawn().await.expect("it starts");
        assert_eq!(child.wait().await.expect("an end").code(), Some(0));
    }

    #[tokio::test]
    async fn scopes_block_sockets_and_processes_outside() {
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
