//! The safe list: commands that run without approval in the sandbox. They only read, with exactly
//! these options.

/// The permitted words after a command's name.
struct SafeCommand {
    name: &'static str,
    /// Letters of options without a value; they may be joined (`-la`).
    flags: &'static str,
    /// Letters of options with a value, joined or as the next word.
    valued: &'static str,
    /// Long options, in exactly this spelling.
    long: &'static [&'static str],
    /// The permitted operands.
    operands: Operands,
}

/// The operands that a command may have.
enum Operands {
    Any,
    AtMostOne,
    None,
    /// Any operands that do not begin with `+`: `tail +1f` follows a file.
    Files,
    /// Only operands that begin with `+`.
    Formats,
    /// One number of seconds that fits within a call.
    Seconds,
    /// Any operands; they are printed, and the first must not write a variable.
    Printed,
}

/// Longer waits are not considered harmless.
const MAX_SLEEP_SECS: f64 = 600.0;

/// `date -s`, `tail -f`, `grep -f`, `hostname NAME`, `hostname -f` (asks the name service), `sort -o`,
/// `uniq IN OUT`, `diff -l` (runs a program), `file -z`, `file -p` (changes the file's times),
/// `printf -v` and similar options are omitted on purpose.
const SAFE_COMMANDS: &[SafeCommand] = &[
    SafeCommand {
        name: "cat",
        flags: "AbeEnstTuv",
        valued: "",
        long: &["--"],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "cd",
        flags: "LP",
        valued: "",
        long: &[],
        operands: Operands::AtMostOne,
    },
    SafeCommand {
        name: "date",
        flags: "uR",
        valued: "",
        long: &["--utc", "-I", "-Iseconds"],
        operands: Operands::Formats,
    },
    SafeCommand {
        name: "false",
        flags: "",
        valued: "",
        long: &[],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "grep",
        flags: "cEFhHilLnoqrRsvwx",
        valued: "ABCem",
        long: &["--", "--color=never"],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "head",
        flags: "qvz",
        valued: "cn",
        long: &["--"],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "id",
        flags: "gGnruz",
        valued: "",
        long: &[],
        operands: Operands::None,
    },
    SafeCommand {
        name: "ls",
        flags: "1aAdFghilnopqrRsSStuUxX",
        valued: "",
        long: &["--", "--all", "--color=never", "--full-time"],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "pwd",
        flags: "LP",
        valued: "",
        long: &[],
        operands: Operands::None,
    },
    SafeCommand {
        name: "tail",
        flags: "qvz",
        valued: "cn",
        long: &["--"],
        operands: Operands::Files,
    },
    SafeCommand {
        name: "true",
        flags: "",
        valued: "",
        long: &[],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "uname",
        flags: "aimnoprsv",
        valued: "",
        long: &[],
        operands: Operands::None,
    },
    SafeCommand {
        name: "wc",
        flags: "clLmw",
        valued: "",
        long: &["--"],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "arch",
        flags: "",
        valued: "",
        long: &[],
        operands: Operands::None,
    },
    SafeCommand {
        name: "basename",
        flags: "az",
        valued: "s",
        long: &[],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "cmp",
        flags: "bls",
        valued: "in",
        long: &[],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "comm",
        flags: "123z",
        valued: "",
        long: &[],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "cut",
        flags: "nsz",
        valued: "bcdf",
        long: &["--"],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "df",
        flags: "ahHiklPT",
        valued: "tx",
        long: &[],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "diff",
        flags: "abBdeEiHnNpqrstTuwy",
        valued: "CUWx",
        long: &["--", "--color=never"],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "dirname",
        flags: "z",
        valued: "",
        long: &[],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "du",
        flags: "0abchHklLmPsSx",
        valued: "dt",
        long: &["--"],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "expand",
        flags: "i",
        valued: "t",
        long: &[],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "file",
        flags: "0bhikLNr",
        valued: "",
        long: &["--", "--mime-type"],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "fold",
        flags: "bs",
        valued: "w",
        long: &[],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "free",
        flags: "bghklmtvw",
        valued: "",
        long: &[],
        operands: Operands::None,
    },
    SafeCommand {
        name: "groups",
        flags: "",
        valued: "",
        long: &[],
        operands: Operands::None,
    },
    SafeCommand {
        name: "hexdump",
        flags: "bcCdovx",
        valued: "ns",
        long: &[],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "hostname",
        flags: "Is",
        valued: "",
        long: &[],
        operands: Operands::None,
    },
    SafeCommand {
        name: "md5sum",
        flags: "btz",
        valued: "",
        long: &["--"],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "nl",
        flags: "p",
        valued: "bdfhilnsvw",
        long: &[],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "nproc",
        flags: "",
        valued: "",
        long: &["--all"],
        operands: Operands::None,
    },
    SafeCommand {
        name: "od",
        flags: "bcdfhiloxsv",
        valued: "AjNStw",
        long: &[],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "printf",
        flags: "",
        valued: "",
        long: &[],
        operands: Operands::Printed,
    },
    SafeCommand {
        name: "ps",
        flags: "aAdefFHjlLNTwxy",
        valued: "CGgopstuU",
        long: &[],
        operands: Operands::AtMostOne,
    },
    SafeCommand {
        name: "readlink",
        flags: "efmnqsvz",
        valued: "",
        long: &["--"],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "realpath",
        flags: "eLmPqsz",
        valued: "",
        long: &["--"],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "rev",
        flags: "",
        valued: "",
        long: &[],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "seq",
        flags: "w",
        valued: "fs",
        long: &[],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "sha256sum",
        flags: "btz",
        valued: "",
        long: &["--"],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "sleep",
        flags: "",
        valued: "",
        long: &[],
        operands: Operands::Seconds,
    },
    SafeCommand {
        name: "sort",
        flags: "bcCdfghimMnrRsuVz",
        valued: "kt",
        long: &["--"],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "stat",
        flags: "fLt",
        valued: "c",
        long: &["--"],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "strings",
        flags: "afow",
        valued: "ent",
        long: &[],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "tac",
        flags: "br",
        valued: "s",
        long: &[],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "tr",
        flags: "cCdst",
        valued: "",
        long: &["--"],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "type",
        flags: "aft",
        valued: "",
        long: &[],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "uniq",
        flags: "cdDiuz",
        valued: "fsw",
        long: &[],
        operands: Operands::AtMostOne,
    },
    SafeCommand {
        name: "uptime",
        flags: "ps",
        valued: "",
        long: &[],
        operands: Operands::None,
    },
    SafeCommand {
        name: "which",
        flags: "a",
        valued: "",
        long: &[],
        operands: Operands::Any,
    },
    SafeCommand {
        name: "whoami",
        flags: "",
        valued: "",
        long: &[],
        operands: Operands::None,
    },
];

