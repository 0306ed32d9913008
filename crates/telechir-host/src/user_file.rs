//! Files of the user that decide about later sessions. As with the keys of ssh, nothing counts that
//! another user could have written, renamed or put in its place.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::process::geteuid;

/// What other users must not be able to do with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forbidden {
    /// Change it.
    Write,
    /// Use it in any way: it has secrets.
    All,
}

impl Forbidden {
    /// The mode bits of the group and of all users that permit it.
    const fn bits(self) -> u32 {
        match self {
            Self::Write => 0o022,
            Self::All => 0o077,
        }
    }

    const fn problem(self) -> &'static str {
        match self {
            Self::Write => "can be changed by other users",
            Self::All => "can be read or changed by other users",
        }
    }

    /// The argument of `chmod` that takes these permissions away.
    const fn chmod(self) -> &'static str {
        match self {
            Self::Write => "go-w",
            Self::All => "go-rwx",
        }
    }
}

/// Opens a file for reading; none if it is missing.
///
/// # Errors
/// If it is a link, no regular file, has another name or a forbidden permission, belongs to another
/// user, or is in a folder that another user can change.
pub(crate) fn open(path: &Path, forbidden: Forbidden) -> io::Result<Option<File>> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits().cast_signed());
    let file = match options.open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return Err(refused(path, "is a link; expected a regular file"));
        }
        Err(error) => return Err(error),
    };
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(refused(path, "is no regular file"));
    }
    if found.nlink() != 1 {
        let problem = format!(
            "has {} names, so it may be another user's; copy it, and replace it by the copy",
            found.nlink()
        );
        return Err(refused(path, &problem));
    }
    check_owner(path, &found, Owner::Own)?;
    check_mode(path, &found, forbidden)?;
    check_folder(path)?;
    Ok(Some(file))
}

/// Checks that no other user can change which file has a path.
///
/// # Errors
/// If its folder is a link, or belongs to another user, or another user can write to a folder around it.
pub(crate) fn check_folder(path: &Path) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    };
    let found = fs::symlink_metadata(folder)?;
    if !found.is_dir() {
        return Err(refused(folder, "is a link; expected a folder"));
    }
    check_owner(folder, &found, Owner::Own)?;
    check_mode(folder, &found, Forbidden::Write)?;
    for (depth, above) in fs::canonicalize(folder)?.ancestors().skip(1).enumerate() {
        let found = fs::metadata(above)?;
        // The folder around is a home, or part of one.
        if depth == 0 {
            check_owner(above, &found, Owner::OwnOrRoot)?;
        }
        // In a sticky folder, others cannot rename what is not theirs.
        let is_sticky = found.mode() & Mode::SVTX.as_raw_mode() != 0;
        if !is_sticky {
            check_mode(above, &found, Forbidden::Write)?;
        }
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Own,
    OwnOrRoot,
}

fn check_owner(path: &Path, found: &Metadata, expected: Owner) -> io::Result<()> {
    let own = geteuid().as_raw();
    let is_expected = found.uid() == own || (expected == Owner::OwnOrRoot && found.uid() == 0);
    match is_expected {
        true => Ok(()),
        false => {
            let owner = found.uid();
            let problem = format!("belongs to user {owner}; expected user {own}");
            Err(refused(path, &problem))
        }
    }
}

fn check_mode(path: &Path, found: &Metadata, forbidden: Forbidden) -> io::Result<()> {
    let mode = found.mode() & 0o7777;
    if mode & forbidden.bits() == 0 {
        return Ok(());
    }
    let (shown, problem, chmod) = (path.display(), forbidden.problem(), forbidden.chmod());
    let problem = format!("has mode {mode:04o} and {problem}; run `chmod {chmod} '{shown}'`");
    Err(refused(path, &problem))
}

fn refused(path: &Path, problem: &str) -> io::Error {
    io::Error::other(format!("{} {problem}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
    use std::path::PathBuf;

    use telechir_process::is_root;
    use tempfile::TempDir;

    use super::*;

    /// A home with a file in a folder, all private.
    fn home() -> (TempDir, PathBuf) {
        let top = tempfile::tempdir().unwrap();
        let folder = top.path().join("home/.own");
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("file");
        fs::write(&file, "x").unwrap();
        for (path, mode) in [(&file, 0o600), (&folder, 0o700)] {
            chmod(path, mode);
        }
        chmod(&top.path().join("home"), 0o755);
        (top, file)
    }

    fn chmod(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// The reason why the file does not count.
    fn refusal(file: &Path) -> String {
        open(file, Forbidden::Write).unwrap_err().to_string()
    }

    #[test]
    fn a_private_file_counts_and_a_missing_one_is_none() {
        let (_top, file) = home();
        assert!(open(&file, Forbidden::All).unwrap().is_some());
        assert!(
            open(&file.with_extension("x"), Forbidden::All)
                .unwrap()
                .is_none()
        );
        chmod(&file, 0o644);
        assert!(open(&file, Forbidden::Write).unwrap().is_some());
        let error = open(&file, Forbidden::All).unwrap_err().to_string();
        let expected = "has mode 0644 and can be read or changed by other users; run `chmod go-rwx";
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn nothing_that_others_can_write_to_may_be_around_it() {
        let (top, file) = home();
        let (folder, home) = (file.parent().unwrap(), top.path().join("home"));
        for path in [&file, folder, &home, top.path()] {
            let before = fs::metadata(path).unwrap().mode() & 0o7777;
            for mode in [before | 0o020, before | 0o002, before | 0o022] {
                chmod(path, mode);
                let error = refusal(&file);
                let expected = format!("{} has mode {mode:04o}", path.display());
                assert!(error.contains(&expected), "{error}");
                assert!(error.contains("chmod go-w"), "{error}");
            }
            chmod(path, before);
            assert!(open(&file, Forbidden::Write).unwrap().is_some());
        }
        // As /tmp is.
        chmod(top.path(), 0o1777);
        assert!(open(&file, Forbidden::Write).unwrap().is_some());
    }

    #[test]
    fn no_link_and_no_file_with_another_name_counts() {
        let (top, file) = home();
        let folder = file.parent().unwrap();
        let other = top.path().join("other");
        fs::hard_link(&file, &other).unwrap();
        assert!(refusal(&file).contains("has 2 names"));
        fs::remove_file(&file).unwrap();
        symlink(&other, &file).unwrap();
        assert!(refusal(&file).contains("is a link"));
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        assert!(refusal(&file).contains("no regular file"));
        fs::remove_dir(&file).unwrap();
        fs::rename(&other, &file).unwrap();
        assert!(open(&file, Forbidden::Write).unwrap().is_some());
        let moved = top.path().join("moved");
        fs::rename(folder, &moved).unwrap();
        symlink(&moved, folder).unwrap();
        let error = refusal(&file);
        assert!(error.contains(".own is a link"), "{error}");
    }

    #[test]
    fn what_belongs_to_another_user_does_not_count() {
        if !is_root() {
            // Only root can give files away; there is always a file of root.
            let error = open(Path::new("/etc/passwd"), Forbidden::Write).unwrap_err();
            assert!(error.to_string().contains("belongs to user 0"), "{error}");
            return;
        }
        let (top, file) = home();
        let (folder, home) = (file.parent().unwrap(), top.path().join("home"));
        for path in [&file, folder, &home] {
            chown(path, Some(1), None).unwrap();
            let error = refusal(&file);
            assert!(error.contains("belongs to user 1"), "{path:?}: {error}");
            chown(path, Some(0), None).unwrap();
        }
        assert!(open(&file, Forbidden::Write).unwrap().is_some());
    }
}
