// SPDX-License-Identifier: GPL-2.0-only
/*
 * A QEMU plugin that counts reads of NVM pages mapped in place, without changing
 * the run: loads by user code from a range of physical memory, and how many of
 * them miss a direct-mapped cache of 64-byte lines. The run does not include the
 * latency of these misses; it can be computed from their number. With marks=FILE
 * it also writes both counts to the file at each byte that the guest sends over
 * its serial line after they have changed, with the number of bytes until then,
 * so that they can be attributed to what lies between two lines of the console.
 *
 *   gcc -O2 -shared -fPIC -o mapped_reads.so mapped_reads.c
 *   qemu-system-aarch64 ... -plugin ./mapped_reads.so,start=0x50000000,bytes=0x8000000,cache_kib=512
 *
 * Written for versions 1 and 2 of QEMU's plugin interface, whose functions are
 * declared here because Debian does not package their header.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;
struct qemu_info_t;

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
				      void (*callback)(unsigned int, qemu_plugin_meminfo_t, uint64_t, void *),
				      int flags, int accesses, void *data);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
					   void (*callback)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id,
				    void (*callback)(qemu_plugin_id_t, void *), void *data);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, uint64_t address);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *hwaddr);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *hwaddr);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);

/* QEMU reads it once the plugin is loaded: 1 up to QEMU 8.2, 2 or more from 9.0, which has scoreboards. */
int qemu_plugin_version = 1;
void *qemu_plugin_scoreboard_new(size_t size) __attribute__((weak));

static void __attribute__((constructor)) choose_version(void)
{
	if (qemu_plugin_scoreboard_new)
		qemu_plugin_version = 2;
}

#define NO_REGISTERS	0
#define READ_AND_WRITE	3	/* With reads alone, 7.2 reports only stores. */
#define LINE_SHIFT	6
#define SERIAL_AT	0x9000000	/* The data register of the serial line of QEMU's machine "virt". */

static uint64_t start, bytes, cache_kib = 512;
static uint64_t user_loads, user_misses, kernel_loads, stores;
static uint64_t *cache, cache_lines;	/* the line number + 1 of each entry */
static FILE *marks;
static uint64_t console_bytes, marked_loads;

static void mark(void)
{
	console_bytes++;
	if (marked_loads == user_loads)
		return;
	fprintf(marks, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", console_bytes, user_loads, user_misses);
	marked_loads = user_loads;
}

/* All processors share the counts, which are exact if QEMU uses one thread, as with -icount. */
static void on_access(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	struct qemu_plugin_hwaddr *hwaddr = qemu_plugin_get_hwaddr(info, address);
	uint64_t line, *place;

	(void)cpu;
	(void)data;
	if (!hwaddr)
		return;
	if (qemu_plugin_hwaddr_is_io(hwaddr)) {
		if (marks && qemu_plugin_mem_is_store(info) &&
		    qemu_plugin_hwaddr_phys_addr(hwaddr) == SERIAL_AT)
			mark();
		return;
	}
	if (qemu_plugin_hwaddr_phys_addr(hwaddr) - start >= bytes)
		return;
	if (qemu_plugin_mem_is_store(info)) {
		stores++;
		return;
	}
	if (address >> 55) {	/* the kernel's half: the driver's copies */
		kernel_loads++;
		return;
	}
	user_loads++;
	line = qemu_plugin_hwaddr_phys_addr(hwaddr) >> LINE_SHIFT;
	place = &cache[line % cache_lines];
	user_misses += *place != line + 1;
	*place = line + 1;
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	(void)id;
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++)
		qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, i), on_access,
						 NO_REGISTERS, READ_AND_WRITE, NULL);
}

static void at_exit(qemu_plugin_id_t id, void *data)
{
	(void)id;
	(void)data;
	if (marks)
		fclose(marks);
	fprintf(stderr, "mapped_reads user_loads %" PRIu64 " user_misses %" PRIu64
		" kernel_loads %" PRIu64 " stores %" PRIu64 "\n",
		user_loads, user_misses, kernel_loads, stores);
}

static bool open_marks(const char *argument)
{
	if (strncmp(argument, "marks=", 6))
		return false;
	marks = fopen(argument + 6, "w");
	return marks;
}

static bool read_argument(const char *argument, const char *key, uint64_t *value)
{
	size_t length = strlen(key);
	char *end;

	if (strncmp(argument, key, length) || argument[length] != '=')
		return false;
	*value = strtoull(argument + length + 1, &end, 0);
	return !*end;
}

__attribute__((visibility("default")))
int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info, int count, char **arguments)
{
	(void)info;
	for (int i = 0; i < count; i++)
		if (!read_argument(arguments[i], "start", &start) &&
		    !read_argument(arguments[i], "bytes", &bytes) &&
		    !read_argument(arguments[i], "cache_kib", &cache_kib) &&
		    !open_marks(arguments[i])) {
			fprintf(stderr, "mapped_reads: '%s': expected start=, bytes=, cache_kib= or marks=FILE\n", arguments[i]);
			return 1;
		}
	cache_lines = cache_kib << (10 - LINE_SHIFT);
	cache = cache_lines ? calloc(cache_lines, sizeof(*cache)) : NULL;
	if (!bytes || !cache) {
		fprintf(stderr, "mapped_reads: expected bytes= and cache_kib= of at least 1\n");
		return 1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	qemu_plugin_register_atexit_cb(id, at_exit, NULL);
	return 0;
}
