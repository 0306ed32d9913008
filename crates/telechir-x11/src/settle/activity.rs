//! What the programs of a display do, from what Linux says of their threads in `/proc`: how long
//! each ran, and whether it sleeps.
//!
//! Knows only those of this machine, and says so when it knows none.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use telechir_device::Settle;
use tokio::time::Instant;

use super::Patience;
use super::threads::{Cast, Thread, Threads, Turns};
use super::timers::{self, Alarm, Timer};

/// Over a shorter time the background is not measured: an action's own work would be most of it.
const LEAST_BACKGROUND: Duration = Duration::from_millis(300);
/// What they take by themselves shows in a wait that is so long.
const LONG: Duration = Duration::from_millis(40);
/// Over a shorter time a share says nothing: a program's shortest turn would be most of it.
const LEAST_SHARE: Duration = Duration::from_millis(20);
/// A timer is waited for when it goes off so soon after the action. Toolkits let a button that was
/// pressed by key look pressed for 250 ms, and LibreOffice looks at its tool bars after 300; after
/// 400 a second click would no longer be a double click, which shows nothing.
const PATIENCE: Duration = Duration::from_millis(340);
/// So short a timer is waited for at any time: it is a part of what goes on.
const SHORT: Duration = Duration::from_millis(60);
/// From one picture to the next, of which there are sixty in a second.
const SCREENSHOT: Duration = Duration::from_millis(17);
/// A slower rhythm seldom meets what is done.
const SLOWEST: Duration = Duration::from_secs(1);
/// A timer is read a little after it was set, so that two readings of one differ.
const BLUR: Duration = Duration::from_millis(12);
/// A timer that is set again for as long as before, give or take so much, is the same.
const SAME: Duration = Duration::from_millis(4);
/// A timer of a thread is not waited for any more after so many times in vain, and so long in all:
/// LibreOffice looks every 10 ms whether it may go on with what it has put off.
const VAIN: u32 = 2;
const VAIN_TIME: Duration = Duration::from_millis(120);
/// Nor is any that is not short, after so many of whatever length.
const VAIN_IN_ALL: u32 = 4;
/// A timer that is over has its effect by then, unless its thread had nothing to do.
const LATE: Duration = Duration::from_millis(4);

/// Which timers are waited for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timely {
    /// Those that go off until then,
    until: Instant,
    /// and later those that were set for no longer than this;
    short: Duration,
    /// but not those of the threads that programs begin with.
    skips_first: bool,
}

impl Timely {
    pub(super) fn of(patience: Patience, acted: Instant, settle: Settle) -> Self {
        match patience {
            Patience::ForEffects => Self {
                until: acted + PATIENCE.max(settle.quiet),
                short: SHORT,
                skips_first: false,
            },
            Patience::Frame => Self {
                until: acted,
                short: SCREENSHOT,
                skips_first: true,
            },
        }
    }
}

/// What was seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Look {
    /// They work more than they do by themselves, or the server does.
    pub(super) is_busy: bool,
    /// How many times as long everything takes as it would with a core for each of them.
    pub(super) slowness: f64,
    pub(super) sleep: Sleep,
}

/// Whether all sleep, and until when.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sleep {
    /// Somebody ran since the last look, or is about to.
    Awake,
    /// Nobody ran, and all wait for something to happen.
    Sound,
    /// The same, but for a timer.
    Until(Instant),
    /// The same, but it is not known for how long.
    Unknown,
}

/// A thread as it was last seen.
#[derive(Clone, Copy, Debug)]
struct Seen {
    turns: Turns,
    /// What it had when this wait began.
    began: u64,
    /// Nanoseconds that it was seen to wait for a core, and Linux has not told yet.
    untold: u64,
    /// When what it sleeps for comes, once that was read.
    timer: Option<Timer>,
    /// What it sleeps for at most when nothing is done, as a clock and a caret do.
    rhythm: Option<Duration>,
    /// When a timer goes off that is too far off to be waited for.
    far: Option<Instant>,
}

