/* Random touches of a set of pages, which `benches.pager.run` times natively, on kernel swap and under the pager.
 * usage: touch SET_MIB TOUCHES WRITE_PERCENT THREADS [sequential | memcpy | bound DRAM_MIB]
 * Fills the set with repeated phrases of 8 to 24 bytes and noise between them, so that a page compresses to about 0.4 at the speed of
 * programs' pages (docs/decisions/0083). Then it touches random pages; each write increments a counter of the page, each read checks
 * one. Prints one line: seconds to fill, seconds to touch, page faults to fill and to touch, then processor seconds of the whole
 * process (including its pager, if any) to fill and to touch.
 * `sequential` instead reads the whole set in order TOUCHES times; `memcpy` copies TOUCHES cold random pages of the set.
 * `bound DRAM_MIB` touches pages too, and a second thread keeps at most DRAM_MIB of the set in DRAM as Direct Read does, by nothing but
 * the system calls of an eviction: it is told for nothing which pages are in DRAM, takes victims in order of their addresses (no worse
 * than any others here). A thread that would spin instead would have to be interrupted for each copy on write. No pager in user space that makes these calls can be faster. With one thread only.
 * Exit code 1: a page had wrong content. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include "calls_of_eviction.h"

enum { TEMPLATES = 16, PHRASES = 8, LONGEST = 24 };
static uint32_t *counts; /* expected counter of each page */
static long touches;
static int write_percent, threads;
static atomic_int wrong;

static uint64_t next(uint64_t *s) { *s ^= *s << 13; *s ^= *s >> 7; *s ^= *s << 17; return *s; }
static double cpu(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }

/* The content of pages except two words: generating each page would take longer than the measured fill. */
static char templates[TEMPLATES][PAGE];
static void make_templates(uint64_t *seed)
{
	for (int t = 0; t < TEMPLATES; t++) {
		for (int i = 0; i < PAGE; i += 8) memcpy(templates[t] + i, &(uint64_t){next(seed)}, 8);
		int at = PHRASES * LONGEST;
		while (at < PAGE) {
			int phrase = next(seed) % PHRASES, length = 8 + phrase * (LONGEST - 8) / (PHRASES - 1);
			if (length > PAGE - at) length = PAGE - at;
			memcpy(templates[t] + at, templates[t] + phrase * LONGEST, length);
			at += length + 4 + (next(seed) % 3 != 0);
		}
	}
}

/* What the evicting thread of `bound` is told. */
static size_t budget;              /* pages; 0: nothing is evicted */
static _Atomic char *in_dram;      /* one per page */
static atomic_size_t resident, filled;
static atomic_int ended;
static sem_t begin;

/* Note that `page` was written; wait while more than the budget is in DRAM. */
static void wrote(size_t page)
{
	if (!budget || in_dram[page]) return;
	in_dram[page] = 1;
	if (atomic_fetch_add(&resident, 1) == budget - budget / 16) sem_post(&begin);
	while (resident > budget) __builtin_ia32_pause();
}

/* Evict a run of pages that is still anonymous: afterwards it is mapped from the file. */
static void convert(size_t first)
{
	protect(first, RUN);
	save(first, RUN);
	need(mmap(base + first * PAGE, RUN * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file, (off_t)first * PAGE) !=
	     MAP_FAILED, "mmap");
	wake(first, RUN);
	for (size_t page = first; page < first + RUN; page++) resident -= atomic_exchange(in_dram + page, 0);
}

/* Evict up to `wanted` pages between `*hand` and the end of the set, in one window. */
static void evict(size_t *hand, size_t wanted)
{
	size_t first[RUN], length[RUN], runs = 0, from = *hand, page = *hand, found = 0;
	for (; page < pages && found < wanted; page++) found += in_dram[page];
	protect(from, page - from);
	for (size_t at = from; at < page; at++) {
		if (!in_dram[at]) continue;
		first[runs] = at;
		while (at < page && atomic_exchange(in_dram + at, 0)) at++;
		length[runs] = at - first[runs];
		resident -= length[runs];
		save(first[runs], length[runs]);
		if (++runs == RUN) drop(first, length, runs), runs = 0;
	}
	if (runs) drop(first, length, runs);
	lift(from, page - from);
	*hand = page == pages ? 0 : page;
}

