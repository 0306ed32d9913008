//! The state machine that decides when a screen has settled. Knows times, rectangles and activity
//! samples, but no X server.

use std::collections::VecDeque;
use std::time::Duration;

use telechir_device::Settle;
use telechir_protocol::{Size, UnsettledReason};
use tokio::time::Instant;

use super::activity::{Sample, Sleep};

/// Left, top, right, bottom; right and bottom are exclusive.
pub(super) type DamageRect = [i32; 4];

/// Maximum width and height of a blinking caret. GTK's caret is 1x21; a terminal's caret is text
/// and counts as a change.
const MAX_CARET_PX: (i32, i32) = (3, 40);
/// Maximum size of a Qt caret, which is drawn with a margin; a typed character may be equally
/// small.
const MAX_BLINK_PX: (i32, i32) = (16, 40);
/// Maximum side length of a spinner.
const MAX_SPINNER_PX: i32 = 128;
/// Rectangles closer than this belong together.
const MERGE_DISTANCE_PX: i32 = 8;
/// Minimum duration of repeated changes that count as a spinner.
const SPINNER_MIN_TIME: Duration = Duration::from_millis(300);
/// Minimum duration of repeated changes in a larger area, such as a video.
const VIDEO_MIN_TIME: Duration = Duration::from_millis(1000);
/// Maximum share of the screen for a video in percent; larger changes are real updates.
const MAX_VIDEO_PERCENT: i64 = 40;
/// Minimum share of the screen in percent for a new window or page, which is often drawn in several
/// steps.
const MIN_LARGE_PERCENT: i64 = 15;
/// After such a change the quiet period is extended by this fraction: one third.
const LARGE_QUIET_DIVISOR: u32 = 3;
/// Time between two samples of the programs, unless sampling itself takes long.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(4);
/// Sampling may take one part in this many of the time.
const SAMPLING_COST_FACTOR: u32 = 4;
/// Minimum time since the last change once all threads sleep: their drawing has been reported by
/// then.
const MIN_QUIET: Duration = Duration::from_millis(8);
/// The same if nothing has changed yet: input may still pass through kernel threads that are not
/// sampled, such as those of a terminal.
const MIN_QUIET_UNCHANGED: Duration = Duration::from_millis(25);
/// Timers are waited for if they expire within this time after the last change or the action.
const MAX_TIMER_WAIT: Duration = Duration::from_millis(400);
/// Time between the expiry of a timer and the sample that shows its effect.
const TIMER_EFFECT_DELAY: Duration = Duration::from_millis(1);
/// Maximum deviation of an expected update.
const EXPECTED_TOLERANCE: Duration = Duration::from_millis(50);
const MAX_SLOWNESS: f64 = 60.0;
/// A change after a pause of this length is a new update.
const MIN_PAUSE: Duration = Duration::from_millis(150);

/// Minimum number of changes within [`SPINNER_MIN_TIME`] that count as a spinner.
const MIN_SPINNER_CHANGES: u32 = 4;
/// Minimum number of changes within [`VIDEO_MIN_TIME`] that count as a video.
const MIN_VIDEO_CHANGES: u32 = 12;
/// With more separate areas than this, changes do not count as animations.
const MAX_CLUSTERS: usize = 8;
/// Maximum number of changes retained for recognizing animations.
const MAX_CHANGES: usize = 400;

/// The next step of a wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum WaitStep {
    /// Wait for damage, at most until this time.
    Wait(Instant),
    /// Sample the programs.
    Sample,
    /// End the wait. The screen has settled if `unsettled` is absent.
    Done {
        unsettled: Option<UnsettledReason>,
        animated: Option<DamageRect>,
    },
}

/// The event from which settling is counted.
#[derive(Clone, Copy, Debug)]
pub(super) enum SettleSince {
    /// An action at this time.
    Acted(Instant),
    /// The last known change, without an action since.
    Changed(Instant),
}

/// An area with repeated changes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cluster {
    area: DamageRect,
    times: u32,
}