/// Timers of a thread that had no effect on the screen, since one had.
#[derive(Clone, Copy, Debug, Default)]
struct Vain {
    /// How long the last of them was, and how many in a row.
    span: Duration,
    times: u32,
    /// How long these were waited for.
    spent: Duration,
    in_all: u32,
}

impl Vain {
    /// One more.
    fn waste(&mut self, span: Duration) {
        if self.span.abs_diff(span) >= SAME {
            (self.times, self.spent) = (0, Duration::ZERO);
            self.span = span;
        }
        self.times += 1;
        self.spent += span;
        self.in_all += 1;
    }

    /// Whether another would be waited for in vain, too.
    fn holds(self, span: Duration) -> bool {
        let is_such =
            self.span.abs_diff(span) < SAME && self.times >= VAIN && self.spent >= VAIN_TIME;
        is_such || (span > SHORT && self.in_all >= VAIN_IN_ALL)
    }
}

/// Watches the threads of a display.
#[derive(Debug, Default)]
pub(super) struct Work {
    cast: Cast,
    all: Threads,
    threads: HashMap<Thread, Seen>,
    looked: Option<Instant>,
    /// Between the last two looks.
    gap: Duration,
    /// Nanoseconds that all threads together wanted a core for, at each of the last looks.
    used: VecDeque<(Instant, u64)>,
    /// The same when this wait began.
    begun: Option<(Instant, u64)>,
    /// Nanoseconds that all threads together had a core for since then.
    ran: u64,
    /// The server works or waits for a core at the moment: it may not have told programs yet what
    /// was done, nor us what they have drawn.
    is_server_ready: bool,
    timely: Option<Timely>,
    /// The timer that is waited for.
    awaited: Option<(Thread, Alarm)>,
    /// Those that were waited for in vain.
    vain: HashMap<Thread, Vain>,
    /// All slept when the last wait ended.
    was_still: bool,
    /// The share of a core that they took while nobody acted, such as a video does.
    background: f64,
}

impl Work {
    /// Something is about to be done: what they have set by now is not because of it.
    pub(super) fn before(&mut self, now: Instant) {
        let cast = std::mem::take(&mut self.cast);
        let timely = Timely {
            until: now,
            short: SHORT,
            skips_first: false,
        };
        self.begin(cast, timely, now);
        self.learn_rhythms(now);
    }

    /// Begins to watch, and learns what they did since the last time.
    pub(super) fn begin(&mut self, cast: Cast, timely: Timely, now: Instant) {
        self.cast = cast;
        self.timely = Some(timely);
        self.awaited = None;
        let last = self.used.back().copied();
        self.gather(now);
        let threads = &self.threads;
        self.vain.retain(|thread, _| threads.contains_key(thread));
        let new = self.used.back().copied();
        if let (Some(last), Some(new)) = (last, new)
            && new.0 - last.0 >= LEAST_BACKGROUND
        {
            // Who slept then has nothing that goes on.
            self.background = if self.was_still {
                0.0
            } else {
                share(last, new)
            };
        }
        if let Some(new) = new {
            self.used = VecDeque::from([new]);
        }
        self.begun = new;
        self.ran = 0;
        for seen in self.threads.values_mut() {
            seen.began = seen.turns.wanted;
        }
    }

    /// The program that had most to do since this wait began.
    pub(super) fn actor(&self) -> Option<u32> {
        let mut work: HashMap<u32, u64> = HashMap::new();
        for ((process, _), seen) in &self.threads {
            *work.entry(*process).or_default() += seen.turns.wanted - seen.began;
        }
        let programs = work
            .into_iter()
            .filter(|(process, work)| *work > 0 && Some(*process) != self.cast.server);
        programs
            .max_by_key(|(_, work)| *work)
            .map(|(process, _)| process)
    }

