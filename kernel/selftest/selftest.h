/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SELFTEST_H
#define SELFTEST_H

#include <stdint.h>
#include <stdbool.h>
#include <stddef.h>

#define PAGE 4096l

/* Value of KEY=VALUE on the kernel's command line, or the default. */
long option(const char *key, long missing);
const char *option_string(const char *key, const char *missing);

/* Content of a small file, in a static buffer that the next call overwrites. */
char *file_text(const char *path);
void set_file(const char *path, const char *text);
/* A counter of a file with "name value" lines, such as /proc/vmstat; -1 if it is missing. */
long counter(const char *path, const char *name);
/* Fold the per-processor counts into /proc/vmstat, which is otherwise not up to date. */
void refresh_counters(void);
/* The number in a file with one number, -1 if it cannot be read. */
long file_number(const char *path);

uint64_t now_ns(void);
uint64_t mix(uint64_t x);
#define GROUP "/tmp/cgroup/selftest"
/* Move this process, and those that it starts, into a control group at GROUP. */
void join_group(void);
/* Make and turn on a swap area; counts a failure. */
void swap_on(const char *device);

/* Print a line and count a failure. */
void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
void expect(bool holds, const char *what);

/* Set page-cluster 0 and swappiness 100, and turn on swap to the device of the option swap=. */
void set_up_swap(void);

/* Fill pages that all differ, and of which zram has to compress a part. */
void fill(char *memory, long pages);
/* Access one word of each page: write to write_percent of them, read the others. Returns ns a page. */
double touch(char *memory, long pages, unsigned int write_percent);

void test_devices(void);
void test_micro(void);
void test_stress(void);
void test_promote(void);
void test_demote(void);

#endif
