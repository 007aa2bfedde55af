//! Memory whose faults the program handles itself, by a userfaultfd. A page has one handler of
//! faults, so such memory is no longer managed.

use crate::content::move_to_foreign;
use crate::maps::{c_result, managed};
use crate::state::is_pager;
use libc::{c_int, c_ulong, c_void};

/// `UFFDIO_REGISTER`, whose argument begins with the start and the length of a range in bytes.
const REGISTER: c_ulong = 0xc020_aa00;

/// # Safety
/// As for the system call. The C library declares it with any number of arguments, of which there
/// is at most one.
#[no_mangle]
pub unsafe extern "C" fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    if let Some([start, len]) = Some(argument).filter(|_| request == REGISTER && !is_pager()).and_then(two_words) {
        if let Some((pager, range)) = managed(start as *const c_void, len) {
            if let Err(errno) = move_to_foreign(pager, range) {
                return c_result(Err(errno));
            }
        }
    }
    kernel!(SYS_ioctl, fd, request, argument) as c_int
}

/// The first two words at an address; `None` if the program cannot read it.
fn two_words(at: *mut c_void) -> Option<[usize; 2]> {
    let mut words = [0usize; 2];
    let size = size_of_val(&words);
    let to = libc::iovec { iov_base: words.as_mut_ptr().cast(), iov_len: size };
    let from = libc::iovec { iov_base: at, iov_len: size };
    let read = kernel!(SYS_process_vm_readv, std::process::id(), &raw const to, 1, &raw const from, 1, 0);
    (read == size as isize).then_some(words)
}