    /// How they are; none when nothing is known of them. The screen changed last at `changed`.
    pub(super) fn look(&mut self, changed: Instant, now: Instant) -> Option<Look> {
        let did_run = self.gather(now);
        if !self
            .threads
            .keys()
            .any(|(process, _)| Some(*process) != self.cast.server)
        {
            return None;
        }
        self.forget_background(now);
        self.is_server_ready = false;
        let most = 0.1 + self.background * 1.2;
        // Who waits for a core matters only when it seems that nobody does.
        let is_awake = if did_run && self.share() > most {
            true
        } else {
            // Who waited for a core, and had one and was done with it before it was asked whether
            // it waits, has had a turn since: the other way round it would be missed.
            self.await_cores(now) || did_run || self.gather(Instant::now())
        };
        let sleep = if is_awake {
            Sleep::Awake
        } else {
            self.judge(changed, now);
            self.sleep(now)
        };
        self.was_still = !is_awake;
        Some(Look {
            is_busy: self.share() > most || self.is_server_ready,
            slowness: self.slowness(),
            sleep,
        })
    }

    /// Whether a thread of this program sleeps for no longer than this.
    pub(super) fn has_alarm(&self, program: u32, at_most: Duration) -> bool {
        let mut of_it = self.threads.iter().filter(|((of, _), _)| *of == program);
        of_it.any(|(_, seen)| match seen.timer {
            Some(Timer::At(alarm)) => alarm.span <= at_most,
            Some(Timer::Never | Timer::Unknown) | None => false,
        })
    }

    /// What they did after the last wait may have been the end of what was done before it. Who
    /// takes less now does not take as much by itself.
    fn forget_background(&mut self, now: Instant) {
        if let (Some(first), Some(last)) = (self.begun, self.used.back())
            && now - first.0 >= LONG
        {
            self.background = self.background.min(share(first, *last));
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "nanoseconds of one wait are far below 2^52"
    )]
    fn slowness(&self) -> f64 {
        let wanted = match (self.begun, self.used.back()) {
            (Some((_, first)), Some((_, last))) => last.saturating_sub(first),
            _ => 0,
        };
        (wanted as f64 / self.ran.max(1) as f64).max(1.0)
    }

    /// Reads every thread's turns; says whether one had any since the last time, began or ended.
    fn gather(&mut self, now: Instant) -> bool {
        let mut before = std::mem::take(&mut self.threads);
        let last = self.looked.replace(now);
        self.gap = last.map_or(Duration::ZERO, |last| now - last);
        let mut did_run = false;
        let mut used = self.used.back().map_or(0, |(_, used)| *used);
        for (thread, turns) in self.all.read(&self.cast) {
            let seen = match before.remove(&thread) {
                Some(seen) if seen.turns == turns => seen,
                old => {
                    did_run = true;
                    if Some(thread.0) != self.cast.server {
                        let had = old.map_or(0, |seen| seen.turns.wanted + seen.untold);
                        used += turns.wanted.saturating_sub(had);
                        let had = old.map_or(0, |seen| seen.turns.ran);
                        self.ran += turns.ran.saturating_sub(had);
                    }
                    Seen {
                        turns,
                        began: old.map_or(0, |seen| seen.began),
                        untold: 0,
                        timer: None,
                        rhythm: old.and_then(|seen| seen.rhythm),
                        far: old.and_then(|seen| seen.far),
                    }
                }
            };
            self.threads.insert(thread, seen);
        }
        self.used.push_back((now, used));
        while self
            .used
            .get(1)
            .is_some_and(|(at, _)| now - *at >= LEAST_SHARE)
        {
            self.used.pop_front();
        }
        did_run || !before.is_empty()
    }

