/* The system calls of an eviction to a file that is mapped in place: protect, save, drop, lift. `floor.c` counts what they take alone,
 * `touch.c` runs its workload with
 * nothing else (`bound`). */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PAGE = 4096, RUN = 64 };
static char *base;
static size_t pages;
static int file, faults, self;

static void need(int done, const char *what) { if (!done) { perror(what); exit(1); } }

/* Open the file, the userfaultfd and the process's own descriptor. */
static void open_all(void)
{
	struct uffdio_api api = {UFFD_API, UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_HUGETLBFS_SHMEM, 0};
	need((file = memfd_create("pages", 0)) >= 0 && !ftruncate(file, (off_t)pages * PAGE), "memfd");
	need((faults = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK)) >= 0 && !ioctl(faults, UFFDIO_API, &api), "userfaultfd");
	need((self = syscall(SYS_pidfd_open, getpid(), 0)) >= 0, "pidfd_open");
}

static void protect(size_t first, size_t count)
{
	struct uffdio_range range = {(uintptr_t)base + first * PAGE, count * PAGE};
	struct uffdio_register wanted = {range, UFFDIO_REGISTER_MODE_WP, 0};
	struct uffdio_writeprotect on = {range, UFFDIO_WRITEPROTECT_MODE_WP};
	need(!ioctl(faults, UFFDIO_REGISTER, &wanted) && !ioctl(faults, UFFDIO_WRITEPROTECT, &on), "write-protect");
}

/* Wake the writers that wait for a window's end: to unregister a range wakes only those that wait for missing pages. */
static void wake(size_t first, size_t count)
{
	struct uffdio_range range = {(uintptr_t)base + first * PAGE, count * PAGE};
	need(!ioctl(faults, UFFDIO_WAKE, &range), "wake");
}

static void lift(size_t first, size_t count)
{
	struct uffdio_range range = {(uintptr_t)base + first * PAGE, count * PAGE};
	need(!ioctl(faults, UFFDIO_UNREGISTER, &range), "unregister");
	wake(first, count);
}

static void save(size_t first, size_t count)
{
	need(pwrite(file, base + first * PAGE, count * PAGE, (off_t)first * PAGE) == (ssize_t)(count * PAGE), "pwrite");
}

/* Drop `runs` runs of pages (64 at most). */
static void drop(const size_t *first, const size_t *length, size_t runs)
{
	struct iovec ranges[RUN];
	for (size_t i = 0; i < runs; i++) ranges[i] = (struct iovec){base + first[i] * PAGE, length[i] * PAGE};
	need(syscall(SYS_process_madvise, self, ranges, runs, MADV_DONTNEED, 0) >= 0, "process_madvise");
}
