// SPDX-License-Identifier: GPL-2.0-only
/* The operations of the stress test: every kind of access to a page that may be mapped in place. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/reboot.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stress.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

void report_bad(struct memory *m, long page, const char *where, int word, uint64_t found)
{
	if (atomic_fetch_add(&m->bad, 1) < 5)
		printf("BAD %s: process %d page %ld word %d holds %#lx\n", where, m->process,
		       page, word, (unsigned long)found);
	if (m->stop) {		/* A defect is found, and what follows may hang. */
		fflush(stdout);
		reboot(RB_POWER_OFF);
	}
}

void fill_page(struct memory *m, long page)
{
	_Atomic uint64_t *words = page_words(m, page);
	uint64_t identity = page_identity(m, page), version = m->versions[page];

	for (int k = 3; k < WORDS - 2; k++)
		atomic_store_explicit(&words[k], mix(identity << 10 | k), memory_order_relaxed);
	words[0] = identity;
	words[1] = version;
	words[2] = m->counts[page];
	words[WORDS - 2] = version;
	words[WORDS - 1] = ~identity;
}

void check_page(struct memory *m, long page, bool exact, const char *where)
{
	_Atomic uint64_t *words = page_words(m, page);
	uint64_t identity = page_identity(m, page), version = m->versions[page], word;

	for (int k = 0; k < WORDS; k += k >= 3 && k < WORDS - 18 ? 13 : 1) {
		uint64_t expected = k == 0 ? identity :
			k == 1 || k == WORDS - 2 ? version :
			k == WORDS - 1 ? ~identity : mix(identity << 10 | k);

		if (k == 2 && !exact)
			continue;
		if (k == 2)
			expected = m->counts[page];
		word = words[k];
		if (word != expected)
			report_bad(m, page, where, k, word);
	}
}

static void lock_block(struct memory *m, long page, bool exclusive)
{
	pthread_rwlock_t *lock = &m->locks[page / BLOCK_PAGES];

	if (exclusive)
		pthread_rwlock_wrlock(lock);
	else
		pthread_rwlock_rdlock(lock);
}

static void unlock_block(struct memory *m, long page)
{
	pthread_rwlock_unlock(&m->locks[page / BLOCK_PAGES]);
}

static void write_version(struct memory *m, long page)
{
	_Atomic uint64_t *words = page_words(m, page);
	uint64_t version = atomic_fetch_add(&m->versions[page], 1) + 1;

	words[1] = version;
	words[WORDS - 2] = version;
}

/* Read without a lock: pages may be dropped meanwhile, but must never have another page's content. */
static void peek(struct memory *m, long page, int pages)
{
	uint64_t identity = page_identity(m, page);

	for (int i = 0; i < pages && page + i < m->pages; i++) {
		_Atomic uint64_t *words = page_words(m, page + i);
		uint64_t first = words[0], last = words[WORDS - 1];

		if (first && first != identity + i)
			report_bad(m, page + i, "peek", 0, first);
		if (last && last != ~(identity + i))
			report_bad(m, page + i, "peek", WORDS - 1, last);
	}
}

