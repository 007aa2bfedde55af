// SPDX-License-Identifier: GPL-2.0-only
/*
 * Promotion of hot slots: all of PAGES pages are read once from swap, then a
 * quarter of them, whole, again and again. With promote_ms= the kernel looks
 * for such pages in that interval; without it, none may be copied.
 * Options: pages=, rounds=, promote_ms=.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "selftest.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

static uint64_t read_whole(volatile uint64_t *memory, long pages)
{
	uint64_t sum = 0;

	for (long i = 0; i < pages * PAGE / 8; i += 8)	/* a word of each line */
		sum += memory[i];
	return sum;
}

void test_promote(void)
{
	long pages = option("pages", 4096), hot = pages / 4, rounds = option("rounds", 20);
	long promote_ms = option("promote_ms", 0), copies, maps;
	uint64_t *memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t start, took = 0, expected = 0;
	char text[16];

	set_up_swap();
	madvise(memory, pages * PAGE, MADV_NOHUGEPAGE);
	for (long i = 0; i < pages * PAGE / 8; i++)
		memory[i] = mix(i);
	for (long i = 0; i < hot * PAGE / 8; i += 8)
		expected += mix(i);
	if (madvise(memory, pages * PAGE, MADV_PAGEOUT))
		fail("MADV_PAGEOUT");
	if (promote_ms) {
		snprintf(text, sizeof(text), "%ld", promote_ms);
		set_file("/proc/sys/vm/swap_direct_promote_ms", text);
	}
	maps = counter("/proc/vmstat", "swap_direct_map");
	copies = counter("/proc/vmstat", "swap_direct_copy");
	read_whole(memory, pages);
	for (long i = 0; i < rounds; i++) {
		usleep((promote_ms ? promote_ms : 10) * 1000);
		start = now_ns();
		if (read_whole(memory, hot) != expected)
			fail("a page's content changed");
		took += now_ns() - start;
	}
	copies = counter("/proc/vmstat", "swap_direct_copy") - copies;
	printf("promote every %ld ms: %ld pages mapped, %ld of %ld hot ones copied, %lu ns a round\n", promote_ms,
	       counter("/proc/vmstat", "swap_direct_map") - maps, copies, hot, (unsigned long)(took / rounds));
	expect(promote_ms ? copies >= hot : !copies, "hot slots are copied where promotion is on, and only there");
	expect(copies < pages / 2, "cold slots stay mapped");
}
