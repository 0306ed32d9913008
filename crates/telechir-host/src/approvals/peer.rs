//! Whether a process may answer a question: no program of a session may, so that a model cannot say
//! yes to itself.

use std::fmt;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::socket_peercred;
use rustix::process::{Pid, PidfdFlags, geteuid, pidfd_open};
use telechir_process::{Identity, guardian, peer_process};

use super::UnsandboxedDevices;

/// Maximum number of ancestors of a process. Nobody answers from deeper down, and what stands above
/// would not be seen.
const MAX_ANCESTORS: usize = 256;

/// Why a process may not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerRefusal {
    /// It runs as another user.
    OtherUser(u32),
    /// It has exited, so nothing is known about it.
    Exited,
    /// It is in a sandbox or container.
    OtherNamespace,
    /// It, or a process that started it, belongs to a session; how that is known.
    OfSession(&'static str),
    /// It was started on a display that a session drives.
    OnDrivenDisplay(String),
    /// The kernel does not show what it is.
    Unreadable(String),
}

impl fmt::Display for PeerRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherUser(uid) => write!(f, "the answer came from another user, {uid}"),
            Self::Exited => f.write_str("the process that answered has exited"),
            Self::OtherNamespace => {
                f.write_str("the answer came from a sandbox or container; answer outside of it")
            }
            Self::OfSession(how) => write!(
                f,
                "the answer came from a program of a session ({how}); a model must not answer itself"
            ),
            Self::OnDrivenDisplay(name) => write!(
                f,
                "a session drives the display {name}, so its model could type this answer; answer in \
                 a terminal that is not on it"
            ),
            Self::Unreadable(what) => write!(f, "what process answered cannot be read: {what}"),
        }
    }
}

/// The process at the other end of a connection.
#[derive(Debug)]
pub struct PeerProcess {
    pid: Pid,
    uid: u32,
    /// Refers to this process also when its number is used again.
    process: OwnedFd,
}

impl PeerProcess {
    /// The process that opened a connection. Call it when the connection is accepted.
    ///
    /// # Errors
    /// If the process has exited.
    pub fn of(socket: impl AsFd) -> io::Result<Self> {
        let peer = socket_peercred(&socket)?;
        // Before Linux 6.5 the number is all there is.
        let process =
            peer_process(&socket).or_else(|_| pidfd_open(peer.pid, PidfdFlags::empty()))?;
        Ok(Self {
            pid: peer.pid,
            uid: peer.uid.as_raw(),
            process,
        })
    }

    /// The number of the process.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Whether the process may answer questions.
    ///
    /// # Errors
    /// With the reason why it may not.
    pub fn check(&self, unsandboxed: &UnsandboxedDevices) -> Result<(), PeerRefusal> {
        if self.uid != geteuid().as_raw() {
            return Err(PeerRefusal::OtherUser(self.uid));
        }
        let unreadable = |what: String| {
            move |error: io::Error| PeerRefusal::Unreadable(format!("{what}: {error}"))
        };
        let pid = self.pid.as_raw_nonzero().get();
        let facts = ProcessFacts::read(pid).map_err(unreadable(format!("process {pid}")))?;
        let related = related(&facts.stat, &ProcessTable)
            .map_err(unreadable(format!("the ancestors of process {pid}")))?;
        // All of that was about this process only if it still runs.
        if self.has_exited() {
            return Err(PeerRefusal::Exited);
        }
        let own =
            ProcessFacts::namespaces("self").map_err(unreadable("our namespaces".to_owned()))?;
        judge(&facts, &related, &own, |name| unsandboxed.is_driven(name))
    }

    /// The terminal that controls the process; none if it has none, or a session's user owns it.
    pub fn terminal(&self) -> Option<String> {
        let stat = ProcessStat::read(self.pid.as_raw_nonzero().get()).ok()?;
        let name = stat.terminal()?;
        let owner = fs::metadata(&name).ok()?.uid();
        (!self.has_exited() && Identity::unprivileged_with(owner).is_none()).then_some(name)
    }

    /// This process as one without a terminal, wherever the tests run.
    #[cfg(test)]
    pub(super) fn without_terminal(self) -> Self {
        let pid = rustix::process::getppid().unwrap_or(self.pid);
        let init = Pid::INIT;
        let stat = ProcessStat::read(pid.as_raw_nonzero().get());
        let has_terminal = stat.is_ok_and(|stat| stat.terminal().is_some());
        Self {
            pid: if has_terminal { init } else { self.pid },
            ..self
        }
    }

    #[cfg(test)]
    pub(super) fn of_other_user(self) -> Self {
        Self {
            uid: self.uid + 1,
            ..self
        }
    }

