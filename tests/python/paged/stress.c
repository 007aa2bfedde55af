/* Four threads write numbers to memory of their own and check every one, while others fork, move, discard and fill memory.
 * usage: stress SECONDS MIB    exit 0: no write was lost; 1: some were (the count is printed).
 * A lost write is a word that no longer holds what its only writer put there. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, PAGE = 4096, WORDS = 4 };
static atomic_ulong lost, writes;
static atomic_int stop;
static size_t pages; /* of one thread */

static uint64_t next(uint64_t *s) { *s ^= *s << 13; *s ^= *s >> 7; *s ^= *s << 17; return *s; }

static char *fresh(size_t bytes)
{
	char *p = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) { perror("mmap"); exit(2); }
	return p;
}

/* A few words of each page, spread over it: the expected ones are kept apart, one a word. */
static volatile uint64_t *word(char *base, size_t page, int w) { return (uint64_t *)(base + page * PAGE + w * (PAGE / WORDS)); }

static void *writer(void *argument)
{
	uint64_t seed = 88172645463325252ull + (uintptr_t)argument, turn = 0;
	char *base = fresh(pages * PAGE);
	uint64_t *want = calloc(pages * WORDS, 8);
	while (!stop) {
		for (int i = 0; i < 2000; i++) {
			size_t page = next(&seed) % pages;
			int w = next(&seed) % WORDS;
			uint64_t have = *word(base, page, w);
			if (have != want[page * WORDS + w]) { lost++; want[page * WORDS + w] = have; }
			if (next(&seed) % 2) {
				*word(base, page, w) = want[page * WORDS + w] = next(&seed) | 1;
				writes++;
			}
		}
		if (++turn % 8 == 0) { /* discarded memory reads as zeros */
			size_t page = next(&seed) % (pages - 32);
			madvise(base + page * PAGE, 32 * PAGE, MADV_DONTNEED);
			memset(want + page * WORDS, 0, 32 * WORDS * 8);
		}
		if (turn % 32 == 0) { /* moved memory keeps its content */
			char *moved = mremap(base, pages * PAGE, pages * PAGE + 64 * PAGE, MREMAP_MAYMOVE);
			if (moved == MAP_FAILED) { perror("mremap"); exit(2); }
			munmap(moved + pages * PAGE, 64 * PAGE);
			base = moved;
		}
	}
	for (size_t p = 0; p < pages; p++)
		for (int w = 0; w < WORDS; w++)
			if (*word(base, p, w) != want[p * WORDS + w]) lost++;
	return 0;
}

/* A child must see the memory of the moment of its fork, however much its parent writes afterwards. */
static void forks(void)
{
	size_t n = pages / 2;
	char *base = fresh(n * PAGE);
	uint64_t stamp = 0;
	while (!stop) {
		stamp++;
		for (size_t p = 0; p < n; p++) *word(base, p, 0) = stamp * 1000003 + p;
		usleep(20000);
		pid_t child = fork();
		if (child == 0) {
			for (int round = 0; round < 4; round++) {
				for (size_t p = 0; p < n; p++)
					if (*word(base, p, 0) != stamp * 1000003 + p) _exit(1);
				usleep(5000);
			}
			_exit(0);
		}
		if (child < 0) { perror("fork"); exit(2); }
		for (size_t p = 0; p < n; p++) *word(base, p, 0) = ~0ull;
		int status;
		waitpid(child, &status, 0);
		if (status) { lost++; fprintf(stderr, "a child saw its parent's later writes (status %d)\n", status); }
	}
}

int main(int argc, char **argv)
{
	if (argc != 3) return 2;
	pages = (size_t)atol(argv[2]) * 256 / THREADS;
	pthread_t t[THREADS];
	for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&t[i], 0, writer, (void *)i);
	pthread_t f;
	pthread_create(&f, 0, (void *(*)(void *))forks, 0);
	sleep(atoi(argv[1]));
	stop = 1;
	for (int i = 0; i < THREADS; i++) pthread_join(t[i], 0);
	pthread_join(f, 0);
	printf("%lu writes, %lu lost\n", (unsigned long)writes, (unsigned long)lost);
	return lost != 0;
}
