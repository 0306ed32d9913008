//! The few commands that run unasked in the sandbox: they only look, with exactly these options.

/// How a command's words after its name have to be.
struct Safe {
    name: &'static str,
    /// Letters of options without a value; they may be joined (`-la`).
    flags: &'static str,
    /// Letters of options with a value, joined or as the next word.
    valued: &'static str,
    /// Long options, exactly so spelled.
    long: &'static [&'static str],
    /// How many words that are no options.
    operands: Operands,
}

/// Which words that are no options a command may have.
enum Operands {
    Any,
    AtMostOne,
    None,
    /// Only such as begin with `+`.
    Formats,
    /// One, a number of seconds that passes within a call.
    Seconds,
    /// Any, of which the first is printed with the rest and writes nothing.
    Printed,
}

/// Longer waits are no look.
const LONGEST_SLEEP: f64 = 600.0;

/// `date -s`, `tail -f`, `grep -f`, `hostname NAME`, `sort -o`, `uniq IN OUT`, `diff -l` (runs a
/// program), `file -z`, `printf -v` and the like are missing on purpose.
const SAFE: &[Safe] = &[
    Safe {
        name: "cat",
        flags: "AbeEnstTuv",
        valued: "",
        long: &["--"],
        operands: Operands::Any,
    },
    Safe {
        name: "cd",
        flags: "LP",
        valued: "",
        long: &[],
        operands: Operands::AtMostOne,
    },
    Safe {
        name: "date",
        flags: "uR",
        valued: "",
        long: &["--utc", "-I", "-Iseconds"],
        operands: Operands::Formats,
    },
    Safe {
        name: "false",
        flags: "",
        valued: "",
        long: &[],
        operands: Operands::Any,
    },
    Safe {
        name: "grep",
        flags: "cEFhHilLnoqrRsvwx",
        valued: "ABCem",
        long: &["--", "--color=never"],
        operands: Operands::Any,
    },
    Safe {
        name: "head",
        flags: "qvz",
        valued: "cn",
        long: &["--"],
        operands: Operands::Any,
    },
    Safe {
        name: "id",
        flags: "gGnruz",
        valued: "",
        long: &[],
        operands: Operands::None,
    },
    Safe {
        name: "ls",
        flags: "1aAdFghilnopqrRsSStuUxX",
        valued: "",
        long: &["--", "--all", "--color=never", "--full-time"],
        operands: Operands::Any,
    },
    Safe {
        name: "pwd",
        flags: "LP",
        valued: "",
        long: &[],
        operands: Operands::None,
    },
    Safe {
        name: "tail",
        flags: "qvz",
        valued: "cn",
        long: &["--"],
        operands: Operands::Any,
    },
    Safe {
        name: "true",
        flags: "",
        valued: "",
        long: &[],
        operands: Operands::Any,
    },
    Safe {
        name: "uname",
        flags: "aimnoprsv",
        valued: "",
        long: &[],
        operands: Operands::None,
    },
    Safe {
        name: "wc",
        flags: "clLmw",
        valued: "",
        long: &["--"],
        operands: Operands::Any,
    },
    Safe {
        name: "arch",
        flags: "",
        valued: "",
        long: &[],
        operands: Operands::None,
    },
    Safe {
        name: "basename",
        flags: "az",
        valued: "s",
        long: &[],
        operands: Operands::Any,
    },
    Safe {
        name: "cmp",
        flags: "bls",
        valued: "in",
        long: &[],
        operands: Operands::Any,
    },
    Safe {
        name: "comm",
        flags: "123z",
        valued: "",
        long: &[],
        operands: Operands::Any,
    },
    Safe {
        name: "cut",
        flags: "nsz",
        valued: "bcdf",
        long: &["--"],
        operands: Operands::Any,
    },
    Safe {
        name: "df",
        flags: "ahHiklPT",
        valued: "tx",
        long: &[],
        operands: Operands::Any,
    },
    Safe {
        name: "diff",
        flags: "abBdeEiHnNpqrstTuwy",
        valued: "CUWx",
        long: &["--", "--color=never"],
        operands: Operands::Any,
    },
    Safe {
        name: "dirname",
        flags: "z",
        valued: "",
        long: &[],
        operands: Operands::Any,
    },
    Safe {
        name: "du",
        flags: "0abchHklLmPsSx",
        valued: "dt",
        long: &["--"],
        operands: Operands::Any,
    },
    Safe {
        name: "expand",
        flags: "i",
        valued: "t",
        long: &[],
        operands: Operands::Any,
    },
    Safe {
        name: "file",
        flags: "0bhikLNpr",
        valued: "",
        long: &["--", "--mime-type"],
        operands: Operands::Any,
    },
    Safe {
        name: "fold",
        flags: "bs",
        valued: "w",
        long: &[],
        operands: Operands::Any,
    },
    Safe {
        name: "free",
        flags: "bghklmtvw",
        valued: "",
        long: &[],
        operands: Operands::None,
    },
    Safe {
        name: "groups",
        flags: "",
        valued: "",
        long: &[],
        operands: Operands::None,
    },
    Safe {
        name: "hexdump",
        flags: "bcCdovx",
        valued: "ns",
        long: &[],
        operands: Operands::Any,
    },
    Safe {
        name: "hostname",
        flags: "dfiIs",
        valued: "",
        long: &[],
        operands: Operands::None,
    },
    Safe {
        name: "md5sum",
        flags: "btz",
        valued: "",
        long: &["--"],
        operands: Operands::Any,
    },
    Safe {
        name: "nl",
        flags: "p",
        valued: "bdfhilnsvw",
        long: &[],
        operands: Operands::Any,
    },
    Safe {
        name: "nproc",
        flags: "",
        valued: "",
        long: &["--all"],
        operands: Operands::None,
    },
    Safe {
        name: "od",
        flags: "bcdfhiloxsv",
        valued: "AjNStw",
        long: &[],
        operands: Operands::Any,
    },
    Safe {
        name: "printf",
        flags: "",
        valued: "",
        long: &[],
        operands: Operands::Printed,
    },
    Safe {
        name: "ps",
        flags: "aAdefFHjlLNTwxy",
        valued: "CGgopstuU",
        long: &[],
        operands: Operands::AtMostOne,
    },
    Safe {
        name: "readlink",
        flags: "efmnqsvz",
        valued: "",
        long: &["--"],
        operands: Operands::Any,
    },
    Safe {
        name: "realpath",
        flags: "eLmPqsz",
        valued: "",
        long: &["--"],
        operands: Operands::Any,
    },
    Safe {
        name: "rev",
        flags: "",
        valued: "",
        long: &[],
        operands: Operands::Any,
    },
    Safe {
        name: "seq",
        flags: "w",
        valued: "fs",
        long: &[],
        operands: Operands::Any,
    },
    Safe {
        name: "sha256sum",
        flags: "btz",
        valued: "",
        long: &["--"],
        operands: Operands::Any,
    },
    Safe {
        name: "sleep",
        flags: "",
        valued: "",
        long: &[],
        operands: Operands::Seconds,
    },
    Safe {
        name: "sort",
        flags: "bcCdfghimMnrRsuVz",
        valued: "kt",
        long: &["--"],
        operands: Operands::Any,
    },
    Safe {
        name: "stat",
        flags: "fLt",
        valued: "c",
        long: &["--"],
        operands: Operands::Any,
    },
    Safe {
        name: "strings",
        flags: "afow",
        valued: "ent",
        long: &[],
        operands: Operands::Any,
    },
    Safe {
        name: "tac",
        flags: "br",
        valued: "s",
        long: &[],
        operands: Operands::Any,
    },
    Safe {
        name: "tr",
        flags: "cCdst",
        valued: "",
        long: &["--"],
        operands: Operands::Any,
    },
    Safe {
        name: "type",
        flags: "aft",
        valued: "",
        long: &[],
        operands: Operands::Any,
    },
    Safe {
        name: "uniq",
        flags: "cdDiuz",
        valued: "fsw",
        long: &[],
        operands: Operands::AtMostOne,
    },
    Safe {
        name: "uptime",
        flags: "ps",
        valued: "",
        long: &[],
        operands: Operands::None,
    },
    Safe {
        name: "which",
        flags: "a",
        valued: "",
        long: &[],
        operands: Operands::Any,
    },
    Safe {
        name: "whoami",
        flags: "",
        valued: "",
        long: &[],
        operands: Operands::None,
    },
];

