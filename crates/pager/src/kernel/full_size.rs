//! Detection that another process has truncated a file.

use rustix::fd::AsFd;
use rustix::fs::SealFlags;

/// The size of a file to which only this process writes. A write to a truncated file would extend
/// it again, and what was in between would read as zeros.
pub struct FullSize(u64);

impl FullSize {
    /// The size that `file` has now; nothing is checked of a file that cannot be truncated.
    pub fn of(file: impl AsFd) -> FullSize {
        let is_sealed = rustix::fs::fcntl_get_seals(&file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK));
        FullSize(if is_sealed { 0 } else { size(file).unwrap_or(0) })
    }

    /// End the program if the file is smaller now: its content is lost.
    pub fn require(&self, file: impl AsFd) {
        if self.0 > 0 && size(file).is_some_and(|size| size < self.0) {
            crate::fatal("another process has truncated the NVM file: the store cannot read a page back");
        }
    }
}

/// `None` where the program has forbidden its threads to ask (seccomp).
fn size(file: impl AsFd) -> Option<u64> {
    rustix::fs::fstat(file).ok().map(|stat| stat.st_size as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that is too small would end the process.
    #[test]
    fn a_file_of_its_full_size_or_more_is_accepted() {
        let file = rustix::fs::memfd_create(c"test", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        for now in [4096, 8192] {
            rustix::fs::ftruncate(&file, 4096).unwrap();
            let size = FullSize::of(&file);
            rustix::fs::ftruncate(&file, now).unwrap();
            size.require(&file);
        }
    }
}
