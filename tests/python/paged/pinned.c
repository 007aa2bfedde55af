/* Memory that others write to by its page, not by its address: buffers of direct I/O and of io_uring; and memory for which huge pages
 * are wanted. The file is opened as HOW says: by open, by openat's number, or by open and fcntl; with `locked`, the buffers are locked;
 * with `refused`, a registration of all memory with io_uring fails before.
 * usage: pinned FILE HOW    exit 0: every buffer held what the file holds, under pressure. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PAGE = 4096, BUFFER = 64 * PAGE, PRESSURE = 24 << 20 };

static char *fresh(size_t bytes)
{
	char *p = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) { perror("mmap"); exit(2); }
	return p;
}

static void need(int good, const char *what) { if (!good) { perror(what); exit(2); } }

static void check(const char *buffer, int round, const char *what)
{
	for (int i = 0; i < BUFFER; i += 512)
		if (buffer[i] != (char)(i / 512 * 7 + round % 4)) { fprintf(stderr, "%s: lost at %d in round %d\n", what, i, round); exit(1); }
}

static int opened(const char *path, const char *how)
{
	int flags = O_RDWR | O_CREAT | O_TRUNC;
	if (!strcmp(how, "openat")) return syscall(SYS_openat, AT_FDCWD, path, flags | O_DIRECT, 0600);
	if (strcmp(how, "fcntl")) return open(path, flags | O_DIRECT, 0600);
	int file = open(path, flags, 0600);
	need(!fcntl(file, F_SETFL, O_DIRECT), "fcntl");
	return file;
}

int main(int argc, char **argv)
{
	if (argc != 3) return 2;
	char *pressure = fresh(PRESSURE), *direct = fresh(BUFFER), *ring_buffer = fresh(BUFFER);
	madvise(pressure, PRESSURE, MADV_HUGEPAGE);
	if (!strcmp(argv[2], "locked")) need(!mlock(direct, BUFFER) && !mlock(ring_buffer, BUFFER), "mlock");
	if (!strcmp(argv[2], "refused")) {
		struct iovec all[] = {{pressure, PRESSURE}, {direct, BUFFER}};
		need(syscall(SYS_io_uring_register, 2, IORING_REGISTER_BUFFERS, all, 2) == -1, "a registration with no ring");
	}
	int file = opened(argv[1], argv[2]);
	need(file >= 0, "open");
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < BUFFER; i++) direct[i] = i / 512 * 7 + round;
		need(pwrite(file, direct, BUFFER, round * BUFFER) == BUFFER, "pwrite");
	}
	struct io_uring_params parameters = {0};
	int ring = syscall(SYS_io_uring_setup, 4, &parameters);
	char *submit = 0, *complete = 0;
	struct io_uring_sqe *entries = 0;
	struct iovec vector = {ring_buffer, BUFFER};
	if (ring >= 0) { /* not allowed everywhere; then direct I/O alone is tried */
		submit = mmap(0, parameters.sq_off.array + parameters.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
		complete = mmap(0, parameters.cq_off.cqes + parameters.cq_entries * sizeof(struct io_uring_cqe), PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_CQ_RING);
		entries = mmap(0, parameters.sq_entries * sizeof *entries, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
		need(submit != MAP_FAILED && complete != MAP_FAILED && entries != MAP_FAILED, "mmap of the ring");
		need(!syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &vector, 1), "io_uring_register");
	}
	for (int round = 0; round < 40; round++) {
		for (int i = 0; i < PRESSURE; i += PAGE) pressure[i] = round + i / PAGE;
		need(pread(file, direct, BUFFER, round % 4 * BUFFER) == BUFFER, "pread");
		check(direct, round, "direct I/O");
		if (ring >= 0) {
			unsigned *tail = (unsigned *)(submit + parameters.sq_off.tail), *head = (unsigned *)(complete + parameters.cq_off.head);
			entries[0] = (struct io_uring_sqe){.opcode = IORING_OP_READ_FIXED, .fd = file, .off = round % 4 * BUFFER, .addr = (uintptr_t)ring_buffer, .len = BUFFER};
			((unsigned *)(submit + parameters.sq_off.array))[*tail & (parameters.sq_entries - 1)] = 0;
			__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
			need(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, 0, 0) == 1, "io_uring_enter");
			__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
			check(ring_buffer, round, "io_uring");
		}
		for (int i = 0; i < PRESSURE; i += PAGE)
			if (pressure[i] != (char)(round + i / PAGE)) { fprintf(stderr, "pressure lost at %d\n", i); return 1; }
	}
	printf("%s\n", ring >= 0 ? "direct I/O and io_uring" : "direct I/O");
	return 0;
}
