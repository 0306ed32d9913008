//! Image files beside the journal, each named by the BLAKE3 digest of its bytes.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::JournalError;

/// Path of the file with this digest: `blobs/ab/abcd…`.
pub(super) fn path(folder: &Path, digest: &str) -> PathBuf {
    folder
        .join("blobs")
        .join(digest.get(..2).unwrap_or("__"))
        .join(digest)
}

/// Stores bytes durably; their file is either complete or absent.
pub(super) fn put(folder: &Path, bytes: &[u8]) -> Result<String, JournalError> {
    let digest = blake3::hash(bytes).to_hex().to_string();
    let path = path(folder, &digest);
    if !path.exists() {
        write(&path, bytes).map_err(|source| JournalError::File {
            what: "write the image",
            path,
            source,
        })?;
    }
    Ok(digest)
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let parent = path
        .parent()
        .ok_or_else(|| io::Error::other("no parent folder"))?;
    super::folder::make(parent)?;
    let mut file = tempfile::NamedTempFile::new_in(parent)?;
    file.write_all(bytes)?;
    file.as_file().sync_data()?;
    file.persist(path)?;
    File::open(parent)?.sync_all()
}

/// Reads the bytes with this digest; none if the file is missing or was modified.
pub(super) fn get(folder: &Path, digest: &str) -> Result<Option<Vec<u8>>, JournalError> {
    let path = path(folder, digest);
    match fs::read(&path) {
        Ok(bytes) => Ok((blake3::hash(&bytes).to_hex().as_str() == digest).then_some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(JournalError::File {
            what: "read the image",
            path,
            source,
        }),
    }
}

/// The subtype of an image's MIME type, by its first bytes.
pub(super) fn image_kind(bytes: &[u8]) -> &'static str {
    if bytes.starts_with(b"\x89PNG") {
        "png"
    } else if bytes.starts_with(b"RIFF") {
        "webp"
    } else {
        "jpeg"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_read_back_unless_it_is_missing_or_was_modified() {
        let folder = tempfile::tempdir().unwrap();
        let digest = put(folder.path(), b"image").unwrap();
        assert_eq!(
            get(folder.path(), &digest).unwrap(),
            Some(b"image".to_vec())
        );
        let missing = "0a".repeat(32);
        assert_eq!(get(folder.path(), &missing).unwrap(), None);
        fs::write(path(folder.path(), &digest), "other").unwrap();
        assert_eq!(get(folder.path(), &digest).unwrap(), None);
        // A file that cannot be read is not a missing one.
        let folder_at = path(folder.path(), &missing);
        fs::create_dir_all(&folder_at).unwrap();
        let error = get(folder.path(), &missing).unwrap_err().to_string();
        assert!(error.contains("read the image"), "{error}");
    }
}
