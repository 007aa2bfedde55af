/* Memory that others write to by its page, not by its address: buffers of direct I/O and of io_uring; and memory for which huge pages
 * are wanted. The file is opened as HOW says: by open, by the numbers of open, openat and openat2, or by open and fcntl. With `locked`, the
 * buffers are locked. With `tagged`, `updated` and `provided`, io_uring learns of its buffer in another way; with `own`, the program
 * asks for a ring in its own memory first; with `refused`, a registration of all memory with io_uring fails before.
 * usage: pinned FILE HOW    exit 0: every buffer held what the file holds, under pressure. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/openat2.h>
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
	struct open_how structure = {.flags = flags | O_DIRECT, .mode = 0600};
	if (!strcmp(how, "openat2")) return syscall(SYS_openat2, AT_FDCWD, path, &structure, sizeof structure);
#ifdef SYS_open
	if (!strcmp(how, "open by number")) return syscall(SYS_open, path, flags | O_DIRECT, 0600);
#endif
	if (!strcmp(how, "openat")) return syscall(SYS_openat, AT_FDCWD, path, flags | O_DIRECT, 0600);
	if (strcmp(how, "fcntl")) return open(path, flags | O_DIRECT, 0600);
	int file = open(path, flags, 0600);
	need(!fcntl(file, F_SETFL, O_DIRECT), "fcntl");
	return file;
}

/* Tell the ring of its one buffer. */
static void give(int ring, const char *how, char *buffer)
{
	struct iovec vector = {buffer, BUFFER};
	struct io_uring_rsrc_register all = {.nr = 1, .data = (uintptr_t)&vector};
	struct io_uring_rsrc_register empty = {.nr = 1, .flags = 1}; /* IORING_RSRC_REGISTER_SPARSE */
	struct io_uring_rsrc_update2 update = {.nr = 1, .data = (uintptr_t)&vector};
	if (!strcmp(how, "tagged"))
		need(!syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS2, &all, sizeof all), "IORING_REGISTER_BUFFERS2");
	else if (!strcmp(how, "updated")) {
		need(!syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS2, &empty, sizeof empty), "a table without buffers");
		need(syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS_UPDATE, &update, sizeof update) == 1, "IORING_REGISTER_BUFFERS_UPDATE");
	} else
		need(!syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &vector, 1), "io_uring_register");
}

/* Put the buffer into the table of buffers that the kernel takes from. */
static void provide(struct io_uring_buf *table, char *buffer, unsigned round)
{
	struct io_uring_buf *at = &table[round % 8];
	at->addr = (uintptr_t)buffer, at->len = BUFFER, at->bid = 0;
	__atomic_store_n(&table[0].resv, (unsigned short)(round + 1), __ATOMIC_RELEASE); /* the tail */
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
	int provided = !strcmp(argv[2], "provided"), ring;
	struct io_uring_params parameters = {0}, own = {.flags = 1 << 14, .sq_off.resv2 = (uintptr_t)fresh(PAGE), .cq_off.resv2 = (uintptr_t)fresh(PAGE)};
	if (!strcmp(argv[2], "own")) need(syscall(SYS_io_uring_setup, 4, &own) == -1 && (errno == EINVAL || errno == EPERM), "a ring in memory that is paged is refused");
	ring = syscall(SYS_io_uring_setup, 4, &parameters);
	char *submit = 0, *complete = 0;
	struct io_uring_sqe *entries = 0;
	struct io_uring_buf *table = (struct io_uring_buf *)fresh(PAGE);
	if (ring >= 0) { /* not allowed everywhere; then direct I/O alone is tried */
		submit = mmap(0, parameters.sq_off.array + parameters.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
		complete = mmap(0, parameters.cq_off.cqes + parameters.cq_entries * sizeof(struct io_uring_cqe), PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_CQ_RING);
		entries = mmap(0, parameters.sq_entries * sizeof *entries, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
		need(submit != MAP_FAILED && complete != MAP_FAILED && entries != MAP_FAILED, "mmap of the ring");
		struct io_uring_buf_reg registered = {.ring_addr = (uintptr_t)table, .ring_entries = 8};
		if (provided)
			need(!syscall(SYS_io_uring_register, ring, IORING_REGISTER_PBUF_RING, &registered, 1), "IORING_REGISTER_PBUF_RING");
		else
			give(ring, argv[2], ring_buffer);
	}
	for (int round = 0; round < 16; round++) {
		for (int i = 0; i < PRESSURE; i += PAGE) pressure[i] = round + i / PAGE;
		need(pread(file, direct, BUFFER, round % 4 * BUFFER) == BUFFER, "pread");
		check(direct, round, "direct I/O");
		if (ring >= 0) {
			unsigned *tail = (unsigned *)(submit + parameters.sq_off.tail), *head = (unsigned *)(complete + parameters.cq_off.head);
			entries[0] = (struct io_uring_sqe){.opcode = IORING_OP_READ_FIXED, .fd = file, .off = round % 4 * BUFFER, .addr = (uintptr_t)ring_buffer, .len = BUFFER};
			if (provided) {
				provide(table, ring_buffer, round);
				entries[0] = (struct io_uring_sqe){.opcode = IORING_OP_READ, .flags = IOSQE_BUFFER_SELECT, .fd = file, .off = round % 4 * BUFFER, .len = BUFFER};
			}
			((unsigned *)(submit + parameters.sq_off.array))[*tail & (parameters.sq_entries - 1)] = 0;
			__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
			need(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, 0, 0) == 1, "io_uring_enter");
			struct io_uring_cqe *completed = (struct io_uring_cqe *)(complete + parameters.cq_off.cqes) + (*head & (parameters.cq_entries - 1));
			errno = completed->res < 0 ? -completed->res : 0;
			need(completed->res == BUFFER, "the read");
			__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
			check(ring_buffer, round, "io_uring");
		}
		for (int i = 0; i < PRESSURE; i += PAGE)
			if (pressure[i] != (char)(round + i / PAGE)) { fprintf(stderr, "pressure lost at %d\n", i); return 1; }
	}
	printf("%s\n", ring >= 0 ? "direct I/O and io_uring" : "direct I/O");
	return 0;
}