void *watch(void *memory)
{
	struct memory *m = memory;
	long first, last = sysconf(_SC_NPROCESSORS_ONLN) - 1;
	volatile char *others = mmap(NULL, WATCHER_PAGES * PAGE, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cpu_set_t processor;

	/*
	 * All watchers run on the last processor and are not preempted while they read: a switch to
	 * another address space empties the TLB that the defect needs.
	 */
	if (last > 0) {
		CPU_ZERO(&processor);
		CPU_SET(last, &processor);
		pthread_setaffinity_np(pthread_self(), sizeof(processor), &processor);
		pthread_setschedparam(pthread_self(), SCHED_FIFO, &(struct sched_param){ .sched_priority = 1 });
	}
	mlock((void *)others, WATCHER_PAGES * PAGE);
	while (!m->finished) {
		first = m->exposed;
		if (first < 0) {
			usleep(500);
			continue;
		}
		for (int i = 0; i < WATCHER_PAGES; i++)
			(void)others[i * PAGE];
		/* Few pages, so that none of them leaves the TLB, and a fault waits for the unmap to end. */
		peek(m, first, 2);
		atomic_fetch_add(&m->rounds, 1);
	}
	return NULL;
}

/* Count on a page: a write, so that it leaves its slot. */
static void count_on(struct memory *m, long page)
{
	lock_block(m, page, false);
	atomic_fetch_add(&page_words(m, page)[2], 1);
	atomic_fetch_add(&m->counts[page], 1);
	unlock_block(m, page);
}

void *refill(void *memory)
{
	struct memory *m = memory;
	uint64_t random = m->process;
	long first;

	while (!m->finished) {
		first = m->zeroed;
		if (first >= 0) {
			peek(m, first, BLOCK_PAGES);
			while (m->zeroed == first)
				usleep(500);
		}
		first = -1;
		while (m->exposed >= 0) {
			random = mix(random);
			first = random % (m->pages - 64);
			madvise(m->base + first * PAGE, 64 * PAGE, MADV_PAGEOUT);
		}
		/* Room for the next block, which has to get slots. */
		for (long i = first; first >= 0 && i < first + 64; i++)
			count_on(m, i);
		usleep(500);
	}
	return NULL;
}

/* Let the watcher read the block from now on; returns once it has, or after a while. */
static void expose(struct memory *m, long first)
{
	long rounds = m->rounds;

	m->exposed = first;
	for (int i = 0; i < 400 && (i < 20 || m->rounds < rounds + 2); i++)
		usleep(500);
}

/*
 * Threads that count on the same page and swap it out: while one copies the page for its write, the
 * others copy it, free its slot, swap it out and map it again. No count may be lost.
 */
static void contend(struct memory *m)
{
	long page = m->pages - 1;
	_Atomic uint64_t *words = page_words(m, page);

	lock_block(m, page, false);
	for (int i = 0; i < 8; i++) {
		madvise(words, PAGE, MADV_PAGEOUT);
		if (words[0] != page_identity(m, page))
			report_bad(m, page, "contend", 0, words[0]);
		atomic_fetch_add(&words[2], 1);
		atomic_fetch_add(&m->counts[page], 1);
	}
	unlock_block(m, page);
}

static void direct_io(struct memory *m, long page, char *scratch)
{
	off_t at = ((long)m->process * 256 + page % 256) * PAGE;
	char *address = m->base + page * PAGE;

	/* Other threads write their pages to the same blocks, so one thread at a time writes and reads back. */
	static pthread_mutex_t disk_lock = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&disk_lock);
	if (pwrite(m->disk, address, PAGE, at) != PAGE ||
	    pread(m->disk, scratch, PAGE, at) != PAGE)
		report_bad(m, page, "O_DIRECT write", 0, errno);
	if (memcmp(scratch, address, PAGE))
		report_bad(m, page, "O_DIRECT write", 0, ((uint64_t *)scratch)[0]);
	madvise(address, PAGE, MADV_PAGEOUT);
	if (pread(m->disk, address, PAGE, at) != PAGE)
		report_bad(m, page, "O_DIRECT read", 0, errno);
	pthread_mutex_unlock(&disk_lock);
	check_page(m, page, true, "O_DIRECT read");
}

static void remote_read(struct memory *m, long page, char *scratch)
{
	struct iovec local = { scratch, PAGE }, remote = { m->base + page * PAGE, PAGE };
	uint64_t *words = (uint64_t *)scratch;
	int fd;

	if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != PAGE)
		report_bad(m, page, "process_vm_readv", 0, errno);
	if (words[0] != page_identity(m, page) || words[WORDS - 2] != m->versions[page])
		report_bad(m, page, "process_vm_readv", 0, words[0]);
	fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	if (pread(fd, scratch, PAGE, (off_t)remote.iov_base) != PAGE ||
	    words[0] != page_identity(m, page) || words[WORDS - 2] != m->versions[page])
		report_bad(m, page, "/proc/self/mem", 0, words[0]);
	close(fd);
}

static void move_page(struct memory *m, long page)
{
	char *address = m->base + page * PAGE, *other;
	struct memory moved = *m;

	other = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mremap(address, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, other) != other) {
		report_bad(m, page, "mremap", 0, errno);
		return;
	}
	moved.base = other - page * PAGE;
	atomic_init(&moved.bad, 0);
	check_page(&moved, page, false, "mremap");
	atomic_fetch_add(&m->bad, moved.bad);
	if (mremap(other, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, address) != address)
		report_bad(m, page, "mremap back", 0, errno);
}