#[derive(Debug)]
pub(super) struct SettleTracker {
    settle: Settle,
    /// Minimum time since the last change once all threads sleep.
    min_quiet: Duration,
    screen: Size,
    start: Instant,
    last_change: Instant,
    /// Time of the latest sample.
    last_sample: Option<Instant>,
    /// The programs were not busy since the last change.
    is_calm: bool,
    /// Sleep state of the latest sample; absent after a change.
    sleep: Option<Sleep>,
    /// Since when a thread has been awake.
    awake_since: Option<Instant>,
    /// How many times longer work takes than with one core per thread.
    slowness: f64,
    /// Duration of the latest sample.
    cost: Duration,
    /// The changes within [`VIDEO_MIN_TIME`].
    changes: VecDeque<(Instant, DamageRect)>,
    /// When a late update is expected.
    expected: Option<Instant>,
    /// Until when an unknown program is observed.
    watched_until: Option<Instant>,
    /// Time of the latest change after a pause.
    resumed: Option<Instant>,
    /// Bounding rectangle of all changes.
    changed_area: Option<DamageRect>,
    /// Areas known to change continuously.
    known: Vec<DamageRect>,
    /// The part of them that changed during this wait.
    animating: Option<DamageRect>,
}

impl SettleTracker {
    /// `since` is the last action or change; `known` are the areas known to change continuously.
    pub(super) fn new(
        now: Instant,
        since: SettleSince,
        settle: Settle,
        screen: Size,
        known: Vec<DamageRect>,
    ) -> Self {
        let (last_change, is_calm) = match since {
            SettleSince::Acted(at) => (at, false),
            // Without an action no work is pending.
            SettleSince::Changed(at) => (at, now >= at + settle.quiet),
        };
        Self {
            settle,
            min_quiet: settle.quiet,
            screen,
            start: now,
            last_change,
            last_sample: None,
            is_calm,
            sleep: None,
            awake_since: None,
            slowness: 1.0,
            cost: Duration::ZERO,
            changes: VecDeque::new(),
            expected: None,
            watched_until: None,
            resumed: None,
            changed_area: None,
            known,
            animating: None,
        }
    }

    /// Every process that can draw is sampled: the wait may end early once all sleep.
    pub(super) const fn trust_idle(&mut self) {
        self.min_quiet = MIN_QUIET;
    }

    /// An update is expected at this time.
    pub(super) const fn expect_update(&mut self, at: Instant) {
        self.expected = Some(at);
    }

    /// An update by an unknown program may come until this time.
    pub(super) const fn watch_until(&mut self, until: Instant) {
        self.watched_until = Some(until);
    }

    /// Delay of a late update by an unknown program.
    pub(super) fn learned_delay(&self, acted: Instant) -> Option<Duration> {
        self.watched_until?;
        Some(self.resumed? - acted)
    }

    /// Delay of the expected update, if it occurred.
    pub(super) fn expected_delay(&self, acted: Instant) -> Option<Duration> {
        let at = self.expected?;
        (self.last_change + EXPECTED_TOLERANCE >= at).then(|| self.last_change - acted)
    }

    /// Whether the expected update did not occur.
    pub(super) fn missed_expected(&self, now: Instant) -> bool {
        let expected = self.expected.filter(|at| now >= *at + EXPECTED_TOLERANCE);
        expected.is_some_and(|at| self.last_change + EXPECTED_TOLERANCE < at)
    }

    /// Until when an expected or unknown update may come.
    fn expected_until(&self) -> Option<Instant> {
        let Some(at) = self.expected else {
            return self.watched_until;
        };
        (self.last_change + EXPECTED_TOLERANCE < at).then(|| at + EXPECTED_TOLERANCE)
    }

    /// Whether such an update may still come: a sample after its time must show that no program is
    /// about to draw.
    fn awaits_expected(&self, now: Instant) -> bool {
        let has_sampled = |until| self.last_sample.is_some_and(|last| last >= until);
        self.expected_until()
            .is_some_and(|until| now < until || !has_sampled(until))
    }

    pub(super) const fn last_change(&self) -> Instant {
        self.last_change
    }

    /// Areas that change continuously, for the next wait.
    pub(super) fn animated(&self, now: Instant) -> Vec<DamageRect> {
        let mut areas: Vec<DamageRect> = self
            .spinners(now)
            .or_else(|| self.videos(now))
            .unwrap_or_default();
        if let Some(animating) = self.animating {
            areas.extend(
                self.known
                    .iter()
                    .copied()
                    .filter(|known| overlap(*known, animating)),
            );
        }
        areas
    }

    pub(super) fn changed(&mut self, now: Instant, areas: &[DamageRect]) {
        let mut is_relevant = false;
        for area in areas.iter().copied().filter(|area| !is_caret(*area)) {
            if self.known.iter().any(|known| contains(*known, area)) {
                self.animating = Some(union(self.animating, area));
                continue;
            }
            is_relevant = true;
            self.changes.push_back((now, area));
            self.changed_area = Some(union(self.changed_area, area));
        }
        if is_relevant {
            if now > self.last_change + MIN_PAUSE {
                self.resumed = Some(now);
            }
            self.last_change = now;
            self.is_calm = false;
            self.sleep = None;
        }
        while let Some((at, _)) = self.changes.front()
            && (now - *at > VIDEO_MIN_TIME || self.changes.len() > MAX_CHANGES)
        {
            self.changes.pop_front();
        }
    }

