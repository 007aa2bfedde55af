/* What the programs of calls share: how they make their calls, and memory that has been pushed out. They print the same natively and under
 * a pager. The calls are made by the C library's functions; with -DNUMBER by its function syscall, with -DRAW by the instruction. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <linux/sched.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"

enum { ALT = 256 << 10 };
enum { ANONYMOUS = MAP_PRIVATE | MAP_ANONYMOUS, RW = PROT_READ | PROT_WRITE };

#ifdef RAW
__attribute__((noinline)) static long made(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	long result;
	__asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	if (result < 0 && result > -4096) return errno = -result, -1;
	return result;
}
#elif defined NUMBER
#define made syscall
#endif
#if defined RAW || defined NUMBER
#define MMAP(a, n, p, f) (char *)made(SYS_mmap, (long)(a), (long)(n), p, f, -1, 0)
#define MUNMAP(a, n) (int)made(SYS_munmap, (long)(a), (long)(n), 0, 0, 0, 0)
#define MPROTECT(a, n, p) (int)made(SYS_mprotect, (long)(a), (long)(n), p, 0, 0, 0)
#define MADVISE(a, n, w) (int)made(SYS_madvise, (long)(a), (long)(n), w, 0, 0, 0)
#define MREMAP(a, n, m, f, t) (char *)made(SYS_mremap, (long)(a), (long)(n), (long)(m), f, (long)(t), 0)
#define MLOCK(a, n) (int)made(SYS_mlock, (long)(a), (long)(n), 0, 0, 0, 0)
#define MLOCK2(a, n, f) (int)made(SYS_mlock2, (long)(a), (long)(n), f, 0, 0, 0)
#define MUNLOCK(a, n) (int)made(SYS_munlock, (long)(a), (long)(n), 0, 0, 0, 0)
#define MLOCKALL(f) (int)made(SYS_mlockall, f, 0, 0, 0, 0, 0)
#define MUNLOCKALL() (int)made(SYS_munlockall, 0, 0, 0, 0, 0, 0)
#define PKEY_MPROTECT(a, n, p, k) (int)made(SYS_pkey_mprotect, (long)(a), (long)(n), p, k, 0, 0)
#define EXECVE(p, a, e) (int)made(SYS_execve, (long)(p), (long)(a), (long)(e), 0, 0, 0)
#define IOCTL(f, r, a) (int)made(SYS_ioctl, f, r, (long)(a), 0, 0, 0)
#define PROCESS_MADVISE(f, r, n, a) made(SYS_process_madvise, f, (long)(r), n, a, 0, 0)
#define MMAP_FILE(n, f) (char *)made(SYS_mmap, 0, (long)(n), RW, MAP_PRIVATE, f, 0)
#define FORK() (int)made(SYS_fork, 0, 0, 0, 0, 0, 0)
#else
#define MMAP(a, n, p, f) (char *)mmap(a, n, p, f, -1, 0)
#define MUNMAP munmap
#define MPROTECT mprotect
#define MADVISE madvise
#define MREMAP(a, n, m, f, t) (char *)mremap(a, n, m, f, t)
#define MLOCK mlock
#define MLOCK2 mlock2
#define MUNLOCK munlock
#define MLOCKALL mlockall
#define MUNLOCKALL munlockall
#define PKEY_MPROTECT pkey_mprotect
#define EXECVE execve
#define IOCTL ioctl
#define PROCESS_MADVISE(f, r, n, a) process_madvise(f, (void *)(r), n, a, 0)
#define MMAP_FILE(n, f) (char *)mmap(0, n, RW, MAP_PRIVATE, f, 0)
#define FORK fork
#endif

/* The call fails with this error. */
#define FAILS(call, error) (errno = 0, need((long)(call) == -1 && errno == (error), #call " fails with " #error))

static char *fresh(size_t size)
{
	char *memory = MMAP(0, size, RW, ANONYMOUS);
	need(memory != MAP_FAILED, "mmap");
	return memory;
}

/* A stack is not paged. */
static char *stack_of(size_t size)
{
	char *memory = MMAP(0, size, RW, ANONYMOUS | MAP_STACK);
	need(memory != MAP_FAILED, "mmap of a stack");
	return memory;
}

static void same(const char *memory, size_t size, uint64_t seed, const char *what)
{
	for (size_t i = 0; i < size; i += 64)
		if (*(const uint64_t *)(memory + i) != seed + i) { printf("%s: wrong at %zu\n", what, i); exit(1); }
}

static void zeros(const char *memory, size_t size, const char *what)
{
	for (size_t i = 0; i < size; i += 64)
		if (*(const uint64_t *)(memory + i)) { printf("%s: not zero at %zu\n", what, i); exit(1); }
}

/* So much written that what was written before is out. */
static void press(void)
{
	char *other = fresh(32 * MIB);
	fill(other, 32 * MIB, 7);
	same(other, 32 * MIB, 7, "pressure");
	need(!MUNMAP(other, 32 * MIB), "munmap");
}

static char *pushed_out(size_t size, uint64_t seed)
{
	char *memory = fresh(size);
	fill(memory, size, seed);
	press();
	return memory;
}

/* The signal by which a child ends that runs `work` on `memory`; 0: it ends by itself. */
static int ends_by(void (*work)(char *), char *memory)
{
	int status, child = fork();
	if (child == 0) work(memory), _exit(0);
	need(child > 0 && waitpid(child, &status, 0) == child, "a child");
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void reads(char *memory) { (void)*(volatile char *)memory; }
static void writes(char *memory) { *(volatile char *)memory = 1; }
