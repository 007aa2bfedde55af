//! The content of memory whose mapping is replaced: it is copied by ordinary reads, which bring
//! back what was evicted.

use rustix::io::Errno;
use std::ops::Range;
use swaplab_pager::kernel::memory::READ_WRITE;
use swaplab_pager::kernel::PAGE;
use swaplab_pager::{addresses, PageRange, Pager};

/// Move the content of `range` to anonymous memory that is not managed, at the same addresses. For
/// properties that a mapping of the NVM file cannot have: execution of a noexec file,
/// `MADV_WIPEONFORK`.
pub fn move_to_foreign(pager: &Pager, range: PageRange) -> rustix::io::Result<()> {
    let pieces = pager.lock_managed().managed_pieces(range);
    pieces.into_iter().try_for_each(|(piece, prot)| move_piece_to_foreign(pager, piece, prot))
}

/// [`move_to_foreign`] for a piece with one protection.
fn move_piece_to_foreign(pager: &Pager, range: PageRange, prot: u32) -> rustix::io::Result<()> {
    let bytes = addresses(&range);
    let anonymous = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let other = kernel!(SYS_mmap, 0, bytes.len(), READ_WRITE, anonymous, -1isize, 0);
    if other == -1 {
        return Err(Errno::NOMEM);
    }
    make_readable(prot, bytes.clone());
    copy_content(bytes.clone(), other as usize, |_| ());
    let mut managed = pager.lock_managed();
    kernel!(SYS_mremap, other, bytes.len(), bytes.len(), libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED, bytes.start);
    managed.make_foreign(range);
    if prot != READ_WRITE {
        kernel!(SYS_mprotect, bytes.start, bytes.len(), prot);
    }
    Ok(())
}

/// Make `bytes`, whose protection is `prot`, readable. Returns whether the protection had to be
/// changed.
pub fn make_readable(prot: u32, bytes: Range<usize>) -> bool {
    let change = prot & libc::PROT_READ as u32 == 0;
    if change {
        kernel!(SYS_mprotect, bytes.start, bytes.len(), libc::PROT_READ);
    }
    change
}

/// Copy `from` to the fresh memory at `to`, and call `done` after each piece. Pages of zeros are
/// not written. If `done` drops the copied piece, at most one piece is in DRAM twice. Managed
/// memory must not be locked, as these accesses can fault like the program's own.
pub fn copy_content(from: Range<usize>, to: usize, done: impl Fn(Range<usize>)) {
    const STEP: usize = 256 * PAGE;
    for start in from.clone().step_by(STEP) {
        let piece = start..(start + STEP).min(from.end);
        for page in piece.clone().step_by(PAGE) {
            // SAFETY: both are mapped, and the program does not use them during its call.
            unsafe {
                let source = std::slice::from_raw_parts(page as *const u64, PAGE / 8);
                if source.iter().any(|word| *word != 0) {
                    std::ptr::copy_nonoverlapping(source.as_ptr(), (to + (page - from.start)) as *mut u64, PAGE / 8);
                }
            }
        }
        done(piece);
    }
}
