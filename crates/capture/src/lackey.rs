//! Reads the output of `valgrind --tool=lackey --trace-mem=yes --trace-syscalls=yes` while it runs.
//!
//! Weakness: the program is ahead of the reader by the content of a pipe. `/proc` is therefore read
//! late, and the vectors of `readv` and similar calls, which are in the program's memory, are
//! ignored.

use crate::recorder::Recorder;
use crate::stream::Sink;
use crate::syscall::{self, Arch, DataEnd};
use std::collections::HashMap;
use swaplab_trace::import::lackey_access;
use swaplab_vocab::{BadInput, Result};

#[derive(Default)]
pub struct Lackey {
    raw: u64,
    data_end: DataEnd,
    /// Calls in progress: number and arguments by thread.
    pending: HashMap<u64, (u64, [u64; 6])>,
}

impl Lackey {
    pub fn line<S: Sink>(&mut self, line: &[u8], recorder: &mut Recorder<S>) -> Result<()> {
        if let Some((ops, address, length)) = lackey_access(line) {
            for op in ops {
                self.raw += 1;
                recorder.progress(self.raw);
                recorder.touch(*op, address, length);
            }
        } else if let Some(rest) = line.strip_prefix(b"SYSCALL[") {
            let text = String::from_utf8_lossy(rest);
            self.call(&text, recorder).ok_or_else(|| {
                BadInput::new("valgrind's output", format!("'SYSCALL[{text}'"), "a system call as valgrind 3.19 prints it")
            })?;
        }
        Ok(())
    }

    /// `PID,TID](NUMBER) sys_NAME ( ARGUMENTS ) --> [..] Success(0xN)`, or `... --> [async] ...`
    /// and later `[async] --> Success(0xN)`.
    fn call<S: Sink>(&mut self, text: &str, recorder: &mut Recorder<S>) -> Option<()> {
        let (head, rest) = text.split_once("](")?;
        let thread = number(head.split_once(',')?.1)?;
        let (call, rest) = rest.split_once(')')?;
        let call = number(call.trim())?;
        if let Some((name, _)) = rest.split_once('(').filter(|(name, _)| name.trim_start().starts_with("sys_") || !name.contains("-->")) {
            let arguments = &rest[name.len() + 1..];
            let mut args = [0; 6];
            for (slot, part) in args.iter_mut().zip(arguments.split(',')) {
                *slot = number(part.trim()).unwrap_or(0);
            }
            self.pending.insert(thread, (call, args));
        }
        let Some((_, result)) = rest.rsplit_once("Success(") else {
            if rest.contains("Failure(") {
                self.pending.remove(&thread);
            }
            return Some(());
        };
        let result = number(result)?;
        if let Some((_, args)) = self.pending.remove(&thread).filter(|(begun, _)| *begun == call) {
            if let Some(effect) = syscall::call(Arch::X86_64, call) {
                syscall::apply(effect, &args, result as i64, &mut self.data_end, recorder);
            }
        }
        Some(())
    }
}

/// Parse the number at the start of `text`, decimal or hexadecimal with `0x`.
fn number(text: &str) -> Option<u64> {
    let (digits, radix) = text.strip_prefix("0x").map_or((text, 10), |hex| (hex, 16));
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    u64::from_str_radix(&digits[..end], radix).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maps::Process;
    use crate::recorder::Limits;
    use crate::stream::{Event, Span};
    use swaplab_vocab::Op;

    #[test]
    fn calls_of_every_printed_form() {
        let mut recorder = Recorder::new(Vec::new(), Process::other(u32::MAX), Limits::default());
        let mut lackey = Lackey::default();
        for line in [
            "SYSCALL[18358,1](12) sys_brk ( 0x0 ) --> [pre-success] Success(0x4035000) ",
            "SYSCALL[18358,1](12) sys_brk ( 0x4037000 ) --> [pre-success] Success(0x4037000) ",
            "SYSCALL[18358,1](9) sys_mmap ( 0x0, 8192, 3, 34, 4294967295, 0 ) --> [pre-success] Success(0x4835000) ",
            "SYSCALL[18358,1](0) sys_read ( 3, 0x4835ff8, 832 ) --> [async] ... ",
            "SYSCALL[18358,2](257) sys_openat ( 4294967196, 0x1ffefff760(/a, b (c)), 524288 ) --> [async] ... ",
            "SYSCALL[18358,2](257) ... [async] --> Failure(0x2) ",
            "SYSCALL[18358,1](0) ... [async] --> Success(0x340) ",
            " M 4836ffc,8",
            "SYSCALL[18358,1](28) sys_madvise ( 0x4835000, 4096, 4 )[sync] --> Success(0x0) ",
            "SYSCALL[18358,1](11) sys_munmap ( 0x4835000, 8192 )[sync] --> Success(0x0) ",
        ] {
            lackey.line(line.trim_end().as_bytes(), &mut recorder).unwrap();
        }
        let span = |first, pages| Span { first, pages };
        let access = |page, op| Event::Access { page, op };
        let anonymous = |span| Event::Map { span, class: swaplab_vocab::Class::Anonymous, file: 0, offset: 0 };
        let expected = [
            anonymous(span(0x4035, 2)),
            anonymous(span(0x4835, 2)),
            access(0x4835, Op::Write),
            access(0x4836, Op::Write),
            access(0x4836, Op::Read),
            anonymous(span(0x4837, 1)), // nothing is known of the page behind the mapping
            access(0x4837, Op::Read),
            access(0x4836, Op::Write),
            access(0x4837, Op::Write),
            Event::Discard(span(0x4835, 1)),
            Event::Unmap(span(0x4835, 2)),
        ];
        assert_eq!(recorder.into_sink(), expected);
    }
}
