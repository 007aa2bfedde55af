//! The system calls that matter for a page trace: those that change mappings, and those in which
//! the kernel accesses the program's pages.

use crate::maps::Region;
use crate::recorder::Recorder;
use crate::stream::{Reason, Sink, Span};
use swaplab_vocab::Op;
use Call::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arch {
    X86_64,
    Aarch64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Map,
    Unmap,
    Break,
    Remap,
    Advise,
    Exec,
    /// The kernel reads or writes `result` bytes at the address in this argument.
    Buffer(Op, usize),
    /// The same over an `iovec` array in argument 1, of argument 2 entries.
    Vector(Op),
    /// The same over the `msghdr` in argument 1.
    Message(Op),
    /// The same over `result` entries of the `mmsghdr` array in argument 1, each with its own
    /// length.
    Messages(Op),
}

/// Number on x86-64, number on arm64 if the call exists there, and effect. When the program reads,
/// the kernel writes to its buffer.
const CALLS: [(u64, Option<u64>, Call); 28] = [
    (0, Some(63), Buffer(Op::Write, 1)),    // read
    (1, Some(64), Buffer(Op::Read, 1)),     // write
    (17, Some(67), Buffer(Op::Write, 1)),   // pread64
    (18, Some(68), Buffer(Op::Read, 1)),    // pwrite64
    (45, Some(207), Buffer(Op::Write, 1)),  // recvfrom (and recv)
    (44, Some(206), Buffer(Op::Read, 1)),   // sendto (and send)
    (19, Some(65), Vector(Op::Write)),      // readv
    (20, Some(66), Vector(Op::Read)),       // writev
    (295, Some(69), Vector(Op::Write)),     // preadv
    (296, Some(70), Vector(Op::Read)),      // pwritev
    (327, Some(286), Vector(Op::Write)),    // preadv2
    (328, Some(287), Vector(Op::Read)),     // pwritev2
    (47, Some(212), Message(Op::Write)),    // recvmsg
    (46, Some(211), Message(Op::Read)),     // sendmsg
    (299, Some(243), Messages(Op::Write)),  // recvmmsg
    (307, Some(269), Messages(Op::Read)),   // sendmmsg
    (217, Some(61), Buffer(Op::Write, 1)),  // getdents64
    (318, Some(278), Buffer(Op::Write, 0)), // getrandom
    (89, None, Buffer(Op::Write, 1)),       // readlink
    (267, Some(78), Buffer(Op::Write, 2)),  // readlinkat
    (79, Some(17), Buffer(Op::Write, 0)),   // getcwd
    (9, Some(222), Map),
    (11, Some(215), Unmap),
    (12, Some(214), Break),
    (25, Some(216), Remap),
    (28, Some(233), Advise),
    (59, Some(221), Exec),  // execve
    (322, Some(281), Exec), // execveat
];

pub fn call(arch: Arch, number: u64) -> Option<Call> {
    let same = |(x86, arm, _): &&(u64, Option<u64>, Call)| if arch == Arch::X86_64 { *x86 == number } else { *arm == Some(number) };
    CALLS.iter().find(same).map(|(_, _, call)| *call)
}

const MAP_SHARED: u64 = 1;
const MAP_ANONYMOUS: u64 = 0x20;
const MADV_DONTNEED: u64 = 4;
const MADV_FREE: u64 = 8;
const MADV_REMOVE: u64 = 9;
const IOV_MAX: u64 = 1024;
/// Maximum number of bytes that a call transfers (`include/linux/fs.h`).
const MAX_RW_COUNT: u64 = 0x7fff_f000;

/// The end of the program's data segment, as returned by the last `brk`.
#[derive(Default)]
pub struct DataEnd(Option<u64>);

/// Report the effect of a call that returned `result` to the recorder.
pub fn apply<S: Sink>(call: Call, args: &[u64; 6], result: i64, data_end: &mut DataEnd, recorder: &mut Recorder<S>) {
    if result < 0 && result > -4096 {
        return;
    }
    let result = result as u64;
    let span = Span::of_bytes(args[0], args[1]);
    match call {
        Map => {
            let span = Span::of_bytes(result, args[1]);
            let shared = args[3] & MAP_SHARED != 0;
            let file = if args[3] & MAP_ANONYMOUS == 0 { recorder.process.file(args[4] & 0xffff_ffff) } else { None };
            recorder.map(match file {
                Some(name) => Region::of_file(span, shared, name, args[5] >> 12),
                None => Region::anonymous(span),
            });
        }
        Unmap => recorder.unmap(span),
        Break => {
            if let Some(before) = data_end.0.replace(result) {
                let page = |address: u64| address.div_ceil(4096);
                if page(result) > page(before) {
                    recorder.map(Region::anonymous(Span { first: page(before), pages: page(result) - page(before) }));
                } else if page(result) < page(before) {
                    recorder.unmap(Span { first: page(result), pages: page(before) - page(result) });
                }
            }
        }
        Remap => remap(span, Span::of_bytes(result, args[2]), recorder),
        Advise => {
            if [MADV_DONTNEED, MADV_FREE, MADV_REMOVE].contains(&args[2]) {
                recorder.discard(span);
            }
        }
        Exec => recorder.finish(Reason::Exec),
        Buffer(op, at) => buffer(op, args[at], result, recorder),
        Vector(op) => vector(op, args[1], args[2], result, recorder),
        Message(op) => message(op, args[1], result, recorder),
        Messages(op) => {
            for i in 0..result.min(IOV_MAX) {
                // A mmsghdr is a msghdr of 56 bytes and the length of its message, padded to 64.
                let header = args[1] + 64 * i;
                let Some([length]) = recorder.process.words(header + 56) else { return };
                message(op, header, length & 0xffff_ffff, recorder);
            }
        }
    }
}

fn remap<S: Sink>(from: Span, to: Span, recorder: &mut Recorder<S>) {
    if from.first == to.first {
        // Resized in place: the end was unmapped, or new pages were added, which are declared at
        // their first reference.
        if to.pages < from.pages {
            recorder.unmap(Span { first: to.end(), pages: from.pages - to.pages });
        }
    } else {
        recorder.remap(from, to);
    }
}

fn buffer<S: Sink>(op: Op, address: u64, length: u64, recorder: &mut Recorder<S>) {
    if length > 0 {
        recorder.touch(op, address, length.min(MAX_RW_COUNT));
    }
}

fn vector<S: Sink>(op: Op, entries: u64, count: u64, mut length: u64, recorder: &mut Recorder<S>) {
    for i in 0..count.min(IOV_MAX) {
        let Some([address, room]) = recorder.process.words(entries + 16 * i) else { return };
        let part = room.min(length);
        buffer(op, address, part, recorder);
        length -= part;
        if length == 0 {
            return;
        }
    }
}

fn message<S: Sink>(op: Op, header: u64, length: u64, recorder: &mut Recorder<S>) {
    // msg_iov and msg_iovlen follow the name, its length and padding.
    if let Some([entries, count]) = recorder.process.words(header + 16) {
        vector(op, entries, count, length, recorder);
    }
}
