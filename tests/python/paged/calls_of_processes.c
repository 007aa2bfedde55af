/* Calls about processes, threads, signals and users whose result a pager could get wrong. usage: calls_of_processes CASE */
#include "calls.h"

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
		{"starts", starts}, {"started", started}, {"sandbox", sandbox}, {"unhandled", unhandled}, {"children", children},
		{"forked", forked}, {"apart", apart}, {"users", users},
#ifdef RAW
		{"masks", masks},
#endif
		{0},
	};
	return run_case(cases, count, words);
}
