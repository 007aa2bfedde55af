//! A folder for imports and what comes of them.

use std::path::{Path, PathBuf};
use swaplab_trace::import::{import, Options};
use swaplab_trace::{export, Codec, Meta, Trace};
use swaplab_vocab::Result;

pub struct Folder(pub tempfile::TempDir);

#[allow(dead_code)] // each test that includes this file uses a part of it
impl Folder {
    pub fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    pub fn import(&self, name: &str, content: &[u8], options: &Options) -> Result<Meta> {
        import(&self.file(name, content), &self.slt(), Codec::Zstd, options, &mut |_, _| true)
    }

    pub fn slt(&self) -> PathBuf {
        self.0.path().join("out.slt")
    }

    /// The imported trace as csv.
    pub fn csv(&self, name: &str, content: &[u8], options: &Options) -> String {
        self.import(name, content, options).unwrap();
        to_csv(&Trace::open(&self.slt()).unwrap(), &self.0.path().join("back.csv"))
    }

    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(self.0.path()).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[allow(dead_code)] // as above
pub fn to_csv(trace: &Trace, path: &Path) -> String {
    export::convert(trace, "csv", path, &mut |_, _| true).unwrap();
    std::fs::read_to_string(path).unwrap()
}

#[allow(dead_code)] // as above
pub fn with_format(format: &str) -> Options {
    Options { format: Some(format.into()), ..Options::default() }
}
