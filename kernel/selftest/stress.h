/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef STRESS_H
#define STRESS_H

#include <pthread.h>
#include <stdatomic.h>

#include "selftest.h"

#define BLOCK_PAGES	32
/*
 * Pages that the watcher reads besides. QEMU sizes a processor's TLB by its use, and empties one of
 * less than 256 entries whenever any page is invalidated, so also when a page is swapped out.
 */
#define WATCHER_PAGES	160l
#define WORDS		(PAGE / 8)
#define ZERO_BLOCK	52	/* The kind of operation that fills a block with zeros, of 64 kinds. */

/*
 * A process's memory. A page's words: 0 its identity, 1 a version that writers
 * increment, 2 a count that any thread can increment at any time, WORDS - 2 the
 * version again, WORDS - 1 the identity's complement, the others random by
 * identity. The expected versions and counts are in locked memory.
 */
struct memory {
	int process;
	long pages;
	char *base;
	atomic_uint *versions;
	atomic_uint *counts;
	pthread_rwlock_t *locks;	/* of blocks: read-locked to read or to count */
	int disk;			/* for direct I/O; each process has its own part */
	int pagemap;			/* /proc/self/pagemap */
	uint64_t slots, slots_end;	/* page frames of /dev/nvm */
	atomic_long exposed;		/* first page of the block that is being dropped, or -1 */
	atomic_long zeroed;		/* first page of the block that is being filled with zeros, or -1 */
	atomic_long rounds;		/* of the watcher over such a block */
	atomic_bool finished;		/* ends the watcher */
	unsigned int favored;		/* the kind of every fourth operation, or 0 */
	bool stop;			/* the first bad page turns the machine off */
	atomic_long operations;
	atomic_long bad;
};

static inline _Atomic uint64_t *page_words(struct memory *m, long page)
{
	return (_Atomic uint64_t *)(m->base + page * PAGE);
}

static inline uint64_t page_identity(struct memory *m, long page)
{
	return (uint64_t)(m->process + 1) << 32 | page;
}

void fill_page(struct memory *m, long page);
/* Report a page with wrong content; exact also checks the count. */
void check_page(struct memory *m, long page, bool exact, const char *where);
void report_bad(struct memory *m, long page, const char *where, int word, uint64_t found);

/*
 * A thread that reads the exposed block again and again, so that its processor's TLB has the pages
 * while they are unmapped.
 */
void *watch(void *memory);
/*
 * A thread that swaps out other pages meanwhile, into the slots that are freed, and that reads the
 * block that is being filled with zeros.
 */
void *refill(void *memory);

/* Perform one random operation. */
void stress_operation(struct memory *m, uint64_t random, char *scratch);

#endif
