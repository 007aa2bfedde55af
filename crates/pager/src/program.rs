//! Detects, from a program's file, whether a library can be preloaded into it. Does not allocate,
//! as it is also called between `fork` and `exec`.

use rustix::fs::{fgetxattr, fstat, open, Mode, OFlags};
use rustix::io::pread;
use std::ffi::CStr;
use std::fmt;

/// The reason why no library can be preloaded into a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreachable {
    /// It is set-uid or set-gid to another user or group. The loader ignores preloaded libraries
    /// then.
    SetUid,
    /// It has file capabilities, with the same effect.
    Capabilities,
    /// It is an ELF file of another word size or processor.
    Foreign,
    /// It is neither an ELF file nor a script that names its interpreter. Shells run such files as
    /// shell scripts.
    NoProgram,
    /// It is statically linked: it names no loader.
    Static,
}

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Unreachable::SetUid => "a set-uid program; the loader ignores preloaded libraries there",
            Unreachable::Capabilities => "a program with file capabilities; the loader ignores preloaded libraries there",
            Unreachable::Foreign => "not a program for this machine (64-bit ELF)",
            Unreachable::NoProgram => "neither an ELF program nor a script that names its interpreter",
            Unreachable::Static => "statically linked; nothing can be preloaded into it",
        })
    }
}

#[cfg(target_arch = "x86_64")]
const MACHINE: u16 = 62;
#[cfg(target_arch = "aarch64")]
const MACHINE: u16 = 183;
const CLASS_64: u8 = 2;
/// The kernel's limit of nested interpreters: scripts whose interpreters are scripts.
const INTERPRETERS: usize = 5;

/// Why no library can be preloaded into the program at `path` or, if it is a script, into its
/// interpreter. `None` if one can, or if the file cannot be read.
pub fn unreachable(path: &CStr) -> Option<Unreachable> {
    let mut head = [0; 512];
    let mut reason = inspect(path, &mut head);
    for _ in 0..INTERPRETERS {
        let Ok(None) = reason else { break };
        let Some(interpreter) = interpreter(&mut head) else { break };
        let mut next = [0; 512];
        reason = inspect(interpreter, &mut next);
        head = next;
    }
    reason.ok().flatten()
}

/// The same for one file, without following interpreters. Reads its beginning into `head`.
fn inspect(path: &CStr, head: &mut [u8; 512]) -> rustix::io::Result<Option<Unreachable>> {
    let file = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    pread(&file, &mut head[..], 0)?;
    // The kernel ignores set-uid, set-gid and capabilities of a script; those of its interpreter
    // count.
    if head.starts_with(b"#!") {
        return Ok(None);
    }
    let stat = fstat(&file)?;
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let other_user = stat.st_mode & libc::S_ISUID != 0 && stat.st_uid != user;
    let other_group = stat.st_mode & libc::S_ISGID != 0 && stat.st_gid != group;
    if other_user || other_group {
        return Ok(Some(Unreachable::SetUid));
    }
    let none: &mut [u8] = &mut [];
    if user != 0 && fgetxattr(&file, c"security.capability", none).is_ok_and(|len| len > 0) {
        return Ok(Some(Unreachable::Capabilities));
    }
    let half = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
    if !head.starts_with(b"\x7fELF") {
        return Ok(Some(Unreachable::NoProgram));
    }
    if head[4] != CLASS_64 || half(18) != MACHINE {
        return Ok(Some(Unreachable::Foreign));
    }
    // Elf64_Ehdr: the program headers' offset at 32, their size at 54, their number at 56.
    let offset = u64::from_le_bytes(std::array::from_fn(|at| head[32 + at]));
    let (size, count) = (u64::from(half(54)), u64::from(half(56)));
    for header in 0..count {
        let mut kind = [0; 4];
        pread(&file, &mut kind, offset.saturating_add(header * size))?;
        if u32::from_le_bytes(kind) == libc::PT_INTERP {
            return Ok(None);
        }
    }
    Ok(Some(Unreachable::Static))
}

