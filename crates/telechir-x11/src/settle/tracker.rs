//! When a screen counts as settled. Knows times, rectangles and whether programs work; nothing
//! of a server.

use std::collections::VecDeque;
use std::time::Duration;

use telechir_device::Settle;
use telechir_protocol::{Size, UnsettledReason};
use tokio::time::Instant;

use super::activity::{Look, Sleep};

/// Left, top, right, bottom; the last two are outside.
pub(super) type Area = [i32; 4];

/// A blinking caret is at most this wide and high (GTK's is 1x21, a terminal's is text and
/// counts as a change).
const CARET: (i32, i32) = (3, 40);
/// Qt draws one with some room around it; so small a change may also be a letter that was typed.
const BLINKING: (i32, i32) = (16, 40);
/// A spinner fits in a square of this side.
const SPINNER: i32 = 128;
/// Rectangles nearer than this are one thing.
const NEAR: i32 = 8;
/// A spinner is known after so long.
const SPINNER_AFTER: Duration = Duration::from_millis(300);
/// What repeats itself in a larger place, such as a video, is known after so long.
const VIDEO_AFTER: Duration = Duration::from_millis(1000);
/// A video fills no more of the screen than this, in percent; more is a screen that changes.
const VIDEO_SHARE: i64 = 40;
/// Changes that fill this many percent of the screen are a new window or page, which often
/// come in several parts.
const LARGE_SHARE: i64 = 15;
/// Such a change is waited for so much of a quiet period longer: one part in three.
const LARGE_MORE: u32 = 3;
/// How often working programs are looked at, unless a look takes long itself.
const LOOK: Duration = Duration::from_millis(4);
/// So much of the time may pass with looking: one part in four.
const LOOK_SHARE: u32 = 4;
/// When all sleep, it is over as soon as what they had the server draw can have been told.
const LEAST: Duration = Duration::from_millis(8);
/// When nothing has changed yet, what was done may be under way in Linux itself, such as a key on
/// its way through a terminal, whose threads are not looked at.
const LEAST_UNCHANGED: Duration = Duration::from_millis(25);
/// A timer is waited for when it goes off so soon after the last change, or after the action.
const TIMER_PATIENCE: Duration = Duration::from_millis(400);
/// A timer has had its effect, or has none, so long after it.
const TIMER_EFFECT: Duration = Duration::from_millis(1);
/// What is expected comes at most so much earlier or later.
const PUNCTUAL: Duration = Duration::from_millis(50);
/// Programs that work for so long after the last change do so without showing it; longer where they
/// have to wait for a core to work on, and not longer than any ceiling.
const BUSY_PATIENCE: Duration = Duration::from_millis(1000);
const MOST_SLOWNESS: f64 = 60.0;
/// What changes after such a pause is something else than what changed before.
const PAUSE: Duration = Duration::from_millis(150);

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Next {
    /// Wait for a change, at most until then.
    Wait(Instant),
    /// Look whether programs work.
    Look,
    /// Nothing: it is over. Settled when nothing held it.
    Done {
        held: Option<UnsettledReason>,
        restless: Option<Area>,
    },
}

/// From when on a screen may be still.
#[derive(Clone, Copy, Debug)]
pub(super) enum Since {
    /// Something was done to it then.
    Acted(Instant),
    /// It was last seen to change then, and nothing was done since.
    Changed(Instant),
}

/// Something that changes again and again in one place.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cluster {
    area: Area,
    times: u32,
}

#[derive(Debug)]
pub(super) struct Stillness {
    settle: Settle,
    /// So long after the last change it is over when all sleep.
    least: Duration,
    screen: Size,
    start: Instant,
    last_change: Instant,
    /// When programs were last seen to work, or not to.
    last_look: Option<Instant>,
    /// They were seen not to work since the last change.
    is_calm: bool,
    /// How they slept at the last look, if nothing changed since.
    sleep: Option<Sleep>,
    /// Since when somebody is awake.
    awake_since: Option<Instant>,
    /// How many times as long everything takes as it would with a core for each.
    slowness: f64,
    /// How long a look takes.
    cost: Duration,
    /// What changed within the time that a video is known after.
    changes: VecDeque<(Instant, Area)>,
    /// When something is used to change.
    expected: Option<Instant>,
    /// Until when something may change of which nothing is known.
    curious: Option<Instant>,
    /// When something changed after a pause.
    resumed: Option<Instant>,
    /// All that changed.
    touched: Option<Area>,
    /// What is known to change by itself.
    known: Vec<Area>,
    /// The part of that which did so now.
    stirring: Option<Area>,
}

