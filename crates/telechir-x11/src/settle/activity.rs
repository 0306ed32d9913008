//! Measures the activity of a display's programs from their threads in `/proc`: CPU time and sleep
//! state.
//!
//! Covers local programs only; without any, samples are `None`.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use telechir_device::Settle;
use tokio::time::Instant;

use super::SettleMode;
use super::threads::{SchedStat, Thread, ThreadScanner, WatchedProcesses};
use super::timers::{self, PendingTimer, Timer};

/// Minimum window for measuring background load; in a shorter one the action's own work dominates.
const MIN_BACKGROUND_WINDOW: Duration = Duration::from_millis(300);
/// Minimum wait for lowering the background load again.
const MIN_WAIT_FOR_BACKGROUND: Duration = Duration::from_millis(40);
/// Minimum window for a CPU share; below it a single scheduler slice dominates.
const MIN_SHARE_WINDOW: Duration = Duration::from_millis(20);
/// Timers are waited for if they expire within this time after the action. Covers the 250 ms for
/// which toolkits show a button activated by key as pressed, and LibreOffice's toolbar check after
/// 300 ms; excludes the double-click timeout of 400 ms, which draws nothing.
const ACTION_TIMER_WINDOW: Duration = Duration::from_millis(340);
/// Timers up to this length are always waited for: they belong to ongoing work.
const SHORT_TIMER: Duration = Duration::from_millis(60);
/// Time between two frames at 60 Hz.
const FRAME_INTERVAL: Duration = Duration::from_millis(17);
/// Longest period of a timer that counts as periodic; slower ones rarely coincide with an action.
const MAX_PERIOD: Duration = Duration::from_secs(1);
/// Maximum difference between two readings of the same timer: each is read some time after it was
/// set.
const TIMER_READ_TOLERANCE: Duration = Duration::from_millis(12);
/// Two timer lengths that differ by less are the same timer.
const TIMER_TOLERANCE: Duration = Duration::from_millis(4);
/// A repeated timer is ignored after it expired this often without an effect and was waited for at
/// least [`MIN_INEFFECTIVE_TIME`]: LibreOffice polls for deferred work every 10 ms.
const MAX_INEFFECTIVE: u32 = 2;
const MIN_INEFFECTIVE_TIME: Duration = Duration::from_millis(120);
/// All longer timers of a thread are ignored after this many expired without an effect.
const MAX_INEFFECTIVE_TOTAL: u32 = 4;
/// The effect of an expired timer appears within this time, unless its thread had nothing to do.
const TIMER_LATENCY: Duration = Duration::from_millis(4);
/// Programs are busy if they use this many cores more than their background load.
const BUSY_CORES: f64 = 0.1;
/// Factor by which the background load may vary.
const BACKGROUND_MARGIN: f64 = 1.2;

/// Which timers a wait covers.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimerWindow {
    /// Covers timers that expire up to this time.
    until: Instant,
    /// Covers later timers, too, if they were set for at most this long.
    short: Duration,
    /// Ignores the timers of main threads.
    skips_first: bool,
}

impl TimerWindow {
    pub(super) fn of(mode: SettleMode, acted: Instant, settle: Settle) -> Self {
        match mode {
            SettleMode::Effect => Self {
                until: acted + ACTION_TIMER_WINDOW.max(settle.quiet),
                short: SHORT_TIMER,
                skips_first: false,
            },
            SettleMode::Frame => Self {
                until: acted,
                short: FRAME_INTERVAL,
                skips_first: true,
            },
        }
    }
}

/// The activity at one point in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    /// Whether the programs use more CPU than their background load, or the server is busy.
    pub(super) is_busy: bool,
    /// How many times longer work takes than with one core per thread; 1.0 without contention.
    pub(super) slowness: f64,
    pub(super) sleep: Sleep,
}

/// Whether all threads sleep, and until when.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sleep {
    /// A thread ran since the previous sample or is ready to run.
    Awake,
    /// No thread ran; all wait for external events.
    Idle,
    /// No thread ran; the next covered timer expires at this time.
    Until(Instant),
    /// No thread ran; some sleeps have an unknown length.
    Unknown,
}

