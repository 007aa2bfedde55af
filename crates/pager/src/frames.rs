//! Runs a policy of the `policy` crate over the pages that are in DRAM, as the simulator's replay engine does: one miss,
//! then victims while there is no free frame, then the page enters.
//!
//! A policy wants dense page numbers and is built for a fixed count of them; a program's address space is neither. So
//! numbers are given a chunk at a time at its first page in DRAM, and the policy is rebuilt twice as large, in its own
//! order of eviction, when they run out.

use crate::kernel::sparse::Sparse;
use crate::kernel::Missing;
use crate::{CHUNK, PAGES};
use swaplab_policy::bits::RESIDENT;
use swaplab_policy::{AnyPolicy, Costs, PolicySpec, Residency, Setup, Signal};
use swaplab_vocab::{Class, Op, PageId, Result};

pub struct Frames {
    spec: PolicySpec,
    costs: Costs,
    policy: AnyPolicy,
    pages: Residency,
    /// What the policy may keep in DRAM.
    frames: usize,
    /// Number of a chunk plus one; 0: none yet.
    number: Sparse<u32>,
    chunk_of: Vec<u32>,
    unused: Vec<u32>,
}

/// Tables are built for no more chunks than this at first, whatever the budget: a short program shall not pay for a large one.
const FIRST_CHUNKS: usize = 256;

/// Whether the pager can feed a policy; the reason if not.
pub fn accept(spec: &PolicySpec) -> std::result::Result<(), Missing> {
    let refuse = |why: String| Err(Missing::new("policy", why));
    let key = spec.entry.key;
    if spec.entry.info.offline {
        return refuse(format!("'{key}' must know the future; a running program's is not known"));
    }
    match spec.entry.info.signal {
        Signal::FaultOnly => Ok(()),
        Signal::ReferenceBit => refuse(format!(
            "'{key}' needs a reference bit of every page; the kernel shows none to a program, only faults (take 'refault' or 'fifo')"
        )),
        Signal::Exact => {
            refuse(format!("'{key}' needs every access in order; on real memory only faults are seen (take 'refault' or 'fifo')"))
        }
    }
}

impl Frames {
    pub fn new(spec: PolicySpec, frames: usize, costs: Costs) -> std::result::Result<Frames, Missing> {
        accept(&spec)?;
        let capacity = (4 * frames).next_multiple_of(CHUNK).clamp(16 * CHUNK, FIRST_CHUNKS * CHUNK);
        let (policy, pages) = build(&spec, frames, capacity, costs).map_err(|e| Missing::new("policy", e.to_string()))?;
        // SAFETY: zero is a u32.
        let number = unsafe { Sparse::new(PAGES / CHUNK) }.map_err(|e| Missing::new("address space", e.to_string()))?;
        Ok(Frames { spec, costs, policy, pages, frames, number, chunk_of: Vec::new(), unused: Vec::new() })
    }

    /// Pages the policy holds.
    pub fn held(&self) -> usize {
        self.pages.held()
    }

    fn known(&self, page: usize) -> Option<PageId> {
        match self.number[page / CHUNK] {
            0 => None,
            n => Some((n - 1) * CHUNK as u32 + (page % CHUNK) as u32),
        }
    }

    fn number_of(&mut self, page: usize) -> PageId {
        if let Some(id) = self.known(page) {
            return id;
        }
        let n = self.unused.pop().unwrap_or_else(|| {
            self.chunk_of.push(0);
            self.chunk_of.len() as u32 - 1
        });
        self.chunk_of[n as usize] = (page / CHUNK) as u32;
        self.number[page / CHUNK] = n + 1;
        if self.chunk_of.len() * CHUNK > self.pages.len() {
            self.grow();
        }
        n * CHUNK as u32 + (page % CHUNK) as u32
    }

    /// Twice the pages. The old policy names its pages in the order in which it would evict them; ghosts are forgotten.
    fn grow(&mut self) {
        self.pages.make_room(self.policy.as_dyn_mut(), None, self.frames);
        let order: Vec<PageId> = self.pages.drain_released().collect();
        let built = build(&self.spec, self.frames, 2 * self.pages.len(), self.costs);
        (self.policy, self.pages) = built.expect("the same policy was built before");
        for id in order {
            self.policy.as_dyn_mut().miss(id, Op::Write, &self.pages);
            self.pages.enter(self.policy.as_dyn_mut(), id, Op::Write);
        }
    }

