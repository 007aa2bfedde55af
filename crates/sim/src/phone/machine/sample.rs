//! Samples of the machine's memory.

use super::entries::SwapEntries;
use super::frames::{free, Frames};
use super::record::Sample;
use crate::phone::user::apps::Apps;

pub fn now(frames: &Frames, swap: &SwapEntries, apps: &Apps, now_ns: u64) -> Sample {
    let (in_use, graphics, usage) = (frames.in_use, frames.graphics(), swap.side.usage());
    Sample {
        at_ns: now_ns,
        free: free::count(frames, swap) as u64,
        app_anon: (in_use.pages - in_use.file - in_use.system_anon) as u64,
        system_anon: in_use.system_anon as u64,
        file: in_use.file as u64,
        graphics: graphics as u64,
        kernel: (in_use.pinned - graphics) as u64,
        swap: usage.pages,
        pool_bytes: usage.dram_bytes,
        live: apps.launcher.live() as u64,
    }
}
