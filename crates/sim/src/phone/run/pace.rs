//! The time between the references of the running task.

use crate::phone::user::layout::AppPages;

/// The time between the references of the running task.
#[derive(Clone, Copy, Default)]
pub struct Pace {
    /// Whether the task works in that time, or pauses.
    pub works: bool,
    pub step_ns: u64,
    pub left_ns: u64,
}

impl Pace {
    /// Spread `ns` over `references` references.
    pub fn over(ns: u64, references: usize, works: bool) -> Pace {
        Pace { works, step_ns: ns / references.max(1) as u64, left_ns: ns }
    }
}

/// An upper bound of the references that a start of `app` or its use in the foreground makes. The
/// app maps the ranges `mapped`.
pub fn references(system: &AppPages, app: &AppPages, mapped: &[AppPages]) -> usize {
    let of = |pages: &AppPages| pages.file.len() + pages.anon.len();
    of(system) + of(app) + mapped.iter().map(of).sum::<usize>()
}