static void *keep(void *unused)
{
	size_t converted = 0, hand = 0, round = budget / 16;
	while (!ended) {
		if (resident <= budget - round) sem_wait(&begin);
		else if (converted + RUN <= filled) convert(converted), converted += RUN;
		else if (converted == pages) evict(&hand, round);
	}
	return unused;
}

static void *touch(void *argument)
{
	uintptr_t me = (uintptr_t)argument;
	uint64_t seed = 88172645463325252ull + 1000003 * me;
	size_t mine = pages / threads, first = me * mine; /* each thread has its own pages, so that every count is known */
	for (long i = 0; i < touches / threads; i++) {
		size_t page = first + next(&seed) % mine;
		volatile uint64_t *counter = (uint64_t *)(base + page * PAGE + PAGE - 64);
		if ((int)(next(&seed) % 100) < write_percent) *counter = page * 1000003 + ++counts[page], wrote(page);
		else if (*counter != page * 1000003 + counts[page]) wrong = 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 5) return 2;
	pages = (size_t)atol(argv[1]) * 256;
	touches = atol(argv[2]);
	write_percent = atoi(argv[3]);
	threads = atoi(argv[4]);
	base = mmap(0, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/* Shared memory, so that the checker's table is neither paged nor swapped. */
	counts = mmap(0, pages * 4, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (base == MAP_FAILED || counts == MAP_FAILED) { perror("mmap"); return 2; }
	pthread_t keeper;
	if (argc == 7 && !strcmp(argv[5], "bound")) {
		budget = (size_t)atol(argv[6]) * 256;
		in_dram = mmap(0, pages, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		need(in_dram != MAP_FAILED, "mmap");
		open_all();
		sem_init(&begin, 0, 0);
		need(!pthread_create(&keeper, 0, keep, 0), "pthread_create");
	}
	uint64_t seed = 5;
	make_templates(&seed);
	double start = now();
	for (size_t p = 0; p < pages; p++) {
		uint64_t *words = (uint64_t *)(base + p * PAGE);
		memcpy(words, templates[next(&seed) % TEMPLATES], PAGE);
		words[next(&seed) % (PAGE / 8 - 8)] = p;
		words[PAGE / 8 - 8] = p * 1000003;
		filled = p + 1;
		wrote(p);
	}
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	long fill_faults = u.ru_minflt + u.ru_majflt;
	double filled = now(), filled_cpu = cpu();
	if (argc > 5 && !strcmp(argv[5], "memcpy")) {
		char copy[PAGE];
		for (long i = 0; i < touches; i++) {
			memcpy(copy, base + next(&seed) % pages * PAGE, PAGE);
			__asm__ volatile("" : : "r"(copy) : "memory");
		}
	} else if (argc > 5 && !budget) {
		uint64_t sum = 0;
		for (long i = 0; i < touches; i++)
			for (size_t p = 0; p < pages; p++) sum += *(volatile uint64_t *)(base + p * PAGE + PAGE - 64);
		wrong = sum != (uint64_t)touches * (1000003 * (pages * (pages - 1) / 2));
	} else {
		pthread_t t[64];
		for (intptr_t i = 1; i < threads; i++) pthread_create(&t[i], 0, touch, (void *)i);
		touch(0);
		for (int i = 1; i < threads; i++) pthread_join(t[i], 0);
	}
	double end = now(), end_cpu = cpu();
	getrusage(RUSAGE_SELF, &u);
	ended = 1;
	if (budget) sem_post(&begin), pthread_join(keeper, 0);
	long faults_of_touches = u.ru_minflt + u.ru_majflt - fill_faults;
	printf("%.6f %.6f %ld %ld %.6f %.6f\n", filled - start, end - filled, fill_faults, faults_of_touches, filled_cpu, end_cpu - filled_cpu);
	return wrong;
}