/// A thread as of the latest sample.
#[derive(Clone, Copy, Debug)]
struct ThreadActivity {
    sched: SchedStat,
    /// Its `wanted` time at the start of the wait.
    wanted_at_start: u64,
    /// Nanoseconds it was observed waiting for a core, not yet included in schedstat.
    unreported_ns: u64,
    /// The timeout of its sleep, once read.
    timer: Option<Timer>,
    /// The timer it had before the action, as for a clock or a caret.
    period: Option<PendingTimer>,
    /// Expiry of a timer outside the covered window.
    distant_timer: Option<Instant>,
}

/// Timers of a thread without an effect on the screen, since the last one that had an effect.
#[derive(Clone, Copy, Debug, Default)]
struct IneffectiveTimers {
    /// Length of the latest timer and how often it repeated in a row.
    span: Duration,
    count: u32,
    /// Total time spent waiting for the repeated timer.
    waited: Duration,
    total: u32,
}

impl IneffectiveTimers {
    /// Records one more timer without an effect.
    fn record(&mut self, span: Duration) {
        if self.span.abs_diff(span) >= TIMER_TOLERANCE {
            (self.count, self.waited) = (0, Duration::ZERO);
            self.span = span;
        }
        self.count += 1;
        self.waited += span;
        self.total += 1;
    }

    /// Whether waiting for another timer of this length is pointless.
    fn is_ineffective(self, span: Duration) -> bool {
        let is_repeated = self.span.abs_diff(span) < TIMER_TOLERANCE
            && self.count >= MAX_INEFFECTIVE
            && self.waited >= MIN_INEFFECTIVE_TIME;
        is_repeated || (span > SHORT_TIMER && self.total >= MAX_INEFFECTIVE_TOTAL)
    }
}

/// Samples the threads of a display.
#[derive(Debug, Default)]
pub(super) struct ProcessActivity {
    watched: WatchedProcesses,
    scanner: ThreadScanner,
    threads: HashMap<Thread, ThreadActivity>,
    sampled_at: Option<Instant>,
    /// Time between the latest two samples.
    gap: Duration,
    /// Total nanoseconds for which threads wanted a core, at each recent sample.
    usage: VecDeque<(Instant, u64)>,
    /// The same at the start of the wait.
    start_usage: Option<(Instant, u64)>,
    /// Total nanoseconds for which threads ran since the start of the wait.
    ran_ns: u64,
    /// The server runs or waits for a core: input may not have reached the clients, or their
    /// drawing may not be reported yet.
    is_server_ready: bool,
    window: Option<TimerWindow>,
    /// The timer being waited for.
    awaited: Option<(Thread, PendingTimer)>,
    /// Timers that had no effect, by thread.
    ineffective: HashMap<Thread, IneffectiveTimers>,
    /// All threads were asleep at the end of the previous wait.
    was_idle: bool,
    /// Average number of cores used without an action, for example by a video.
    background: f64,
}

impl ProcessActivity {
    /// Prepares for an action: timers set up to now are not its effects.
    pub(super) fn before_action(&mut self, now: Instant) {
        let watched = std::mem::take(&mut self.watched);
        let window = TimerWindow {
            until: now,
            short: SHORT_TIMER,
            skips_first: false,
        };
        self.start(watched, window, now);
        self.learn_periods(now);
    }

    /// Starts a wait and measures the background load since the previous one.
    pub(super) fn start(&mut self, watched: WatchedProcesses, window: TimerWindow, now: Instant) {
        self.watched = watched;
        self.window = Some(window);
        self.awaited = None;
        let last = self.usage.back().copied();
        self.read_threads(now);
        let threads = &self.threads;
        self.ineffective
            .retain(|thread, _| threads.contains_key(thread));
        let new = self.usage.back().copied();
        if let (Some(last), Some(new)) = (last, new)
            && new.0 - last.0 >= MIN_BACKGROUND_WINDOW
        {
            // If everything was idle then, the load in between was not continuous.
            self.background = if self.was_idle { 0.0 } else { share(last, new) };
        }
        if let Some(new) = new {
            self.usage = VecDeque::from([new]);
        }
        self.start_usage = new;
        self.ran_ns = 0;
        for seen in self.threads.values_mut() {
            seen.wanted_at_start = seen.sched.wanted;
        }
    }

