/* Calls about memory, signals and processes whose result a pager could get wrong. usage: calls CASE; prints the same natively and under
 * a pager. The calls are made by the C library's functions; with -DNUMBER by its function syscall, with -DRAW by the instruction. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
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

static void remaps(void)
{
	char *memory = pushed_out(8 * MIB, 1);
	need(MREMAP(memory, 8 * MIB, 6 * MIB, 0, 0) == memory, "mremap to less");
	same(memory, 6 * MIB, 1, "what is left");
	need(MREMAP(memory, 6 * MIB, 6 * MIB, 0, 0) == memory, "mremap to the same");
	/* On other memory, whose content is replaced. */
	char *target = pushed_out(8 * MIB, 2);
	need(MREMAP(memory, 6 * MIB, 4 * MIB, MREMAP_MAYMOVE | MREMAP_FIXED, target + MIB) == target + MIB, "mremap onto other memory");
	same(target, MIB, 2, "before the target");
	same(target + MIB, 4 * MIB, 1, "the target");
	same(target + 5 * MIB, 3 * MIB, 2 + 5 * MIB, "behind the target");
	need(ends_by(reads, memory) == SIGSEGV, "nothing is left at the old addresses");
	/* The old mapping stays, without its content. */
	char *whole = pushed_out(8 * MIB, 5), *copy = MREMAP(whole, 8 * MIB, 8 * MIB, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, 0);
	need(copy != MAP_FAILED && copy != whole, "mremap without an unmap");
	zeros(whole, 8 * MIB, "what has stayed");
	fill(whole, 8 * MIB, 3);
	press();
	same(whole, 8 * MIB, 3, "what was written there since");
	same(copy, 8 * MIB, 5, "what has moved");
	/* Protected memory keeps its content and its protection. */
	need(!MPROTECT(copy, 8 * MIB, PROT_READ), "mprotect");
	char *kept = MREMAP(copy, 8 * MIB, 16 * MIB, MREMAP_MAYMOVE, 0);
	need(kept != MAP_FAILED, "mremap of read-only memory");
	same(kept, 8 * MIB, 5, "read-only memory");
	zeros(kept + 8 * MIB, 8 * MIB, "what it has grown by");
	need(ends_by(writes, kept) == SIGSEGV && ends_by(writes, kept + 12 * MIB) == SIGSEGV, "it is still read-only");
	need(ends_by(reads, kept) == 0, "a child reads it");
	/* What cannot be done changes nothing. */
	char *low = fresh(4 * MIB);
	fill(low, 4 * MIB, 4);
	need(MMAP(low + 2 * MIB, 2 * MIB, RW, ANONYMOUS | MAP_FIXED) == low + 2 * MIB, "mmap of the second half");
	FAILS(MREMAP(low, 2 * MIB, 4 * MIB, 0, 0), ENOMEM);
	FAILS(MREMAP(low + 1, PAGE, 2 * PAGE, MREMAP_MAYMOVE, 0), EINVAL);
	FAILS(MREMAP(low, PAGE, 0, MREMAP_MAYMOVE, 0), EINVAL);
	same(low, 2 * MIB, 4, "after failures");
	zeros(low + 2 * MIB, 2 * MIB, "the second half");
}

