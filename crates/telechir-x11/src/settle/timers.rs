//! When a sleeping thread wakes by itself: the time that its system call was given.
//!
//! Linux shows a thread's system call to whoever may trace it. Whom it does not show it to learns
//! that it is not known, never a guess.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::time::Instant;

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Timer {
    /// Something that others do.
    Never,
    At(Alarm),
    /// It cannot be read.
    Unknown,
}

/// A time that a thread set itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Alarm {
    pub(super) at: Instant,
    /// How far off it was when it was set.
    pub(super) span: Duration,
}

/// Where a system call has its time.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Given {
    /// Milliseconds, in this argument; none when negative.
    Millis(usize),
    /// This argument points to seconds and nanoseconds; none when null.
    Span(usize),
    /// To seconds and microseconds.
    Micros(usize),
    /// To seconds and nanoseconds, of a clock when the flags in the other argument have the bit.
    Moment { span: usize, flags: usize, bit: u64 },
    /// As `futex` has it: a clock's, unless the operation is a plain wait.
    Futex,
}

/// How a pointer's two words are counted.
const NANOS: u64 = 1;
const MICROS: u64 = 1_000;

#[cfg(target_arch = "x86_64")]
const fn given(call: u64) -> Option<Given> {
    Some(match call {
        7 => Given::Millis(2),  // poll
        23 => Given::Micros(4), // select
        35 => Given::Span(0),   // nanosleep
        202 => Given::Futex,    // futex
        230 => Given::Moment {
            span: 2,
            flags: 1,
            bit: 1,
        }, // clock_nanosleep
        232 | 281 => Given::Millis(3), // epoll_wait, epoll_pwait
        270 => Given::Span(4),  // pselect6
        271 => Given::Span(2),  // ppoll
        128 => Given::Span(2),  // rt_sigtimedwait
        441 => Given::Span(3),  // epoll_pwait2
        _ => return None,
    })
}

#[cfg(not(target_arch = "x86_64"))]
const fn given(call: u64) -> Option<Given> {
    // The numbers that all newer machines share.
    Some(match call {
        22 => Given::Millis(3), // epoll_pwait
        72 => Given::Span(4),   // pselect6
        73 => Given::Span(2),   // ppoll
        98 => Given::Futex,     // futex
        101 => Given::Span(0),  // nanosleep
        115 => Given::Moment {
            span: 2,
            flags: 1,
            bit: 1,
        }, // clock_nanosleep
        137 => Given::Span(2),  // rt_sigtimedwait
        441 => Given::Span(3),  // epoll_pwait2
        _ => return None,
    })
}

/// What a sleeping thread waits for. `now` is when it was last seen to sleep.
pub(super) fn of((process, thread): (u32, u32), now: Instant) -> Timer {
    let Ok(text) = fs::read_to_string(format!("/proc/{process}/task/{thread}/syscall")) else {
        return Timer::Unknown;
    };
    let Some((call, arguments)) = parse(&text) else {
        return Timer::Unknown; // It runs.
    };
    let Some(given) = given(call) else {
        return Timer::Never; // It has no time, such as `read`.
    };
    match left(given, &arguments, |address| words(process, address)) {
        Some(Left::Ever) => Timer::Never,
        Some(Left::For(span)) => now
            .checked_add(span)
            .map_or(Timer::Never, |at| Timer::At(Alarm { at, span })),
        None => Timer::Unknown,
    }
}

/// How much of the time is left when the call was just made.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Left {
    Ever,
    For(Duration),
}

fn left(
    given: Given,
    arguments: &[u64; 6],
    read: impl Fn(u64) -> Option<[u64; 2]>,
) -> Option<Left> {
    const REALTIME: u64 = 256;
    const OPERATION: u64 = 127;
    let at = |argument: usize, unit: u64| match arguments[argument] {
        0 => Some(None),
        address => read(address).map(|words| Some(span(words, unit))),
    };
    let (told, clock) = match given {
        Given::Millis(argument) => {
            // An `int`: the upper half of the register says nothing.
            let low = u32::try_from(arguments[argument] & u64::from(u32::MAX)).ok()?;
            let told = u64::try_from(low.cast_signed()).ok();
            (told.map(Duration::from_millis), None)
        }
        Given::Span(argument) => (at(argument, NANOS)?, None),
        Given::Micros(argument) => (at(argument, MICROS)?, None),
        Given::Moment { span, flags, bit } => {
            let clock = match arguments[0] {
                0 => ClockId::Realtime,
                _ => ClockId::Monotonic,
            };
            let clock = (arguments[flags] & bit != 0).then_some(clock);
            (at(span, NANOS)?, clock)
        }
        Given::Futex => {
            let clock = match arguments[1] & OPERATION {
                0 => None,
                _ if arguments[1] & REALTIME != 0 => Some(ClockId::Realtime),
                _ => Some(ClockId::Monotonic),
            };
            (at(3, NANOS)?, clock)
        }
    };
    Some(match (told, clock) {
        (None, _) => Left::Ever,
        (Some(left), None) => Left::For(left),
        (Some(moment), Some(clock)) => {
            let now = clock_gettime(clock);
            let now = span(
                [now.tv_sec.cast_unsigned(), now.tv_nsec.cast_unsigned()],
                NANOS,
            );
            Left::For(moment.saturating_sub(now))
        }
    })
}