    /// The program that used the most CPU time since the start of the wait.
    pub(super) fn busiest_program(&self) -> Option<u32> {
        let mut activity: HashMap<u32, u64> = HashMap::new();
        for ((process, _), seen) in &self.threads {
            *activity.entry(*process).or_default() += seen.sched.wanted - seen.wanted_at_start;
        }
        let programs = activity
            .into_iter()
            .filter(|(process, activity)| *activity > 0 && Some(*process) != self.watched.server);
        programs
            .max_by_key(|(_, activity)| *activity)
            .map(|(process, _)| process)
    }

    /// Takes a sample; `None` if no thread is known. `changed` is the time of the latest change.
    pub(super) fn sample(&mut self, changed: Instant, now: Instant) -> Option<Sample> {
        let did_run = self.read_threads(now);
        if !self
            .threads
            .keys()
            .any(|(process, _)| Some(*process) != self.watched.server)
        {
            return None;
        }
        self.forget_background(now);
        self.is_server_ready = false;
        let busy_share = BUSY_CORES + self.background * BACKGROUND_MARGIN;
        // Threads waiting for a core matter only if none seems to run.
        let is_awake = if did_run && self.share() > busy_share {
            true
        } else {
            // Threads are read again after checking for waiting ones: one that got its core in
            // between would otherwise be missed.
            self.count_waiting(now) || did_run || self.read_threads(Instant::now())
        };
        let sleep = if is_awake {
            Sleep::Awake
        } else {
            self.judge_awaited(changed, now);
            self.sleep(now)
        };
        self.was_idle = !is_awake;
        Some(Sample {
            is_busy: self.share() > busy_share || self.is_server_ready,
            slowness: self.slowness(),
            sleep,
        })
    }

    /// Whether a thread of this program sleeps for at most `limit`.
    pub(super) fn has_timer_within(&self, program: u32, limit: Duration) -> bool {
        let mut of_it = self.threads.iter().filter(|((of, _), _)| *of == program);
        of_it.any(|(_, seen)| match seen.timer {
            Some(Timer::At(timer)) => timer.span <= limit,
            Some(Timer::Never | Timer::Unknown) | None => false,
        })
    }

    /// Lowers the background load: activity after the previous wait may have been its late effect
    /// rather than continuous.
    fn forget_background(&mut self, now: Instant) {
        if let (Some(first), Some(last)) = (self.start_usage, self.usage.back())
            && now - first.0 >= MIN_WAIT_FOR_BACKGROUND
        {
            self.background = self.background.min(share(first, *last));
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "nanoseconds of one wait are far below 2^52"
    )]
    fn slowness(&self) -> f64 {
        let wanted = match (self.start_usage, self.usage.back()) {
            (Some((_, first)), Some((_, last))) => last.saturating_sub(first),
            _ => 0,
        };
        (wanted as f64 / self.ran_ns.max(1) as f64).max(1.0)
    }

