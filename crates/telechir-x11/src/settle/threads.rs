//! The threads of a display's programs, as Linux lists them in `/proc`, and what it says of each.
//!
//! They are looked at every few milliseconds. Their files stay open, since reading one again takes
//! a sixth of the time that opening it takes too, and only processes of which a thread had a turn
//! are listed again: nobody else can have begun anything.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicUsize, Ordering};

/// More processes than a desktop has; reading on would take longer than it is worth.
const MOST_PROCESSES: usize = 400;
/// Of so many threads the files stay open, two each, whatever number of displays there is: a
/// process may have 1,024 as a rule.
const MOST_OPEN: usize = 200;
/// What Linux says in one of these files is never longer.
const LONGEST: usize = 1024;

/// Of how many threads they are.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Process and thread.
pub(super) type Thread = (u32, u32);

/// Whom to look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cast {
    /// Processes that draw; what they started counts as well.
    pub(super) programs: Vec<u32>,
    /// The X server, when it is one of this machine.
    pub(super) server: Option<u32>,
    /// Some draw that cannot be looked at.
    pub(super) has_hidden: bool,
}

/// How much a thread had of a core so far; any turn changes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Turns {
    /// Nanoseconds that it ran, or was ready to.
    pub(super) wanted: u64,
    /// Nanoseconds that it ran.
    pub(super) ran: u64,
    pub(super) count: u64,
}

/// All threads of a cast.
#[derive(Debug, Default)]
pub(super) struct Threads {
    cast: Cast,
    listed: HashMap<Thread, Listed>,
    /// Whose threads are listed.
    processes: HashSet<u32>,
    is_whole: bool,
}

#[derive(Debug)]
struct Listed {
    turns: Turns,
    files: Option<Files>,
}

#[derive(Debug)]
struct Files {
    schedstat: File,
    stat: File,
}

impl Threads {
    /// Reads every thread's turns.
    pub(super) fn read(&mut self, cast: &Cast) -> impl Iterator<Item = (Thread, Turns)> {
        let mut stirred = Vec::new();
        let mut is_lost = self.cast != *cast;
        for (thread, listed) in &mut self.listed {
            match listed.read(*thread) {
                Some(turns) if turns == listed.turns => {}
                Some(turns) => {
                    listed.turns = turns;
                    stirred.push(*thread);
                }
                None => is_lost = true,
            }
        }
        if is_lost {
            self.cast.clone_from(cast);
            self.list();
        } else {
            self.list_new(&stirred);
        }
        let listed = self.listed.iter();
        listed.map(|(thread, listed)| (*thread, listed.turns))
    }

    /// Whether these are all threads that may draw.
    pub(super) const fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Whether a thread would run if it could: it waits for a core or for a disk.
    pub(super) fn is_ready(&self, thread: Thread) -> bool {
        let files = self.listed.get(&thread).and_then(|one| one.files.as_ref());
        let stat = match files {
            Some(files) => read_again(&files.stat),
            None => read(thread, "stat"),
        };
        stat.is_some_and(|stat| says_ready(&stat))
    }

    /// Lists all of them anew.
    fn list(&mut self) {
        let mut known = std::mem::take(&mut self.listed);
        self.is_whole = !self.cast.has_hidden;
        self.processes = HashSet::from([std::process::id()]);
        if let Some(server) = self.cast.server {
            self.processes.insert(server);
            // What it starts draws nothing.
            self.list_process(server, &mut known);
        }
        self.list_processes(self.cast.programs.clone(), &mut known);
    }

    /// Lists what those began that had a turn.
    fn list_new(&mut self, stirred: &[Thread]) {
        let processes: HashSet<u32> = stirred.iter().map(|(process, _)| *process).collect();
        let drawing = stirred
            .iter()
            .filter(|(of, _)| Some(*of) != self.cast.server);
        let mut begun: Vec<u32> = drawing.copied().flat_map(children).collect();
        for process in processes {
            begun.extend(self.list_process(process, &mut HashMap::new()));
        }
        self.list_processes(begun, &mut HashMap::new());
    }

    /// Lists these processes, and those that they started, as far as they are not listed.
    fn list_processes(&mut self, mut open: Vec<u32>, known: &mut HashMap<Thread, Listed>) {
        while let Some(process) = open.pop() {
            if self.processes.len() > MOST_PROCESSES {
                self.is_whole = false;
                return;
            }
            if self.processes.insert(process) {
                open.extend(self.list_process(process, known));
            }
        }
    }

    /// Lists the threads of a process that are not listed; says which processes these started.
    fn list_process(&mut self, process: u32, known: &mut HashMap<Thread, Listed>) -> Vec<u32> {
        let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else {
            // It ended. Another may come to its number.
            self.processes.remove(&process);
            return Vec::new();
        };
        let ids = tasks
            .flatten()
            .filter_map(|task| task.file_name().to_str()?.parse().ok());
        let mut begun = Vec::new();
        for thread in ids.map(|id| (process, id)) {
            if self.listed.contains_key(&thread) {
                continue;
            }
            let listed = known.remove(&thread).and_then(|it| it.again(thread));
            if let Some(listed) = listed.or_else(|| Listed::new(thread)) {
                self.listed.insert(thread, listed);
                begun.extend(children(thread));
            }
        }
        begun
    }
}

impl Listed {
    /// None when it ended.
    fn new(thread: Thread) -> Option<Self> {
        let (turns, files) = (Turns::default(), Files::open(thread));
        Self { turns, files }.again(thread)
    }

    /// The same, read again; none when it ended.
    fn again(mut self, thread: Thread) -> Option<Self> {
        self.turns = self.read(thread)?;
        Some(self)
    }

