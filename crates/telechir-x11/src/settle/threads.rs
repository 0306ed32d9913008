//! Lists the threads of a display's programs in `/proc` and reads their scheduler statistics.
//!
//! The threads are sampled every few milliseconds. Their files stay open, since reading an open
//! file takes a sixth of the time of opening and reading it. Only processes with a thread that ran
//! are listed again, because no other process can have started a thread.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum number of processes; beyond it a sample would take too long.
const MAX_PROCESSES: usize = 400;
/// Maximum number of threads whose files stay open, two each, over all displays: the usual limit is
/// 1,024 descriptors per process.
const MAX_OPEN_THREADS: usize = 200;
/// Maximum size of a `schedstat` or `stat` file in bytes.
const MAX_PROC_FILE_BYTES: usize = 1024;

/// Number of threads whose files are open.
static OPEN_THREADS: AtomicUsize = AtomicUsize::new(0);

/// Process ID and thread ID.
pub(super) type Thread = (u32, u32);

/// The processes to sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WatchedProcesses {
    /// Process IDs of programs that draw; their descendants are included.
    pub(super) programs: Vec<u32>,
    /// Process ID of a local X server.
    pub(super) server: Option<u32>,
    /// Whether some drawing process is not visible in `/proc`.
    pub(super) has_hidden: bool,
}

/// Scheduler statistics of a thread; they change whenever it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SchedStat {
    /// Nanoseconds the thread ran or was ready to run.
    pub(super) wanted: u64,
    /// Nanoseconds the thread ran.
    pub(super) ran: u64,
    pub(super) count: u64,
}

/// All threads of the watched processes.
#[derive(Debug, Default)]
pub(super) struct ThreadScanner {
    watched: WatchedProcesses,
    listed: HashMap<Thread, ListedThread>,
    /// Processes whose threads are listed.
    processes: HashSet<u32>,
    is_complete: bool,
}

#[derive(Debug)]
struct ListedThread {
    sched: SchedStat,
    files: Option<ThreadFiles>,
}

#[derive(Debug)]
struct ThreadFiles {
    schedstat: File,
    stat: File,
}

impl ThreadScanner {
    /// Reads the statistics of all threads.
    pub(super) fn read(
        &mut self,
        watched: &WatchedProcesses,
    ) -> impl Iterator<Item = (Thread, SchedStat)> {
        let mut ran_threads = Vec::new();
        let mut is_lost = self.watched != *watched;
        for (thread, listed) in &mut self.listed {
            match listed.read(*thread) {
                Some(sched) if sched == listed.sched => {}
                Some(sched) => {
                    listed.sched = sched;
                    ran_threads.push(*thread);
                }
                None => is_lost = true,
            }
        }
        if is_lost {
            self.watched.clone_from(watched);
            self.list();
        } else {
            self.list_children(&ran_threads);
        }
        let listed = self.listed.iter();
        listed.map(|(thread, listed)| (*thread, listed.sched))
    }

    /// Whether every thread that may draw is included.
    pub(super) const fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Whether a thread waits for a core or a disk.
    pub(super) fn is_ready(&self, thread: Thread) -> bool {
        let files = self.listed.get(&thread).and_then(|one| one.files.as_ref());
        let stat = match files {
            Some(files) => reread(&files.stat),
            None => read(thread, "stat"),
        };
        stat.is_some_and(|stat| is_ready_state(&stat))
    }

    /// Lists all threads again.
    fn list(&mut self) {
        let mut known = std::mem::take(&mut self.listed);
        self.is_complete = !self.watched.has_hidden;
        self.processes = HashSet::from([std::process::id()]);
        if let Some(server) = self.watched.server {
            self.processes.insert(server);
            // Children of the server draw nothing.
            self.list_process(server, &mut known);
        }
        self.list_processes(self.watched.programs.clone(), &mut known);
    }