    /// Reads the CPU times of all threads; true if any thread ran, started or exited.
    fn read_threads(&mut self, now: Instant) -> bool {
        let mut previous = std::mem::take(&mut self.threads);
        let last = self.sampled_at.replace(now);
        self.gap = last.map_or(Duration::ZERO, |last| now - last);
        let mut did_run = false;
        let mut usage = self.usage.back().map_or(0, |(_, usage)| *usage);
        for (thread, sched) in self.scanner.read(&self.watched) {
            let seen = match previous.remove(&thread) {
                Some(seen) if seen.sched == sched => seen,
                old => {
                    did_run = true;
                    if Some(thread.0) != self.watched.server {
                        let known = old.map_or(0, |seen| seen.sched.wanted + seen.unreported_ns);
                        usage += sched.wanted.saturating_sub(known);
                        let known = old.map_or(0, |seen| seen.sched.ran);
                        self.ran_ns += sched.ran.saturating_sub(known);
                    }
                    ThreadActivity {
                        sched,
                        wanted_at_start: old.map_or(0, |seen| seen.wanted_at_start),
                        unreported_ns: 0,
                        timer: None,
                        period: old.and_then(|seen| seen.period),
                        distant_timer: old.and_then(|seen| seen.distant_timer),
                    }
                }
            };
            self.threads.insert(thread, seen);
        }
        self.usage.push_back((now, usage));
        while self
            .usage
            .get(1)
            .is_some_and(|(at, _)| now - *at >= MIN_SHARE_WINDOW)
        {
            self.usage.pop_front();
        }
        did_run || !previous.is_empty()
    }

    /// Whether a thread waits for a core or a disk. schedstat includes such time only afterwards.
    fn count_waiting(&mut self, now: Instant) -> bool {
        let gap = u64::try_from(self.gap.as_nanos()).unwrap_or(u64::MAX);
        let server = self.watched.server;
        let mut is_awaited = false;
        let mut unreported_ns = 0;
        for (thread, seen) in &mut self.threads {
            if self.scanner.is_ready(*thread) {
                is_awaited = true;
                if Some(thread.0) == server {
                    self.is_server_ready = true;
                } else {
                    seen.unreported_ns += gap;
                    unreported_ns += gap;
                }
            }
        }
        if let Some((at, usage)) = self.usage.back_mut()
            && *at == now
        {
            *usage += unreported_ns;
        }
        is_awaited
    }

    /// Average number of cores used or wanted over the recent samples.
    fn share(&self) -> f64 {
        match (self.usage.front(), self.usage.back()) {
            (Some(first), Some(last)) => share(*first, *last),
            _ => 0.0,
        }
    }

    /// What the sleeping threads wait for.
    fn sleep(&mut self, now: Instant) -> Sleep {
        let (server, window) = (self.watched.server, self.window);
        let sleepers = self.threads.iter_mut();
        let skips_first = window.is_some_and(|window| window.skips_first);
        let sleepers = sleepers.filter(|((process, thread), _)| {
            Some(*process) != server && !(skips_first && process == thread)
        });
        let mut next: Option<(Thread, PendingTimer)> = None;
        let mut is_unknown = !self.scanner.is_complete();
        for (thread, seen) in sleepers {
            // Toolkits handle input on the main thread.
            let is_reacting = thread.0 == thread.1 && seen.sched.wanted > seen.wanted_at_start;
            let ineffective = self.ineffective.get(thread);
            let is_ineffective =
                |span| ineffective.is_some_and(|ineffective| ineffective.is_ineffective(span));
            let pending = seen.pending(*thread, is_ineffective, (window, now));
            let may_hide = is_reacting && !seen.is_caret();
            match pending.or_hidden(seen.timer, may_hide, (window, now)) {
                Timer::Never => {}
                Timer::Unknown => is_unknown = true,
                Timer::At(timer) if next.is_none_or(|(_, first)| timer.at < first.at) => {
                    next = Some((*thread, timer));
                }
                Timer::At(_) => {}
            }
        }
        if let Some((_, timer)) = next {
            self.awaited = next;
            return Sleep::Until(timer.at);
        }
        if is_unknown {
            Sleep::Unknown
        } else {
            Sleep::Idle
        }
    }

    /// Records whether the expired timer had an effect.
    fn judge_awaited(&mut self, changed: Instant, now: Instant) {
        let Some((thread, timer)) = self.awaited.take_if(|(_, timer)| timer.at <= now) else {
            return;
        };
        if changed + TIMER_READ_TOLERANCE >= timer.at {
            self.ineffective.remove(&thread);
            return;
        }
        self.ineffective
            .entry(thread)
            .or_default()
            .record(timer.span);
    }

