//! Programs that run commands which are among their words, and those whose words are data.

/// Programs, builtins and keywords that run the last of their words as a command.
const RUNNERS: &[&str] = &[
    "alias",
    "ash",
    "at",
    "bash",
    "batch",
    "bind",
    "builtin",
    "busybox",
    "bwrap",
    "catchsegv",
    "chpst",
    "choom",
    "chroot",
    "chrt",
    "command",
    "compgen",
    "complete",
    "coproc",
    "coresched",
    "cpulimit",
    "csh",
    "dash",
    "dbus-launch",
    "dbus-run-session",
    "docker",
    "doas",
    "dumb-init",
    "eatmydata",
    "entr",
    "env",
    "envdir",
    "eval",
    "exec",
    "expect",
    "fakechroot",
    "fakeroot",
    "faketime",
    "find",
    "firejail",
    "fish",
    "flatpak",
    "flock",
    "gdb",
    "gtime",
    "hyperfine",
    "i386",
    "ionice",
    "jobs",
    "kubectl",
    "ksh",
    "linux32",
    "linux64",
    "lldb",
    "ltrace",
    "machinectl",
    "mapfile",
    "mksh",
    "newgrp",
    "nice",
    "nohup",
    "npx",
    "nq",
    "nsenter",
    "numactl",
    "parallel",
    "perf",
    "pkexec",
    "podman",
    "posh",
    "prlimit",
    "proot",
    "proxychains",
    "proxychains4",
    "ptyget",
    "qemu-x86_64",
    "readarray",
    "rlwrap",
    "run0",
    "run-parts",
    "runcon",
    "runuser",
    "script",
    "setarch",
    "setlock",
    "setpriv",
    "setsid",
    "setuidgid",
    "sg",
    "sh",
    "softlimit",
    "ssh",
    "ssh-agent",
    "start-stop-daemon",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "switch_root",
    "systemd-run",
    "taskset",
    "tcsh",
    "time",
    "timelimit",
    "timeout",
    "tini",
    "tmux",
    "toolbox",
    "torify",
    "torsocks",
    "trap",
    "tsp",
    "uclampset",
    "unbuffer",
    "uname26",
    "unshare",
    "valgrind",
    "watch",
    "watchexec",
    "wine",
    "x86_64",
    "xargs",
    "xvfb-run",
    "yash",
    "zsh",
];

/// Shells and the like, which run what they read.
const SHELLS: &[&str] = &[
    ".", "ash", "at", "bash", "batch", "busybox", "csh", "dash", "docker", "fish", "ksh", "mksh",
    "parallel", "podman", "posh", "sh", "source", "ssh", "su", "sudo", "tcsh", "xargs", "yash",
    "zsh",
];

/// Programs whose words are texts and patterns, and never commands.
const DATA_PROGRAMS: &[&str] = &[
    "[",
    "[[",
    "ag",
    "basename",
    "cat",
    "cut",
    "dirname",
    "echo",
    "egrep",
    "expr",
    "fgrep",
    "grep",
    "head",
    "jq",
    "ls",
    "mkdir",
    "notify-send",
    "printf",
    "rg",
    "say",
    "tail",
    "tee",
    "test",
    "touch",
    "tr",
    "wc",
];

/// Commands of Git whose words are messages and patterns.
const GIT_DATA_COMMANDS: &[&str] = &[
    "add", "blame", "branch", "commit", "diff", "grep", "log", "merge", "notes", "show", "stash",
    "tag",
];

/// The file's name of a program.
pub(super) fn file_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Whether a program may run the last of its words as a command.
pub(super) fn is_runner(program: &str) -> bool {
    let name = file_name(program);
    let is_loader = name.starts_with("ld.so") || (name.starts_with("ld-") && name.contains(".so"));
    is_loader || name.starts_with("qemu-") || RUNNERS.contains(&name)
}

/// Whether a program runs what it reads from its input or a file.
pub(super) fn is_shell(program: &str) -> bool {
    SHELLS.contains(&file_name(program))
}

/// The words of a command that may be scripts.
pub(super) fn script_words(words: &[String]) -> &[String] {
    let Some((program, arguments)) = words.split_first() else {
        return &[];
    };
    match file_name(program) {
        "git" => git_script_words(arguments),
        name if DATA_PROGRAMS.contains(&name) => &[],
        _ => arguments,
    }
}

/// Those before a subcommand, and all of a subcommand that may run them.
fn git_script_words(arguments: &[String]) -> &[String] {
    let mut is_value = false;
    let is_command = |word: &String| {
        let is_command = !is_value && !word.starts_with('-');
        is_value = !is_value && (word == "-c" || word == "-C");
        is_command
    };
    let at = arguments.iter().position(is_command);
    let at = at.unwrap_or(arguments.len());
    match arguments.get(at) {
        Some(command) if GIT_DATA_COMMANDS.contains(&command.as_str()) => &arguments[..at],
        _ => arguments,
    }
}
