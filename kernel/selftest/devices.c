// SPDX-License-Identifier: GPL-2.0-only
/* Tests that both devices return what was written, and take the time of their parameters. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "selftest.h"

#define OPERATIONS 64

static long device_counter(const char *device, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/block/%s/counters/%s", device, name);
	return file_number(path);
}

/* The mean time of sequential 4 KiB direct I/O operations at scattered offsets. */
static uint64_t mean_ns(int fd, char *page, bool is_write)
{
	uint64_t start = now_ns();

	for (long i = 0; i < OPERATIONS; i++) {
		off_t at = (mix(i) % 2048) * PAGE;
		ssize_t n = is_write ? pwrite(fd, page, PAGE, at) : pread(fd, page, PAGE, at);

		if (n != PAGE)
			fail("transfer of page %ld returned %zd", i, n);
	}
	return (now_ns() - start) / OPERATIONS;
}

static void check_content(int fd, char *page, const char *device)
{
	for (uint64_t i = 0; i < OPERATIONS; i++) {
		for (int k = 0; k < PAGE / 8; k++)
			((uint64_t *)page)[k] = mix(i << 32 | k);
		if (pwrite(fd, page, PAGE, i * 3 * PAGE) != PAGE)
			fail("%s: write of page %lu", device, (unsigned long)i);
	}
	for (uint64_t i = 0; i < OPERATIONS; i++) {
		if (pread(fd, page, PAGE, i * 3 * PAGE) != PAGE)
			fail("%s: read of page %lu", device, (unsigned long)i);
		for (int k = 0; k < PAGE / 8; k++)
			if (((uint64_t *)page)[k] != mix(i << 32 | k)) {
				fail("%s: page %lu word %d differs", device, (unsigned long)i, k);
				break;
			}
	}
}

/* Check a device's content, times and counters. A transfer may take slack_ns more than its price. */
static void check_device(const char *device, uint64_t read_ns, uint64_t write_ns, uint64_t slack_ns)
{
	char path[64], *page = aligned_alloc(PAGE, PAGE);
	long reads, writes, bytes, busy;
	uint64_t took_read, took_write;
	int fd;

	snprintf(path, sizeof(path), "/dev/%s", device);
	fd = open(path, O_RDWR | O_DIRECT);
	if (fd < 0 || !page) {
		fail("%s: no such device", path);
		return;
	}
	check_content(fd, page, device);
	reads = device_counter(device, "reads");
	writes = device_counter(device, "writes");
	bytes = device_counter(device, "read_bytes") + device_counter(device, "write_bytes");
	busy = device_counter(device, "busy_ns");
	took_write = mean_ns(fd, page, true);
	took_read = mean_ns(fd, page, false);
	printf("%s read %lu ns (price %lu) write %lu ns (price %lu)\n", device,
	       (unsigned long)took_read, (unsigned long)read_ns, (unsigned long)took_write,
	       (unsigned long)write_ns);
	if (took_read < read_ns || took_read > read_ns + slack_ns)
		fail("%s: read took %lu ns", device, (unsigned long)took_read);
	if (took_write < write_ns || took_write > write_ns + slack_ns)
		fail("%s: write took %lu ns", device, (unsigned long)took_write);
	expect(device_counter(device, "reads") - reads == OPERATIONS, "reads are counted");
	expect(device_counter(device, "writes") - writes == OPERATIONS, "writes are counted");
	expect(device_counter(device, "read_bytes") + device_counter(device, "write_bytes") - bytes ==
	       2 * OPERATIONS * PAGE, "bytes are counted");
	busy = device_counter(device, "busy_ns") - busy;
	if (labs(busy - (long)(OPERATIONS * (read_ns + write_ns))) > 2 * OPERATIONS)
		fail("%s: busy_ns rose by %ld", device, busy);
	free(page);
	close(fd);
}

struct reader { int fd; long first, count; };

static void *read_pages(void *argument)
{
	struct reader *r = argument;
	char *page = aligned_alloc(PAGE, PAGE);

	for (long i = 0; i < r->count; i++)
		if (pread(r->fd, page, PAGE, (r->first + i) * 7 * PAGE) != PAGE)
			fail("flash: parallel read");
	free(page);
	return NULL;
}

/* In each round, D parallel readers take D transfers and one latency, not D latencies. */
static void check_channels(uint64_t latency_ns, uint64_t transfer_ns, long channels)
{
	struct reader readers[64];
	pthread_t threads[64];
	uint64_t start, took, least = 16 * (latency_ns + transfer_ns), serial = channels * least;
	int fd = open("/dev/flash", O_RDONLY | O_DIRECT);

	start = now_ns();
	for (long i = 0; i < channels; i++) {
		readers[i] = (struct reader){ fd, i * 16, 16 };
		pthread_create(&threads[i], NULL, read_pages, &readers[i]);
	}
	for (long i = 0; i < channels; i++)
		pthread_join(threads[i], NULL);
	took = now_ns() - start;
	printf("flash %ld readers of 16 pages took %lu ns, one channel would take %lu\n", channels,
	       (unsigned long)took, (unsigned long)serial);
	expect(took >= least, "parallel reads cost at least a reader's own time");
	expect(channels == 1 || took < serial / 2 + least, "channels work in parallel");
	close(fd);
}

/* One direct I/O request of many pages takes one latency. */
static void check_merge(uint64_t latency_ns, uint64_t kib_s, long merge_kib)
{
	char *pages = aligned_alloc(PAGE, merge_kib * 1024);
	int fd = open("/dev/flash", O_RDONLY | O_DIRECT);
	long reads = device_counter("flash", "reads");
	uint64_t start, took, price = latency_ns + merge_kib * 1000000000ull / kib_s;

	memset(pages, 1, merge_kib * 1024);	/* so that zero-fill faults are not measured */
	start = now_ns();
	if (pread(fd, pages, merge_kib * 1024, 0) != merge_kib * 1024)
		fail("flash: read of %ld KiB", merge_kib);
	took = now_ns() - start;
	reads = device_counter("flash", "reads") - reads;
	printf("flash read of %ld KiB: %lu ns (price %lu) in %ld requests\n", merge_kib,
	       (unsigned long)took, (unsigned long)price, reads);
	expect(reads == 1, "neighboring pages are one request");
	expect(took >= price && took < price + price / 4 + 60000, "a large request pays one latency");
	free(pages);
	close(fd);
}

static uint64_t parameter(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/module/swaplab/parameters/%s", name);
	return file_number(path);
}

void test_devices(void)
{
	uint64_t read_kib_s = parameter("flash_read_kib_s"), write_kib_s = parameter("flash_write_kib_s");
	uint64_t transfer = 4 * 1000000000ull / read_kib_s;

	if (access("/dev/nvm", R_OK) || access("/dev/flash", R_OK)) {
		fail("/dev/nvm or /dev/flash is missing");
		return;
	}
	check_device("nvm", parameter("nvm_read_ns"), parameter("nvm_write_ns"), 30000);
	check_device("flash", parameter("flash_read_latency_ns") + transfer,
		     parameter("flash_write_latency_ns") + 4 * 1000000000ull / write_kib_s, 60000);
	check_channels(parameter("flash_read_latency_ns"), transfer, parameter("flash_channels"));
	check_merge(parameter("flash_read_latency_ns"), read_kib_s, parameter("flash_merge_kib"));
}