    fn learn_periods(&mut self, now: Instant) {
        for (thread, seen) in &mut self.threads {
            let timer = *seen
                .timer
                .get_or_insert_with(|| timers::timer_of(*thread, now));
            seen.period = match timer {
                Timer::At(timer) if timer.span <= MAX_PERIOD => Some(timer),
                Timer::At(_) | Timer::Never | Timer::Unknown => None,
            };
            seen.distant_timer = None;
        }
    }
}

impl ThreadActivity {
    /// Whether this is the timer that the thread had before the action. A longer one must also
    /// expire when that one would have: a caret's timer is set for 500 ms, and a button's 250 ms
    /// later are not the rest of it.
    fn is_periodic(&self, timer: PendingTimer) -> bool {
        self.period.is_some_and(|period| {
            timer.span < period.span + TIMER_TOLERANCE
                && match timer.span <= SHORT_TIMER {
                    true => period.span <= SHORT_TIMER,
                    false => is_due(period, timer.at),
                }
        })
    }

    /// Whether its next timer is a slow periodic one, such as a caret's.
    fn is_caret(&self) -> bool {
        matches!(self.timer, Some(Timer::At(timer))
            if timer.span > SHORT_TIMER && self.is_periodic(timer))
    }

    /// The timer of this thread, if it may result from the action and is covered by the wait.
    fn pending(
        &mut self,
        thread: Thread,
        is_ineffective: impl Fn(Duration) -> bool,
        (window, now): (Option<TimerWindow>, Instant),
    ) -> Timer {
        let timer = *self
            .timer
            .get_or_insert_with(|| timers::timer_of(thread, now));
        let Timer::At(pending) = timer else {
            return timer;
        };
        // Only the next timer of a thread is visible: one set for longer than its period may follow
        // after a periodic one.
        let is_own = self.is_periodic(pending);
        let is_far =
            window.is_some_and(|window| pending.at > window.until && pending.span > window.short);
        if is_far {
            self.distant_timer = Some(pending.at);
        }
        // A timer that was too distant is still ignored when its expiry comes closer.
        let is_known = self.distant_timer.is_some_and(|at| {
            pending.at < at + TIMER_READ_TOLERANCE && at < pending.at + TIMER_READ_TOLERANCE
        });
        if is_own || is_known || now > pending.at + TIMER_LATENCY || is_ineffective(pending.span) {
            Timer::Never
        } else {
            timer
        }
    }
}

/// Whether a periodic timer expires at this time, up to the precision of reading it.
fn is_due(period: PendingTimer, at: Instant) -> bool {
    let distance = at.max(period.at) - at.min(period.at);
    let rest = distance.as_nanos() % period.span.as_nanos().max(1);
    let tolerance = TIMER_READ_TOLERANCE.as_nanos();
    rest <= tolerance || period.span.as_nanos() - rest <= tolerance
}

impl Timer {
    /// For a thread that reacts to the action, a timer that is not worth waiting for may hide
    /// one that is, because only the next one is visible: LibreOffice polls every 10 ms while GTK
    /// shows a button as pressed for 250 ms. It is waited for; polling until the window ends.
    fn or_hidden(
        self,
        next: Option<Self>,
        may_hide: bool,
        (window, now): (Option<TimerWindow>, Instant),
    ) -> Self {
        let (Self::Never, Some(Self::At(next)), Some(window), true) =
            (self, next, window, may_hide)
        else {
            return self;
        };
        if window.until <= now || next.at > window.until || next.at + TIMER_LATENCY < now {
            return self;
        }
        let at = match next.span <= SHORT_TIMER {
            true => window.until,
            false => next.at,
        };
        Self::At(PendingTimer { at, ..next })
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "nanoseconds of one wait are far below 2^52"
)]
fn share(first: (Instant, u64), last: (Instant, u64)) -> f64 {
    let wall = (last.0 - first.0).as_nanos().max(1) as f64;
    last.1.saturating_sub(first.1) as f64 / wall
}

#[cfg(test)]
mod tests;
