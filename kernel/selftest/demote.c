// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures what `micro` does where reclaim demotes pages to a slower NUMA node
 * instead of swapping them out: a process writes `pages` pages, reclaim demotes
 * them, and the process accesses each once; then hint faults promote them. Needs
 * CONFIG_NUMA, a machine with two nodes (run.sh, NODES=2), and the devices'
 * memory for the node: swaplab.nvm_kib=0 swaplab.flash_kib=0.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "selftest.h"

#ifndef MADV_COLD
#define MADV_COLD 20
#endif

#define NODE_KIB	(128l << 10)
#define SCHED		"/sys/kernel/debug/sched/numa_balancing/"

static long demoted(void)
{
	refresh_counters();
	return counter("/proc/vmstat", "pgdemote_direct") + counter("/proc/vmstat", "pgdemote_kswapd");
}

static void add_slow_node(void)
{
	int fd = open("/slow_node.ko", O_RDONLY | O_CLOEXEC);
	char parameters[64];

	/* Movable only, as an administrator would set it for a device's memory. */
	set_file("/sys/devices/system/memory/auto_online_blocks", "online_movable");
	snprintf(parameters, sizeof(parameters), "start_kib=%ld kib=%ld", option("swaplab.base_kib", 0), NODE_KIB);
	if (fd < 0 || syscall(SYS_finit_module, fd, parameters, 0))
		fail("insmod slow_node.ko %s: %s", parameters, strerror(errno));
	close(fd);
	set_file("/sys/kernel/mm/numa/demotion_enabled", "1");
}

/* Demote all pages. Returns ns per page. */
static double demote(char *memory, long pages)
{
	long before = demoted();
	uint64_t start;
	char bytes[32];
	int fd;

	madvise(memory, pages * PAGE, MADV_COLD);
	start = now_ns();
	for (int i = 0; i < 8 && demoted() - before < pages; i++) {
		snprintf(bytes, sizeof(bytes), "%ld", (pages - (demoted() - before)) * PAGE);
		fd = open(GROUP "/memory.reclaim", O_WRONLY | O_CLOEXEC);
		if (fd < 0 || (write(fd, bytes, strlen(bytes)) < 0 && errno != EAGAIN))
			fail("memory.reclaim: %s", strerror(errno));
		close(fd);
	}
	start = now_ns() - start;
	before = demoted() - before;
	if (before < pages)
		fail("only %ld of %ld pages were demoted", before, pages);
	return (double)start / pages;
}

static void spin(uint64_t ns)
{
	for (uint64_t start = now_ns(); now_ns() - start < ns; )
		;
}

/* Touch the pages while the kernel scans for hot ones, until it promotes no more. */
static void promote(char *memory, long pages)
{
	long before, promoted = 0, now;
	double ns = 0, resident = touch(memory, pages, 0), pass;

	mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	set_file(SCHED "scan_delay_ms", "1");
	set_file(SCHED "scan_period_min_ms", "10");
	set_file("/proc/sys/kernel/numa_balancing", "2");
	refresh_counters();
	before = counter("/proc/vmstat", "pgpromote_success");
	for (int i = 0; i < 400 && promoted < pages; i++) {
		spin(20000000);		/* ticks, after which the kernel scans */
		pass = touch(memory, pages, 0);
		refresh_counters();
		now = counter("/proc/vmstat", "pgpromote_success") - before;
		if (now > promoted)
			ns += (pass - resident) * pages;
		promoted = now;
	}
	set_file("/proc/sys/kernel/numa_balancing", "0");
	printf("demote promoted %ld of %ld, %.0f ns each\n", promoted, pages, promoted ? ns / promoted : 0);
	expect(promoted > pages / 2, "hint faults promote pages");
}

void test_demote(void)
{
	static const unsigned int shares[] = { 0, 20, 50, 100 };
	long pages = option("pages", 4096);
	double away = 0, first_read = 0, write_after_read = 0, resident_read = 0;
	char *memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	set_file("/proc/sys/vm/swappiness", "100");
	add_slow_node();
	join_group();
	madvise(memory, pages * PAGE, MADV_NOHUGEPAGE);
	for (int round = 0; round < 2; round++) {
		/* New pages, which are in DRAM. */
		madvise(memory, pages * PAGE, MADV_DONTNEED);
		fill(memory, pages);
		away = demote(memory, pages);
		first_read = touch(memory, pages, 0);
		write_after_read = touch(memory, pages, 100);
		resident_read = touch(memory, pages, 0);
	}
	printf("demote away %.0f first_read %.0f write_after_read %.0f resident_read %.0f ns/page, memory.current %ld\n",
	       away, first_read, write_after_read, resident_read, file_number(GROUP "/memory.current"));
	expect(file_number(GROUP "/memory.current") >= pages * PAGE, "a demoted page is still charged");
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		madvise(memory, pages * PAGE, MADV_DONTNEED);
		fill(memory, pages);
		demote(memory, pages);
		printf("demote writes %u %% first_touch %.0f ns/page\n", shares[i], touch(memory, pages, shares[i]));
	}
	promote(memory, pages);
	munmap(memory, pages * PAGE);
}