    fn has_exited(&self) -> bool {
        let mut fds = [PollFd::new(&self.process, PollFlags::IN)];
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        !matches!(poll(&mut fds, Some(&now)), Ok(0))
    }
}

impl fmt::Display for PeerProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {}", self.pid.as_raw_nonzero())?;
        match self.terminal() {
            Some(terminal) => write!(f, " at {terminal}"),
            None => Ok(()),
        }
    }
}

/// What the kernel shows of the process that answers.
#[derive(Clone, Debug)]
struct ProcessFacts {
    stat: ProcessStat,
    namespaces: Vec<(u64, u64)>,
    origin: ProcessOrigin,
}

/// What shows where a process comes from.
#[derive(Clone, Debug, Default)]
struct ProcessOrigin {
    /// Variables at the start of its program; empty if they are not shown.
    variables: Vec<String>,
    cgroups: String,
    /// Whether it runs the program of telechir.
    is_telechir: bool,
}

impl ProcessFacts {
    fn read(pid: i32) -> io::Result<Self> {
        Ok(Self {
            stat: ProcessStat::read(pid)?,
            namespaces: Self::namespaces(&pid.to_string())?,
            origin: ProcessOrigin {
                variables: variables(pid)?,
                ..ProcessOrigin::read(pid)
            },
        })
    }

    /// The namespaces of processes and users, and of networks: names of devices outside of sandboxes
    /// are shown in their own one only.
    fn namespaces(process: &str) -> io::Result<Vec<(u64, u64)>> {
        let id = |name: &str| {
            let found = fs::metadata(format!("/proc/{process}/ns/{name}"))?;
            Ok((found.dev(), found.ino()))
        };
        ["pid", "user", "net"].into_iter().map(id).collect()
    }
}

impl ProcessOrigin {
    /// What can be read: processes of other users show little, but they are none of a session.
    fn read(pid: i32) -> Self {
        let program = |process: &str| {
            let found = fs::metadata(format!("/proc/{process}/exe")).ok()?;
            Some((found.dev(), found.ino()))
        };
        let theirs = program(&pid.to_string());
        Self {
            variables: variables(pid).unwrap_or_default(),
            cgroups: fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default(),
            is_telechir: theirs.is_some() && theirs == program("self"),
        }
    }

    /// How it is known that the process belongs to a session; none if nothing shows it.
    fn session_sign(&self) -> Option<&'static str> {
        let has_marker = |variable: &String| {
            let name = variable.split_once('=').map(|(name, _)| name);
            name == Some(guardian::MARKER)
        };
        if self.variables.iter().any(has_marker) {
            return Some("its environment");
        }
        // telechir-PID-…, see the names of cgroups in telechir-process.
        let is_of_session = |name: &str| {
            let owner = name.strip_prefix("telechir-");
            let owner = owner.and_then(|rest| rest.split_once('-'));
            owner.is_some_and(|(pid, _)| pid.parse::<u32>().is_ok())
        };
        let mut groups = self.cgroups.lines().flat_map(|line| line.split('/'));
        groups.any(is_of_session).then_some("its cgroup")
    }

    fn display(&self) -> Option<&str> {
        let mut variables = self.variables.iter();
        variables.find_map(|variable| variable.strip_prefix("DISPLAY="))
    }
}

fn variables(pid: i32) -> io::Result<Vec<String>> {
    let bytes = fs::read(format!("/proc/{pid}/environ"))?;
    let variables = bytes.split(|byte| *byte == 0);
    Ok(variables
        .map(|variable| String::from_utf8_lossy(variable).into_owned())
        .collect())
}

/// The processes of the system, or of a test.
trait Processes {
    fn stat(&self, pid: i32) -> Option<ProcessStat>;

    fn origin(&self, pid: i32) -> ProcessOrigin;
}

/// The processes that the kernel shows.
struct ProcessTable;

impl Processes for ProcessTable {
    fn stat(&self, pid: i32) -> Option<ProcessStat> {
        ProcessStat::read(pid).ok()
    }

    fn origin(&self, pid: i32) -> ProcessOrigin {
        ProcessOrigin::read(pid)
    }
}

/// The ancestors of a process, of the leader of its terminal session, and that leader.
///
/// # Errors
/// If there are too many to look at all of them.
fn related(of: &ProcessStat, processes: &impl Processes) -> io::Result<Vec<ProcessOrigin>> {
    let mut origins = Vec::new();
    for first in [of.parent, of.session] {
        let mut pid = first;
        let mut ancestors = 0;
        while pid > 0 && pid != of.pid {
            if ancestors >= MAX_ANCESTORS {
                return Err(io::Error::other(format!("more than {MAX_ANCESTORS}")));
            }
            ancestors += 1;
            origins.push(processes.origin(pid));
            let Some(stat) = processes.stat(pid) else {
                break;
            };
            pid = stat.parent;
        }
    }
    Ok(origins)
}

