//! Machines as they are found, described.

use std::collections::{BTreeMap, BTreeSet};

use super::{Invocation, Machine, NoShell, OVERRIDE, WindowsShell, to_posix, to_windows};

const PROGRAMS: &str = r"C:\Program Files\Git\bin\bash.exe";
const LINUX: &str = r"C:\Windows\System32\bash.exe";

/// A machine with these variables and files; Windows tells no case apart in either.
#[derive(Default)]
struct Described {
    variables: BTreeMap<String, String>,
    files: BTreeSet<String>,
}

impl Machine for Described {
    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(&name.to_lowercase()).cloned()
    }

    fn is_file(&self, path: &str) -> bool {
        self.files.contains(&path.to_lowercase())
    }
}

fn machine(variables: &[(&str, &str)], files: &[&str]) -> Described {
    let usual = [
        ("ProgramFiles", r"C:\Program Files"),
        ("ProgramFiles(x86)", r"C:\Program Files (x86)"),
        ("LocalAppData", r"C:\Users\ada\AppData\Local"),
        ("UserProfile", r"C:\Users\ada"),
        ("ProgramData", r"C:\ProgramData"),
        ("ComSpec", r"C:\Windows\system32\cmd.exe"),
        ("Path", r"C:\Windows\system32;C:\Windows"),
    ];
    let lower = |(name, value): &(&str, &str)| (name.to_lowercase(), (*value).to_owned());
    Described {
        variables: usual.iter().chain(variables).map(lower).collect(),
        files: files.iter().map(|path| path.to_lowercase()).collect(),
    }
}

#[track_caller]
fn finds(machine: &Described, path: &str) {
    let found = WindowsShell::find(machine);
    assert_eq!(found, Ok(WindowsShell::GitBash(path.to_owned())));
}

