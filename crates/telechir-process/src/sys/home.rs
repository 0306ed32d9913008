//! Home folders of accounts, as the system's user database has them.

use std::ffi::{CStr, CString, OsStr};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr;

use libc::{c_char, c_int, passwd};

/// Maximum size of an account's texts; those of a directory service can be long.
const MAX_ACCOUNT_BYTES: usize = 64 << 10;

/// The home folder of a user; `None` without an account or if it cannot be looked up.
pub(crate) fn of_user(uid: u32) -> Option<PathBuf> {
    look_up(|entry, buffer, found| {
        // SAFETY: all pointers are valid for the call, and the length is the buffer's.
        unsafe { libc::getpwuid_r(uid, entry, buffer.as_mut_ptr(), buffer.len(), found) }
    })
}

/// The home folder of a user by name.
pub(crate) fn of_name(name: &str) -> Option<PathBuf> {
    let name = CString::new(name).ok()?;
    look_up(|entry, buffer, found| {
        // SAFETY: all pointers are valid for the call, and the length is the buffer's.
        unsafe {
            libc::getpwnam_r(
                name.as_ptr(),
                entry,
                buffer.as_mut_ptr(),
                buffer.len(),
                found,
            )
        }
    })
}

fn look_up(
    ask: impl FnOnce(*mut passwd, &mut [c_char], *mut *mut passwd) -> c_int,
) -> Option<PathBuf> {
    let mut buffer: Vec<c_char> = vec![0; MAX_ACCOUNT_BYTES];
    let mut entry = MaybeUninit::<passwd>::zeroed();
    let mut found = ptr::null_mut();
    let status = ask(entry.as_mut_ptr(), &mut buffer, &raw mut found);
    if status != 0 || found.is_null() {
        return None;
    }
    // SAFETY: the call succeeded, so the entry is complete and its texts are in the buffer.
    let home = unsafe { (*found).pw_dir };
    if home.is_null() {
        return None;
    }
    // SAFETY: a text with an end, in the buffer that still lives.
    let home = unsafe { CStr::from_ptr(home) };
    let home = PathBuf::from(OsStr::from_bytes(home.to_bytes()));
    home.is_absolute().then_some(home)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_of_root_is_found_by_number_and_by_name() {
        let home = of_user(0).expect("an account");
        assert_eq!(of_name("root"), Some(home));
        assert_eq!(of_user(4_000_000_000), None);
        assert_eq!(of_name("no such user"), None);
    }
}
