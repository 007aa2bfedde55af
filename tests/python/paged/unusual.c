/* What programs do that a pager may not have thought of. usage: unusual CASE; prints the same natively and under a pager.
 * With -DOWN_MALLOC the program brings its own malloc, which takes its memory by mmap, as rustc and others do. */
#define _GNU_SOURCE
#include <grp.h>
#include <linux/capability.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"

#ifdef OWN_MALLOC
static char *at, *end;
void *malloc(size_t size)
{
	size = (size + 31) / 16 * 16;
	if (size > (size_t)(end - at)) {
		size_t more = size > MIB ? size : MIB;
		at = mmap(0, more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (at == MAP_FAILED) return 0;
		end = at + more;
	}
	*(size_t *)at = size - 16;
	at += size;
	return at - size + 16;
}
void free(void *block) { (void)block; }
void *calloc(size_t count, size_t size) { return malloc(count * size); }
void *realloc(void *block, size_t size)
{
	void *other = malloc(size);
	if (block && other) memcpy(other, block, ((size_t *)block)[-2] < size ? ((size_t *)block)[-2] : size);
	return other;
}
#endif

static char *fresh(size_t size)
{
	char *memory = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(memory != MAP_FAILED, "mmap");
	return memory;
}

static void same(const char *memory, size_t size, uint64_t seed)
{
	for (size_t i = 0; i < size; i += 64)
		if (*(const uint64_t *)(memory + i) != seed + i) { printf("wrong at %zu\n", i); exit(1); }
}

/* So much written that what was written before is out. */
static void press(void)
{
	char *other = fresh(32 * MIB);
	fill(other, 32 * MIB, 7);
	same(other, 32 * MIB, 7);
	munmap(other, 32 * MIB);
}

/* Memory filled with 5, of which much is out. */
static char *pushed_out(size_t size)
{
	char *memory = fresh(size);
	fill(memory, size, 5);
	press();
	return memory;
}

static volatile int handled;
static void handler(int number)
{
	(void)number;
	char *piece = mmap(0, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (piece != MAP_FAILED) {
		*piece = 1;
		munmap(piece, 16 * PAGE);
	}
	if (handled++ % 16 == 0) {
		int child = fork(), status;
		if (child == 0) _exit(0);
		if (child > 0) waitpid(child, &status, 0);
	}
}

static void signals(void)
{
	char *memory = fresh(16 * MIB);
	fill(memory, 16 * MIB, 1);
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
	sigaction(SIGALRM, &action, 0);
	struct itimerval every = {{0, 500}, {0, 500}};
	setitimer(ITIMER_REAL, &every, 0);
	while (handled < 400) {
		char *piece = fresh(64 * PAGE);
		fill(piece, 64 * PAGE, 3);
		munmap(piece, 64 * PAGE);
	}
	signal(SIGALRM, SIG_IGN);
	same(memory, 16 * MIB, 1);
}

static void forks(void)
{
	char *memory = fresh(16 * MIB);
	int pipes[2], status, children = 0;
	need(!pipe(pipes), "pipe");
	struct rlimit few = {12, 12};
	need(!setrlimit(RLIMIT_NOFILE, &few), "setrlimit");
	for (; children < 24; children++) {
		fill(memory, 16 * MIB, children);
		int child = fork();
		need(child >= 0, "fork");
		if (child == 0) {
			char byte;
			close(pipes[1]);
			_exit(read(pipes[0], &byte, 1) != 0 || (same(memory, 16 * MIB, children), 0));
		}
	}
	close(pipes[1]);
	for (fill(memory, 16 * MIB, 99); children; children--) need(wait(&status) > 0 && status == 0, "child");
	same(memory, 16 * MIB, 99);
}

static void moves(void)
{
	char *memory = pushed_out(8 * MIB);
	need(!mprotect(memory, 8 * MIB, PROT_NONE), "mprotect");
	char *moved = mremap(memory, 8 * MIB, 12 * MIB, MREMAP_MAYMOVE);
	need(moved != MAP_FAILED, "mremap");
	need(!mprotect(moved, 12 * MIB, PROT_READ | PROT_WRITE), "mprotect");
	same(moved, 8 * MIB, 5);
	FILE *file = tmpfile();
	for (int i = 0; i < 2 * PAGE; i++) fputc('a' + i / PAGE, file);
	fflush(file);
	char *there = mmap(moved + 4 * MIB, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fileno(file), 0);
	need(there == moved + 4 * MIB, "mmap of a file");
	char *elsewhere = mremap(there, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, moved + 6 * MIB);
	need(elsewhere == moved + 6 * MIB && elsewhere[0] == 'a' && elsewhere[PAGE] == 'b', "mremap of a file");
	same(moved, 4 * MIB, 5);
}

static void wiped(void)
{
	char *memory = pushed_out(8 * MIB);
	need(!madvise(memory, 4 * MIB, MADV_WIPEONFORK), "madvise");
	same(memory, 8 * MIB, 5);
	int child = fork(), status;
	if (child == 0) {
		for (size_t i = 0; i < 4 * MIB; i++) if (memory[i]) _exit(1);
		same(memory + 4 * MIB, 4 * MIB, 5 + 4 * MIB);
		_exit(0);
	}
	need(waitpid(child, &status, 0) == child && status == 0, "child");
	same(memory, 8 * MIB, 5);
}

static long shared_kib(void)
{
	char line[256];
	long kib = -1;
	FILE *status = fopen("/proc/self/status", "r");
	while (fgets(line, sizeof line, status)) sscanf(line, "RssShmem: %ld", &kib);
	fclose(status);
	return kib;
}

static void locked(void)
{
	char *memory = pushed_out(16 * MIB);
	need(!mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall");
	need(shared_kib() < 64 << 10, "nothing of the store comes in");
	same(memory, 16 * MIB, 5);
	press();
	need(!munlockall(), "munlockall");
	press();
	same(memory, 16 * MIB, 5);
}

/* Calls that lock memory and fail leave it to be paged. */
static void unlocked(void)
{
	char *memory = fresh(16 * MIB);
	fill(memory, 16 * MIB, 5);
	need(mlockall(64) == -1 && errno == EINVAL, "mlockall with an unknown flag");
	need(mlock2(memory, 16 * MIB, 64) == -1 && errno == EINVAL, "mlock2 with an unknown flag");
	press();
	same(memory, 16 * MIB, 5);
}

static void *nothing(void *argument) { return argument; }

static void limited(void)
{
	struct rlimit limit = {1 << 30, RLIM_INFINITY}, now;
	need(!setrlimit(RLIMIT_AS, &limit) && !getrlimit(RLIMIT_AS, &now), "setrlimit");
	need(now.rlim_cur == 1 << 30 && now.rlim_max == RLIM_INFINITY, "the limit that was set");
	pthread_t thread;
	need(!pthread_create(&thread, 0, nothing, 0) && !pthread_join(thread, 0), "a thread");
	char *some = malloc(100 * MIB), *volatile much = malloc(1200ul * MIB);
	need(some && !much, "as much as the limit allows");
	fill(some, 100 * MIB, 5);
	same(some, 100 * MIB, 5);
}

static void rights(void)
{
	char *memory = fresh(16 * MIB);
	fill(memory, 16 * MIB, 5);
	need(!prctl(PR_SET_KEEPCAPS, 1), "keepcaps");
	need(!setresuid(65534, 65534, 65534), "setresuid");
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct kept[2] = {{.effective = 1 << CAP_SETGID, .permitted = 1 << CAP_SETGID}};
	need(!syscall(SYS_capset, &header, kept), "capset");
	need(!setresgid(65534, 65534, 65534) && !setgroups(0, 0), "setresgid");
	press();
	same(memory, 16 * MIB, 5);
	printf("%d %d %d\n", getuid(), getgid(), getgroups(0, 0));
}

static void heap(void)
{
	char **blocks = malloc(1000 * sizeof *blocks);
	for (int i = 0; i < 1000; i++) fill(blocks[i] = malloc(40000), 40000, i);
	for (int i = 0; i < 1000; i++) same(blocks[i], 40000, i);
	char *volatile gone = realloc(blocks[0], 0);
	(void)gone;
}

static char *aligned(char *block, size_t align, size_t size)
{
	need(block != 0 && (uintptr_t)block % align == 0, "an aligned block");
	need(malloc_usable_size(block) >= size, "its usable size");
	fill(block, size, align);
	return block;
}

static void allocations(void)
{
	void *block = &block;
	size_t size = MIB, aligns[] = {32, PAGE, 2 * MIB};
	char *blocks[3][3];
	for (int at = 0; at < 3; at++) {
		blocks[at][0] = aligned(memalign(aligns[at], size), aligns[at], size);
		blocks[at][1] = aligned(aligned_alloc(aligns[at], size), aligns[at], size);
		need(posix_memalign(&block, aligns[at], size) == 0, "posix_memalign");
		blocks[at][2] = aligned(block, aligns[at], size);
	}
	char *pages = aligned(valloc(size), PAGE, size), *two = aligned(pvalloc(PAGE + 64), PAGE, 2 * PAGE);
	press();
	same(pages, size, PAGE), same(two, 2 * PAGE, PAGE);
	free(pages), free(two);
	for (int at = 0; at < 9; at++) same(blocks[at / 3][at % 3], size, aligns[at / 3]), free(blocks[at / 3][at % 3]);
	block = &block;
	size_t volatile huge = SIZE_MAX / 2, three = 3, none = 0;
	need(posix_memalign(&block, three * 8, 8) == EINVAL && posix_memalign(&block, 4, 8) == EINVAL, "an alignment that is none");
	need(posix_memalign(&block, 64, huge) == ENOMEM && block == &block, "no block, and the pointer as it was");
	errno = 0;
	need(!pvalloc(SIZE_MAX - none) && errno == ENOMEM, "pvalloc of all addresses");
	errno = 0;
	need(!malloc(huge) && errno == ENOMEM, "malloc of half of all addresses");
	errno = 0;
	need(!calloc(huge, three) && errno == ENOMEM, "calloc beyond all addresses");
	char *grown = calloc(MIB, 1);
	for (size_t at = 0; at < MIB; at++) need(!grown[at], "zeros");
	fill(grown, MIB, 6);
	press();
	errno = 0;
	need(!reallocarray(grown, huge, three) && errno == ENOMEM, "reallocarray beyond all addresses");
	errno = 0;
	need(!realloc(grown, huge) && errno == ENOMEM, "realloc to half of all addresses");
	grown = reallocarray(grown, 3, MIB);
	same(grown, MIB, 6);
	press();
	grown = realloc(grown, MIB / 2);
	same(grown, MIB / 2, 6);
	free(grown);
	char *first = malloc(none), *second = calloc(none, 8), *third = realloc(0, 5);
	need(first && second && first != second && third && !malloc_usable_size(0), "blocks of no size are blocks");
	free(first), free(second), free(third), free(0);
}

/* prlimit and the functions with 64 in their names have the limit that setrlimit set, and set it. */
static void limits(void)
{
	struct rlimit limit = {1 << 30, 2ul << 30}, now = {0, 0};
	need(!setrlimit(RLIMIT_AS, &limit) && !prlimit(0, RLIMIT_AS, 0, &now), "setrlimit");
	need(now.rlim_cur == 1 << 30 && now.rlim_max == 2ul << 30, "prlimit reads what setrlimit set");
	struct rlimit less = {900 * MIB, 1 << 30};
	need(!prlimit(getpid(), RLIMIT_AS, &less, &now) && now.rlim_cur == 1 << 30, "prlimit returns the limit before");
	struct rlimit64 wide;
	need(!getrlimit64(RLIMIT_AS, &wide) && wide.rlim_cur == 900 * MIB && wide.rlim_max == 1 << 30, "getrlimit64");
	wide.rlim_cur = 800 * MIB;
	need(!setrlimit64(RLIMIT_AS, &wide) && !getrlimit(RLIMIT_AS, &now) && now.rlim_cur == 800 * MIB, "setrlimit64");
	wide.rlim_cur = 700 * MIB;
	need(!prlimit64(0, RLIMIT_AS, &wide, 0) && !getrlimit(RLIMIT_AS, &now) && now.rlim_cur == 700 * MIB, "prlimit64");
	wide.rlim_cur = wide.rlim_max + 1;
	errno = 0;
	need(setrlimit64(RLIMIT_AS, &wide) == -1 && errno == EINVAL, "a soft limit above the hard one");
	errno = 0;
	need(setrlimit(RLIMIT_AS, (void *)8) == -1 && errno == EFAULT, "a limit at no address");
	need(!getrlimit(RLIMIT_AS, &now) && now.rlim_cur == 700 * MIB, "the limit after failures");
	struct rlimit files = {77, 88};
	need(!setrlimit(RLIMIT_NOFILE, &files) && !prlimit(0, RLIMIT_NOFILE, 0, &now) && now.rlim_cur == 77, "another limit");
	char *memory = pushed_out(16 * MIB), *volatile much = malloc(750ul * MIB);
	need(!much, "more than the limit");
	same(memory, 16 * MIB, 5);
}

int main(int count, char **words)
{
	const struct Case cases[] = {
		{"signals", signals}, {"forks", forks}, {"moves", moves}, {"wiped", wiped},
		{"locked", locked}, {"unlocked", unlocked}, {"limited", limited}, {"rights", rights}, {"heap", heap},
		{"allocations", allocations}, {"limits", limits},
		{0},
	};
	return run_case(cases, count, words);
}
