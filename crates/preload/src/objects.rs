//! The program and its libraries, as the loader has mapped them.

use libc::{c_int, c_void};
use std::ops::Range;

pub struct Object {
    pub name: String,
    pub code: Vec<Range<usize>>,
}

/// What the loader has loaded, and where its code is.
pub fn objects() -> Vec<Object> {
    unsafe extern "C" fn each(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
        // SAFETY: the loader's description of an object, and the vector below.
        unsafe {
            let (info, found) = (&*info, &mut *(found as *mut Vec<Object>));
            let headers = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize);
            let code = headers.iter().filter(|h| h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_X != 0);
            let place = |h: &libc::Elf64_Phdr| (info.dlpi_addr + h.p_vaddr) as usize..(info.dlpi_addr + h.p_vaddr + h.p_filesz) as usize;
            let name = std::ffi::CStr::from_ptr(info.dlpi_name).to_string_lossy().into_owned();
            found.push(Object { name, code: code.map(place).collect() });
        }
        0
    }
    let mut found: Vec<Object> = Vec::new();
    // SAFETY: `each` gets the vector, and is done when the call returns.
    unsafe { libc::dl_iterate_phdr(Some(each), &mut found as *mut Vec<Object> as *mut c_void) };
    found
}

/// Whether code may hold an instruction that enters the kernel. Two bytes of data may look like one: then the program is a little slower.
pub fn enters_the_kernel(code: &Range<usize>) -> bool {
    const SYSCALL: [u8; 2] = [0x0f, 0x05];
    // SAFETY: a segment that the loader has mapped.
    let bytes = unsafe { std::slice::from_raw_parts(code.start as *const u8, code.len()) };
    bytes.windows(2).any(|pair| pair == SYSCALL)
}