    /// Lists the children of threads that ran.
    fn list_children(&mut self, ran_threads: &[Thread]) {
        let processes: HashSet<u32> = ran_threads.iter().map(|(process, _)| *process).collect();
        let drawing = ran_threads
            .iter()
            .filter(|(of, _)| Some(*of) != self.watched.server);
        let mut started: Vec<u32> = drawing.copied().flat_map(child_pids).collect();
        for process in processes {
            started.extend(self.list_process(process, &mut HashMap::new()));
        }
        self.list_processes(started, &mut HashMap::new());
    }

    /// Lists these processes and their descendants, except those already listed.
    fn list_processes(&mut self, mut pending: Vec<u32>, known: &mut HashMap<Thread, ListedThread>) {
        while let Some(process) = pending.pop() {
            if self.processes.len() > MAX_PROCESSES {
                self.is_complete = false;
                return;
            }
            if self.processes.insert(process) {
                pending.extend(self.list_process(process, known));
            }
        }
    }

    /// Lists the new threads of a process; returns the processes they started.
    fn list_process(
        &mut self,
        process: u32,
        known: &mut HashMap<Thread, ListedThread>,
    ) -> Vec<u32> {
        let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else {
            // The process exited; its ID may be reused.
            self.processes.remove(&process);
            return Vec::new();
        };
        let ids = tasks
            .flatten()
            .filter_map(|task| task.file_name().to_str()?.parse().ok());
        let mut started = Vec::new();
        for thread in ids.map(|id| (process, id)) {
            if self.listed.contains_key(&thread) {
                continue;
            }
            let listed = known.remove(&thread).and_then(|it| it.refreshed(thread));
            if let Some(listed) = listed.or_else(|| ListedThread::new(thread)) {
                self.listed.insert(thread, listed);
                started.extend(child_pids(thread));
            }
        }
        started
    }
}

impl ListedThread {
    /// `None` if the thread exited.
    fn new(thread: Thread) -> Option<Self> {
        let (sched, files) = (SchedStat::default(), ThreadFiles::open(thread));
        Self { sched, files }.refreshed(thread)
    }

    /// Reads the statistics again; `None` if the thread exited.
    fn refreshed(mut self, thread: Thread) -> Option<Self> {
        self.sched = self.read(thread)?;
        Some(self)
    }

    fn read(&self, thread: Thread) -> Option<SchedStat> {
        let text = match &self.files {
            Some(files) => reread(&files.schedstat),
            None => read(thread, "schedstat"),
        };
        Some(parse(&text?))
    }
}

impl ThreadFiles {
    /// `None` if too many files are open or the thread exited.
    fn open(thread: Thread) -> Option<Self> {
        let one_more = |open: usize| (open < MAX_OPEN_THREADS).then_some(open + 1);
        OPEN_THREADS
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more)
            .ok()?;
        let [schedstat, stat] = ["schedstat", "stat"].map(|file| File::open(path(thread, file)));
        let files = schedstat.ok().zip(stat.ok());
        if files.is_none() {
            OPEN_THREADS.fetch_sub(1, Ordering::Relaxed);
        }
        files.map(|(schedstat, stat)| Self { schedstat, stat })
    }
}

impl Drop for ThreadFiles {
    fn drop(&mut self) {
        OPEN_THREADS.fetch_sub(1, Ordering::Relaxed);
    }
}

fn path((process, thread): Thread, file: &str) -> String {
    format!("/proc/{process}/task/{thread}/{file}")
}

/// `None` if the thread exited.
fn read(thread: Thread, file: &str) -> Option<String> {
    fs::read_to_string(path(thread, file)).ok()
}

/// Reads an open file from its start; `None` if the thread exited.
fn reread(file: &File) -> Option<String> {
    let mut text = [0; MAX_PROC_FILE_BYTES];
    let length = file.read_at(&mut text, 0).ok()?;
    Some(String::from_utf8_lossy(text.get(..length)?).into_owned())
}

/// Process IDs that a thread started.
fn child_pids(thread: Thread) -> Vec<u32> {
    let text = read(thread, "children").unwrap_or_default();
    let ids = text.split_ascii_whitespace();
    ids.filter_map(|id| id.parse().ok()).collect()
}

