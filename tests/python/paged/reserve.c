/* How programs take anonymous memory besides malloc: address space reserved without access and committed later, wishes for addresses,
 * pieces given back, guard pages, code. usage: reserve HOW STEPS [SEED]. A model of 64 MiB says what each page has to hold; every step
 * changes pages or their mapping and each sixteenth checks. HOW: protect, fixed, hint, raw (system calls of our own, without the C library),
 * thread (raw, in a thread of <threads.h>, with SIGSYS ignored by signal). */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 16384 };
enum { CLOSED, OPEN, READ, CODE };
#define RESERVED (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

static uint64_t seed = 1, word[PAGES]; /* what stands in each page; 0: nothing was written */
static unsigned char state[PAGES];
static int raw;

static uint64_t draw(uint64_t below)
{
	seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
	return seed % below;
}

static long own(long number, long a, long b, long c, long d, long e, long f)
{
#ifdef __x86_64__
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	long result;
	__asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	if (result < 0 && result > -4096) return errno = -result, -1;
	return result;
#else
	return syscall(number, a, b, c, d, e, f);
#endif
}

static char *map(char *at, size_t size, int prot, int flags)
{
	return raw ? (char *)own(SYS_mmap, (long)at, size, prot, flags, -1, 0) : mmap(at, size, prot, flags, -1, 0);
}
static int give(char *at, size_t size) { return raw ? (int)own(SYS_munmap, (long)at, size, 0, 0, 0, 0) : munmap(at, size); }
static int protect(char *at, size_t size, int prot) { return raw ? (int)own(SYS_mprotect, (long)at, size, prot, 0, 0, 0) : mprotect(at, size, prot); }
static int forget(char *at, size_t size) { return raw ? (int)own(SYS_madvise, (long)at, size, MADV_DONTNEED, 0, 0, 0) : madvise(at, size, MADV_DONTNEED); }

static void need(int done, const char *what)
{
	if (done) return;
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

static void check(char *base, int page)
{
	uint64_t *at = (uint64_t *)(base + (size_t)page * PAGE);
	if (state[page] == CLOSED) return;
	if (at[0] == word[page] && at[511] == word[page] * 3) return;
	printf("page %d (state %d): %lx and %lx, should be %lx\n", page, state[page], at[0], at[511], word[page]);
	exit(1);
}

static int run(void *arguments)
{
	char **words = arguments;
	const char *how = words[1];
	size_t all = (size_t)PAGES * PAGE, large = (size_t)8 << 30;
	/* Far more than is used, as runtimes reserve it; used from an odd page on. */
	char *wish = !strcmp(how, "hint") ? (char *)0x3428f8340000 : 0;
	char *base = map(wish, large, PROT_NONE, RESERVED);
	need(base != MAP_FAILED && (!wish || base == wish), "mmap of the reservation");
	base += 77 * PAGE;
	need(!give(base - 77 * PAGE, 70 * PAGE), "munmap of the head");
	need(!give(base + all + 5 * PAGE, 1000 * PAGE), "munmap of a part of the tail");
	for (long step = 0, steps = atol(words[2]); step < steps; step++) {
		int first = draw(PAGES), pages = 1 + draw(64), kind = draw(10);
		if (first + pages > PAGES) pages = PAGES - first;
		char *at = base + (size_t)first * PAGE;
		size_t size = (size_t)pages * PAGE;
		int fresh = 0, to = OPEN;
		if (kind < 5) { /* commit, and fill below */
			if (!strcmp(how, "fixed") || (raw && kind == 1)) {
				need(map(at, size, PROT_READ | PROT_WRITE, RESERVED | MAP_FIXED) == at, "mmap to commit");
				fresh = 1;
			} else
				need(!protect(at, size, PROT_READ | PROT_WRITE), "mprotect to commit");
		} else if (kind == 5) {
			need(!forget(at, size), "madvise");
			for (int i = 0; i < pages; i++) word[first + i] = 0;
			continue;
		} else if (kind == 6) { /* decommit */
			need(map(at, size, PROT_NONE, RESERVED | MAP_FIXED) == at, "mmap to decommit");
			fresh = 1, to = CLOSED;
		} else if (kind == 7) { /* a guard: what is behind it stays */
			need(!protect(at, size, PROT_NONE), "mprotect of a guard");
			to = CLOSED;
		} else if (kind == 8) {
			need(!protect(at, size, PROT_READ), "mprotect to read");
			to = READ;
		} else {
			if (draw(8)) continue;
			need(!protect(at, size, PROT_READ | PROT_EXEC), "mprotect to execute");
			to = CODE;
		}
		for (int i = first; i < first + pages; i++) {
			state[i] = to;
			if (fresh) word[i] = 0;
			if (to != OPEN) continue;
			check(base, i);
			uint64_t *page = (uint64_t *)(base + (size_t)i * PAGE);
			page[0] = word[i] = draw(UINT64_MAX) | 1, page[511] = word[i] * 3;
		}
		if (step % 16 == 0)
			for (int i = draw(64); i < PAGES; i += 64) check(base, i);
	}
	for (int i = 0; i < PAGES; i++) check(base, i);
	need(!give(base, all) && !give(base + all + 1005 * PAGE, large - all - (1005 + 77) * PAGE), "munmap");
	printf("%s right\n", how);
	return 0;
}

int main(int count, char **words)
{
	if (count < 3) return 2;
	int in_thread = !strcmp(words[1], "thread"), code;
	raw = in_thread || !strcmp(words[1], "raw");
	if (count > 3) seed = strtoull(words[3], 0, 10);
	if (!in_thread) return run(words);
	need(signal(SIGSYS, SIG_IGN) == SIG_DFL && signal(SIGSYS, SIG_IGN) == SIG_IGN, "signal");
	thrd_t thread;
	need(thrd_create(&thread, run, words) == thrd_success && thrd_join(thread, &code) == thrd_success, "thrd_create");
	return code;
}
