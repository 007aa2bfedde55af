//! An app's file: written once, mapped as code where the app uses it as such, as data elsewhere.

use crate::content::{Content, PAGE, WORDS};
use crate::shape::Shape;
use memmap2::{Mmap, MmapOptions};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

pub struct AppFile {
    code: Mmap,
    data: Mmap,
    /// Pages at its start that are used as code.
    code_pages: u64,
}

impl AppFile {
    /// Written anew, if it is not there with its size.
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

/// Write the file of an app's file pages, if it is not there with its size.
pub fn write_data(shape: &Shape, path: &Path) -> io::Result<()> {
    let pages = shape.file_pages();
    if std::fs::metadata(path).is_ok_and(|about| about.len() == pages * PAGE as u64) {
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

/// Map the file as code, whose pages the kernel keeps longer; as data where the file system has no programs.
#[allow(unsafe_code)] // a mapped file is the point: apps map theirs
fn map_code(file: &File) -> io::Result<Mmap> {
    // SAFETY: the file is this app's own and nobody writes to it while the app runs; were it cut, the app would end by SIGBUS, and were
    // it changed, fail its check.
    unsafe { MmapOptions::new().map_exec(file) }.or_else(|_| map_data(file))
}

#[allow(unsafe_code)] // as above
fn map_data(file: &File) -> io::Result<Mmap> {
    // SAFETY: as for `map_code`.
    unsafe { MmapOptions::new().map(file) }
}
