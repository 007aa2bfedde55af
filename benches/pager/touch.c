/* Random touches of a set of pages, which `benches.pager.run` times natively, on kernel swap and under the pager.
 * usage: touch SET_MIB TOUCHES WRITE_PERCENT THREADS [sequential]
 * Fills the set with repeated phrases of 8 to 24 bytes and noise between them, so that a page compresses to about 0.4 at the speed of
 * programs' pages (docs/decisions/0083). Then it touches random pages; each write increments a counter of the page, each read checks
 * one. Prints one line: seconds to fill, seconds to touch, page faults to fill and to touch, then processor seconds of the whole
 * process (including its pager, if any) to fill and to touch.
 * `sequential` instead reads the whole set in order TOUCHES times; `memcpy` copies TOUCHES cold random pages of the set.
 * Exit code 1: a page had wrong content. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

enum { PAGE = 4096, TEMPLATES = 16, PHRASES = 8, LONGEST = 24 };
static char *base;
static uint32_t *counts; /* expected counter of each page */
static size_t pages;
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

static void *touch(void *argument)
{
	uintptr_t me = (uintptr_t)argument;
	uint64_t seed = 88172645463325252ull + 1000003 * me;
	size_t mine = pages / threads, first = me * mine; /* each thread has its own pages, so that every count is known */
	for (long i = 0; i < touches / threads; i++) {
		size_t page = first + next(&seed) % mine;
		volatile uint64_t *counter = (uint64_t *)(base + page * PAGE + PAGE - 64);
		if ((int)(next(&seed) % 100) < write_percent) *counter = page * 1000003 + ++counts[page];
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
	uint64_t seed = 5;
	make_templates(&seed);
	double start = now();
	for (size_t p = 0; p < pages; p++) {
		uint64_t *words = (uint64_t *)(base + p * PAGE);
		memcpy(words, templates[next(&seed) % TEMPLATES], PAGE);
		words[next(&seed) % (PAGE / 8 - 8)] = p;
		words[PAGE / 8 - 8] = p * 1000003;
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
	} else if (argc > 5) {
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
	long faults = u.ru_minflt + u.ru_majflt - fill_faults;
	printf("%.6f %.6f %ld %ld %.6f %.6f\n", filled - start, end - filled, fill_faults, faults, filled_cpu, end_cpu - filled_cpu);
	return wrong;
}
