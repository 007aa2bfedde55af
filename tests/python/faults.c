/* A library to preload: it counts the file system calls of a process below one place, and makes one of them fail, or kills the process
 * there. Calls that a program makes without the C library (Rust's rustix) are not seen.
 *
 *   FAULT_PLACE  paths that begin with it count: those a call names, and those of its descriptor
 *   FAULT_LOG    each call is appended here as a line `CALL PATH`, and the one that was hit as `HIT CALL PATH`
 *   FAULT_AT     which of these calls is hit, from 1: open (that creates), write, fsync, rename, unlink, mkdir, rmdir, link, truncate
 *   FAULT_HOW    an error's number; 0 kills before the call, -1 kills after it, -2 writes a half and then reports success (a short write)
 *   FAULT_CLOCK  seconds by which the date jumps, forth and back, from one reading to the next
 *
 * Calls are counted over all threads of the process; a child that executes another program counts from 1 again.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static atomic_int count;

static void note(const char *hit, const char *call, const char *path) {
    char line[PATH_MAX + 64];
    const char *log = getenv("FAULT_LOG");
    int length = snprintf(line, sizeof line, "%s%s %s\n", hit, call, path);
    int to = log ? (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
    if (to >= 0) {
        syscall(SYS_write, to, line, length);
        syscall(SYS_close, to);
    }
}

/* FAULT_HOW for the call that is to be hit, INT_MIN for every other. */
static int fault(const char *call, const char *path) {
    const char *place = getenv("FAULT_PLACE"), *at = getenv("FAULT_AT");
    if (!place || !path || strncmp(path, place, strlen(place)) != 0) return INT_MIN;
    note("", call, path);
    if (!at || ++count != atoi(at)) return INT_MIN;
    note("HIT ", call, path);
    return atoi(getenv("FAULT_HOW"));
}

static void end(void) {
    syscall(SYS_kill, getpid(), SIGKILL);
}

/* The full path of what a call names in a folder. */
static const char *full(int folder, const char *path, char *space) {
    char base[PATH_MAX], link[64];
    if (!path || path[0] == '/') return path;
    if (folder == AT_FDCWD) {
        if (!getcwd(base, sizeof base)) return path;
    } else {
        snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
        ssize_t length = readlink(link, base, sizeof base - 1);
        if (length < 0) return path;
        base[length] = 0;
    }
    snprintf(space, 2 * PATH_MAX, "%s/%s", base, path);
    return space;
}

static const char *of_descriptor(int descriptor, char *space) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, space, PATH_MAX - 1);
    if (length < 0) return NULL;
    space[length] = 0;
    return space;
}

#define HIT(name, path, call)                                   \
    do {                                                        \
        int how = fault(name, path);                            \
        if (how == INT_MIN || how == -2) return call;           \
        if (how == 0) end();                                    \
        if (how > 0) return errno = how, -1;                    \
        long done = call;                           \
        end();                                                  \
        return (int)done;                                       \
    } while (0)

static int opened(int folder, const char *path, int flags, mode_t mode) {
    char space[2 * PATH_MAX];
    int creates = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
    if (!creates) return (int)syscall(SYS_openat, folder, path, flags, mode);
    HIT("open", full(folder, path, space), (int)syscall(SYS_openat, folder, path, flags, mode));
}

#define MODE                          \
    mode_t mode = 0;                  \
    if (flags & (O_CREAT | __O_TMPFILE)) { \
        va_list more;                 \
        va_start(more, flags);        \
        mode = va_arg(more, mode_t);  \
        va_end(more);                 \
    }
int open(const char *path, int flags, ...) { MODE return opened(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE return opened(AT_FDCWD, path, flags | O_LARGEFILE, mode); }
int openat(int folder, const char *path, int flags, ...) { MODE return opened(folder, path, flags, mode); }
int openat64(int folder, const char *path, int flags, ...) { MODE return opened(folder, path, flags | O_LARGEFILE, mode); }

ssize_t write(int to, const void *bytes, size_t length) {
    char space[PATH_MAX];
    int how = fault("write", of_descriptor(to, space));
    if (how == 0) end();
    if (how > 0) return errno = how, -1;
    ssize_t done = syscall(SYS_write, to, bytes, how == -2 && length > 1 ? length / 2 : length);
    if (how == -1) end();
    return done;
}

int fsync(int of) {
    char s[PATH_MAX];
    HIT("fsync", of_descriptor(of, s), (int)syscall(SYS_fsync, of));
}

int fdatasync(int of) {
    char s[PATH_MAX];
    HIT("fsync", of_descriptor(of, s), (int)syscall(SYS_fdatasync, of));
}

int ftruncate64(int of, off64_t size) {
    char s[PATH_MAX];
    HIT("truncate", of_descriptor(of, s), (int)syscall(SYS_ftruncate, of, size));
}

int rename(const char *from, const char *to) {
    char s[2 * PATH_MAX];
    HIT("rename", full(AT_FDCWD, to, s), (int)syscall(SYS_rename, from, to));
}

int renameat(int a, const char *from, int b, const char *to) {
    char s[2 * PATH_MAX];
    HIT("rename", full(b, to, s), (int)syscall(SYS_renameat2, a, from, b, to, 0));
}

int renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
    char s[2 * PATH_MAX];
    HIT("rename", full(b, to, s), (int)syscall(SYS_renameat2, a, from, b, to, flags));
}

int unlink(const char *path) {
    char s[2 * PATH_MAX];
    HIT("unlink", full(AT_FDCWD, path, s), (int)syscall(SYS_unlink, path));
}

int unlinkat(int folder, const char *path, int flags) {
    char s[2 * PATH_MAX];
    HIT(flags & AT_REMOVEDIR ? "rmdir" : "unlink", full(folder, path, s), (int)syscall(SYS_unlinkat, folder, path, flags));
}

int mkdir(const char *path, mode_t mode) {
    char s[2 * PATH_MAX];
    HIT("mkdir", full(AT_FDCWD, path, s), (int)syscall(SYS_mkdir, path, mode));
}

int rmdir(const char *path) {
    char s[2 * PATH_MAX];
    HIT("rmdir", full(AT_FDCWD, path, s), (int)syscall(SYS_rmdir, path));
}

int linkat(int a, const char *from, int b, const char *to, int flags) {
    char s[2 * PATH_MAX];
    HIT("link", full(b, to, s), (int)syscall(SYS_linkat, a, from, b, to, flags));
}

static long jump(void) {
    static atomic_int readings;
    const char *by = getenv("FAULT_CLOCK");
    return by ? atol(by) * (readings++ % 3 - 1) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int done = (int)syscall(SYS_clock_gettime, clock, now);
    if (done == 0 && clock == CLOCK_REALTIME) now->tv_sec += jump();
    return done;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    int done = (int)syscall(SYS_gettimeofday, now, zone);
    if (done == 0) now->tv_sec += jump();
    return done;
}

time_t time(time_t *now) {
    time_t found = (time_t)syscall(SYS_time, NULL) + jump();
    if (now) *now = found;
    return found;
}