    /// Whether a thread waits for a core or a disk. Linux tells of such time only once it is over.
    fn await_cores(&mut self, now: Instant) -> bool {
        let gap = u64::try_from(self.gap.as_nanos()).unwrap_or(u64::MAX);
        let server = self.cast.server;
        let mut is_awaited = false;
        let mut untold = 0;
        for (thread, seen) in &mut self.threads {
            if self.all.is_ready(*thread) {
                is_awaited = true;
                if Some(thread.0) == server {
                    self.is_server_ready = true;
                } else {
                    seen.untold += gap;
                    untold += gap;
                }
            }
        }
        if let Some((at, used)) = self.used.back_mut()
            && *at == now
        {
            *used += untold;
        }
        is_awaited
    }

    /// Cores that were used, or wanted, on average, over the last looks.
    fn share(&self) -> f64 {
        match (self.used.front(), self.used.back()) {
            (Some(first), Some(last)) => share(*first, *last),
            _ => 0.0,
        }
    }

    /// What the sleepers wait for.
    fn sleep(&mut self, now: Instant) -> Sleep {
        let (server, timely) = (self.cast.server, self.timely);
        let sleepers = self.threads.iter_mut();
        let skips_first = timely.is_some_and(|timely| timely.skips_first);
        let sleepers = sleepers.filter(|((process, thread), _)| {
            Some(*process) != server && !(skips_first && process == thread)
        });
        let mut next: Option<(Thread, Alarm)> = None;
        let mut is_unknown = !self.all.is_whole();
        for (thread, seen) in sleepers {
            let vain = self.vain.get(thread);
            let in_vain = |span| vain.is_some_and(|vain| vain.holds(span));
            match seen.pending(*thread, in_vain, (timely, now)) {
                Timer::Never => {}
                Timer::Unknown => is_unknown = true,
                Timer::At(alarm) if next.is_none_or(|(_, first)| alarm.at < first.at) => {
                    next = Some((*thread, alarm));
                }
                Timer::At(_) => {}
            }
        }
        if let Some((_, alarm)) = next {
            self.awaited = next;
            return Sleep::Until(alarm.at);
        }
        if is_unknown {
            Sleep::Unknown
        } else {
            Sleep::Sound
        }
    }

    /// Whether the timer that was waited for had an effect.
    fn judge(&mut self, changed: Instant, now: Instant) {
        let Some((thread, alarm)) = self.awaited.take_if(|(_, alarm)| alarm.at <= now) else {
            return;
        };
        if changed + BLUR >= alarm.at {
            self.vain.remove(&thread);
            return;
        }
        self.vain.entry(thread).or_default().waste(alarm.span);
    }

    fn learn_rhythms(&mut self, now: Instant) {
        for (thread, seen) in &mut self.threads {
            let timer = *seen.timer.get_or_insert_with(|| timers::of(*thread, now));
            seen.rhythm = match timer {
                Timer::At(alarm) if alarm.span <= SLOWEST => Some(alarm.span),
                Timer::At(_) | Timer::Never | Timer::Unknown => None,
            };
            seen.far = None;
        }
    }
}

impl Seen {
    /// The timer that was set because of what was done, and is worth waiting for.
    fn pending(
        &mut self,
        thread: Thread,
        in_vain: impl Fn(Duration) -> bool,
        (timely, now): (Option<Timely>, Instant),
    ) -> Timer {
        let timer = *self.timer.get_or_insert_with(|| timers::of(thread, now));
        let Timer::At(alarm) = timer else {
            return timer;
        };
        // A thread has many timers, of which only the next can be seen: one that has a rhythm of
        // its own may be about to follow that.
        let is_own = self.rhythm.is_some_and(|rhythm| {
            alarm.span < rhythm + SAME && (alarm.span > SHORT || rhythm <= SHORT)
        });
        let is_far =
            timely.is_some_and(|timely| alarm.at > timely.until && alarm.span > timely.short);
        if is_far {
            self.far = Some(alarm.at);
        }
        // What was too far off is not waited for when it has come near, either.
        let is_known = self
            .far
            .is_some_and(|far| alarm.at < far + BLUR && far < alarm.at + BLUR);
        if is_own || is_known || now > alarm.at + LATE || in_vain(alarm.span) {
            Timer::Never
        } else {
            timer
        }
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