/// Judges a process by what is known about it and its relatives.
fn judge(
    facts: &ProcessFacts,
    related: &[ProcessOrigin],
    own_namespaces: &[(u64, u64)],
    is_driven: impl Fn(&str) -> io::Result<bool>,
) -> Result<(), PeerRefusal> {
    if facts.namespaces != own_namespaces {
        return Err(PeerRefusal::OtherNamespace);
    }
    let mut all = related.iter().chain([&facts.origin]);
    if let Some(how) = all.find_map(ProcessOrigin::session_sign) {
        return Err(PeerRefusal::OfSession(how));
    }
    if related.iter().any(|origin| origin.is_telechir) {
        return Err(PeerRefusal::OfSession("telechir started it"));
    }
    let all = related.iter().chain([&facts.origin]);
    for name in all.filter_map(ProcessOrigin::display) {
        match is_driven(name) {
            Ok(false) => {}
            Ok(true) => return Err(PeerRefusal::OnDrivenDisplay(name.to_owned())),
            Err(error) => return Err(PeerRefusal::Unreadable(format!("display {name}: {error}"))),
        }
    }
    Ok(())
}

/// The fields of `/proc/PID/stat` that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ProcessStat {
    pid: i32,
    parent: i32,
    session: i32,
    /// The number of the controlling terminal's device; 0 for none.
    terminal: u32,
}

