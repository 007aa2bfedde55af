/* The system calls of an eviction to a file that is mapped in place, without the pager's census, policy and waiting threads.
 * `benches.pager.run` compares it with the pager's cost of a page.
 * usage: floor SET_MIB ROUND
 * Prints nanoseconds of processor time per page: for runs of 64 pages with new places in the file, then for pages scattered over the
 * set, ROUND of them at a time while the whole set is protected, as in a round of the pager. */
#define _GNU_SOURCE
#include <string.h>
#include <time.h>
#include "calls_of_eviction.h"

static double cpu(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec * 1e9 + t.tv_nsec; }

static void dirty(void)
{
	for (size_t i = 0; i < pages; i++) base[i * PAGE]++;
}

static double batches(void)
{
	dirty();
	double from = cpu();
	for (size_t at = 0; at + RUN <= pages; at += RUN) {
		protect(at, RUN);
		save(at, RUN);
		drop(&at, &(size_t){RUN}, 1);
		lift(at, RUN);
	}
	return (cpu() - from) / pages;
}

static double scattered(size_t round)
{
	size_t *order = malloc(pages * sizeof *order);
	need(order != 0, "malloc");
	for (size_t i = 0; i < pages; i++) {
		size_t other = rand() % (i + 1);
		order[i] = order[other];
		order[other] = i;
	}
	dirty();
	double from = cpu();
	size_t done = 0, one[RUN];
	for (size_t i = 0; i < RUN; i++) one[i] = 1;
	for (; done + round <= pages; done += round) {
		protect(0, pages);
		for (size_t i = done; i < done + round; i++) save(order[i], 1);
		for (size_t i = done; i < done + round; i += RUN) drop(order + i, one, i + RUN < done + round ? RUN : done + round - i);
		lift(0, pages);
	}
	double each = (cpu() - from) / done;
	free(order);
	return each;
}

int main(int count, char **words)
{
	if (count != 3 || atoi(words[1]) < 1 || atoi(words[2]) < 1 || atoi(words[2]) > atoi(words[1]) << 8)
		return fprintf(stderr, "usage: floor SET_MIB ROUND\n"), 2;
	pages = (size_t)atoi(words[1]) << 8;
	size_t round = atoi(words[2]);
	open_all();
	base = mmap(0, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file, 0);
	need(base != MAP_FAILED, "mmap");
	double first = batches(), second = scattered(round);
	printf("%.0f %.0f\n", first, second);
	return 0;
}
