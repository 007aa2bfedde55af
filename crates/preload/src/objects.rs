//! The program and its libraries that the loader has mapped.

use libc::{c_int, c_void};
use std::ops::Range;

/// A loaded object: its name and the addresses of its executable segments.
pub struct Object {
    pub name: String,
    pub code: Vec<Range<usize>>,
}

/// List the loaded objects.
pub fn objects() -> Vec<Object> {
    unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, objects: *mut c_void) -> c_int {
        // SAFETY: the loader's description of an object, and the vector below.
        unsafe {
            let (info, objects) = (&*info, &mut *(objects as *mut Vec<Object>));
            let headers = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize);
            let code = headers.iter().filter(|h| h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_X != 0);
            let place = |h: &libc::Elf64_Phdr| (info.dlpi_addr + h.p_vaddr) as usize..(info.dlpi_addr + h.p_vaddr + h.p_filesz) as usize;
            let name = std::ffi::CStr::from_ptr(info.dlpi_name).to_string_lossy().into_owned();
            objects.push(Object { name, code: code.map(place).collect() });
        }
        0
    }
    let mut objects: Vec<Object> = Vec::new();
    // SAFETY: `add` is only called with the vector, and only during this call.
    unsafe { libc::dl_iterate_phdr(Some(add), &mut objects as *mut Vec<Object> as *mut c_void) };
    objects
}

/// Whether the bytes of `code` contain a system-call instruction. Two bytes of data can look like
/// one; then the program is only slower.
pub fn enters_the_kernel(code: &Range<usize>) -> bool {
    const SYSCALL: [u8; 2] = [0x0f, 0x05];
    // SAFETY: a segment that the loader has mapped.
    let bytes = unsafe { std::slice::from_raw_parts(code.start as *const u8, code.len()) };
    bytes.windows(2).any(|pair| pair == SYSCALL)
}