impl Stillness {
    /// `since` says when something last changed or was done; `known` are the places that change
    /// by themselves.
    pub(super) fn new(
        now: Instant,
        since: Since,
        settle: Settle,
        screen: Size,
        known: Vec<Area>,
    ) -> Self {
        let (last_change, is_calm) = match since {
            Since::Acted(at) => (at, false),
            // Nothing was begun that could still be worked on.
            Since::Changed(at) => (at, now >= at + settle.quiet),
        };
        Self {
            settle,
            least: settle.quiet,
            screen,
            start: now,
            last_change,
            last_look: None,
            is_calm,
            sleep: None,
            awake_since: None,
            slowness: 1.0,
            cost: Duration::ZERO,
            changes: VecDeque::new(),
            expected: None,
            curious: None,
            resumed: None,
            touched: None,
            known,
            stirring: None,
        }
    }

    /// Nobody draws but those who are looked at.
    pub(super) const fn knows_all(&mut self) {
        self.least = LEAST;
    }

    /// Something is used to change then.
    pub(super) const fn expect(&mut self, at: Instant) {
        self.expected = Some(at);
    }

    /// Something may change until then.
    pub(super) const fn wonder(&mut self, until: Instant) {
        self.curious = Some(until);
    }

    /// How long after the action something changed of which nothing was known.
    pub(super) fn learned(&self, acted: Instant) -> Option<Duration> {
        self.curious?;
        Some(self.resumed? - acted)
    }

    /// How long after the action something changed that was expected.
    pub(super) fn kept(&self, acted: Instant) -> Option<Duration> {
        let at = self.expected?;
        (self.last_change + PUNCTUAL >= at).then(|| self.last_change - acted)
    }

    /// Whether what was expected did not come.
    pub(super) fn was_disappointed(&self, now: Instant) -> bool {
        let expected = self.expected.filter(|at| now >= *at + PUNCTUAL);
        expected.is_some_and(|at| self.last_change + PUNCTUAL < at)
    }

    /// Until when what is expected may come, or what is not known.
    fn expects(&self) -> Option<Instant> {
        let Some(at) = self.expected else {
            return self.curious;
        };
        (self.last_change + PUNCTUAL < at).then(|| at + PUNCTUAL)
    }

    /// Whether what is expected may be about to come: who works then may be late with it.
    fn is_expectant(&self, now: Instant) -> bool {
        let has_looked = |until| self.last_look.is_some_and(|last| last >= until);
        self.expects()
            .is_some_and(|until| now < until || !has_looked(until))
    }

    pub(super) const fn last_change(&self) -> Instant {
        self.last_change
    }

    /// What changed by itself, as the next wait should know it.
    pub(super) fn restless(&self, now: Instant) -> Vec<Area> {
        let mut places: Vec<Area> = self
            .spinners(now)
            .or_else(|| self.videos(now))
            .unwrap_or_default();
        if let Some(stirring) = self.stirring {
            places.extend(
                self.known
                    .iter()
                    .copied()
                    .filter(|known| meet(*known, stirring)),
            );
        }
        places
    }

    pub(super) fn changed(&mut self, now: Instant, areas: &[Area]) {
        let mut is_news = false;
        for area in areas.iter().copied().filter(|area| !is_caret(*area)) {
            if self.known.iter().any(|known| holds(*known, area)) {
                self.stirring = Some(join(self.stirring, area));
                continue;
            }
            is_news = true;
            self.changes.push_back((now, area));
            self.touched = Some(join(self.touched, area));
        }
        if is_news {
            if now > self.last_change + PAUSE {
                self.resumed = Some(now);
            }
            self.last_change = now;
            self.is_calm = false;
            self.sleep = None;
        }
        while let Some((at, _)) = self.changes.front()
            && (now - *at > VIDEO_AFTER || self.changes.len() > 400)
        {
            self.changes.pop_front();
        }
    }