    /// Adds a sample; absent if the programs cannot be sampled. `cost` is how long it took.
    pub(super) fn sampled(&mut self, now: Instant, cost: Duration, sample: Option<Sample>) {
        match sample.map(|sample| sample.sleep) {
            Some(Sleep::Awake) => _ = self.awake_since.get_or_insert(now),
            Some(Sleep::Idle | Sleep::Until(_) | Sleep::Unknown) | None => self.awake_since = None,
        }
        let is_newer_than_change = self
            .last_sample
            .is_some_and(|last| last >= self.last_change);
        self.is_calm = match sample {
            Some(sample) => {
                !sample.is_busy && is_newer_than_change && now >= self.calm_at(sample.sleep)
            }
            None => now >= self.quiet_at() + self.settle.quiet / 2,
        };
        self.sleep = sample.map(|sample| sample.sleep);
        self.slowness = sample.map_or(1.0, |sample| sample.slowness);
        self.cost = cost;
        self.last_sample = Some(now);
    }

    pub(super) fn next(&self, now: Instant) -> WaitStep {
        if self.is_over(now) {
            let animated = self.animating;
            let unsettled = animated.map(|_| UnsettledReason::Animated);
            return WaitStep::Done {
                unsettled,
                animated,
            };
        }
        if let Some(areas) = self.spinners(now).or_else(|| self.videos(now)) {
            let animated = areas.into_iter().reduce(|all, one| union(Some(all), one));
            let unsettled = Some(UnsettledReason::Animated);
            return WaitStep::Done {
                unsettled,
                animated,
            };
        }
        let ceiling = self.start + self.settle.ceiling;
        if now >= ceiling {
            let unsettled = Some(self.unsettled_reason(now));
            let animated = None;
            return WaitStep::Done {
                unsettled,
                animated,
            };
        }
        let sample_at = self.sample_at();
        if now >= sample_at {
            return WaitStep::Sample;
        }
        WaitStep::Wait(sample_at.min(ceiling))
    }

    fn is_over(&self, now: Instant) -> bool {
        if self.timer().is_some() || self.awaits_expected(now) {
            return false;
        }
        let slowness = self.slowness.min(MAX_SLOWNESS);
        let min_quiet = match self.changed_area {
            Some(_) => self.min_quiet,
            None => self.min_quiet.max(MIN_QUIET_UNCHANGED),
        };
        // Kernel threads, such as those of pseudo-terminals, compete for cores as well.
        let min_quiet = min_quiet
            .mul_f64(slowness)
            .min(min_quiet.max(self.settle.quiet));
        if self.is_asleep() && now >= self.last_change + min_quiet {
            return true;
        }
        now >= self.quiet_at() && self.is_calm
    }

    /// Whether all threads sleep until an external event.
    fn is_asleep(&self) -> bool {
        match self.sleep {
            Some(Sleep::Idle) => true,
            Some(Sleep::Until(_)) => self.timer().is_none(),
            Some(Sleep::Awake | Sleep::Unknown) | None => false,
        }
    }

    /// Expiry of the pending timer, if it is worth waiting for.
    fn timer(&self) -> Option<Instant> {
        match self.sleep {
            Some(Sleep::Until(at)) if at <= self.last_change + self.max_timer_wait() => Some(at),
            Some(_) | None => None,
        }
    }

    /// A longer quiet period includes later timers.
    fn max_timer_wait(&self) -> Duration {
        MAX_TIMER_WAIT.max(self.settle.quiet)
    }

    /// Why the screen has not settled at the limit.
    fn unsettled_reason(&self, now: Instant) -> UnsettledReason {
        if now < self.quiet_at() {
            UnsettledReason::StillChanging
        } else if self.timer().is_some() {
            UnsettledReason::TimerPending
        } else {
            UnsettledReason::Busy
        }
    }

    /// When low activity suffices; threads that wake up repeatedly for short work delay it.
    fn calm_at(&self, sleep: Sleep) -> Instant {
        match sleep {
            Sleep::Awake => {
                let since = self.awake_since.unwrap_or(self.start);
                self.quiet_at().max(since) + self.settle.quiet
            }
            Sleep::Idle | Sleep::Until(_) | Sleep::Unknown => self.quiet_at(),
        }
    }