static void fixed(void)
{
	char *memory = pushed_out(8 * MIB, 1);
	FAILS(MMAP(memory + MIB, MIB, RW, ANONYMOUS | MAP_FIXED_NOREPLACE), EEXIST);
	same(memory, 8 * MIB, 1, "what was there");
	need(MMAP(memory + MIB, MIB, RW, ANONYMOUS | MAP_FIXED) == memory + MIB, "mmap of a piece");
	zeros(memory + MIB, MIB, "the piece");
	need(MMAP(memory + 2 * MIB, MIB, RW, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED) == memory + 2 * MIB, "mmap of shared memory");
	fill(memory + 2 * MIB, MIB, 9);
	press();
	same(memory + 2 * MIB, MIB, 9, "shared memory");
	int status, child = fork();
	if (child == 0) fill(memory + 2 * MIB, MIB, 10), fill(memory + 3 * MIB, MIB, 10), _exit(0);
	need(waitpid(child, &status, 0) == child && status == 0, "a child");
	same(memory + 2 * MIB, MIB, 10, "what the child wrote to shared memory");
	same(memory + 3 * MIB, 5 * MIB, 1 + 3 * MIB, "private memory");
	need(!MUNMAP(memory + 2 * MIB, MIB), "munmap of shared memory");
	need(ends_by(reads, memory + 2 * MIB) == SIGSEGV, "nothing is left of it");
	FAILS(MMAP(0, 0, RW, ANONYMOUS), EINVAL);
	FAILS(MMAP(memory + 1, PAGE, RW, ANONYMOUS | MAP_FIXED), EINVAL);
	FAILS(MUNMAP(memory + 1, PAGE), EINVAL);
	FAILS(MPROTECT(memory + 1, PAGE, PROT_READ), EINVAL);
	FAILS(MMAP(0, -4096ul, RW, ANONYMOUS), ENOMEM);
	char *low = MMAP(0, 4 * MIB, RW, ANONYMOUS | MAP_32BIT), *full = MMAP(0, 4 * MIB, RW, ANONYMOUS | MAP_POPULATE);
	need(low != MAP_FAILED && (uintptr_t)low >> 32 == 0 && full != MAP_FAILED, "mmap below 4 GiB, and populated");
	fill(low, 4 * MIB, 5), fill(full, 4 * MIB, 6);
	press();
	same(low, 4 * MIB, 5, "memory below 4 GiB"), same(full, 4 * MIB, 6, "populated memory");
}

static void advice(void)
{
	char *memory = pushed_out(8 * MIB, 1);
	int hints[] = {MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED, MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_COLD, MADV_PAGEOUT};
	for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
		errno = 0;
		/* A kernel may be without huge pages, or without swap. */
		need(!MADVISE(memory, 8 * MIB, hints[i]) || errno == EINVAL, "a hint");
	}
	same(memory, 8 * MIB, 1, "after hints");
	need(!MADVISE(memory + MIB, MIB, MADV_DONTNEED), "madvise of what is out");
	zeros(memory + MIB, MIB, "discarded memory");
	fill(memory + MIB, MIB, 1 + MIB);
	need(!MADVISE(memory + 2 * MIB, MIB, MADV_FREE), "madvise to free");
	fill(memory + 2 * MIB, MIB, 1 + 2 * MIB);
	press();
	same(memory, 8 * MIB, 1, "what was written after a discard");
	need(!MADVISE(memory, 4 * MIB, MADV_DONTFORK), "madvise against forks");
	need(ends_by(reads, memory) == SIGSEGV && ends_by(reads, memory + 5 * MIB) == 0, "a child has the other half");
	need(!MADVISE(memory, 4 * MIB, MADV_DOFORK), "madvise for forks");
	need(ends_by(reads, memory) == 0, "a child has all of it again");
	same(memory, 8 * MIB, 1, "after forks");
	FAILS(MADVISE(memory + 1, PAGE, MADV_DONTNEED), EINVAL);
	FAILS(MADVISE(memory, PAGE, 9999), EINVAL);
	int guarded = !MADVISE(memory + 4 * MIB, MIB, 102);
	need(guarded || errno == EINVAL, "a guard");
	if (guarded) {
		need(ends_by(reads, memory + 4 * MIB) == SIGSEGV, "a read of a guard");
		press();
		need(ends_by(writes, memory + 4 * MIB) == SIGSEGV, "a write to a guard after pressure");
		need(!MADVISE(memory + 4 * MIB, MIB, 103), "the guard's end");
		zeros(memory + 4 * MIB, MIB, "where the guard was");
	}
	same(memory + 5 * MIB, 3 * MIB, 1 + 5 * MIB, "behind the guard");
	printf("%d\n", guarded);
}