    /// How programs are, none when that cannot be told, and how long it took to see it.
    pub(super) fn looked(&mut self, now: Instant, cost: Duration, look: Option<Look>) {
        match look.map(|look| look.sleep) {
            Some(Sleep::Awake) => _ = self.awake_since.get_or_insert(now),
            Some(Sleep::Sound | Sleep::Until(_) | Sleep::Unknown) | None => self.awake_since = None,
        }
        let covers_no_change = self.last_look.is_some_and(|last| last >= self.last_change);
        self.is_calm = match look {
            Some(look) => !look.is_busy && covers_no_change && now >= self.calm_at(look.sleep),
            None => now >= self.quiet_at() + self.settle.quiet / 2,
        };
        self.sleep = look.map(|look| look.sleep);
        self.slowness = look.map_or(1.0, |look| look.slowness);
        self.cost = cost;
        self.last_look = Some(now);
    }

    pub(super) fn next(&self, now: Instant) -> Next {
        if self.is_over(now) {
            let restless = self.stirring;
            let held = match restless {
                Some(_) => Some(UnsettledReason::Animated),
                None => (!self.is_calm && !self.is_asleep()).then_some(UnsettledReason::Busy),
            };
            return Next::Done { held, restless };
        }
        if let Some(places) = self.spinners(now).or_else(|| self.videos(now)) {
            let restless = places.into_iter().reduce(|all, one| join(Some(all), one));
            let held = Some(UnsettledReason::Animated);
            return Next::Done { held, restless };
        }
        let ceiling = self.start + self.settle.ceiling;
        if now >= ceiling {
            let held = Some(self.holds(now));
            let restless = None;
            return Next::Done { held, restless };
        }
        let look_at = self.look_at();
        if now >= look_at {
            return Next::Look;
        }
        Next::Wait(look_at.min(ceiling))
    }

    fn is_over(&self, now: Instant) -> bool {
        if self.timer().is_some() || self.is_expectant(now) {
            return false;
        }
        let slowness = self.slowness.min(MOST_SLOWNESS);
        let least = match self.touched {
            Some(_) => self.least,
            None => self.least.max(LEAST_UNCHANGED),
        };
        // Linux's own threads, such as those that move what is printed to a terminal, wait for a
        // core as long as all others do.
        let least = least.mul_f64(slowness).min(least.max(self.settle.quiet));
        if self.is_asleep() && now >= self.last_change + least {
            return true;
        }
        let is_vain = now >= self.last_change + BUSY_PATIENCE.mul_f64(slowness);
        now >= self.quiet_at() && (self.is_calm || is_vain)
    }

    /// All sleep until somebody does something.
    fn is_asleep(&self) -> bool {
        match self.sleep {
            Some(Sleep::Sound) => true,
            Some(Sleep::Until(_)) => self.timer().is_none(),
            Some(Sleep::Awake | Sleep::Unknown) | None => false,
        }
    }

    /// When a program goes on that sleeps, if that is worth waiting for.
    fn timer(&self) -> Option<Instant> {
        match self.sleep {
            Some(Sleep::Until(at)) if at <= self.last_change + self.timer_patience() => Some(at),
            Some(_) | None => None,
        }
    }

    /// Who asks for a long quiet wants later ones as well.
    fn timer_patience(&self) -> Duration {
        TIMER_PATIENCE.max(self.settle.quiet)
    }

    /// What keeps it from being over.
    fn holds(&self, now: Instant) -> UnsettledReason {
        if now < self.quiet_at() {
            UnsettledReason::StillChanging
        } else if self.timer().is_some() {
            UnsettledReason::TimerPending
        } else {
            UnsettledReason::Busy
        }
    }

    /// When it is enough that programs do not work much, of which some have short turns again and
    /// again.
    fn calm_at(&self, sleep: Sleep) -> Instant {
        match sleep {
            Sleep::Awake => {
                let since = self.awake_since.unwrap_or(self.start);
                self.quiet_at().max(since) + self.settle.quiet
            }
            Sleep::Sound | Sleep::Until(_) | Sleep::Unknown => self.quiet_at(),
        }
    }

