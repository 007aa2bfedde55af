//! Cases worked by hand.

use super::*;

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
    assert_eq!([0, 5, CHUNK, CHUNK + 2].map(|page| World::slot(&home, page)), [2 * CHUNK, 2 * CHUNK + 5, 0, 2]);
}

#[test]
fn the_policy_drops_forgotten_pages_and_empty_ranges_have_no_state() {
    static STATS: Stats = Stats::new();
    let mut world = World::new(64, 8, &STATS).unwrap();
    assert!(world.can_start_thread() && !world.needs_pager_thread());
    let start = world.spans.reserved().start;
    let open = Span::Managed(crate::spans::Attributes { prot: memory::READ_WRITE, ..Default::default() });
    world.spans.set(start..start + 9, open);
    assert!(world.needs_pager_thread() && world.managed_bytes() == 9 * PAGE);
    assert_eq!(world.attributes(&(start..start + 9)).map(|a| a.prot), Some(memory::READ_WRITE));
    assert_eq!(world.managed(start..start + 10), [(start..start + 9, memory::READ_WRITE)]);
    assert_eq!([start..start + 10, start + 9..start + 10].map(|range| world.attributes(&range)), [None, None]);
    assert!(!world.is_foreign(&(start - 1..start + 1)) && world.is_foreign(&(0..16)));
    let policy = swaplab_policy::PolicySpec::parse("fifo").unwrap();
    let costs = swaplab_policy::Costs { swap_read_ns: 1, swap_write_ns: 1, file_read_ns: 1, file_write_ns: 1 };
    world.frames = Some(Frames::new(policy, 8, costs).unwrap());
    assert!(!world.can_start_thread());
    let mut victims = Vec::new();
    for page in start..start + 4 {
        world.frames().arrive(page, 0, &mut victims);
        world.state[page] = KNOWN | REMEMBERED | PAGED | SEEN;
    }
    world.forget(start + 1..start + 3);
    assert_eq!((world.frames().resident_count(), victims.len()), (2, 0));
    assert_eq!(
        [start, start + 1, start + 2].map(|page| world.state[page]),
        [KNOWN | REMEMBERED | PAGED | SEEN, PAGED | SEEN, PAGED | SEEN]
    );
    world.gates.set(start..start + 4, Gate::Open);
    world.empty(start..start + 3);
    assert_eq!(
        (world.frames().resident_count(), [start, start + 3].map(|page| world.state[page])),
        (1, [0, KNOWN | REMEMBERED | PAGED | SEEN])
    );
    assert_eq!([start, start + 3].map(|page| world.gates.at(page)), [Gate::Unseen, Gate::Open]);
}

/// The blocks of the file behind a chunk's home are freed, and no others.
#[test]
fn the_home_of_an_unused_chunk_is_released_with_its_blocks() {
    static STATS: Stats = Stats::new();
    const BLOCKS: u64 = (CHUNK * PAGE / 512) as u64;
    let file = rustix::fs::memfd_create(c"test", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    rustix::io::pwrite(&file, &vec![1; 3 * CHUNK * PAGE], 0).unwrap();
    let blocks = || rustix::fs::fstat(&file).unwrap().st_blocks as u64;
    assert_eq!(blocks(), 3 * BLOCKS);
    let mut world = World::new(64, 8, &STATS).unwrap();
    let mirror = own::map_file(&file, 3 * CHUNK * PAGE).unwrap();
    // SAFETY: zero is a u32.
    let mut home: Sparse<u32> = unsafe { Sparse::new(PAGES / CHUNK) }.unwrap();
    let chunk = world.spans.reserved().start.div_ceil(CHUNK);
    (home[chunk], home[chunk + 1]) = (2, 3);
    let homes = Homes { next: 3, free: Vec::new(), frozen: Vec::new(), limit: 3, reserved: false };
    world.backing = Backing::Direct { mirror, home, homes };
    world.state[(chunk + 1) * CHUNK + 7] = OUT;
    world.release_chunk(chunk);
    world.release_chunk(chunk + 1);
    let Backing::Direct { home, homes, .. } = &world.backing else { panic!() };
    assert_eq!((home[chunk], home[chunk + 1], &homes.free[..], blocks()), (0, 3, &[2][..], 2 * BLOCKS));
}

#[test]
fn adopted_memory_has_the_protection_of_its_mapping_and_replaces_what_was_there() {
    static STATS: Stats = Stats::new();
    let mut world = World::new(64, 8, &STATS).unwrap();
    let start = world.spans.reserved().start;
    world.spans.set(start..start + 4, Span::Managed(crate::spans::Attributes { locked: true, ..Default::default() }));
    world.state[start + 1] = SEEN | CLEAN;
    for locked in [false, true] {
        world.lock_new = locked;
        world.adopt(start..start + 4, memory::READ_WRITE);
        let adopted = crate::spans::Attributes { prot: memory::READ_WRITE, locked, ..Default::default() };
        assert_eq!((world.spans.at(start + 3), world.state[start + 1]), (Span::Managed(adopted), 0));
    }
}