/// The fields are: time on a core, time waiting for one (on a loaded machine most of an
/// application's time), number of slices.
fn parse(schedstat: &str) -> SchedStat {
    let mut numbers = schedstat
        .split_ascii_whitespace()
        .map(|number| number.parse::<u64>().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    let (ran, waited) = (next(), next());
    SchedStat {
        wanted: ran + waited,
        ran,
        count: next(),
    }
}

/// The state letter follows the command name, which is in parentheses and may contain any
/// character.
fn is_ready_state(stat: &str) -> bool {
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
    fn parses_running_and_waiting_time() {
        let sched = SchedStat {
            wanted: 291_447_510,
            ran: 233_012_968,
            count: 943,
        };
        assert_eq!(parse("233012968 58434542 943\n"), sched);
        assert_eq!(parse(""), SchedStat::default());
    }

    #[test]
    fn running_and_disk_wait_count_as_ready() {
        assert!(is_ready_state("12 (a) S) R 1 12"));
        assert!(is_ready_state("12 (bash) D 1 12"));
        assert!(!is_ready_state("12 (R) S 1 12"));
        assert!(!is_ready_state(""));
    }

    /// A shell that starts `others` processes at the first line of input and kills them at the
    /// second.
    async fn starter(others: usize) -> (Child, WatchedProcesses) {
        let script = format!(
            "read; for ((i = 0; i < {others}; i++)); do sleep 30 & done; read; kill $(jobs -p); \
             wait; read"
        );
        let spawn = Spawn::new("/bin/bash")
            .args(["-c", &script])
            .stdin(Stdio::Piped);
        let child = spawn.spawn().await.unwrap();
        let watched = WatchedProcesses {
            programs: vec![child.pid().as_raw_nonzero().get().cast_unsigned()],
            ..WatchedProcesses::default()
        };
        (child, watched)
    }

    /// Reads until there are `wanted` threads, for up to 10 s; returns their number.
    async fn count(
        threads: &mut ThreadScanner,
        watched: &WatchedProcesses,
        wanted: usize,
    ) -> usize {
        let start = Instant::now();
        loop {
            let count = threads.read(watched).count();
            if count == wanted || start.elapsed() > Duration::from_secs(10) {
                return count;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[tokio::test]
    async fn started_and_exited_processes_are_noticed() {
        let (mut child, watched) = starter(3).await;
        let mut input = File::from(child.take_stdin().unwrap());
        let mut threads = ThreadScanner::default();
        assert_eq!(count(&mut threads, &watched, 1).await, 1);
        input.write_all(b"\n").unwrap();
        assert_eq!(count(&mut threads, &watched, 4).await, 4);
        input.write_all(b"\n").unwrap();
        assert_eq!(count(&mut threads, &watched, 1).await, 1);
        assert!(threads.is_complete());
    }

    #[tokio::test]
    async fn threads_beyond_the_open_file_limit_are_read_too() {
        let (mut child, watched) = starter(MAX_OPEN_THREADS + 20).await;
        let mut input = File::from(child.take_stdin().unwrap());
        let mut threads = ThreadScanner::default();
        input.write_all(b"\n").unwrap();
        let all = MAX_OPEN_THREADS + 21;
        assert_eq!(count(&mut threads, &watched, all).await, all);
        let open_files = |threads: &ThreadScanner| {
            let all = threads.listed.values();
            all.filter(|one| one.files.is_some()).count()
        };
        assert!((1..=MAX_OPEN_THREADS).contains(&open_files(&threads)));
        let sleeps = |thread: &&Thread| !threads.is_ready(**thread);
        let start = Instant::now();
        while threads.listed.keys().filter(sleeps).count() <= MAX_OPEN_THREADS {
            assert!(start.elapsed() < Duration::from_secs(10), "{threads:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        input.write_all(b"\n").unwrap();
        assert_eq!(count(&mut threads, &watched, 1).await, 1);
    }
}
