//! The bytes of one page, and the check of a transfer of one.

use crate::kernel::PAGE;
use std::io::{Error, Result};

/// A page's bytes, where direct I/O can read and write them.
#[repr(C, align(4096))]
pub struct PageBytes(pub [u8; PAGE]);

impl PageBytes {
    pub fn zeroed() -> Box<PageBytes> {
        Box::new(PageBytes([0; PAGE]))
    }
}

/// A short transfer is an error: the file has no room, or somebody has cut it.
pub fn whole(done: rustix::io::Result<usize>, code: i32) -> Result<()> {
    match done {
        Ok(PAGE) => Ok(()),
        Ok(_) => Err(Error::from_raw_os_error(code)),
        Err(e) => Err(e.into()),
    }
}
