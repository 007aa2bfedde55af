//! Atomic output files: written under a temporary name, then renamed.

use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A temporary file that replaces `target` on `finish`. If dropped before, it is deleted.
pub struct Replacement {
    pub file: NamedTempFile,
    target: PathBuf,
    device: bool,
    /// Permissions of the file that is replaced. A new file gets the default permissions of the
    /// umask.
    replaced: Option<Permissions>,
}

impl Replacement {
    /// Create a temporary file in the folder of `target`. A device or a pipe (`/dev/null`) is never
    /// replaced: it is written to on `finish`.
    pub fn of(target: &Path) -> io::Result<Replacement> {
        let device = target.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
        // A symbolic link is kept: the file to which it points is replaced.
        let target = if device { target.into() } else { target.canonicalize().unwrap_or_else(|_| target.into()) };
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = if device { std::env::temp_dir() } else { folder.into() };
        let replaced = target.metadata().ok().map(|found| found.permissions());
        let at_first = Permissions::from_mode(if replaced.is_some() { 0o600 } else { 0o666 });
        let file = tempfile::Builder::new().prefix(".swaplab-").suffix(".part").permissions(at_first).tempfile_in(folder)?;
        Ok(Replacement { file, target, device, replaced })
    }

    /// Whether the target is a device or a pipe.
    pub fn is_device(&self) -> bool {
        self.device
    }

    /// Move the file to its target.
    pub fn finish(self) -> io::Result<()> {
        if self.device {
            let mut written = File::open(self.file.path())?;
            return io::copy(&mut written, &mut OpenOptions::new().write(true).open(&self.target)?).map(drop);
        }
        if let Some(as_it_was) = self.replaced {
            self.file.as_file().set_permissions(as_it_was)?;
        }
        self.file.persist(&self.target).map(drop).map_err(|e| e.error)
    }
}

impl io::Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};

    #[test]
    fn a_link_stays_a_link_and_a_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (old, link) = (folder.path().join("old"), folder.path().join("link"));
        std::fs::write(&old, "before").unwrap();
        std::os::unix::fs::symlink("old", &link).unwrap();
        let mut to = Replacement::of(&link).unwrap();
        to.write_all(b"after").unwrap();
        assert_eq!(std::fs::read_to_string(&old).unwrap(), "before");
        to.finish().unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(&old).unwrap(), "after");
        drop(Replacement::of(&link).unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_file_keeps_its_permissions_and_a_failure_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (secret, taken) = (folder.path().join("secret"), folder.path().join("taken"));
        std::fs::write(&secret, "before").unwrap();
        std::fs::set_permissions(&secret, Permissions::from_mode(0o600)).unwrap();
        Replacement::of(&secret).unwrap().finish().unwrap();
        assert_eq!(secret.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        // A folder came into its place meanwhile: the rename fails.
        let late = Replacement::of(&taken).unwrap();
        std::fs::create_dir(&taken).unwrap();
        assert!(late.finish().is_err() && taken.is_dir());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_pipe_is_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || {
                let mut text = String::new();
                File::open(pipe).unwrap().read_to_string(&mut text).unwrap();
                text
            }
        });
        let mut to = Replacement::of(&pipe).unwrap();
        to.write_all(b"content").unwrap();
        to.finish().unwrap();
        assert_eq!(reader.join().unwrap(), "content");
        assert!(!pipe.is_file());
    }
}
