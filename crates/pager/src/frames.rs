//! Runs a policy of the `policy` crate on the pages in DRAM, in the same steps as the simulator's
//! replay engine: a miss, victims until a frame is free, then the page enters.
//!
//! A policy needs dense page numbers and is built for a fixed count of them; addresses are sparse.
//! So each chunk gets a range of numbers when its first page is in DRAM. When the numbers run out,
//! the policy is rebuilt at twice the size, and the resident pages enter it in the old policy's
//! eviction order.

use crate::kernel::sparse::Sparse;
use crate::kernel::Missing;
use crate::{CHUNK, PAGES};
use swaplab_policy::bits::RESIDENT;
use swaplab_policy::{AnyPolicy, Costs, PolicySpec, Residency, Setup, Signal};
use swaplab_vocab::{Class, Op, PageId, Result};

/// A policy and the pages that it has as resident.
pub struct Frames {
    spec: PolicySpec,
    costs: Costs,
    policy: AnyPolicy,
    pages: Residency,
    /// Number of frames that the policy may fill.
    frames: usize,
    /// The number of each chunk plus one; 0: no number.
    number: Sparse<u32>,
    chunk_of: Vec<u32>,
    unused: Vec<u32>,
}

/// Upper bound of the chunks for which the first tables are built, so that a short program with a
/// large budget starts quickly.
const FIRST_CHUNKS: usize = 256;

/// Check that the pager can provide the signal that a policy needs. The error states the reason.
pub fn accept(spec: &PolicySpec) -> std::result::Result<(), Missing> {
    let refuse = |why: String| Err(Missing::new("policy", why));
    let key = spec.entry.key;
    if spec.entry.info.offline {
        return refuse(format!("'{key}' needs the future; a running program's is not known"));
    }
    match spec.entry.info.signal {
        Signal::FaultOnly => Ok(()),
        Signal::ReferenceBit => refuse(format!(
            "'{key}' needs the reference bit of every page; the kernel shows a program only its faults (use 'refault' or 'fifo')"
        )),
        Signal::Exact => {
            refuse(format!("'{key}' needs every access in order; on real memory only faults are seen (use 'refault' or 'fifo')"))
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

    /// Number of pages that the policy has as resident.
    pub fn resident_count(&self) -> usize {
        self.pages.resident_count()
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

    /// Rebuild the policy for twice the pages, with the resident pages in its eviction order. Ghost
    /// entries are lost.
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

    /// Report that `page` is in DRAM, which only a write can cause, and append the victims that it
    /// displaces. `others` frames are taken by pages that cannot be evicted.
    pub fn arrive(&mut self, page: usize, others: usize, victims: &mut Vec<usize>) {
        let id = self.number_of(page);
        let policy = self.policy.as_dyn_mut();
        // If other pages have taken all frames, the page still enters, alone.
        let reserve = others.min(self.frames.saturating_sub(1));
        if !self.pages.admit(policy, id, Op::Write, reserve) {
            self.pages.enter(policy, id, Op::Write);
        }
        self.drain(victims);
    }

    /// Append victims until at most `frames - others` pages are resident.
    pub fn shrink(&mut self, others: usize, victims: &mut Vec<usize>) {
        self.pages.make_room(self.policy.as_dyn_mut(), None, others.min(self.frames));
        self.drain(victims);
    }

    fn drain(&mut self, victims: &mut Vec<usize>) {
        for id in self.pages.drain_released() {
            victims.push(page_of(&self.chunk_of, id));
        }
    }

    /// Remove `page` from the policy: the program unmapped or discarded it, or it was evicted along
    /// with its chunk.
    pub fn forget(&mut self, page: usize) {
        if let Some(id) = self.known(page) {
            self.pages.forget_page(id, !RESIDENT);
            self.policy.as_dyn_mut().forget(id);
        }
    }

    /// Release the number of `chunk`, whose pages must all have been forgotten.
    pub fn release_chunk(&mut self, chunk: usize) {
        if self.number[chunk] != 0 {
            self.unused.push(self.number[chunk] - 1);
            self.number[chunk] = 0;
        }
    }
}

/// The page with number `id`. `chunk_of` is indexed by the number of a chunk.
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
    fn fifo_evicts_in_order_across_rebuilds() {
        let mut frames = fifo(3);
        let mut victims = Vec::new();
        // The tables are built for 16 chunks; one page in each of 100 chunks makes them grow.
        for chunk in 0..100 {
            frames.arrive(chunk * CHUNK + 7, 0, &mut victims);
        }
        assert_eq!(victims, (0..97).map(|c| c * CHUNK + 7).collect::<Vec<_>>());
        assert_eq!(frames.resident_count(), 3);
    }

    #[test]
    fn forgotten_pages_are_not_victims_and_chunk_numbers_are_reused() {
        let mut frames = fifo(3);
        let mut victims = Vec::new();
        for page in [1, 2, CHUNK] {
            frames.arrive(page, 0, &mut victims);
        }
        frames.forget(CHUNK);
        frames.release_chunk(1);
        frames.arrive(5 * CHUNK, 0, &mut victims); // Takes the released number.
        assert_eq!((victims.len(), frames.resident_count()), (0, 3));
        frames.arrive(3, 1, &mut victims); // One frame is taken by another page.
        assert_eq!(victims, [1, 2]);
    }

    #[test]
    fn policies_whose_signal_is_not_available_are_refused_with_the_reason() {
        for (key, reason) in [("lru", "every access"), ("clock", "reference bit")] {
            let error = accept(&PolicySpec::parse(key).unwrap()).unwrap_err().to_string();
            assert!(error.contains(reason) && error.contains(key), "{error}");
        }
    }
}