/// Whether a command only reads, whatever its files contain.
pub(crate) fn is_safe(words: &[String]) -> bool {
    let Some((name, rest)) = words.split_first() else {
        return false;
    };
    // echo has no option that does anything but print.
    name == "echo"
        || name == "find" && finds(rest)
        || SAFE_COMMANDS
            .iter()
            .any(|safe| safe.name == name && safe.takes(rest))
}

/// Whether bash's `printf` writes a variable for this format: `%n` stores the number of printed
/// characters in the variable named by the next word, such as `PATH`.
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
            .is_ok_and(|number: f64| number <= MAX_SLEEP_SECS)
}

/// Tests and prints of find without a value.
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

/// Whether a find only finds: every word is a path, or a test of these lists. find treats words
/// that begin with a dash, `(`, `)`, `!` or `,` as expressions.
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

impl SafeCommand {
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
                    OptionKind::Flags => {}
                    OptionKind::NeedsValue => {
                        if words.next().is_none() {
                            return false;
                        }
                    }
                    OptionKind::Unknown => return false,
                }
            }
        }
        true
    }

    fn takes_operand(&self, word: &str, count: usize) -> bool {
        match self.operands {
            Operands::Any => true,
            Operands::Files => !word.starts_with('+'),
            Operands::AtMostOne => count <= 1,
            Operands::None => false,
            Operands::Formats => count <= 1 && word.starts_with('+'),
            Operands::Seconds => count <= 1 && is_short(word),
            Operands::Printed => count > 1 || !counts_into_variable(word),
        }
    }

    /// Reads the letters after one dash. `-5` counts as lines where `-n` does.
    fn short(&self, letters: &str) -> OptionKind {
        if self.valued.contains('n') && letters.bytes().all(|b| b.is_ascii_digit()) {
            return OptionKind::Flags;
        }
        for (at, letter) in letters.char_indices() {
            if self.valued.contains(letter) {
                let is_last = at + letter.len_utf8() == letters.len();
                return if is_last {
                    OptionKind::NeedsValue
                } else {
                    OptionKind::Flags
                };
            }
            if !self.flags.contains(letter) {
                return OptionKind::Unknown;
            }
        }
        OptionKind::Flags
    }
}

enum OptionKind {
    Flags,
    NeedsValue,
    Unknown,
}
