//! Cases worked by hand.

use super::*;
use rustix::fd::OwnedFd;

/// Memory of 64 pages, of which none is managed yet, and its first page.
fn empty_memory() -> (ManagedMemory, usize) {
    let managed = ManagedMemory::new(64, 8, Box::leak(Box::new(Stats::new()))).unwrap();
    let start = managed.spans.reserved().start;
    (managed, start)
}

/// Memory over a file of `limit` homes full of ones. The chunks from the returned one on have the
/// homes `of_chunks`; the homes `frozen` are only read by a child.
fn with_homes(limit: u32, of_chunks: &[u32], frozen: Vec<u32>) -> (ManagedMemory, usize, OwnedFd) {
    let (mut managed, start) = empty_memory();
    let (len, chunk) = (limit as usize * CHUNK * PAGE, start.div_ceil(CHUNK));
    let file = rustix::fs::memfd_create(c"test", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    rustix::io::pwrite(&file, &vec![1; len], 0).unwrap();
    // SAFETY: zero is a u32.
    let mut home: Sparse<u32> = unsafe { Sparse::new(PAGES / CHUNK) }.unwrap();
    of_chunks.iter().enumerate().for_each(|(at, number)| home[chunk + at] = *number);
    let homes = Homes { next: limit, free: Vec::new(), frozen, limit, reserved: false };
    managed.backing = Backing::Direct { mirror: own::map_file(&file, len).unwrap(), home, homes };
    (managed, chunk, file)
}

#[test]
fn homes_are_numbered_from_1_and_reused() {
    let mut homes = Homes { next: 0, free: Vec::new(), frozen: Vec::new(), limit: 2, reserved: false };
    assert_eq!([homes.take(), homes.take(), homes.take()], [Some(1), Some(2), None]);
    homes.free.push(1);
    assert_eq!([homes.take(), homes.take()], [Some(1), None]);
}

#[test]
fn slots_of_a_chunk_follow_one_another_in_its_home() {
    // SAFETY: zero is a u32.
    let mut home: Sparse<u32> = unsafe { Sparse::new(PAGES / CHUNK) }.unwrap();
    (home[0], home[1]) = (3, 1);
    assert_eq!([0, 5, CHUNK, CHUNK + 2].map(|page| ManagedMemory::slot(&home, page)), [2 * CHUNK, 2 * CHUNK + 5, 0, 2]);
}

#[test]
fn the_policy_drops_forgotten_pages_and_empty_ranges_have_no_state() {
    let (mut managed, start) = empty_memory();
    assert!(managed.can_start_thread() && !managed.needs_pager_thread());
    let open = Span::Managed(crate::spans::Attributes { prot: memory::READ_WRITE, ..Default::default() });
    managed.spans.set(start..start + 9, open);
    assert!(managed.needs_pager_thread() && managed.managed_bytes() == 9 * PAGE);
    assert_eq!(managed.attributes(&(start..start + 9)).map(|a| a.prot), Some(memory::READ_WRITE));
    assert_eq!(managed.managed_pieces(start..start + 10), [(start..start + 9, memory::READ_WRITE)]);
    assert_eq!([start..start + 10, start + 9..start + 10].map(|range| managed.attributes(&range)), [None, None]);
    assert!(!managed.is_foreign(&(start - 1..start + 1)) && managed.is_foreign(&(0..16)));
    let policy = swaplab_policy::PolicySpec::parse("fifo").unwrap();
    let costs = swaplab_policy::Costs { swap_read_ns: 1, swap_write_ns: 1, file_read_ns: 1, file_write_ns: 1 };
    managed.frames = Some(Frames::new(policy, 8, costs).unwrap());
    assert!(!managed.can_start_thread());
    let mut victims = Vec::new();
    for page in start..start + 4 {
        managed.frames().arrive(page, 0, &mut victims);
        managed.state[page] = KNOWN | REMEMBERED | PAGED | SEEN;
    }
    managed.forget(start + 1..start + 3);
    assert_eq!((managed.frames().resident_count(), victims.len()), (2, 0));
    assert_eq!(
        [start, start + 1, start + 2].map(|page| managed.state[page]),
        [KNOWN | REMEMBERED | PAGED | SEEN, PAGED | SEEN, PAGED | SEEN]
    );
    managed.gates.set(start..start + 4, Gate::Open);
    managed.empty(start..start + 3);
    assert_eq!(
        (managed.frames().resident_count(), [start, start + 3].map(|page| managed.state[page])),
        (1, [0, KNOWN | REMEMBERED | PAGED | SEEN])
    );
    assert_eq!([start, start + 3].map(|page| managed.gates.at(page)), [Gate::Unseen, Gate::Open]);
    // A child keeps the slots of its parent's file.
    managed.mode = Mode::Child;
    managed.state[start + 2] = PAGED | OUT | SEEN | CLEAN | SLOT;
    managed.empty(start + 2..start + 3);
    assert_eq!(managed.state[start + 2], SLOT);
}

#[test]
fn pages_that_are_out_are_listed_by_address() {
    let (mut managed, start) = empty_memory();
    managed.spans.set(start..start + 9, Span::Managed(crate::spans::Attributes::default()));
    for (page, state) in [(2, PAGED | OUT), (3, KNOWN), (5, OUT | SEEN), (9, OUT)] {
        managed.state[start + page] = state;
    }
    assert_eq!(managed.out_pages(), [2, 5].map(|page| (start + page) * PAGE));
}

#[test]
fn all_memory_is_locked_and_unlocked_again_if_the_call_fails() {
    let (mut managed, start) = empty_memory();
    let attributes = |locked| crate::spans::Attributes { locked, ..Default::default() };
    managed.spans.set(start..start + 2, Span::Managed(attributes(false)));
    managed.spans.set(start + 2..start + 4, Span::Managed(attributes(true)));
    let before = managed.lock_all(true);
    assert_eq!((before.0.as_slice(), before.1, managed.lock_new), (std::slice::from_ref(&(start..start + 2)), false, true));
    assert_eq!(managed.spans.at(start), Span::Managed(attributes(true)));
    managed.unlock_all(before);
    assert_eq!((managed.spans.at(start), managed.lock_new), (Span::Managed(attributes(false)), false));
    assert_eq!(managed.spans.at(start + 2), Span::Managed(attributes(true)), "it was locked before");
}

#[test]
fn memory_is_disowned_unless_some_of_it_is_in_the_store() {
    let (mut managed, start) = empty_memory();
    managed.spans.set(start..start + 4, Span::Managed(crate::spans::Attributes::default()));
    managed.state[start + 3] = PAGED;
    assert!(!managed.disown(start + 2..start + 4) && managed.spans.at(start + 2).is_managed());
    assert!(managed.disown(start..start + 2) && managed.is_foreign(&(start..start + 2)));
}

#[test]
fn memory_is_refused_only_once_the_store_is_full() {
    let (mut managed, _) = empty_memory();
    assert!(!managed.refuses() && !managed.refused);
    managed.exhausted = true;
    assert!(managed.refuses() && managed.refused && managed.refuses());
}

/// Of a chunk with a home: a page that was frozen for a child alone loses its slot, one that is
/// still mapped from it keeps it. Both are thawed, and a home that only a child read is free again.
#[test]
fn slots_that_were_kept_for_a_child_are_cleared() {
    let (mut managed, chunk, file) = with_homes(2, &[1], vec![2]);
    let page = chunk * CHUNK;
    for (at, state) in [PAGED | SLOT | FROZEN, SLOT | FROZEN, SLOT, PAGED | SLOT].into_iter().enumerate() {
        managed.state[page + at] = state;
    }
    managed.thaw();
    assert_eq!([0, 1, 2, 3].map(|at| managed.state[page + at]), [PAGED | SLOT, 0, SLOT, PAGED | SLOT]);
    let mut byte = [9];
    let mut byte_at = |at: usize| rustix::io::pread(&file, &mut byte, (at * PAGE) as u64).map(|_| byte[0]).unwrap();
    assert_eq!([0, 1, 2, CHUNK].map(&mut byte_at), [1, 0, 1, 0]);
    let Backing::Direct { home, homes, .. } = &managed.backing else { panic!() };
    assert_eq!((home[chunk], &homes.free[..], homes.frozen.is_empty()), (1, &[2][..], true));
}

/// The blocks of the file behind a chunk's home are freed, and no others.
#[test]
fn the_home_of_an_unused_chunk_is_released_with_its_blocks() {
    const BLOCKS: u64 = (CHUNK * PAGE / 512) as u64;
    let (mut managed, chunk, file) = with_homes(3, &[2, 3], Vec::new());
    let blocks = || rustix::fs::fstat(&file).unwrap().st_blocks as u64;
    assert_eq!(blocks(), 3 * BLOCKS);
    managed.state[(chunk + 1) * CHUNK + 7] = OUT;
    managed.release_chunk(chunk);
    managed.release_chunk(chunk + 1);
    let Backing::Direct { home, homes, .. } = &managed.backing else { panic!() };
    assert_eq!((home[chunk], home[chunk + 1], &homes.free[..], blocks()), (0, 3, &[2][..], 2 * BLOCKS));
}

#[test]
fn adopted_memory_has_the_protection_of_its_mapping_and_replaces_what_was_there() {
    let (mut managed, start) = empty_memory();
    managed.spans.set(start..start + 4, Span::Managed(crate::spans::Attributes { locked: true, ..Default::default() }));
    managed.state[start + 1] = SEEN | CLEAN;
    for locked in [false, true] {
        managed.lock_new = locked;
        managed.adopt(start..start + 4, memory::READ_WRITE);
        let adopted = crate::spans::Attributes { prot: memory::READ_WRITE, locked, ..Default::default() };
        assert_eq!((managed.spans.at(start + 3), managed.state[start + 1]), (Span::Managed(adopted), 0));
    }
}
