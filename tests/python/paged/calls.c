/* Calls about memory whose result a pager could get wrong. usage: calls CASE */
#include "calls.h"

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

static void properties(void)
{
	/* Memory that is not inherited, or locked, stays so when it grows and when it moves. */
	char *memory = MMAP(0, 8 * MIB, RW, ANONYMOUS);
	need(!MUNMAP(memory + 2 * MIB, 6 * MIB) && !MADVISE(memory, MIB, MADV_DONTFORK), "a half that is not inherited");
	FAILS(MREMAP(memory, 2 * MIB, 16 * MIB, MREMAP_MAYMOVE, 0), EFAULT);
	need(!MADVISE(memory + MIB, MIB, MADV_DONTFORK), "the other half");
	memory = MREMAP(memory, 2 * MIB, 4 * MIB, MREMAP_MAYMOVE, 0);
	need(memory != MAP_FAILED, "mremap of memory that is not inherited");
	fill(memory, 4 * MIB, 1);
	need(ends_by(reads, memory) == SIGSEGV && ends_by(reads, memory + 3 * MIB) == SIGSEGV, "a child has none of it");
	char *target = fresh(16 * MIB);
	memory = MREMAP(memory, 4 * MIB, 16 * MIB, MREMAP_MAYMOVE | MREMAP_FIXED, target);
	need(memory == target && ends_by(reads, memory) == SIGSEGV && ends_by(reads, memory + 8 * MIB) == SIGSEGV, "nor after a move");
	press();
	same(memory, 4 * MIB, 1, "what has moved");
	char *locked = fresh(MIB);
	need(!mlock(locked, MIB), "mlock");
	fill(locked, MIB, 2);
	char *moved = MREMAP(locked, MIB, MIB, MREMAP_MAYMOVE | MREMAP_FIXED, memory + 8 * MIB);
	need(moved == memory + 8 * MIB, "mremap of locked memory");
	press();
	unsigned char in_memory[MIB / PAGE];
	need(!mincore(moved, MIB, in_memory), "mincore");
	for (size_t i = 0; i < sizeof in_memory; i++) need(in_memory[i] & 1, "a locked page after pressure");
	FAILS(MADVISE(moved, MIB, MADV_DONTNEED), EINVAL);
	same(moved, MIB, 2, "locked memory");
}

static void holes(void)
{
	/* A program may map again where it has unmapped: nothing else may lie there. */
	char *memory = MMAP(0, 32 * MIB, RW, ANONYMOUS | MAP_GROWSDOWN);
	need(memory != MAP_FAILED && !MUNMAP(memory, 32 * MIB), "mmap and munmap");
	for (size_t at = 0; at < 32 * MIB; at += PAGE) {
		int flags = ANONYMOUS | (at < 16 * MIB ? MAP_FIXED : MAP_FIXED_NOREPLACE);
		need(MMAP(memory + at, PAGE, RW, flags) == memory + at, "mmap of a page");
		fill(memory + at, PAGE, at);
	}
	same(memory, 32 * MIB, 0, "all pages");
}

/* Fill the page of each fault that a userfaultfd reports with its number. */
static void *fills(void *fd)
{
	static char page[PAGE];
	struct uffd_msg fault;
	while (read((int)(long)fd, &fault, sizeof fault) == sizeof fault) {
		uint64_t at = fault.arg.pagefault.address / PAGE * PAGE;
		fill(page, PAGE, at / PAGE);
		struct uffdio_copy copy = {.dst = at, .src = (uint64_t)page, .len = PAGE};
		need(!IOCTL((int)(long)fd, UFFDIO_COPY, &copy), "a page is filled");
	}
	return 0;
}

static void handler(void)
{
	/* Memory whose faults the program handles itself. */
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = {.api = UFFD_API};
	if (fd < 0 || IOCTL(fd, UFFDIO_API, &api)) return;
	const size_t size = MIB / 8;
	char *memory = pushed_out(8 * MIB, 1), *discarded = memory + MIB, *untouched = fresh(size);
	FAILS(IOCTL(fd, UFFDIO_REGISTER, 8), EFAULT);
	for (int i = 0; i < 2; i++) {
		struct uffdio_register these = {.range = {(uint64_t)(i ? untouched : discarded), size}, .mode = UFFDIO_REGISTER_MODE_MISSING};
		need(!IOCTL(fd, UFFDIO_REGISTER, &these), "memory is registered");
	}
	same(memory, 8 * MIB, 1, "what was out when it was registered");
	pthread_t thread;
	need(!pthread_create(&thread, 0, fills, (void *)(long)fd), "a thread");
	need(!MADVISE(discarded, size, MADV_DONTNEED), "madvise");
	for (int round = 0; round < 2; round++) {
		for (char *page = untouched; page < untouched + size; page += PAGE) same(page, PAGE, (uint64_t)page / PAGE, "untouched memory");
		for (char *page = discarded; page < discarded + size; page += PAGE) same(page, PAGE, (uint64_t)page / PAGE, "discarded memory");
		press();
		same(memory, MIB, 1, "what lies before"), same(discarded + size, 4 * MIB, 1 + MIB + size, "what lies behind");
	}
}

static void several(void)
{
	/* Advice to several ranges of this process at once (Linux 6.13). */
	char *memory = pushed_out(8 * MIB, 1);
	int self = syscall(SYS_pidfd_open, getpid(), 0);
	struct iovec ranges[] = {{memory + MIB, MIB}, {memory + 4 * MIB, MIB}};
	need(self >= 0, "pidfd_open");
	FAILS(PROCESS_MADVISE(self, 8, 1, MADV_DONTNEED), EFAULT);
	FAILS(PROCESS_MADVISE(99, ranges, 2, MADV_DONTNEED), EBADF);
	long advised = PROCESS_MADVISE(self, ranges, 2, MADV_DONTNEED);
	need(advised == 2 * MIB || (advised == -1 && errno == EINVAL), "process_madvise");
	if (advised == -1) MADVISE(memory + MIB, MIB, MADV_DONTNEED), MADVISE(memory + 4 * MIB, MIB, MADV_DONTNEED);
	same(memory, MIB, 1, "before them"), zeros(memory + MIB, MIB, "the first one");
	same(memory + 2 * MIB, 2 * MIB, 1 + 2 * MIB, "between them"), zeros(memory + 4 * MIB, MIB, "the second one");
	same(memory + 5 * MIB, 3 * MIB, 1 + 5 * MIB, "behind them");
	/* A private mapping of /dev/zero is anonymous memory. */
	int zero = open("/dev/zero", O_RDWR);
	char *old = MMAP_FILE(32 * MIB, zero);
	need(old != MAP_FAILED, "mmap of /dev/zero");
	zeros(old, 32 * MIB, "/dev/zero"), fill(old, 32 * MIB, 3), same(old, 32 * MIB, 3, "what was written over it");
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

int main(int count, char **words)
{
	const struct Case cases[] = {
		{"remaps", remaps}, {"properties", properties}, {"holes", holes}, {"handler", handler}, {"several", several}, {"fixed", fixed},
		{"advice", advice}, {"keys", keys}, {"locks", locks}, {"blocks", blocks}, {0},
	};
	return run_case(cases, count, words);
}