    /// Soon after a change, and then often; not before a timer.
    fn look_at(&self) -> Instant {
        let often = LOOK.max(self.cost * (LOOK_SHARE - 1));
        let Some(last) = self.last_look else {
            return self.last_change + LOOK;
        };
        let next = last.max(self.last_change) + often;
        if let Some(timer) = self.timer() {
            return next.max(timer + TIMER_EFFECT);
        }
        if self.is_asleep()
            && let Some(until) = self.expects()
        {
            return next.max(until);
        }
        let quiet_at = self.quiet_at();
        if last < quiet_at {
            next.min(quiet_at)
        } else {
            next
        }
    }

    fn quiet_at(&self) -> Instant {
        let quiet = self.settle.quiet;
        let more = if self.is_large() {
            quiet / LARGE_MORE
        } else {
            Duration::ZERO
        };
        self.last_change + quiet + more
    }

    fn is_large(&self) -> bool {
        self.touched
            .is_some_and(|area| self.share(area) >= LARGE_SHARE)
    }

    /// How many percent of the screen an area is.
    fn share(&self, [left, top, right, bottom]: Area) -> i64 {
        let area = i64::from(right - left) * i64::from(bottom - top);
        let screen = i64::from(self.screen.width) * i64::from(self.screen.height);
        area * 100 / screen.max(1)
    }

    /// The small places that all changes are in, when each changes again and again.
    fn spinners(&self, now: Instant) -> Option<Vec<Area>> {
        self.repeating(now, SPINNER_AFTER, 4, |[left, top, right, bottom]| {
            right - left <= SPINNER && bottom - top <= SPINNER
        })
    }

    /// The same for what is larger, which takes longer to tell from progress.
    fn videos(&self, now: Instant) -> Option<Vec<Area>> {
        self.repeating(now, VIDEO_AFTER, 12, |area| self.share(area) <= VIDEO_SHARE)
    }

    fn repeating(
        &self,
        now: Instant,
        after: Duration,
        times: u32,
        is_small: impl Fn(Area) -> bool,
    ) -> Option<Vec<Area>> {
        let since = now
            .checked_sub(after)
            .filter(|since| *since >= self.start)?;
        let mut clusters: Vec<Cluster> = Vec::new();
        for (_, area) in self.changes.iter().filter(|(at, _)| *at >= since) {
            gather(&mut clusters, *area);
            if clusters.len() > 8 {
                return None;
            }
        }
        let all = clusters
            .iter()
            .all(|one| one.times >= times && is_small(one.area));
        (all && !clusters.is_empty()).then(|| clusters.iter().map(|one| one.area).collect())
    }
}

/// Adds an area to the cluster that it is near, joining those that it connects.
fn gather(clusters: &mut Vec<Cluster>, area: Area) {
    let mut joined = Cluster { area, times: 1 };
    clusters.retain(|other| {
        let is_near = meet(grown(other.area), joined.area);
        if is_near {
            joined.area = join(Some(other.area), joined.area);
            joined.times += other.times;
        }
        !is_near
    });
    clusters.push(joined);
}

const fn grown([left, top, right, bottom]: Area) -> Area {
    [left - NEAR, top - NEAR, right + NEAR, bottom + NEAR]
}

const fn meet(a: Area, b: Area) -> bool {
    a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}

pub(super) const fn holds(known: Area, area: Area) -> bool {
    let known = grown(known);
    known[0] <= area[0] && known[1] <= area[1] && known[2] >= area[2] && known[3] >= area[3]
}

fn join(all: Option<Area>, one: Area) -> Area {
    all.map_or(one, |all| {
        [
            all[0].min(one[0]),
            all[1].min(one[1]),
            all[2].max(one[2]),
            all[3].max(one[3]),
        ]
    })
}

const fn is_caret([left, top, right, bottom]: Area) -> bool {
    right - left <= CARET.0 && bottom - top <= CARET.1
}

/// Whether it is as small as what some programs draw a caret with.
pub(super) const fn may_blink([left, top, right, bottom]: Area) -> bool {
    right - left <= BLINKING.0 && bottom - top <= BLINKING.1
}

#[cfg(test)]
mod tests;