    /// `page` has come to DRAM (only a write brings one there). Victims it displaces are appended; `others` pages of the
    /// budget are taken by memory that cannot leave.
    pub fn arrive(&mut self, page: usize, others: usize, victims: &mut Vec<usize>) {
        let id = self.number_of(page);
        let policy = self.policy.as_dyn_mut();
        // Where others have taken all frames it enters even so, alone.
        let reserve = others.min(self.frames.saturating_sub(1));
        if !self.pages.admit(policy, id, Op::Write, reserve) {
            self.pages.enter(policy, id, Op::Write);
        }
        self.drain(victims);
    }

    /// Victims until at most `frames - others` pages are held.
    pub fn shrink(&mut self, others: usize, victims: &mut Vec<usize>) {
        self.pages.make_room(self.policy.as_dyn_mut(), None, others.min(self.frames));
        self.drain(victims);
    }

    fn drain(&mut self, victims: &mut Vec<usize>) {
        for id in self.pages.drain_released() {
            victims.push(page_of(&self.chunk_of, id));
        }
    }

    /// `page` is gone: unmapped or discarded by the program, or evicted along with its chunk.
    pub fn forget(&mut self, page: usize) {
        if let Some(id) = self.known(page) {
            self.pages.vanish(id, !RESIDENT);
            self.policy.as_dyn_mut().forget(id);
        }
    }

    /// No page of `chunk` exists any more (each was forgotten).
    pub fn release_chunk(&mut self, chunk: usize) {
        if self.number[chunk] != 0 {
            self.unused.push(self.number[chunk] - 1);
            self.number[chunk] = 0;
        }
    }
}

/// The page that the policy knows as `id`; `chunk_of` has the chunk of each number.
fn page_of(chunk_of: &[u32], id: PageId) -> usize {
    chunk_of[id as usize / CHUNK] as usize * CHUNK + id as usize % CHUNK
}

fn build(spec: &PolicySpec, frames: usize, pages: usize, costs: Costs) -> Result<(AnyPolicy, Residency)> {
    let policy = spec.build(&Setup { pages, frames, costs, seed: 0, future: None })?;
    Ok((policy, Residency::new((0..pages).map(|_| Class::Anonymous)).with_frames(frames)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: Costs = Costs { swap_read_ns: 1, swap_write_ns: 1, file_read_ns: 1, file_write_ns: 1 };

    fn fifo(frames: usize) -> Frames {
        Frames::new(PolicySpec::parse("fifo").unwrap(), frames, COSTS).unwrap()
    }

    #[test]
    fn a_full_house_evicts_in_order_also_after_growing() {
        let mut frames = fifo(3);
        let mut victims = Vec::new();
        // Pages a chunk apart: the 16 chunks built for are soon too few.
        for chunk in 0..100 {
            frames.arrive(chunk * CHUNK + 7, 0, &mut victims);
        }
        assert_eq!(victims, (0..97).map(|c| c * CHUNK + 7).collect::<Vec<_>>());
        assert_eq!(frames.held(), 3);
    }

    #[test]
    fn forgotten_pages_and_released_chunks_are_no_victims() {
        let mut frames = fifo(3);
        let mut victims = Vec::new();
        for page in [1, 2, CHUNK] {
            frames.arrive(page, 0, &mut victims);
        }
        frames.forget(CHUNK);
        frames.release_chunk(1);
        frames.arrive(5 * CHUNK, 0, &mut victims); // takes the released number
        assert_eq!((victims.len(), frames.held()), (0, 3));
        frames.arrive(3, 1, &mut victims); // one frame is taken by others
        assert_eq!(victims, [1, 2]);
    }

    #[test]
    fn policies_without_their_signal_are_refused_with_the_reason() {
        for (key, word) in [("lru", "every access"), ("clock", "reference bit")] {
            let error = accept(&PolicySpec::parse(key).unwrap()).unwrap_err().to_string();
            assert!(error.contains(word) && error.contains(key), "{error}");
        }
    }
}
