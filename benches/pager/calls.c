/* What newer calls of userfaultfd would bring a store that copies (docs/decisions/0103). No other program uses this one.
 * usage: calls ROUNDS          processor time of moving pages in and out, by UFFDIO_COPY and by UFFDIO_MOVE (Linux 6.8)
 *        calls ROUNDS faults   faults that another thread resolves: it waits by poll or spins, and fills 1, 4 or 16 neighbors
 * Build: gcc -O2 -pthread -o calls calls.c. Figures are medians of ROUNDS rounds over 4,096 pages, in nanoseconds. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* struct uffdio_move, which older headers lack. */
struct move { uint64_t to, from, bytes, mode; int64_t moved; };
#define MOVE _IOWR(UFFDIO, 0x05, struct move)
#define MOVE_FEATURE (1ull << 16)
#define PROTECT_FEATURES (UFFD_FEATURE_PAGEFAULT_FLAG_WP | 1ull << 12 | 1ull << 13)
enum { PAGE = 4096, PAGES = 4096, ALL = PAGE * PAGES, MOST = 16 };

static int faults, rounds;
static char *base, *staging, content[MOST * PAGE] __attribute__((aligned(4096))), other[PAGE];
static atomic_int spins, stop, neighbors;

static void need(int done, const char *what) { if (!done) { perror(what); exit(1); } }
static double clock_of(clockid_t id) { struct timespec t; clock_gettime(id, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
static int by_size(const void *a, const void *b) { double d = *(double *)a - *(double *)b; return d < 0 ? -1 : d > 0; }
static double median(double *v, int n) { qsort(v, n, sizeof *v, by_size); return v[n / 2]; }
static char *page(char *from, size_t number) { return from + number * PAGE; }
static void drop(char *at, size_t count) { need(!madvise(at, count * PAGE, MADV_DONTNEED), "madvise"); }

static void watch(char *at, int mode)
{
	struct uffdio_register wanted = {{(uintptr_t)at, ALL}, mode, 0};
	need(!ioctl(faults, UFFDIO_REGISTER, &wanted), "register");
}

static void copy(char *to, char *from, size_t count)
{
	struct uffdio_copy c = {(uintptr_t)to, (uintptr_t)from, count * PAGE, 0, 0};
	need(!ioctl(faults, UFFDIO_COPY, &c) || errno == EEXIST, "copy");
}

static void move(char *to, char *from, size_t count)
{
	struct move m = {(uintptr_t)to, (uintptr_t)from, count * PAGE, 0, 0};
	need(!ioctl(faults, MOVE, &m), "move");
}

static void protect(char *at, size_t count, int on)
{
	struct uffdio_writeprotect p = {{(uintptr_t)at, count * PAGE}, on ? UFFDIO_WRITEPROTECT_MODE_WP : 0};
	need(!ioctl(faults, UFFDIO_WRITEPROTECT, &p), "protect");
}

static void *serve(void *none)
{
	struct uffd_msg m;
	while (!stop) {
		struct pollfd p = {faults, POLLIN, 0};
		if (!spins) poll(&p, 1, 10);
		if (read(faults, &m, sizeof m) == sizeof m) copy((char *)(m.arg.pagefault.address & ~(uint64_t)(PAGE - 1)), content, neighbors);
	}
	return none;
}

static void fault(int spinning, int count)
{
	double one[PAGES], waits[rounds], used[rounds];
	spins = spinning;
	neighbors = count;
	for (int r = 0; r < rounds; r++) {
		drop(base, PAGES);
		double before = clock_of(CLOCK_PROCESS_CPUTIME_ID);
		int n = 0;
		for (int p = 0; p < PAGES; p++) {
			double from = clock_of(CLOCK_MONOTONIC);
			*(volatile char *)page(base, p);
			if (p % count == 0) one[n++] = clock_of(CLOCK_MONOTONIC) - from;
		}
		used[r] = (clock_of(CLOCK_PROCESS_CPUTIME_ID) - before) / PAGES;
		waits[r] = median(one, n);
	}
	printf("%s, %2d pages a fault: a fault takes %.0f, processor time a page %.0f\n", spinning ? "spins" : "polls", count, median(waits, rounds),
		median(used, rounds));
}

/* A store writes a page to `staging` and hands it to the program. */
static void in(int moves, size_t run)
{
	double taken[rounds];
	for (int r = 0; r < rounds; r++) {
		drop(base, PAGES);
		double from = clock_of(CLOCK_THREAD_CPUTIME_ID);
		for (size_t p = 0; p < PAGES; p += run) {
			char *filled = moves ? page(staging, p) : staging; /* a moved page is gone, a copied one is used again */
			for (size_t i = 0; i < run; i++) memcpy(page(filled, i), other, PAGE);
			(moves ? move : copy)(page(base, p), filled, run);
		}
		taken[r] = (clock_of(CLOCK_THREAD_CPUTIME_ID) - from) / PAGES;
	}
	printf("in by %s, runs of %2zu: %.0f\n", moves ? "move" : "copy", run, median(taken, rounds));
}

/* A store reads a page of the program, which must not change meanwhile, and drops it. */
static void out(int moves, size_t run)
{
	double taken[rounds];
	for (int r = 0; r < rounds; r++) {
		drop(base, PAGES), drop(staging, PAGES);
		for (size_t p = 0; p < PAGES; p++) copy(page(base, p), content, 1);
		double from = clock_of(CLOCK_THREAD_CPUTIME_ID);
		for (size_t p = 0; p < PAGES; p += run) {
			char *at = page(moves ? staging : base, p);
			if (moves) move(at, page(base, p), run);
			else protect(at, run, 1);
			for (size_t i = 0; i < run; i++) memcpy(other, page(at, i), PAGE);
			drop(at, run);
			if (!moves) protect(at, run, 0);
		}
		taken[r] = (clock_of(CLOCK_THREAD_CPUTIME_ID) - from) / PAGES;
	}
	printf("out by %s, runs of %2zu: %.0f\n", moves ? "move" : "protection", run, median(taken, rounds));
}

int main(int count, char **words)
{
	if (count < 2) return 2;
	rounds = atoi(words[1]);
	faults = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	struct uffdio_api api = {UFFD_API, PROTECT_FEATURES | MOVE_FEATURE, 0};
	need(faults >= 0 && !ioctl(faults, UFFDIO_API, &api), "userfaultfd with UFFDIO_MOVE");
	base = mmap(0, ALL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	staging = mmap(0, ALL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(base != MAP_FAILED && staging != MAP_FAILED, "mmap");
	need(!madvise(base, ALL, MADV_NOHUGEPAGE) && !madvise(staging, ALL, MADV_NOHUGEPAGE), "madvise");
	watch(base, UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP);
	memset(content, 1, sizeof content);
	if (count > 2) {
		pthread_t server;
		need(!pthread_create(&server, 0, serve, 0), "pthread_create");
		for (int n = 1; n <= MOST; n *= 4) fault(0, n), fault(1, n);
		stop = 1;
		return pthread_join(server, 0);
	}
	for (size_t run = 1; run <= 64; run *= 8) in(0, run), in(1, run);
	watch(staging, UFFDIO_REGISTER_MODE_MISSING); /* pages can only be moved to a registered range */
	for (size_t run = 1; run <= 64; run *= 8) out(0, run), out(1, run);
	return 0;
}