static void keys(void)
{
	char *memory = pushed_out(8 * MIB, 1);
	need(!PKEY_MPROTECT(memory, 4 * MIB, PROT_READ, -1), "pkey_mprotect without a key");
	need(ends_by(writes, memory) == SIGSEGV, "it protects");
	need(!PKEY_MPROTECT(memory, 4 * MIB, RW, -1), "pkey_mprotect back");
	int key = pkey_alloc(0, 0);
	if (key > 0) {
		need(!PKEY_MPROTECT(memory, 4 * MIB, RW, key), "pkey_mprotect");
		same(memory, 8 * MIB, 1, "memory with a key");
		fill(memory, 4 * MIB, 2);
		need(!pkey_set(key, PKEY_DISABLE_ACCESS), "pkey_set");
		need(ends_by(reads, memory) == SIGSEGV && ends_by(reads, memory + 4 * MIB) == 0, "no access");
		press();
		need(!pkey_set(key, 0), "pkey_set back");
		same(memory, 4 * MIB, 2, "memory with a key after pressure");
		need(!PKEY_MPROTECT(memory, 4 * MIB, RW, 0) && !pkey_free(key), "the key's end");
		press();
		same(memory, 4 * MIB, 2, "memory without the key");
	}
	FAILS(PKEY_MPROTECT(memory, PAGE, RW, 15), EINVAL);
	printf("%d\n", key > 0);
}

static void locks(void)
{
	char *memory = pushed_out(8 * MIB, 1), *other = pushed_out(4 * MIB, 2);
	need(!MLOCK(memory + 1, 2 * MIB) && !MLOCK2(other, 4 * MIB, MLOCK_ONFAULT), "mlock");
	press();
	unsigned char in[2 * MIB / PAGE];
	need(!mincore(memory, 2 * MIB, in), "mincore");
	for (size_t i = 0; i < sizeof in; i++) need(in[i] & 1, "locked memory is resident");
	same(memory, 8 * MIB, 1, "locked memory"), same(other, 4 * MIB, 2, "memory that is locked when it is used");
	need(!MUNLOCK(memory, 2 * MIB + PAGE) && !MUNLOCK(other, 4 * MIB), "munlock");
	need(!MLOCKALL(MCL_CURRENT), "mlockall");
	press();
	need(!MUNLOCKALL(), "munlockall");
	press();
	same(memory, 8 * MIB, 1, "unlocked memory"), same(other, 4 * MIB, 2, "unlocked memory");
	need(!MUNMAP(other, 4 * MIB), "munmap");
	FAILS(MLOCK(other, 4 * MIB), ENOMEM);
}

/* A program that is started here; it is this one again. */
static void starts(void)
{
	char *given[] = {"calls", "started", 0}, path[4096] = {0};
	need(readlink("/proc/self/exe", path, sizeof path - 1) > 0, "readlink");
	char *absent[] = {"absent", 0};
	FAILS(EXECVE("/nowhere/absent", absent, environ), ENOENT);
	pushed_out(8 * MIB, 1);
	EXECVE(path, given, environ);
	need(0, "execve");
}

static void started(void)
{
	char *memory = pushed_out(8 * MIB, 4);
	same(memory, 8 * MIB, 4, "memory of the program that was started");
}

static volatile int caught;
static char *volatile stack_of_handler;
static void handler(int number)
{
	char here;
	stack_of_handler = &here;
	caught += number;
	char *piece = MMAP(0, 64 * PAGE, RW, ANONYMOUS);
	if (piece == MAP_FAILED) return;
	fill(piece, 64 * PAGE, 8), same(piece, 64 * PAGE, 8, "a handler's memory");
	MUNMAP(piece, 64 * PAGE);
}

#ifdef RAW
/* The kernel's own structures. */
struct action { void (*handler)(int); unsigned long flags; void (*restorer)(void); unsigned long mask; };
void restorer(void);
__asm__(".text\nrestorer:\n\tmov $15, %eax\n\tsyscall\n");