/// Whether a command only looks, whatever its files hold.
pub(crate) fn is_safe(words: &[String]) -> bool {
    let Some((name, rest)) = words.split_first() else {
        return false;
    };
    // echo has no option that does anything but print.
    name == "echo"
        || name == "find" && finds(rest)
        || SAFE
            .iter()
            .any(|safe| safe.name == name && safe.takes(rest))
}

/// Whether bash's `printf` writes a variable for this format: `%n` is how much it printed so far,
/// and the name of the variable is the next word, such as `PATH`.
pub(crate) fn counts_into_variable(format: &str) -> bool {
    const BEFORE: &str = "#'-+ 0123456789*.hjlLtz";
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c == '%' && chars.find(|c| !BEFORE.contains(*c)) == Some('n') {
            return true;
        }
    }
    false
}

fn is_short(seconds: &str) -> bool {
    let number = seconds.strip_suffix('s').unwrap_or(seconds);
    let is_plain = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    is_plain
        && number
            .parse()
            .is_ok_and(|number: f64| number <= LONGEST_SLEEP)
}

/// Tests and prints of find that stand alone.
const FIND_PLAIN: [&str; 14] = [
    "!", "(", ")", "-H", "-L", "-P", "-a", "-and", "-empty", "-not", "-o", "-or", "-print",
    "-print0",
];
/// Tests of find with one value.
const FIND_VALUED: [&str; 16] = [
    "-amin",
    "-atime",
    "-cmin",
    "-ctime",
    "-iname",
    "-ipath",
    "-maxdepth",
    "-mindepth",
    "-mmin",
    "-mtime",
    "-name",
    "-newer",
    "-path",
    "-regex",
    "-size",
    "-type",
];