static void protect_page(struct memory *m, long page)
{
	char *address = m->base + page * PAGE;

	mprotect(address, PAGE, PROT_READ);
	check_page(m, page, true, "mprotect read");
	mprotect(address, PAGE, PROT_READ | PROT_EXEC);
	check_page(m, page, true, "mprotect exec");
	mprotect(address, PAGE, PROT_READ | PROT_WRITE);
	write_version(m, page);
	check_page(m, page, true, "mprotect write");
}

/*
 * Drop a whole block: a large batch of unmapped pages before the TLB flush. Until then the watcher
 * may read the pages, but not what another page writes into their slots.
 */
static void drop_block(struct memory *m, long page)
{
	long first = page / BLOCK_PAGES * BLOCK_PAGES, end = first + BLOCK_PAGES;

	madvise(m->base + first * PAGE, BLOCK_PAGES * PAGE, MADV_PAGEOUT);
	expose(m, first);
	/* All of it is mapped, so that much is unmapped before the flush. */
	peek(m, first, BLOCK_PAGES);
	if (madvise(m->base + first * PAGE, BLOCK_PAGES * PAGE, MADV_DONTNEED))
		report_bad(m, page, "MADV_DONTNEED", 0, errno);
	m->exposed = -1;
	for (long i = first; i < end; i++) {
		if (page_words(m, i)[0] || page_words(m, i)[WORDS - 1])
			report_bad(m, i, "MADV_DONTNEED", 0, page_words(m, i)[0]);
		fill_page(m, i);
	}
}

