//! The bytes of one page, and a check that all of them were transferred.

use crate::kernel::PAGE;
use std::io::{Error, Result};

/// The bytes of one page, aligned for direct I/O.
#[repr(C, align(4096))]
pub struct PageBytes(pub [u8; PAGE]);

impl PageBytes {
    pub fn zeroed() -> Box<PageBytes> {
        Box::new(PageBytes([0; PAGE]))
    }
}

/// Turn an incomplete transfer of a page into the error `code`: the file has no room, or it was
/// truncated.
pub fn check_full_page(done: rustix::io::Result<usize>, code: i32) -> Result<()> {
    match done {
        Ok(PAGE) => Ok(()),
        Ok(_) => Err(Error::from_raw_os_error(code)),
        Err(e) => Err(e.into()),
    }
}