/// Whether a find only finds: no word is anything but a place, or a test of these. One that only
/// looks like a place is one: find takes what begins with a dash, `(`, `)`, `!` or `,` as its own.
fn finds(words: &[String]) -> bool {
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        if FIND_VALUED.contains(&word) {
            if words.next().is_none() {
                return false;
            }
        } else if word.starts_with(['-', '(', ')', '!', ',']) && !FIND_PLAIN.contains(&word) {
            return false;
        }
    }
    true
}

impl Safe {
    fn takes(&self, words: &[String]) -> bool {
        let mut operands = 0;
        let mut options_over = false;
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if options_over || !word.starts_with('-') || word == "-" {
                operands += 1;
                if !self.takes_operand(word, operands) {
                    return false;
                }
            } else if self.long.contains(&word.as_str()) {
                options_over = word == "--";
            } else if word.starts_with("--") {
                return false;
            } else {
                match self.short(&word[1..]) {
                    Short::Flags => {}
                    Short::NeedsValue => {
                        if words.next().is_none() {
                            return false;
                        }
                    }
                    Short::Unknown => return false,
                }
            }
        }
        true
    }

    fn takes_operand(&self, word: &str, count: usize) -> bool {
        match self.operands {
            Operands::Any => true,
            Operands::AtMostOne => count <= 1,
            Operands::None => false,
            Operands::Formats => count <= 1 && word.starts_with('+'),
            Operands::Seconds => count <= 1 && is_short(word),
            Operands::Printed => count > 1 || !counts_into_variable(word),
        }
    }

    /// Reads the letters behind one dash. `-5` counts as lines where `-n` does.
    fn short(&self, letters: &str) -> Short {
        if self.valued.contains('n') && letters.bytes().all(|b| b.is_ascii_digit()) {
            return Short::Flags;
        }
        for (at, letter) in letters.char_indices() {
            if self.valued.contains(letter) {
                let is_last = at + letter.len_utf8() == letters.len();
                return if is_last {
                    Short::NeedsValue
                } else {
                    Short::Flags
                };
            }
            if !self.flags.contains(letter) {
                return Short::Unknown;
            }
        }
        Short::Flags
    }
}

enum Short {
    Flags,
    NeedsValue,
    Unknown,
}
