/* The system calls of an eviction to a file that is mapped in place, without the pager's census, policy and waiting threads.
 * `benches.pager.run` compares it with the pager's cost of a page.
 * usage: floor SET_MIB ROUND
 * Prints nanoseconds of processor time per page: for runs of 64 pages with new places in the file, then for pages scattered over the
 * set, ROUND of them at a time while the whole set is protected, as in a round of the pager. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, RUN = 64 };
static char *base;
static size_t pages;
static int file, faults, self;

static void need(int done, const char *what) { if (!done) { perror(what); exit(1); } }
static double cpu(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec * 1e9 + t.tv_nsec; }

static void protect(size_t first, size_t count)
{
	struct uffdio_range range = {(uintptr_t)base + first * PAGE, count * PAGE};
	struct uffdio_register wanted = {range, UFFDIO_REGISTER_MODE_WP, 0};
	struct uffdio_writeprotect on = {range, UFFDIO_WRITEPROTECT_MODE_WP};
	need(!ioctl(faults, UFFDIO_REGISTER, &wanted) && !ioctl(faults, UFFDIO_WRITEPROTECT, &on), "write-protect");
}

static void lift(size_t first, size_t count)
{
	struct uffdio_range range = {(uintptr_t)base + first * PAGE, count * PAGE};
	need(!ioctl(faults, UFFDIO_UNREGISTER, &range), "unregister");
}

static void save(size_t first, size_t count)
{
	need(pwrite(file, base + first * PAGE, count * PAGE, (off_t)first * PAGE) == (ssize_t)(count * PAGE), "pwrite");
}

static void drop(const size_t *page, size_t runs, size_t length)
{
	struct iovec ranges[RUN];
	for (size_t i = 0; i < runs; i++) ranges[i] = (struct iovec){base + page[i] * PAGE, length * PAGE};
	need(syscall(SYS_process_madvise, self, ranges, runs, MADV_DONTNEED, 0) >= 0, "process_madvise");
}

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
		drop(&at, 1, RUN);
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
	size_t done = 0;
	for (; done + round <= pages; done += round) {
		protect(0, pages);
		for (size_t i = done; i < done + round; i++) save(order[i], 1);
		for (size_t i = done; i < done + round; i += RUN) drop(order + i, i + RUN < done + round ? RUN : done + round - i, 1);
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
	struct uffdio_api api = {UFFD_API, UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_HUGETLBFS_SHMEM, 0};
	need((file = memfd_create("floor", 0)) >= 0 && !ftruncate(file, (off_t)pages * PAGE), "memfd");
	need((faults = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK)) >= 0 && !ioctl(faults, UFFDIO_API, &api), "userfaultfd");
	need((self = syscall(SYS_pidfd_open, getpid(), 0)) >= 0, "pidfd_open");
	base = mmap(0, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file, 0);
	need(base != MAP_FAILED, "mmap");
	double first = batches(), second = scattered(round);
	printf("%.0f %.0f\n", first, second);
	return 0;
}