    /// Soon after a change, then regularly; not before a pending timer.
    fn sample_at(&self) -> Instant {
        let interval = SAMPLE_INTERVAL.max(self.cost * (SAMPLING_COST_FACTOR - 1));
        let Some(last) = self.last_sample else {
            return self.last_change + SAMPLE_INTERVAL;
        };
        let next = last.max(self.last_change) + interval;
        if let Some(timer) = self.timer() {
            return next.max(timer + TIMER_EFFECT_DELAY);
        }
        if self.is_asleep()
            && let Some(until) = self.expected_until()
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
        let extra = if self.is_large() {
            quiet / LARGE_QUIET_DIVISOR
        } else {
            Duration::ZERO
        };
        self.last_change + quiet + extra
    }

    fn is_large(&self) -> bool {
        self.changed_area
            .is_some_and(|area| self.share(area) >= MIN_LARGE_PERCENT)
    }

    /// Share of the screen in percent.
    fn share(&self, [left, top, right, bottom]: DamageRect) -> i64 {
        let area = i64::from(right - left) * i64::from(bottom - top);
        let screen = i64::from(self.screen.width) * i64::from(self.screen.height);
        area * 100 / screen.max(1)
    }

    /// The small areas that contain all recent changes, if each changes repeatedly.
    fn spinners(&self, now: Instant) -> Option<Vec<DamageRect>> {
        self.repeating(
            now,
            SPINNER_MIN_TIME,
            MIN_SPINNER_CHANGES,
            |[left, top, right, bottom]| {
                right - left <= MAX_SPINNER_PX && bottom - top <= MAX_SPINNER_PX
            },
        )
    }

    /// The same for larger areas, which take longer to distinguish from progress.
    fn videos(&self, now: Instant) -> Option<Vec<DamageRect>> {
        self.repeating(now, VIDEO_MIN_TIME, MIN_VIDEO_CHANGES, |area| {
            self.share(area) <= MAX_VIDEO_PERCENT
        })
    }

    fn repeating(
        &self,
        now: Instant,
        after: Duration,
        times: u32,
        is_small: impl Fn(DamageRect) -> bool,
    ) -> Option<Vec<DamageRect>> {
        let since = now
            .checked_sub(after)
            .filter(|since| *since >= self.start)?;
        let mut clusters: Vec<Cluster> = Vec::new();
        for (_, area) in self.changes.iter().filter(|(at, _)| *at >= since) {
            add_to_clusters(&mut clusters, *area);
            if clusters.len() > MAX_CLUSTERS {
                return None;
            }
        }
        let all = clusters
            .iter()
            .all(|one| one.times >= times && is_small(one.area));
        (all && !clusters.is_empty()).then(|| clusters.iter().map(|one| one.area).collect())
    }
}

/// Adds an area to the clusters near it and merges those it connects.
fn add_to_clusters(clusters: &mut Vec<Cluster>, area: DamageRect) {
    let mut joined = Cluster { area, times: 1 };
    clusters.retain(|other| {
        let is_near = overlap(expanded(other.area), joined.area);
        if is_near {
            joined.area = union(Some(other.area), joined.area);
            joined.times += other.times;
        }
        !is_near
    });
    clusters.push(joined);
}

const fn expanded([left, top, right, bottom]: DamageRect) -> DamageRect {
    [
        left - MERGE_DISTANCE_PX,
        top - MERGE_DISTANCE_PX,
        right + MERGE_DISTANCE_PX,
        bottom + MERGE_DISTANCE_PX,
    ]
}

const fn overlap(a: DamageRect, b: DamageRect) -> bool {
    a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}

pub(super) const fn contains(known: DamageRect, area: DamageRect) -> bool {
    let known = expanded(known);
    known[0] <= area[0] && known[1] <= area[1] && known[2] >= area[2] && known[3] >= area[3]
}

fn union(all: Option<DamageRect>, one: DamageRect) -> DamageRect {
    all.map_or(one, |all| {
        [
            all[0].min(one[0]),
            all[1].min(one[1]),
            all[2].max(one[2]),
            all[3].max(one[3]),
        ]
    })
}

const fn is_caret([left, top, right, bottom]: DamageRect) -> bool {
    right - left <= MAX_CARET_PX.0 && bottom - top <= MAX_CARET_PX.1
}

/// Whether the area is small enough for a caret.
pub(super) const fn may_blink([left, top, right, bottom]: DamageRect) -> bool {
    right - left <= MAX_BLINK_PX.0 && bottom - top <= MAX_BLINK_PX.1
}

#[cfg(test)]
mod tests;
