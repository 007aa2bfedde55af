// SPDX-License-Identifier: GPL-2.0-only
/*
 * The init process of a guest: sets up the machine, loads /swaplab.ko with the
 * command line's swaplab.* parameters, runs the test named by test=, prints a
 * verdict and turns the machine off.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "selftest.h"

static char cmdline[4096];
static int failures;

const char *option_string(const char *key, const char *missing)
{
	static char values[8][128];
	static int used;
	char pattern[64], *value = values[used++ & 7], *at;

	snprintf(pattern, sizeof(pattern), " %s=", key);
	at = strstr(cmdline, pattern);
	if (!at)
		return missing;
	snprintf(value, sizeof(values[0]), "%.*s", (int)strcspn(at + strlen(pattern), " \n"),
		 at + strlen(pattern));
	return value;
}

long option(const char *key, long missing)
{
	const char *value = option_string(key, NULL);

	return value ? strtol(value, NULL, 0) : missing;
}

char *file_text(const char *path)
{
	static char text[1 << 16];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n, length = 0;

	while (fd >= 0 && (n = read(fd, text + length, sizeof(text) - 1 - length)) > 0)
		length += n;
	if (fd >= 0)
		close(fd);
	text[length] = 0;
	return text;
}

void set_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fail("%s: cannot write '%s': %s", path, text, strerror(errno));
	if (fd >= 0)
		close(fd);
}

long counter(const char *path, const char *name)
{
	size_t length = strlen(name);

	for (char *line = file_text(path); *line; line += strcspn(line, "\n"), line += *line == '\n')
		if (!strncmp(line, name, length) && line[length] == ' ')
			return atol(line + length);
	return -1;
}

long file_number(const char *path)
{
	char *text = file_text(path);

	return *text ? atol(text) : -1;
}

void refresh_counters(void)
{
	set_file("/proc/sys/vm/stat_refresh", "1");
}

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* The finalizer of splitmix64: a well-mixed value for any input. */
uint64_t mix(uint64_t x)
{
	x += 0x9E3779B97F4A7C15ull;
	x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
	x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
	return x ^ (x >> 31);
}

void fail(const char *format, ...)
{
	va_list arguments;

	__atomic_add_fetch(&failures, 1, __ATOMIC_SEQ_CST);
	va_start(arguments, format);
	printf("FAIL ");
	vprintf(format, arguments);
	printf("\n");
	va_end(arguments);
}

void expect(bool holds, const char *what)
{
	if (!holds)
		fail("%s", what);
}

void join_group(void)
{
	char pid[32];

	mkdir("/tmp/cgroup", 0755);
	if (mount("cgroup2", "/tmp/cgroup", "cgroup2", 0, NULL))
		fail("mount cgroup2: %s", strerror(errno));
	set_file("/tmp/cgroup/cgroup.subtree_control", "+memory");
	mkdir(GROUP, 0755);
	snprintf(pid, sizeof(pid), "%d", getpid());
	set_file(GROUP "/cgroup.procs", pid);
}

void swap_on(const char *device)
{
	static char page[PAGE] __attribute__((aligned(4096)));
	uint32_t *header = (uint32_t *)(page + 1024);
	int fd = open(device, O_RDWR | O_DIRECT | O_CLOEXEC);
	off_t bytes = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);

	header[0] = 1;			/* version */
	header[1] = bytes / PAGE - 1;	/* last page */
	memcpy(page + PAGE - 10, "SWAPSPACE2", 10);
	if (fd < 0 || pwrite(fd, page, PAGE, 0) != PAGE || close(fd) || swapon(device, 0)) {
		fail("swapon %s: %s", device, strerror(errno));
		return;
	}
	printf("swapon %s %ld KiB\n", device, (long)bytes / 1024);
}

static void load_driver(void)
{
	int fd = open("/swaplab.ko", O_RDONLY | O_CLOEXEC);
	char parameters[2048] = "", *rest = strdup(cmdline), *word;

	while ((word = strtok_r(rest, " \n", &rest)))
		if (!strncmp(word, "swaplab.", 8)) {
			strcat(parameters, word + 8);
			strcat(parameters, " ");
		}
	if (fd < 0 || syscall(SYS_finit_module, fd, parameters, 0))
		fail("insmod swaplab.ko %s: %s", parameters, strerror(errno));
	if (fd >= 0)
		close(fd);
}

/* Run the initramfs's /program, such as a test of the kernel's own, with swap on. */
static void test_program(void)
{
	int status = -1;
	pid_t child;

	set_up_swap();
	child = fork();
	if (!child) {
		execl("/program", "/program", NULL);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		fail("/program ended with status %#x", status);
}

int main(void)
{
	static const struct { const char *name; void (*run)(void); } tests[] = {
		{ "devices", test_devices }, { "micro", test_micro }, { "stress", test_stress },
		{ "promote", test_promote }, { "demote", test_demote }, { "program", test_program },
	};
	const char *wanted, *ran = NULL;

	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mkdir("/dev", 0755);
	mkdir("/tmp", 0755);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	if (open("/dev/console", O_RDWR) == 0) {
		dup2(0, 1);
		dup2(0, 2);
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	snprintf(cmdline, sizeof(cmdline), " %s", file_text("/proc/cmdline"));
	load_driver();
	wanted = option_string("test", "devices");
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		if (!strcmp(wanted, tests[i].name)) {
			tests[i].run();
			ran = tests[i].name;
		}
	expect(ran != NULL, "test= names no test");
	printf("%s %s failures %d at %lu ns\n", failures ? "FAILED" : "PASSED", ran ? ran : "nothing", failures,
	       (unsigned long)now_ns());
	fflush(stdout);
	reboot(RB_POWER_OFF);
	return 0;
}