/* A signal handler, its stack, its mask and its return, all without the C library. */
static void masks(void)
{
	char *memory = pushed_out(16 * MIB, 1);
	unsigned long all = -1, none = 0, one = 1ul << (SIGUSR2 - 1), before = 0, sys = 1ul << (SIGSYS - 1);
	need(!made(SYS_rt_sigprocmask, SIG_SETMASK, (long)&none, 0, 8, 0, 0), "rt_sigprocmask");
	need(!made(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all, (long)&before, 8, 0, 0) && before == 0, "all signals blocked");
	press();
	need(!made(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&one, (long)&before, 8, 0, 0) && (before & one), "one of them unblocked");
	need(!made(SYS_rt_sigprocmask, 0, 0, (long)&before, 8, 0, 0), "rt_sigprocmask that only reads");
	need(!(before & one) && (before | one | sys | 1ul << (SIGKILL - 1) | 1ul << (SIGSTOP - 1)) == all, "the other ones");
	need(!made(SYS_rt_sigprocmask, SIG_SETMASK, (long)&none, 0, 8, 0, 0), "rt_sigprocmask back");
	stack_t stack = {.ss_sp = stack_of(ALT), .ss_size = ALT}, had = {0}, has = {0};
	need(!made(SYS_sigaltstack, (long)&stack, (long)&had, 0, 0, 0, 0) && had.ss_flags == SS_DISABLE, "sigaltstack");
	need(!made(SYS_sigaltstack, 0, (long)&has, 0, 0, 0, 0), "sigaltstack that only reads");
	need(has.ss_sp == stack.ss_sp && has.ss_size == ALT && has.ss_flags == 0, "the stack that was set");
	struct action action = {handler, SA_ONSTACK | 0x04000000, restorer, all}, was = {0};
	need(!made(SYS_rt_sigaction, SIGUSR1, (long)&action, (long)&was, 8, 0, 0) && !was.handler, "rt_sigaction");
	for (int i = 0; i < 100; i++) {
		need(!made(SYS_kill, getpid(), SIGUSR1, 0, 0, 0, 0), "kill");
		if (i % 10 == 0) press();
	}
	need(caught == 100 * SIGUSR1, "every signal was handled");
	need((char *)stack_of_handler >= (char *)stack.ss_sp && (char *)stack_of_handler < (char *)stack.ss_sp + ALT, "on its stack");
	need(!made(SYS_rt_sigprocmask, 0, 0, (long)&before, 8, 0, 0) && before == 0, "the mask of before the signal");
	FAILS(made(SYS_rt_sigaction, SIGKILL, (long)&action, 0, 8, 0, 0), EINVAL);
	need(!made(SYS_rt_sigaction, SIGUSR1, 0, (long)&was, 8, 0, 0) && was.handler == handler, "rt_sigaction that only reads");
	/* The program's own SIGSYS. */
	caught = 0;
	action.flags = 0x04000000;
	need(!made(SYS_rt_sigaction, SIGSYS, (long)&action, (long)&was, 8, 0, 0) && !was.handler, "rt_sigaction of SIGSYS");
	need(!made(SYS_rt_sigaction, SIGSYS, 0, (long)&was, 8, 0, 0) && was.handler == handler, "the handler of SIGSYS");
	need(!made(SYS_kill, getpid(), SIGSYS, 0, 0, 0, 0) && caught == SIGSYS, "SIGSYS from a process");
	press();
	same(memory, 16 * MIB, 1, "memory after signals");
}
#endif

/* What seccomp refuses arrives as the program's own SIGSYS. */
static void refuse_getppid(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
	need(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), "seccomp");
}

static void raises(char *memory) { (void)memory, raise(SIGSYS); }

static void sandbox(void)
{
	char *memory = pushed_out(16 * MIB, 1);
	struct sigaction action = {.sa_handler = handler}, was;
	need(!sigaction(SIGSYS, &action, &was) && was.sa_handler == SIG_DFL, "sigaction");
	refuse_getppid();
	for (int i = 0; i < 3; i++) getppid();
	need(caught == 3 * SIGSYS, "refused calls arrive");
	press();
	need(!sigaction(SIGSYS, 0, &was) && was.sa_handler == handler, "sigaction that only reads");
	action.sa_handler = SIG_IGN;
	need(!sigaction(SIGSYS, &action, &was) && was.sa_handler == handler, "sigaction of SIG_IGN");
	need(!raise(SIGSYS) && caught == 3 * SIGSYS, "an ignored signal");
	sigset_t all, old;
	sigfillset(&all);
	need(!pthread_sigmask(SIG_BLOCK, &all, 0) && !sigprocmask(SIG_SETMASK, 0, &old) && sigismember(&old, SIGUSR1), "masks");
	press();
	need(!sigprocmask(SIG_UNBLOCK, &all, 0), "masks back");
	need(signal(SIGSYS, SIG_DFL) == SIG_IGN && ssignal(SIGSYS, SIG_IGN) == SIG_DFL && sysv_signal(SIGSYS, SIG_DFL) == SIG_IGN, "signal");
	same(memory, 16 * MIB, 1, "memory in a sandbox");
}

