//! Reads when a sleeping thread wakes up: the timeout argument of its system call.
//!
//! Linux shows the system call only to processes that may trace the thread. Otherwise the result is
//! [`Timer::Unknown`], never a guess.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::time::Instant;

/// When a thread wakes up by itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Timer {
    /// It waits for an external event without a timeout.
    Never,
    At(PendingTimer),
    /// The system call cannot be read.
    Unknown,
}

/// A timeout that a thread has set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PendingTimer {
    pub(super) at: Instant,
    /// Total length of the timeout when it was set.
    pub(super) span: Duration,
}

/// The argument of a system call that contains its timeout.
#[derive(Clone, Copy, Debug, PartialEq)]
enum TimeoutArg {
    /// Milliseconds in this argument; negative means no timeout.
    Millis(usize),
    /// This argument points to a `timespec`; null means no timeout.
    Timespec(usize),
    /// This argument points to a `timeval`; null means no timeout.
    Timeval(usize),
    /// This argument points to a `timespec`, absolute if `flags` has `bit` set.
    Absolute { span: usize, flags: usize, bit: u64 },
    /// The `futex` call: relative for a plain wait, else absolute.
    Futex,
}

/// Nanoseconds per unit of the second field of `timespec` and `timeval`.
const NANOS: u64 = 1;
const MICROS: u64 = 1_000;

#[cfg(target_arch = "x86_64")]
const fn timeout_arg(call: u64) -> Option<TimeoutArg> {
    Some(match call {
        7 => TimeoutArg::Millis(2),    // poll
        23 => TimeoutArg::Timeval(4),  // select
        35 => TimeoutArg::Timespec(0), // nanosleep
        202 => TimeoutArg::Futex,      // futex
        230 => TimeoutArg::Absolute {
            span: 2,
            flags: 1,
            bit: 1,
        }, // clock_nanosleep
        232 | 281 => TimeoutArg::Millis(3), // epoll_wait, epoll_pwait
        270 => TimeoutArg::Timespec(4), // pselect6
        271 => TimeoutArg::Timespec(2), // ppoll
        128 => TimeoutArg::Timespec(2), // rt_sigtimedwait
        441 => TimeoutArg::Timespec(3), // epoll_pwait2
        _ => return None,
    })
}

#[cfg(not(target_arch = "x86_64"))]
const fn timeout_arg(call: u64) -> Option<TimeoutArg> {
    // The generic system call numbers, shared by newer architectures.
    Some(match call {
        22 => TimeoutArg::Millis(3),    // epoll_pwait
        72 => TimeoutArg::Timespec(4),  // pselect6
        73 => TimeoutArg::Timespec(2),  // ppoll
        98 => TimeoutArg::Futex,        // futex
        101 => TimeoutArg::Timespec(0), // nanosleep
        115 => TimeoutArg::Absolute {
            span: 2,
            flags: 1,
            bit: 1,
        }, // clock_nanosleep
        137 => TimeoutArg::Timespec(2), // rt_sigtimedwait
        441 => TimeoutArg::Timespec(3), // epoll_pwait2
        _ => return None,
    })
}

/// When a sleeping thread wakes up. `now` is the time at which it was observed asleep.
pub(super) fn timer_of((process, thread): (u32, u32), now: Instant) -> Timer {
    let Ok(text) = fs::read_to_string(format!("/proc/{process}/task/{thread}/syscall")) else {
        return Timer::Unknown;
    };
    let Some((call, arguments)) = parse(&text) else {
        return Timer::Unknown; // It runs.
    };
    let Some(timeout_arg) = timeout_arg(call) else {
        return Timer::Never; // It has no time, such as `read`.
    };
    match time_left(timeout_arg, &arguments, |address| {
        read_pair(process, address)
    }) {
        Some(TimeLeft::Forever) => Timer::Never,
        Some(TimeLeft::For(span)) => now
            .checked_add(span)
            .map_or(Timer::Never, |at| Timer::At(PendingTimer { at, span })),
        None => Timer::Unknown,
    }
}

/// The timeout, counted from the start of the call.
#[derive(Clone, Copy, Debug, PartialEq)]
enum TimeLeft {
    Forever,
    For(Duration),
}

fn time_left(
    timeout_arg: TimeoutArg,
    arguments: &[u64; 6],
    read: impl Fn(u64) -> Option<[u64; 2]>,
) -> Option<TimeLeft> {
    const REALTIME: u64 = 256;
    const OPERATION: u64 = 127;
    let at = |argument: usize, unit: u64| match arguments[argument] {
        0 => Some(None),
        address => read(address).map(|read_pair| Some(span(read_pair, unit))),
    };
    let (value, clock) = match timeout_arg {
        TimeoutArg::Millis(argument) => {
            // The argument is an `int`; the upper half of the register is undefined.
            let low = u32::try_from(arguments[argument] & u64::from(u32::MAX)).ok()?;
            let value = u64::try_from(low.cast_signed()).ok();
            (value.map(Duration::from_millis), None)
        }
        TimeoutArg::Timespec(argument) => (at(argument, NANOS)?, None),
        TimeoutArg::Timeval(argument) => (at(argument, MICROS)?, None),
        TimeoutArg::Absolute { span, flags, bit } => {
            let clock = match arguments[0] {
                0 => ClockId::Realtime,
                _ => ClockId::Monotonic,
            };
            let clock = (arguments[flags] & bit != 0).then_some(clock);
            (at(span, NANOS)?, clock)
        }
        TimeoutArg::Futex => {
            let clock = match arguments[1] & OPERATION {
                0 => None,
                _ if arguments[1] & REALTIME != 0 => Some(ClockId::Realtime),
                _ => Some(ClockId::Monotonic),
            };
            (at(3, NANOS)?, clock)
        }
    };
    Some(match (value, clock) {
        (None, _) => TimeLeft::Forever,
        (Some(left), None) => TimeLeft::For(left),
        (Some(deadline), Some(clock)) => {
            let now = clock_gettime(clock);
            let now = span(
                [now.tv_sec.cast_unsigned(), now.tv_nsec.cast_unsigned()],
                NANOS,
            );
            TimeLeft::For(deadline.saturating_sub(now))
        }
    })
}