static void fork_block(struct memory *m, long page)
{
	long first = page / BLOCK_PAGES * BLOCK_PAGES;
	int status;
	pid_t child = fork();

	if (child == 0) {
		long before = m->bad;

		for (long i = first; i < first + BLOCK_PAGES; i++) {
			check_page(m, i, true, "fork child");
			if (i & 1)
				write_version(m, i);
			page_words(m, i)[2] = ~0ull;
		}
		madvise(m->base + first * PAGE, BLOCK_PAGES * PAGE, MADV_PAGEOUT);
		for (long i = first; i < first + BLOCK_PAGES; i++)
			check_page(m, i, false, "fork child after page-out");
		_exit(m->bad != before);
	}
	if (child < 0) {
		report_bad(m, page, "fork", 0, errno);
		return;
	}
	madvise(m->base + first * PAGE, BLOCK_PAGES * PAGE, MADV_PAGEOUT);
	for (long i = first; i < first + BLOCK_PAGES; i++) {
		check_page(m, i, true, "fork parent");
		if (i % 3 == 0)
			write_version(m, i);
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (status)
		report_bad(m, page, "fork child's verdict", 0, status);
	for (long i = first; i < first + BLOCK_PAGES; i++)
		check_page(m, i, true, "fork parent after the child");
}

/*
 * Zero-filled pages take a slot and are not written to it: others' content lies
 * there. Another thread reads the block meanwhile, so that it faults on entries
 * which are freed and become those of zero-filled pages.
 */
static void zero_block(struct memory *m, long page)
{
	long first = page / BLOCK_PAGES * BLOCK_PAGES;
	char *start = m->base + first * PAGE;

	madvise(start, BLOCK_PAGES * PAGE, MADV_PAGEOUT);
	m->zeroed = first;
	usleep(1000);
	memset(start, 0, BLOCK_PAGES * PAGE);
	madvise(start, BLOCK_PAGES * PAGE, MADV_PAGEOUT);
	usleep(30000);		/* until its fault has ended */
	m->zeroed = -1;
	for (long i = first; i < first + BLOCK_PAGES; i++) {
		for (int k = 0; k < WORDS; k++)
			if (page_words(m, i)[k]) {
				report_bad(m, i, "zero-filled", k, page_words(m, i)[k]);
				break;
			}
		fill_page(m, i);
	}
}

/* What a read-only mapping has in place is in memory once it is locked. */
static void lock_read_only(struct memory *m, long page)
{
	char *address = m->base + page * PAGE;
	uint64_t entry = 0;

	mprotect(address, PAGE, PROT_READ);
	madvise(address, PAGE, MADV_PAGEOUT);
	check_page(m, page, true, "mlock before");
	if (mlock(address, PAGE) ||
	    pread(m->pagemap, &entry, 8, (uintptr_t)address / PAGE * 8) != 8)
		report_bad(m, page, "mlock", 0, errno);
	entry &= (1ull << 55) - 1;
	if (entry >= m->slots && entry < m->slots_end)
		report_bad(m, page, "mlock leaves a slot mapped", 0, entry);
	check_page(m, page, true, "mlock after");
	munlock(address, PAGE);
	mprotect(address, PAGE, PROT_READ | PROT_WRITE);
}

/* A pipe keeps a reference to the page: its slot must stay what it was. */
static void hold_and_drop(struct memory *m, long page, char *scratch)
{
	struct iovec vector = { m->base + page * PAGE, PAGE };
	uint64_t old = m->versions[page];
	int ends[2];

	check_page(m, page, true, "vmsplice before");
	if (pipe2(ends, O_CLOEXEC) || vmsplice(ends[1], &vector, 1, 0) != PAGE) {
		report_bad(m, page, "vmsplice", 0, errno);
		return;
	}
	madvise(vector.iov_base, PAGE, MADV_DONTNEED);
	m->versions[page]++;
	fill_page(m, page);
	for (int i = 1; i <= 3; i++)	/* swap out other pages, which take free slots */
		madvise(m->base + (page + i * m->pages / 4) % (m->pages - 64) * PAGE, 64 * PAGE, MADV_PAGEOUT);
	if (read(ends[0], scratch, PAGE) != PAGE ||
	    ((uint64_t *)scratch)[0] != page_identity(m, page) ||
	    ((uint64_t *)scratch)[1] != old || ((uint64_t *)scratch)[WORDS - 2] != old ||
	    ((uint64_t *)scratch)[WORDS - 1] != ~page_identity(m, page))
		report_bad(m, page, "vmsplice after", 1, ((uint64_t *)scratch)[1]);
	close(ends[0]);
	close(ends[1]);
}

void stress_operation(struct memory *m, uint64_t random, char *scratch)
{
	long page = random % m->pages, run;
	unsigned int kind = m->favored && random >> 62 == 0 ? m->favored : (random >> 32) % 64;
	bool exclusive = kind >= 34 && kind < 58;

	if (kind >= 58) {	/* no lock */
		run = m->exposed;
		peek(m, run < 0 ? page : run, BLOCK_PAGES);
		return;
	}
	if (kind >= 22 && kind < 34) {
		run = m->pages - page < 128 ? m->pages - page : 128;
		/* EINVAL: another thread has locked a page of the range */
		if (madvise(m->base + page * PAGE, run * PAGE, MADV_PAGEOUT) && errno != EINVAL)
			report_bad(m, page, "MADV_PAGEOUT", 0, errno);
		return;
	}
	if (kind < 4) {
		contend(m);
		return;
	}
	lock_block(m, page, exclusive);
	if (kind < 14) {
		check_page(m, page, false, "read");
	} else if (kind < 18) {
		atomic_fetch_add(&page_words(m, page)[2], 1);
		atomic_fetch_add(&m->counts[page], 1);
	} else if (kind < 22) {
		remote_read(m, page, scratch);
	} else if (kind < 40) {
		check_page(m, page, true, "exact read");
		write_version(m, page);
	} else if (kind < 44) {
		direct_io(m, page, scratch);
	} else if (kind < 47) {
		move_page(m, page);
	} else if (kind < 50) {
		protect_page(m, page);
	} else if (kind < ZERO_BLOCK) {
		drop_block(m, page);
	} else if (kind == ZERO_BLOCK) {
		zero_block(m, page);
	} else if (kind < 55) {
		fork_block(m, page);
	} else if (kind < 57) {
		hold_and_drop(m, page, scratch);
	} else {
		lock_read_only(m, page);
		mlock(m->base + page * PAGE, PAGE);
		check_page(m, page, true, "mlock");
		munlock(m->base + page * PAGE, PAGE);
	}
	unlock_block(m, page);
}