static void unhandled(void)
{
	char *memory = pushed_out(16 * MIB, 1);
	need(ends_by(raises, memory) == SIGSYS, "SIGSYS ends a program that does not handle it");
}

static int share(void *memory)
{
	fill(memory, 8 * MIB, 2);
	return 42;
}

static void *in_thread(void *memory)
{
	press();
	same(memory, 8 * MIB, 2, "a thread's view");
	return memory;
}

/* A child with the parent's memory, a thread, and a child with a copy. */
static void children(void)
{
	char *memory = pushed_out(8 * MIB, 1), *stack = stack_of(ALT);
	int status, child = clone(share, stack + ALT, CLONE_VM | SIGCHLD, memory);
	need(child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 42, "a child that shares memory");
	same(memory, 8 * MIB, 2, "what the child wrote");
	press();
	pthread_t thread;
	void *result;
	need(!pthread_create(&thread, 0, in_thread, memory) && !pthread_join(thread, &result) && result == memory, "a thread");
	pid_t (*const forks[])(void) = {fork, _Fork};
	for (int way = 0; way < 2; way++) {
		child = forks[way]();
		if (child == 0) {
			press();
			same(memory, 8 * MIB, 2, "a child's copy");
			_exit(0);
		}
		need(waitpid(child, &status, 0) == child && status == 0, "a child under pressure");
	}
	same(memory, 8 * MIB, 2, "the parent's memory");
}

#ifdef RAW
static char *inherited;

static void reads_elsewhere(void)
{
	same(inherited, 8 * MIB, 2, "a copy, on another stack");
	press();
	_exit(0);
}

/* A child with a copy of the memory that starts on another stack with `reads_elsewhere`. */
static int on_another_stack(char *top, long number, long a, long b)
{
	register long r10 __asm__("r10") = 0, r8 __asm__("r8") = 0;
	register void (*work)(void) __asm__("r12") = reads_elsewhere;
	long id;
	__asm__ volatile("syscall\n\ttest %%rax, %%rax\n\tjnz 1f\n\tcall *%%r12\n1:"
			 : "=a"(id) : "a"(number), "D"(a), "S"(b), "d"(0), "r"(r10), "r"(r8), "r"(work) : "rcx", "r11", "memory");
	return id;
}
#endif

/* A fork by the same way as the other calls. */
static void forked(void)
{
	char *memory = pushed_out(8 * MIB, 2);
#ifdef RAW
	char *stack = stack_of(ALT);
	inherited = memory;
	for (int way = 0; way < 2; way++) {
		struct clone_args given = {.exit_signal = SIGCHLD, .stack = (long)stack, .stack_size = ALT};
		int end, id = way ? on_another_stack(stack + ALT, SYS_clone3, (long)&given, sizeof given)
				  : on_another_stack(stack + ALT, SYS_clone, SIGCHLD, (long)stack + ALT);
		need(id > 0 && waitpid(id, &end, 0) == id && end == 0, "a child on another stack");
	}
#endif
	int status, child = FORK();
	if (child == 0) {
		same(memory, 8 * MIB, 2, "a child's copy");
		char *own = fresh(MIB);
		fill(memory, 8 * MIB, 3), fill(own, MIB, 4), same(own, MIB, 4, "a child's memory");
		_exit(0);
	}
	need(child > 0 && waitpid(child, &status, 0) == child && status == 0, "a forked child");
	same(memory, 8 * MIB, 2, "the parent's copy");
}

