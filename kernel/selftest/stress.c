// SPDX-License-Identifier: GPL-2.0-only
/*
 * The stress test: processes with several threads use memory that nearly fills
 * the swap device, in a control group with a lower limit, while swap is turned
 * off and on. All operations check the pages' content. At the end no slot may
 * be in use. Options: processes=, threads=, mb= (of each process), limit_mb=
 * (of the group), operations= (of each thread), swapoffs=, swapoff_after=
 * (pages swapped in or mapped since the last swapoff), seed=, need_direct=1,
 * promote_ms= (scans for pages to promote, default none), zeros=1 (every
 * fourth operation fills a block with zeros), stop=1 (the first bad page turns
 * the machine off).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/swap.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stress.h"

struct thread {
	struct memory *memory;
	uint64_t seed;
	long operations;
};

static void *work(void *argument)
{
	struct thread *t = argument;
	char *scratch = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mlock(scratch, PAGE);
	for (long i = 0; i < t->operations; i++) {
		t->seed = mix(t->seed);
		stress_operation(t->memory, t->seed, scratch);
		atomic_fetch_add(&t->memory->operations, 1);
	}
	munmap(scratch, PAGE);
	return NULL;
}

static void *locked(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || mlock(memory, bytes))
		fail("no memory for the stress");
	return memory;
}

/* Run one process of the stress test; returns whether a page was bad, its exit status. */
static int run_process(int process, long operations)
{
	struct memory m = { .process = process, .pages = option("mb", 20) * 256 };
	long threads = option("threads", 3);
	pthread_t handles[16], watcher, refiller;
	struct thread workers[16];

	m.base = mmap(NULL, m.pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(m.base, m.pages * PAGE, MADV_NOHUGEPAGE);
	m.versions = locked(m.pages * sizeof(*m.versions));
	m.counts = locked(m.pages * sizeof(*m.counts));
	m.locks = locked(m.pages / BLOCK_PAGES * sizeof(*m.locks));
	m.disk = open("/dev/ram0", O_RDWR | O_DIRECT | O_CLOEXEC);
	m.pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	m.exposed = -1;
	m.zeroed = -1;
	m.favored = option("zeros", 0) ? ZERO_BLOCK : 0;
	m.stop = option("stop", 0);
	m.slots = option("swaplab.base_kib", 0) / 4;
	m.slots_end = m.slots + option("swaplab.nvm_kib", 0) / 4;
	for (long i = 0; i < m.pages / BLOCK_PAGES; i++)
		pthread_rwlock_init(&m.locks[i], NULL);
	for (long i = 0; i < m.pages; i++)
		fill_page(&m, i);
	for (long i = 0; i < threads; i++) {
		workers[i] = (struct thread){ &m, mix(option("seed", 1) * 1000 + process * 16 + i), operations };
		pthread_create(&handles[i], NULL, work, &workers[i]);
	}
	pthread_create(&watcher, NULL, watch, &m);
	pthread_create(&refiller, NULL, refill, &m);
	for (long i = 0; i < threads; i++)
		pthread_join(handles[i], NULL);
	m.finished = true;
	pthread_join(watcher, NULL);
	pthread_join(refiller, NULL);
	for (long i = 0; i < m.pages; i++)
		check_page(&m, i, true, "end");
	if (m.operations != threads * operations)
		report_bad(&m, 0, "operations", 0, m.operations);
	return m.bad != 0;
}

static void limit_group(const char *limit)
{
	/* memory.high, not memory.max: if reclaim is too slow, tasks are delayed and not killed. */
	set_file(GROUP "/memory.high", limit);
}

/* Turn swap off while slots are mapped, without a memory limit meanwhile, and on again. */
static void cycle_swap(const char *device, const char *limit, long *unmapped)
{
	long mapped = counter("/proc/vmstat", "nr_swap_direct");

	limit_group("max");
	if (swapoff(device))
		fail("swapoff %s: %s", device, strerror(errno));
	refresh_counters();
	if (counter("/proc/vmstat", "nr_swap_direct") > 0)
		fail("%ld slots are in use after swapoff", counter("/proc/vmstat", "nr_swap_direct"));
	*unmapped += mapped > 0 ? mapped : 0;
	if (swapon(device, 0))
		fail("swapon %s: %s", device, strerror(errno));
	limit_group(limit);
}

/* The number of pages that were swapped in or mapped in place so far. */
static long came_back(void)
{
	long maps = counter("/proc/vmstat", "swap_direct_map");

	return counter("/proc/vmstat", "pswpin") + (maps > 0 ? maps : 0);
}

static void check_left_over(const char *device)
{
	long left;

	refresh_counters();
	left = counter("/proc/vmstat", "nr_swap_direct");

	printf("left before the last swapoff: slots in the swap cache %ld, memory.swap.current %ld, %s\n",
	       left, file_number(GROUP "/memory.swap.current"), strrchr(file_text("/proc/swaps"), '/'));
	if (swapoff(device))
		fail("the last swapoff: %s", strerror(errno));
	refresh_counters();
	if (counter("/proc/vmstat", "nr_swap_direct") > 0)
		fail("slots left in the swap cache: %ld", counter("/proc/vmstat", "nr_swap_direct"));
	if (file_number(GROUP "/memory.swap.current") != 0)
		fail("memory.swap.current %ld at the end", file_number(GROUP "/memory.swap.current"));
	if (counter("/proc/meminfo", "AnonPages:") > 4096)
		fail("AnonPages %ld kB at the end", counter("/proc/meminfo", "AnonPages:"));
}

void test_stress(void)
{
	static const char *const counters[] = {
		"pswpout", "swpout_zero", "pswpin", "swpin_zero", "swap_direct_map", "swap_direct_copy", "swap_direct_free",
		"workingset_refault_anon", "workingset_nodereclaim", "pgmajfault", "pgsteal_direct", "pgsteal_kswapd", "oom_kill",
	};
	long processes = option("processes", 4), swapoffs = option("swapoffs", 3), unmapped = 0, running, copies, missing;
	long at_last_swapoff = 0, free_kb, least_free_kb = LONG_MAX;
	const char *swap = option_string("swap", "nvm");
	char device[32], limit[32];
	pid_t children[16];
	int status;

	set_up_swap();
	if (option("promote_ms", 0))
		set_file("/proc/sys/vm/swap_direct_promote_ms", option_string("promote_ms", "0"));
	snprintf(device, sizeof(device), "/dev/%s%s", swap, strcmp(swap, "zram") ? "" : "0");
	join_group();
	snprintf(limit, sizeof(limit), "%ldM", option("limit_mb", 48));
	limit_group(limit);
	for (long i = 0; i < processes; i++) {
		children[i] = fork();
		if (!children[i])
			_exit(run_process(i, option("operations", 2000)));
	}
	for (running = processes; running; ) {
		pid_t child = waitpid(-1, &status, WNOHANG);

		if (child > 0) {
			running--;
			if (status)
				fail("a process ended with status %#x", status);
			continue;
		}
		free_kb = counter("/proc/meminfo", "SwapFree:");
		if (free_kb < least_free_kb && free_kb >= 0)
			least_free_kb = free_kb;
		if (!swapoffs || came_back() - at_last_swapoff < option("swapoff_after", 2000)) {
			usleep(5000);
		} else {
			cycle_swap(device, limit, &unmapped);
			at_last_swapoff = came_back();
			swapoffs--;
		}
	}
	refresh_counters();
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		printf("%s %ld ", counters[i], counter("/proc/vmstat", counters[i]));
	printf("unmapped_by_swapoff %ld least_free_kb %ld\n", unmapped, least_free_kb);
	expect(counter("/proc/vmstat", "pswpout") > 1000, "the stress swapped out");
	expect(counter("/proc/vmstat", "swpout_zero") > 32, "zero-filled pages too, more than one block");
	expect(counter("/proc/vmstat", "oom_kill") == 0, "nothing was killed");
	copies = counter("/proc/vmstat", "swap_direct_copy");
	missing = counter("/proc/vmstat", "pswpin") + counter("/proc/vmstat", "swpin_zero") +
		  (copies > 0 ? copies : 0) - counter("/proc/vmstat", "workingset_refault_anon");
	/* A node of 64 shadow entries that the kernel gave up for memory loses their refaults. */
	if (missing < 0 || missing > 64 * counter("/proc/vmstat", "workingset_nodereclaim"))
		fail("%ld swap-ins and copies are no refaults", missing);
	if (option("need_direct", 0)) {
		expect(counter("/proc/vmstat", "swap_direct_map") > 1000, "slots were mapped");
		expect(copies > 1000, "slots were copied");
		expect(!option("swapoffs", 3) || unmapped > 0, "swapoff found mapped slots");
	}
	check_left_over(device);
}