impl ProcessStat {
    fn read(pid: i32) -> io::Result<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        Self::parse(&text).ok_or_else(|| io::Error::other("unexpected contents of stat"))
    }

    /// The name of a program may contain anything, also parentheses.
    fn parse(text: &str) -> Option<Self> {
        let (pid, _) = text.split_once(' ')?;
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<i32>().ok();
        Some(Self {
            pid: pid.parse().ok()?,
            parent: number(1)?,
            session: number(3)?,
            terminal: number(4)?.cast_unsigned(),
        })
    }

    /// The path of the controlling terminal: a pseudo-terminal or a console.
    fn terminal(&self) -> Option<String> {
        let major = (self.terminal >> 8) & 0xfff;
        let minor = (self.terminal & 0xff) | ((self.terminal >> 12) & 0xfff00);
        match major {
            136..=143 => Some(format!("/dev/pts/{}", (major - 136) * 256 + minor)),
            4 if minor < 64 => Some(format!("/dev/tty{minor}")),
            4 => Some(format!("/dev/ttyS{}", minor - 64)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::super::unsandboxed::display_number;
    use super::*;

    const OWN: [(u64, u64); 3] = [(4, 1), (4, 2), (4, 3)];

    fn facts() -> ProcessFacts {
        ProcessFacts {
            stat: ProcessStat::parse("9 (telechir) S 8 9 8 34817 9 0").unwrap(),
            namespaces: OWN.to_vec(),
            origin: origin(
                &["HOME=/root", "DISPLAY=:3"],
                "0::/user.slice/session-1.scope",
            ),
        }
    }

    fn origin(variables: &[&str], cgroups: &str) -> ProcessOrigin {
        ProcessOrigin {
            variables: variables.iter().map(|text| (*text).to_owned()).collect(),
            cgroups: cgroups.to_owned(),
            is_telechir: false,
        }
    }

    fn judged(facts: &ProcessFacts, related: &[ProcessOrigin]) -> Result<(), PeerRefusal> {
        judge(facts, related, &OWN, |name| {
            Ok(display_number(name) == Some(0))
        })
    }

    #[test]
    fn a_process_of_the_user_may_answer() {
        let shell = origin(&["DISPLAY=:3"], "0::/telechir-mcp.service");
        assert_eq!(judged(&facts(), &[shell]), Ok(()));
        let telechir = ProcessFacts {
            origin: ProcessOrigin {
                is_telechir: true,
                ..facts().origin
            },
            ..facts()
        };
        assert_eq!(judged(&telechir, &[]), Ok(()), "the command itself");
    }

    #[test]
    fn a_process_in_other_namespaces_may_not() {
        for different in 0..OWN.len() {
            let mut namespaces = OWN.to_vec();
            namespaces[different] = (4, 9);
            let facts = ProcessFacts {
                namespaces,
                ..facts()
            };
            assert_eq!(judged(&facts, &[]), Err(PeerRefusal::OtherNamespace));
        }
    }

    #[test]
    fn every_sign_of_a_session_counts_for_the_process_and_its_ancestors() {
        let variable = format!("{}=x", guardian::MARKER);
        let signs = [
            (origin(&[&variable], ""), "its environment"),
            (origin(&[], "0::/a/telechir-77-x-shell/b"), "its cgroup"),
            (
                origin(&[], "1:memory:/\n4:pids:/telechir-77-x"),
                "its cgroup",
            ),
        ];
        for (sign, how) in signs {
            let refusal = Err(PeerRefusal::OfSession(how));
            let process = ProcessFacts {
                origin: sign.clone(),
                ..facts()
            };
            assert_eq!(judged(&process, &[]), refusal, "{sign:?}");
            let shell = origin(&[], "");
            assert_eq!(judged(&facts(), &[shell, sign]), refusal);
        }
        let host = ProcessOrigin {
            is_telechir: true,
            ..ProcessOrigin::default()
        };
        let refusal = Err(PeerRefusal::OfSession("telechir started it"));
        assert_eq!(judged(&facts(), &[host]), refusal);
    }

    #[test]
    fn a_driven_display_counts_however_it_is_written() {
        for name in [":0", ":0.0", "unix:0"] {
            let refusal = Err(PeerRefusal::OnDrivenDisplay(name.to_owned()));
            let terminal = origin(&[&format!("DISPLAY={name}")], "");
            assert_eq!(
                judged(&facts(), std::slice::from_ref(&terminal)),
                refusal,
                "{name}"
            );
            let process = ProcessFacts {
                origin: terminal,
                ..facts()
            };
            assert_eq!(judged(&process, &[]), refusal, "{name}");
        }
        for name in [":1", ":00x", "", ":10"] {
            let terminal = origin(&[&format!("DISPLAY={name}")], "");
            assert_eq!(judged(&facts(), &[terminal]), Ok(()), "{name}");
        }
    }

    #[test]
    fn the_name_of_a_program_cannot_forge_its_parent() {
        let stat = ProcessStat::parse("7 (a) S 1 1 1 0) R 5 6 4 34818 0 0").unwrap();
        assert_eq!((stat.pid, stat.parent, stat.session), (7, 5, 4));
        assert_eq!(stat.terminal().as_deref(), Some("/dev/pts/2"));
        let stat = |number: &str| ProcessStat::parse(&format!("7 (a) R 5 6 4 {number} 0")).unwrap();
        assert_eq!(stat("0").terminal(), None);
        assert_eq!(stat("1025").terminal().as_deref(), Some("/dev/tty1"));
        assert_eq!(stat("1088").terminal().as_deref(), Some("/dev/ttyS0"));
        assert_eq!(stat("35071").terminal().as_deref(), Some("/dev/pts/255"));
        assert_eq!(stat("1083392").terminal().as_deref(), Some("/dev/pts/256"));
        assert_eq!(ProcessStat::parse("7 (a) R 5"), None);
    }

    #[test]
    fn the_peer_of_our_own_connection_is_this_process() {
        let (one, _other) = UnixStream::pair().unwrap();
        let peer = PeerProcess::of(&one).unwrap();
        assert_eq!(peer.pid(), rustix::process::getpid());
        let folder = tempfile::tempdir().unwrap();
        let unsandboxed = UnsandboxedDevices::of(folder.path()).unwrap();
        let checked = peer.check(&unsandboxed);
        let of_session = matches!(checked, Err(PeerRefusal::OfSession(_)));
        assert!(checked.is_ok() || of_session, "{checked:?}");
        let other = peer.of_other_user();
        let refusal = other.check(&unsandboxed);
        assert!(matches!(refusal, Err(PeerRefusal::OtherUser(_))));
    }

    /// Processes that each were started by the one with the number before.
    struct Chain {
        /// The one with the marker of a session.
        marked: i32,
    }

    impl Processes for Chain {
        fn stat(&self, pid: i32) -> Option<ProcessStat> {
            ProcessStat::parse(&format!("{pid} (a) S {} 1 1 0 0", pid - 1))
        }

        fn origin(&self, pid: i32) -> ProcessOrigin {
            let variable = format!("{}=x", guardian::MARKER);
            let variables = if pid == self.marked {
                vec![variable.as_str()]
            } else {
                Vec::new()
            };
            origin(&variables, "")
        }
    }

    #[test]
    fn no_number_of_ancestors_hides_the_first_one() {
        let chain = Chain { marked: 1 };
        for pid in [2, 100, 257] {
            let process = ProcessFacts {
                stat: chain.stat(pid).unwrap(),
                ..facts()
            };
            let related = related(&process.stat, &chain).unwrap();
            let refusal = Err(PeerRefusal::OfSession("its environment"));
            assert_eq!(judged(&process, &related), refusal, "{pid}");
        }
        let deep = chain.stat(258).unwrap();
        let error = related(&deep, &chain).unwrap_err();
        assert_eq!(error.to_string(), "more than 256");
    }
}
