//! Memory whose faults the program handles itself, by a userfaultfd. A page has one handler of
//! faults, so such memory is no longer managed.

use crate::content::move_to_foreign;
use crate::maps::{c_result, managed};
use crate::raw::two_words;
use crate::state::is_pager;
use libc::{c_int, c_ulong, c_void};

/// `UFFDIO_REGISTER`, whose argument begins with the start and the length of a range in bytes.
const REGISTER: c_ulong = 0xc020_aa00;

/// # Safety
/// As for the system call. The C library declares it with any number of arguments, of which there
/// is at most one.
#[no_mangle]
pub unsafe extern "C" fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    if let Some([start, len]) = Some(argument).filter(|_| request == REGISTER && !is_pager()).and_then(|at| two_words(at as usize)) {
        if let Some((pager, range)) = managed(start as *const c_void, len) {
            if let Err(errno) = move_to_foreign(pager, range) {
                return c_result(Err(errno));
            }
        }
    }
    kernel!(SYS_ioctl, fd, request, argument) as c_int
}