fn span([seconds, parts]: [u64; 2], unit: u64) -> Duration {
    let parts = Duration::from_nanos(parts.saturating_mul(unit));
    Duration::from_secs(seconds).saturating_add(parts)
}

/// The call's number and arguments, as in `7 0x55 0x2 0x1f 0x0 0x0 0x0 0x7ffe 0x7f62`.
fn parse(text: &str) -> Option<(u64, [u64; 6])> {
    let mut words = text.split_ascii_whitespace();
    let call = words.next()?.parse().ok()?;
    let mut arguments = [0; 6];
    for argument in &mut arguments {
        *argument = u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
    }
    Some((call, arguments))
}

/// Two words of a process's memory: the time that it told Linux.
fn words(process: u32, address: u64) -> Option<[u64; 2]> {
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
    fn a_call_is_read_with_its_arguments() {
        let poll = "7 0x5581 0x2 0x1f 0x0 0x1 0x9 0x7ffc 0x7f8a\n";
        assert_eq!(parse(poll), Some((7, [0x5581, 2, 0x1f, 0, 1, 9])));
        assert_eq!(parse("running\n"), None);
        assert_eq!(parse("-1 0x7ffc 0x7f8a\n"), None);
    }

    #[test]
    fn milliseconds_are_an_int() {
        let left = |timeout| left(Given::Millis(2), &[0, 0, timeout, 0, 0, 0], unread);
        assert_eq!(left(250), Some(Left::For(Duration::from_millis(250))));
        assert_eq!(left(0xffff_ffff), Some(Left::Ever));
        assert_eq!(left(u64::MAX), Some(Left::Ever));
    }

    #[test]
    fn a_time_that_is_pointed_to_is_read() {
        let read = |address| (address == 0x10).then_some([1, 500]);
        let left = |given, address| left(given, &[0, 0, address, 0, 0, 0], read);
        let second = Duration::from_secs(1);
        let nanos = Left::For(second + Duration::from_nanos(500));
        assert_eq!(left(Given::Span(2), 0x10), Some(nanos));
        let micros = Left::For(second + Duration::from_micros(500));
        assert_eq!(left(Given::Micros(2), 0x10), Some(micros));
        assert_eq!(left(Given::Span(2), 0), Some(Left::Ever));
        assert_eq!(left(Given::Span(2), 0x20), None);
    }

    #[test]
    fn a_moment_of_a_clock_is_counted_from_now() {
        const WAIT_BITSET_PRIVATE: u64 = 9 | 128;
        let now = clock_gettime(ClockId::Monotonic);
        let soon = [now.tv_sec.cast_unsigned() + 10, 0];
        let arguments = [0x40, WAIT_BITSET_PRIVATE, 0, 0x10, 0, 0];
        let Some(Left::For(left)) = left(Given::Futex, &arguments, |_| Some(soon)) else {
            panic!("it ends some time");
        };
        assert!((8..=10).contains(&left.as_secs()), "{left:?}");
    }

    #[test]
    fn a_sleeping_thread_says_when_it_wakes() {
        let (tell, told) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let sleeper = std::thread::spawn(move || {
            tell.send(rustix::thread::gettid()).unwrap();
            let _either_way = ended.recv_timeout(Duration::from_secs(30));
        });
        let thread = told.recv().unwrap().as_raw_nonzero().get().cast_unsigned();
        let start = Instant::now();
        // It may not sleep yet.
        let timer = loop {
            let now = Instant::now();
            match of((std::process::id(), thread), now) {
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
