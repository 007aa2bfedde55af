// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures the first access to swapped-out pages: a process writes `pages`
 * pages, swaps them out by MADV_PAGEOUT, and accesses each once, with one fault
 * each. With QEMU's instruction clock, a nanosecond is an instruction.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "selftest.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

static volatile uint64_t *page_at(char *memory, long i)
{
	return (uint64_t *)(memory + i * PAGE);
}

/* All pages differ; 200 of their 512 words are random, so that zram has to compress them. */
void fill(char *memory, long pages)
{
	for (long i = 0; i < pages; i++)
		for (long k = 0; k < PAGE / 8; k++)
			page_at(memory, i)[k] = k < 200 ? mix(i << 16 | k) : (uint64_t)i;
}

/* Returns ns per page of MADV_PAGEOUT. */
static double page_out(char *memory, long pages)
{
	long before = counter("/proc/vmstat", "pswpout");
	uint64_t start = now_ns();
	char bytes[32];
	int fd;

	if (madvise(memory, pages * PAGE, MADV_PAGEOUT))
		fail("MADV_PAGEOUT");
	start = now_ns() - start;
	usleep(500000);		/* Write-back must not overlap with the measurement. */
	/* Reclaim the pages that an asynchronous device has written, which are still in the swap cache. */
	snprintf(bytes, sizeof(bytes), "%ld", pages * PAGE);
	fd = open(GROUP "/memory.reclaim", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || (write(fd, bytes, strlen(bytes)) < 0 && errno != EAGAIN))
		fail("memory.reclaim");
	close(fd);
	before = counter("/proc/vmstat", "pswpout") - before;
	if (before < pages)
		fail("only %ld of %ld pages were swapped out", before, pages);
	return (double)start / pages;
}

/* Access one word of each page: write to write_percent of the pages, read the others. Returns ns per page. */
double touch(char *memory, long pages, unsigned int write_percent)
{
	uint64_t start = now_ns(), found = 0, expected = 0;

	for (long i = 0; i < pages; i++)
		if (mix(i) % 100 < write_percent)
			page_at(memory, i)[300] = i;
		else
			found += page_at(memory, i)[300];
	start = now_ns() - start;
	for (long i = 0; i < pages; i++)
		if (mix(i) % 100 >= write_percent)
			expected += i;
	if (found != expected)
		fail("a page's content changed");
	return (double)start / pages;
}

void set_up_swap(void)
{
	const char *swap = option_string("swap", "nvm");
	char device[32];

	set_file("/proc/sys/vm/page-cluster", "0");
	set_file("/proc/sys/vm/swappiness", "100");
	if (!strcmp(swap, "none"))
		return;
	if (!strcmp(swap, "zram")) {
		set_file("/sys/block/zram0/comp_algorithm", option_string("algorithm", "lz4"));
		set_file("/sys/block/zram0/disksize", option_string("zram_bytes", "128M"));
	}
	snprintf(device, sizeof(device), "/dev/%s%s", swap, strcmp(swap, "zram") ? "" : "0");
	swap_on(device);
}

void test_micro(void)
{
	static const unsigned int shares[] = { 0, 20, 50, 100 };
	const char *swap = option_string("swap", "nvm");
	long pages = option("pages", 4096), maps, copies, refaults;
	char *memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	double away, first_read, write_after_read, resident_read;

	set_up_swap();
	join_group();
	madvise(memory, pages * PAGE, MADV_NOHUGEPAGE);
	fill(memory, pages);
	/* The first round is a warm-up for the kernel's caches: swap maps, page tables, slabs. */
	for (int round = 0; round < 2; round++) {
		away = page_out(memory, pages);
		maps = counter("/proc/vmstat", "swap_direct_map");
		copies = counter("/proc/vmstat", "swap_direct_copy");
		refresh_counters();
		refaults = counter("/proc/vmstat", "workingset_refault_anon");
		first_read = touch(memory, pages, 0);
		maps = counter("/proc/vmstat", "swap_direct_map") - maps;
		if (option("need_direct", 0)) {
			expect(counter("/proc/self/smaps_rollup", "SwapDirect:") == pages * 4, "smaps shows the slots");
			expect(counter("/proc/self/smaps_rollup", "Swap:") == 0, "smaps does not show them as Swap");
			expect(counter("/proc/self/status", "VmSwap:\t") == 0, "VmSwap agrees");
			expect(file_number(GROUP "/memory.swap.current") >= pages * PAGE, "the group is charged swap");
			expect(file_number(GROUP "/memory.current") < pages * PAGE / 2, "and no memory");
		}
		write_after_read = touch(memory, pages, 100);
		copies = counter("/proc/vmstat", "swap_direct_copy") - copies;
		refresh_counters();
		refaults = counter("/proc/vmstat", "workingset_refault_anon") - refaults;
		resident_read = touch(memory, pages, 0);
	}
	printf("micro swap %s away %.0f first_read %.0f write_after_read %.0f resident_read %.0f ns/page, mapped %ld copied %ld refaults %ld of %ld\n",
	       swap, away, first_read, write_after_read, resident_read, maps, copies, refaults, pages);
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		page_out(memory, pages);
		printf("micro swap %s writes %u %% first_touch %.0f ns/page\n", swap, shares[i],
		       touch(memory, pages, shares[i]));
		touch(memory, pages, 100);	/* Copy pages that are mapped in place, so that they can be swapped out again. */
	}
	expect(refaults >= pages, "what comes back after a swap-out is a refault");
	if (option("need_direct", 0))
		expect(maps == pages && copies == pages, "every read maps, every write copies");
	munmap(memory, pages * PAGE);
}