fn span([seconds, parts]: [u64; 2], unit: u64) -> Duration {
    let parts = Duration::from_nanos(parts.saturating_mul(unit));
    Duration::from_secs(seconds).saturating_add(parts)
}

/// Parses the call number and arguments, as in `7 0x55 0x2 0x1f 0x0 0x0 0x0 0x7ffe 0x7f62`.
fn parse(text: &str) -> Option<(u64, [u64; 6])> {
    let mut fields = text.split_ascii_whitespace();
    let call = fields.next()?.parse().ok()?;
    let mut arguments = [0; 6];
    for argument in &mut arguments {
        *argument = u64::from_str_radix(fields.next()?.strip_prefix("0x")?, 16).ok()?;
    }
    Some((call, arguments))
}

/// Reads a `timespec` or `timeval` from the memory of a process.
fn read_pair(process: u32, address: u64) -> Option<[u64; 2]> {
    let memory = File::open(format!("/proc/{process}/mem")).ok()?;
    let mut bytes = [0; 16];
    memory.read_exact_at(&mut bytes, address).ok()?;
    let (first, second) = bytes.split_at(8);
    Some([
        u64::from_ne_bytes(first.try_into().ok()?),
        u64::from_ne_bytes(second.try_into().ok()?),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn unread(_address: u64) -> Option<[u64; 2]> {
        None
    }

    #[test]
    fn parses_a_system_call_with_its_arguments() {
        let poll = "7 0x5581 0x2 0x1f 0x0 0x1 0x9 0x7ffc 0x7f8a\n";
        assert_eq!(parse(poll), Some((7, [0x5581, 2, 0x1f, 0, 1, 9])));
        assert_eq!(parse("running\n"), None);
        assert_eq!(parse("-1 0x7ffc 0x7f8a\n"), None);
    }

    #[test]
    fn a_negative_millisecond_timeout_means_forever() {
        let time_left =
            |timeout| time_left(TimeoutArg::Millis(2), &[0, 0, timeout, 0, 0, 0], unread);
        assert_eq!(
            time_left(250),
            Some(TimeLeft::For(Duration::from_millis(250)))
        );
        assert_eq!(time_left(0xffff_ffff), Some(TimeLeft::Forever));
        assert_eq!(time_left(u64::MAX), Some(TimeLeft::Forever));
    }

    #[test]
    fn reads_timespec_and_timeval_pointers() {
        let read = |address| (address == 0x10).then_some([1, 500]);
        let time_left =
            |timeout_arg, address| time_left(timeout_arg, &[0, 0, address, 0, 0, 0], read);
        let second = Duration::from_secs(1);
        let nanos = TimeLeft::For(second + Duration::from_nanos(500));
        assert_eq!(time_left(TimeoutArg::Timespec(2), 0x10), Some(nanos));
        let micros = TimeLeft::For(second + Duration::from_micros(500));
        assert_eq!(time_left(TimeoutArg::Timeval(2), 0x10), Some(micros));
        assert_eq!(
            time_left(TimeoutArg::Timespec(2), 0),
            Some(TimeLeft::Forever)
        );
        assert_eq!(time_left(TimeoutArg::Timespec(2), 0x20), None);
    }

    #[test]
    fn an_absolute_timeout_is_relative_to_now() {
        const WAIT_BITSET_PRIVATE: u64 = 9 | 128;
        let now = clock_gettime(ClockId::Monotonic);
        let soon = [now.tv_sec.cast_unsigned() + 10, 0];
        let arguments = [0x40, WAIT_BITSET_PRIVATE, 0, 0x10, 0, 0];
        let Some(TimeLeft::For(time_left)) =
            time_left(TimeoutArg::Futex, &arguments, |_| Some(soon))
        else {
            panic!("the futex has a timeout");
        };
        assert!((8..=10).contains(&time_left.as_secs()), "{time_left:?}");
    }

    #[test]
    fn reads_the_timeout_of_a_sleeping_thread() {
        let (send_id, value) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let sleeper = std::thread::spawn(move || {
            send_id.send(rustix::thread::gettid()).unwrap();
            let _either_way = ended.recv_timeout(Duration::from_secs(30));
        });
        let thread = value.recv().unwrap().as_raw_nonzero().get().cast_unsigned();
        let start = Instant::now();
        // The thread may not be asleep yet.
        let timer = loop {
            let now = Instant::now();
            match timer_of((std::process::id(), thread), now) {
                Timer::At(alarm) => break alarm.at - now,
                other @ (Timer::Never | Timer::Unknown) => {
                    assert!(start.elapsed() < Duration::from_secs(10), "{other:?}");
                }
            }
        };
        end.send(()).unwrap();
        sleeper.join().unwrap();
        assert!((20..=30).contains(&timer.as_secs()), "{timer:?}");
    }
}