#[test]
fn git_bash_is_found_where_installers_put_it() {
    for path in [
        PROGRAMS,
        r"C:\Program Files (x86)\Git\bin\bash.exe",
        r"C:\Users\ada\AppData\Local\Programs\Git\bin\bash.exe",
        r"C:\Users\ada\scoop\apps\git\current\bin\bash.exe",
        r"C:\ProgramData\scoop\apps\git\current\bin\bash.exe",
    ] {
        finds(&machine(&[], &[LINUX, path]), path);
    }
    let scoop = r"D:\scoop\apps\git\current\bin\bash.exe";
    finds(&machine(&[("SCOOP", r"D:\scoop\")], &[scoop]), scoop);
}

#[test]
fn the_search_path_leads_to_the_bash_beside_git() {
    for (folder, git) in [
        (r"E:\Tools\Git\cmd", r"E:\Tools\Git\cmd\git.exe"),
        (
            r"E:\Tools\Git\mingw64\bin",
            r"E:\Tools\Git\mingw64\bin\git.exe",
        ),
    ] {
        let path = format!(r#"C:\Windows\system32;"{folder}\";C:\x"#);
        let bash = r"E:\Tools\Git\bin\bash.exe";
        finds(&machine(&[("Path", &path)], &[LINUX, git, bash]), bash);
    }
    let bash = r"E:\msys64\usr\bin\bash.exe";
    let path = r"C:\Windows\system32;E:\msys64\usr\bin";
    finds(&machine(&[("Path", path)], &[LINUX, bash]), bash);
}

#[test]
fn the_bash_of_the_subsystem_for_linux_is_never_taken() {
    let store = r"C:\Users\ada\AppData\Local\Microsoft\WindowsApps\bash.exe";
    let path = r"C:\WINDOWS\System32;C:\Windows\Sysnative\;C:/Windows/SysWOW64;C:\Users\ada\AppData\Local\Microsoft\WindowsApps";
    let files = [
        LINUX,
        r"C:\Windows\Sysnative\bash.exe",
        r"C:\Windows\SysWOW64\bash.exe",
        r"C:/Windows/SysWOW64\bash.exe",
        store,
    ];
    let machine_of_linux = machine(&[("Path", path)], &files);
    let cmd = WindowsShell::Cmd(r"C:\Windows\system32\cmd.exe".to_owned());
    assert_eq!(WindowsShell::find(&machine_of_linux), Ok(cmd));
    for named in [LINUX, store, r"c:/windows/SYSTEM32/bash.exe"] {
        let found = WindowsShell::find(&machine(&[(OVERRIDE, named)], &files));
        let path = named.to_owned();
        assert_eq!(found, Err(NoShell::OfLinux { path }));
    }
}

#[test]
fn the_override_is_taken_or_refused_and_never_passed_over() {
    let own = r"D:\my git\bash.exe";
    finds(&machine(&[(OVERRIDE, own)], &[own, PROGRAMS]), own);
    let quoted = format!("\"{own}\"");
    finds(&machine(&[(OVERRIDE, &quoted)], &[own, PROGRAMS]), own);
    let found = WindowsShell::find(&machine(&[(OVERRIDE, own)], &[PROGRAMS]));
    let path = own.to_owned();
    assert_eq!(found, Err(NoShell::NotThere { path }));
    finds(&machine(&[(OVERRIDE, "")], &[PROGRAMS]), PROGRAMS);
}

#[test]
fn without_any_bash_commands_go_to_cmd() {
    let cmd = WindowsShell::find(&machine(&[], &[]));
    let expected = WindowsShell::Cmd(r"C:\Windows\system32\cmd.exe".to_owned());
    assert_eq!(cmd, Ok(expected));
    let bare = WindowsShell::find(&Described::default());
    assert_eq!(bare, Ok(WindowsShell::Cmd("cmd.exe".to_owned())));
}

#[test]
fn git_bash_leaves_arguments_as_they_are_and_cmd_runs_nothing_first() {
    let bash = WindowsShell::GitBash(PROGRAMS.to_owned()).invocation("docker run -v /c:/x");
    let expected = Invocation {
        program: PROGRAMS.to_owned(),
        args: vec!["-c".to_owned(), "docker run -v /c:/x".to_owned()],
        env: vec![("MSYS_NO_PATHCONV".to_owned(), "1".to_owned())],
    };
    assert_eq!(bash, expected);
    let cmd = WindowsShell::Cmd("cmd.exe".to_owned()).invocation("dir \"a b\"");
    assert_eq!(cmd.args, ["/d", "/s", "/c", "dir \"a b\""]);
    assert_eq!(cmd.env, []);
}

#[test]
fn paths_of_windows_are_said_as_bash_says_them() {
    for (windows, posix) in [
        (r"C:\", "/c"),
        (r"C:\Users\ada\a b.txt", "/c/Users/ada/a b.txt"),
        ("d:/mixed\\slashes", "/d/mixed/slashes"),
        (r"\\host\share\x", "//host/share/x"),
        (r"\\?\C:\long\name", "/c/long/name"),
        (r"\\?\UNC\host\share", "//host/share"),
        (r"a\b", "a/b"),
    ] {
        assert_eq!(to_posix(windows).as_deref(), Some(posix), "{windows}");
    }
    for windows in ["C:relative", r"\rooted", r"\\.\COM1", "CC:\\x", "1:\\x"] {
        assert_eq!(to_posix(windows), None, "{windows}");
    }
}

#[test]
fn paths_of_bash_are_said_as_windows_says_them() {
    let (root, temporary) = (r"C:\Program Files\Git", r"C:\Users\ada\AppData\Local\Temp\");
    for (posix, windows) in [
        ("/c", r"C:\"),
        ("/c/Users/ada", r"C:\Users\ada"),
        ("//host/share/x", r"\\host\share\x"),
        ("/tmp", r"C:\Users\ada\AppData\Local\Temp"),
        ("/tmp/x", r"C:\Users\ada\AppData\Local\Temp\x"),
        ("/usr/bin/ls", r"C:\Program Files\Git\usr\bin\ls"),
        ("/", r"C:\Program Files\Git"),
        ("a/b", r"a\b"),
    ] {
        assert_eq!(to_windows(posix, root, temporary), windows, "{posix}");
    }
}

#[test]
fn what_went_there_comes_back() {
    for path in [r"C:\", r"D:\a\b c", r"\\host\share\x", r"a\b"] {
        let posix = to_posix(path).unwrap_or_default();
        assert_eq!(to_windows(&posix, r"C:\g", r"C:\t"), path);
    }
}