/* Parent and child discard and write what the other one still reads. */
static void apart(void)
{
	char *memory = pushed_out(8 * MIB, 1), byte;
	for (int round = 0; round < 3; round++) {
		int pipes[2], status, child;
		need(!pipe(pipes), "pipe");
		fill(memory, 8 * MIB, 1);
		press();
		child = fork();
		if (child == 0) {
			close(pipes[1]);
			need(read(pipes[0], &byte, 1) == 0, "read");
			same(memory, 4 * MIB, 1, "what the parent has discarded");
			need(!MADVISE(memory + 4 * MIB, 4 * MIB, MADV_DONTNEED), "madvise in a child");
			zeros(memory + 4 * MIB, 4 * MIB, "what the child has discarded");
			_exit(0);
		}
		close(pipes[0]);
		need(!MADVISE(memory, 4 * MIB, MADV_DONTNEED), "madvise while a child reads");
		zeros(memory, 4 * MIB, "what the parent has discarded, in the parent");
		fill(memory, 2 * MIB, 3);
		press();
		close(pipes[1]);
		need(waitpid(child, &status, 0) == child && status == 0, "a child");
		same(memory, 2 * MIB, 3, "what was written since");
		zeros(memory + 2 * MIB, 2 * MIB, "what was not written since");
		same(memory + 4 * MIB, 4 * MIB, 1 + 4 * MIB, "what the child has discarded, in the parent");
	}
	need(!MLOCK(memory, MIB), "mlock");
	FAILS(MADVISE(memory, MIB, MADV_DONTNEED), EINVAL);
	same(memory, MIB, 3, "locked memory is not discarded");
	need(!MUNLOCK(memory, MIB) && !MADVISE(memory, MIB, MADV_DONTNEED), "munlock");
	zeros(memory, MIB, "discarded memory");
}

/* Blocks from before any library has started. */
static char *early[4];
static void allocate_early(void)
{
	early[0] = malloc(100), early[1] = calloc(10, 100), early[2] = realloc(malloc(50), 5000), early[3] = aligned_alloc(PAGE, PAGE);
	if (early[0] && early[1]) memset(early[0], 1, 100), early[2][4999] = 2, memset(early[3], 3, PAGE);
	free(malloc(64 << 10));
	if (calloc((size_t)-1, 2) || malloc((size_t)-1 - 64)) early[0] = 0;
}
__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = allocate_early;

extern size_t malloc_usable_size(void *);
static void blocks(void)
{
	need(early[0] && early[1] && early[2] && early[3] && (uintptr_t)early[3] % PAGE == 0, "blocks");
	need(malloc_usable_size(early[0]) >= 100 && malloc_usable_size(early[2]) >= 5000, "their sizes");
	for (int i = 0; i < 1000; i++) need(!early[1][i], "zeros of calloc");
	press();
	char *grown = realloc(early[0], MIB);
	for (int i = 0; i < 100; i++) need(grown[i] == 1, "what a block held before it grew");
	char *shrunk = realloc(early[3], 10);
	for (int i = 0; i < 10; i++) need(shrunk[i] == 3, "what a block held before it shrank");
	need(early[2][4999] == 2, "a block that was left alone");
	free(grown), free(shrunk), free(early[1]), free(early[2]);
	press();
}

/* One change of credentials after the other, by the C library's functions, and another root directory. */
static void users(void)
{
	char *memory = pushed_out(16 * MIB, 1);
	need(!chroot("/") && !setgroups(0, 0), "chroot and setgroups");
	need(!setegid(65534) && getegid() == 65534 && getgid() == 0, "setegid");
	need(!setegid(0) && !setregid(65534, 65534) && getgid() == 65534 && getegid() == 65534, "setregid");
	need(!setgid(65533) && getgid() == 65533, "setgid");
	need(!seteuid(65534) && geteuid() == 65534 && getuid() == 0, "seteuid");
	press();
	need(!seteuid(0) && geteuid() == 0, "seteuid back");
	int status, child = fork();
	if (child == 0) {
		need(!setuid(65534) && getuid() == 65534 && geteuid() == 65534, "setuid");
		FAILS(setuid(0), EPERM);
		_exit(0);
	}
	need(waitpid(child, &status, 0) == child && status == 0, "a child");
	need(!setreuid(65534, 65534) && getuid() == 65534, "setreuid");
	FAILS(setreuid(0, 0), EPERM);
	FAILS(setresgid(0, 0, 0), EPERM);
	press();
	same(memory, 16 * MIB, 1, "memory of another user");
}

int main(int count, char **words)
{
	const struct Case cases[] = {
		{"remaps", remaps}, {"fixed", fixed}, {"advice", advice}, {"keys", keys}, {"locks", locks}, {"starts", starts},
		{"started", started}, {"sandbox", sandbox}, {"unhandled", unhandled}, {"children", children}, {"forked", forked}, {"apart", apart}, {"blocks", blocks}, {"users", users},
#ifdef RAW
		{"masks", masks},
#endif
		{0},
	};
	return run_case(cases, count, words);
}
