//! Where evicted pages go when they cannot be read in place: one file a store, one line in `open`.

mod nvm_copy;
mod slots;
mod zram;

pub use nvm_copy::NvmCopy;
pub use slots::Slots;
pub use zram::Zram;

use crate::kernel::PAGE;

pub type PageBytes = [u8; PAGE];

/// Keeps pages by their number in the managed range. Called by the pager thread, except `free`, which must not do I/O.
pub trait Store: Send {
    /// Keep `content`; what was kept for `page` before is replaced. An error means that nothing was.
    fn write(&mut self, page: u32, content: &PageBytes) -> std::io::Result<()>;
    /// What was last written for `page`.
    fn read(&mut self, page: u32, content: &mut PageBytes) -> std::io::Result<()>;
    fn free(&mut self, page: u32);
    /// Bytes the store takes now, its own bookkeeping included.
    fn bytes(&self) -> u64;
}