    fn read(&self, thread: Thread) -> Option<Turns> {
        let text = match &self.files {
            Some(files) => read_again(&files.schedstat),
            None => read(thread, "schedstat"),
        };
        Some(parse(&text?))
    }
}

impl Files {
    /// None when no more may be open, or when the thread ended.
    fn open(thread: Thread) -> Option<Self> {
        let more = |open: usize| (open < MOST_OPEN).then_some(open + 1);
        OPEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .ok()?;
        let [schedstat, stat] = ["schedstat", "stat"].map(|file| File::open(path(thread, file)));
        let files = schedstat.ok().zip(stat.ok());
        if files.is_none() {
            OPEN.fetch_sub(1, Ordering::Relaxed);
        }
        files.map(|(schedstat, stat)| Self { schedstat, stat })
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}

fn path((process, thread): Thread, file: &str) -> String {
    format!("/proc/{process}/task/{thread}/{file}")
}

/// None when the thread ended.
fn read(thread: Thread, file: &str) -> Option<String> {
    fs::read_to_string(path(thread, file)).ok()
}

/// What Linux says now; none when the thread ended.
fn read_again(file: &File) -> Option<String> {
    let mut text = [0; LONGEST];
    let length = file.read_at(&mut text, 0).ok()?;
    Some(String::from_utf8_lossy(text.get(..length)?).into_owned())
}

/// The processes that a thread started.
fn children(thread: Thread) -> Vec<u32> {
    let text = read(thread, "children").unwrap_or_default();
    let ids = text.split_ascii_whitespace();
    ids.filter_map(|id| id.parse().ok()).collect()
}

/// Time on a core, time ready to run without one, which on a busy machine is most of an
/// application's work, and how often it was given one.
fn parse(schedstat: &str) -> Turns {
    let mut numbers = schedstat
        .split_ascii_whitespace()
        .map(|number| number.parse::<u64>().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    let (ran, waited) = (next(), next());
    Turns {
        wanted: ran + waited,
        ran,
        count: next(),
    }
}

/// The letter behind the name, which stands in brackets and may hold any character.
fn says_ready(stat: &str) -> bool {
    let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start());
    state.is_some_and(|state| state.starts_with(['R', 'D']))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::time::Duration;

    use telechir_process::{Child, Spawn, Stdio};
    use tokio::time::Instant;

    use super::*;

    #[test]
    fn counts_running_and_waiting() {
        let turns = Turns {
            wanted: 291_447_510,
            ran: 233_012_968,
            count: 943,
        };
        assert_eq!(parse("233012968 58434542 943\n"), turns);
        assert_eq!(parse(""), Turns::default());
    }

    #[test]
    fn ready_is_running_or_waiting_for_a_disk() {
        assert!(says_ready("12 (a) S) R 1 12"));
        assert!(says_ready("12 (bash) D 1 12"));
        assert!(!says_ready("12 (R) S 1 12"));
        assert!(!says_ready(""));
    }

    /// A program that starts others when it gets a line, and ends them with the next.
    async fn starter(others: usize) -> (Child, Cast) {
        let script = format!(
            "read; for ((i = 0; i < {others}; i++)); do sleep 30 & done; read; kill $(jobs -p); \
             wait; read"
        );
        let spawn = Spawn::new("/bin/bash")
            .args(["-c", &script])
            .stdin(Stdio::Piped);
        let child = spawn.spawn().await.unwrap();
        let cast = Cast {
            programs: vec![child.pid().as_raw_nonzero().get().cast_unsigned()],
            ..Cast::default()
        };
        (child, cast)
    }

    /// Reads until so many are there, or for a while; says how many that are.
    async fn count(threads: &mut Threads, cast: &Cast, wanted: usize) -> usize {
        let start = Instant::now();
        loop {
            let count = threads.read(cast).count();
            if count == wanted || start.elapsed() > Duration::from_secs(10) {
                return count;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[tokio::test]
    async fn who_begins_and_who_ends_is_seen_by_those_that_had_a_turn() {
        let (mut child, cast) = starter(3).await;
        let mut input = File::from(child.take_stdin().unwrap());
        let mut threads = Threads::default();
        assert_eq!(count(&mut threads, &cast, 1).await, 1);
        input.write_all(b"\n").unwrap();
        assert_eq!(count(&mut threads, &cast, 4).await, 4);
        input.write_all(b"\n").unwrap();
        assert_eq!(count(&mut threads, &cast, 1).await, 1);
        assert!(threads.is_whole());
    }

    #[tokio::test]
    async fn threads_whose_files_are_not_kept_are_read_too() {
        let (mut child, cast) = starter(MOST_OPEN + 20).await;
        let mut input = File::from(child.take_stdin().unwrap());
        let mut threads = Threads::default();
        input.write_all(b"\n").unwrap();
        let all = MOST_OPEN + 21;
        assert_eq!(count(&mut threads, &cast, all).await, all);
        let kept = |threads: &Threads| {
            let all = threads.listed.values();
            all.filter(|one| one.files.is_some()).count()
        };
        assert!((1..=MOST_OPEN).contains(&kept(&threads)));
        let sleeps = |thread: &&Thread| !threads.is_ready(**thread);
        let start = Instant::now();
        while threads.listed.keys().filter(sleeps).count() <= MOST_OPEN {
            assert!(start.elapsed() < Duration::from_secs(10), "{threads:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        input.write_all(b"\n").unwrap();
        assert_eq!(count(&mut threads, &cast, 1).await, 1);
    }
}
