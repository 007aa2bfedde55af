//! An app's file, which is written once. Its code pages are mapped executable, the others as data.

use crate::content::{Content, PAGE, WORDS};
use crate::shape::Shape;
use memmap2::{Mmap, MmapOptions};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// A mapped file of an app.
pub struct AppFile {
    code: Mmap,
    data: Mmap,
    /// Number of pages at the file's start that are used as code.
    code_pages: u64,
}

impl AppFile {
    /// Map the file at `path`. It is written first, over what is there, unless a file of the right
    /// size exists.
    pub fn open(shape: &Shape, path: &Path) -> io::Result<AppFile> {
        write_data(shape, path)?;
        let file = File::open(path)?;
        Ok(AppFile { code: map_code(&file)?, data: map_data(&file)?, code_pages: shape.code_pages() })
    }

    /// The words of a page.
    pub fn words(&self, page: u64) -> impl Iterator<Item = u64> + '_ {
        let mapping = if page < self.code_pages { &self.code } else { &self.data };
        let bytes = &mapping[page as usize * PAGE..][..PAGE];
        bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()))
    }
}

/// Write an app's file, unless a file of the right size exists. A file of another size is
/// overwritten.
pub fn write_data(shape: &Shape, path: &Path) -> io::Result<()> {
    let pages = shape.file_pages();
    if std::fs::metadata(path).is_ok_and(|metadata| metadata.len() == pages * PAGE as u64) {
        return Ok(());
    }
    let content = Content::new(shape.seed, shape.compressibility);
    let mut file = BufWriter::new(OpenOptions::new().write(true).create(true).truncate(true).open(path)?);
    let mut words = [0u64; WORDS];
    for page in 0..pages {
        content.fill(&mut words, shape.seed ^ page);
        for word in words {
            file.write_all(&word.to_le_bytes())?;
        }
    }
    file.flush()
}

/// Map the file as code, whose pages the kernel keeps longer; as data if the file system does not
/// permit execution.
#[allow(unsafe_code)] // Apps map their files, so this one does too.
fn map_code(file: &File) -> io::Result<Mmap> {
    // SAFETY: the file is this app's own, and nobody writes to it while the app runs. If it were
    // truncated, SIGBUS would end the app; if it were changed, the check of its content would fail.
    unsafe { MmapOptions::new().map_exec(file) }.or_else(|_| map_data(file))
}

#[allow(unsafe_code)] // As for `map_code`.
fn map_data(file: &File) -> io::Result<Mmap> {
    // SAFETY: as for `map_code`.
    unsafe { MmapOptions::new().map(file) }
}