/// The interpreter that a script's first line names. A terminating zero is written into `head`.
fn interpreter(head: &mut [u8; 512]) -> Option<&CStr> {
    let line = head.strip_prefix(b"#!")?;
    let start = 2 + line.iter().position(|byte| !b" \t".contains(byte))?;
    let len = head[start..].iter().position(|byte| b" \t\n\r\0".contains(byte))?;
    head[start + len] = 0;
    CStr::from_bytes_with_nul(&head[start..=start + len]).ok().filter(|path| !path.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::PermissionsExt;

    /// The result of `unreachable` for a file with this content.
    fn reason_for(name: &str, content: &[u8]) -> Option<Unreachable> {
        let path = std::env::temp_dir().join(format!("swaplab-program-{}-{name}", std::process::id()));
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let reason = unreachable(&CString::new(path.as_os_str().as_bytes()).unwrap());
        std::fs::remove_file(path).unwrap();
        reason
    }

    /// An ELF header of 64 bytes, and program headers of these kinds.
    fn elf(class: u8, machine: u16, kinds: &[u32]) -> Vec<u8> {
        let mut file = vec![0; 64];
        file[..5].copy_from_slice(&[0x7f, b'E', b'L', b'F', class]);
        file[18..20].copy_from_slice(&machine.to_le_bytes());
        file[32] = 64;
        file[54] = 56;
        file[56] = kinds.len() as u8;
        for kind in kinds {
            file.extend(kind.to_le_bytes());
            file.extend([0; 52]);
        }
        file
    }

    #[test]
    fn programs_with_a_loader_are_reachable() {
        assert_eq!(unreachable(c"/proc/self/exe"), None);
        assert_eq!(unreachable(c"/no/such/program"), None);
        assert_eq!(reason_for("dynamic", &elf(2, MACHINE, &[1, libc::PT_INTERP])), None);
        assert_eq!(reason_for("static", &elf(2, MACHINE, &[1, 2])), Some(Unreachable::Static));
        assert_eq!(reason_for("32", &elf(1, MACHINE, &[libc::PT_INTERP])), Some(Unreachable::Foreign));
        assert_eq!(reason_for("machine", &elf(2, 8, &[libc::PT_INTERP])), Some(Unreachable::Foreign));
        assert_eq!(reason_for("text", b"echo hello\n"), Some(Unreachable::NoProgram));
    }

    #[test]
    fn a_script_is_reachable_if_its_interpreter_is() {
        assert_eq!(reason_for("script", b"#! /proc/self/exe -x\n"), None);
        let path = std::env::temp_dir().join(format!("swaplab-program-{}-interpreter", std::process::id()));
        std::fs::write(&path, elf(2, MACHINE, &[1])).unwrap();
        assert_eq!(reason_for("of-static", format!("#!{}\n", path.display()).as_bytes()), Some(Unreachable::Static));
        std::fs::remove_file(path).unwrap();
        assert_eq!(reason_for("itself", b"#!\n"), None);
    }

    /// The result of `unreachable` for a set-uid file of another user. `None` if this process
    /// cannot give a file away.
    fn reason_for_set_uid(name: &str, content: &[u8]) -> Option<Option<Unreachable>> {
        let path = std::env::temp_dir().join(format!("swaplab-program-{}-{name}", std::process::id()));
        std::fs::write(&path, content).unwrap();
        let given = std::os::unix::fs::chown(&path, Some(65_534), None).is_ok();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o4755)).unwrap();
        let reason = unreachable(&CString::new(path.as_os_str().as_bytes()).unwrap());
        std::fs::remove_file(path).unwrap();
        given.then_some(reason)
    }

    #[test]
    fn set_uid_counts_for_an_elf_file_and_not_for_a_script() {
        let program = elf(2, MACHINE, &[1, libc::PT_INTERP]);
        let Some(reason) = reason_for_set_uid("set-uid", &program) else { return eprintln!("skipped: not root") };
        assert_eq!(reason, Some(Unreachable::SetUid));
        assert_eq!(reason_for_set_uid("set-uid-script", b"#!/proc/self/exe\n"), Some(None));
    }
}
