//! Paths of Windows as Git Bash says them, and back.

/// A path of Windows as Git Bash says it: `C:\a b` is `/c/a b`, `\\host\share` is `//host/share`.
/// None for what means another place in each folder or drive: `C:a`, `\a`, and for devices.
pub fn to_posix(path: &str) -> Option<String> {
    let path = path.replace('/', "\\");
    let path = match path.strip_prefix(r"\\?\") {
        Some(long) => match long.strip_prefix(r"UNC\") {
            Some(share) => format!(r"\\{share}"),
            None => long.to_owned(),
        },
        None => path,
    };
    if path.starts_with(r"\\.\") {
        return None;
    }
    if let Some(share) = path.strip_prefix(r"\\") {
        return Some(format!("//{}", share.replace('\\', "/")));
    }
    if let Some((drive, rest)) = path.split_once(':') {
        let letter = letter(drive)?.to_ascii_lowercase();
        let below = rest.strip_prefix('\\')?;
        let slash = if below.is_empty() { "" } else { "/" };
        return Some(format!("/{letter}{slash}{}", below.replace('\\', "/")));
    }
    (!path.starts_with('\\')).then(|| path.replace('\\', "/"))
}

/// A path of Git Bash as Windows says it. What is below no drive is below `root`, the folder that
/// Git is installed in, but for `/tmp`, which is `temporary`.
pub fn to_windows(path: &str, root: &str, temporary: &str) -> String {
    let back = |path: &str| path.replace('/', "\\");
    if let Some(share) = path.strip_prefix("//") {
        return format!(r"\\{}", back(share));
    }
    let Some(below) = path.strip_prefix('/') else {
        return back(path);
    };
    let (first, rest) = below.split_once('/').unwrap_or((below, ""));
    if let Some(drive) = letter(first) {
        return format!("{}:\\{}", drive.to_ascii_uppercase(), back(rest));
    }
    let (folder, rest) = if first == "tmp" {
        (temporary, rest)
    } else {
        (root, below)
    };
    let folder = folder.trim_end_matches('\\');
    if rest.is_empty() {
        folder.to_owned()
    } else {
        format!("{folder}\\{}", back(rest))
    }
}

/// A path with backslashes, without `.` and `..`, as far as its letters say.
pub(super) fn normal(path: &str) -> String {
    let path = path.replace('/', "\\");
    let mut parts: Vec<&str> = Vec::new();
    for (place, part) in path.split('\\').enumerate() {
        match part {
            ".." if parts.len() > 1 => drop(parts.pop()),
            ".." | "." => {}
            // Two at the beginning are of a share.
            "" if place > 1 => {}
            part => parts.push(part),
        }
    }
    parts.join("\\")
}

/// The one letter of a drive.
fn letter(text: &str) -> Option<char> {
    let mut letters = text.chars();
    let letter = letters.next().filter(char::is_ascii_alphabetic)?;
    letters.next().is_none().then_some(letter)
}
