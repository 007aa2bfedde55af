// A program with an allocator of its own, which reserves its address space before any library has
// started and commits it by mprotect under its lock. Allocates 64 MiB, checks every page twice, and
// says "right". Cases: "threads" starts a thread first, "fixed" as well, and commits by mmap,
// "single" only opens a file, "alone" does neither, "clone" starts a child by clone(), which checks
// the content too.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, STEP = 64 << 10, PIECES = 1024, PIECE = 64 << 10 };
static const size_t POOL = (size_t)1 << 30;
static pthread_mutex_t heap = PTHREAD_MUTEX_INITIALIZER;
static char *pool, *next, *committed;
static int by_mmap;

static void reserve(void) {
    pool = next = committed = mmap(0, POOL, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}
__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = reserve;

void *malloc(size_t size) {
    size_t *block = 0;
    pthread_mutex_lock(&heap);
    if (!pool)
        reserve();
    char *end = next + ((size + 31) & ~(size_t)15);
    if (end > committed) {
        size_t more = (end - committed + STEP - 1) / STEP * STEP;
        const int access = PROT_READ | PROT_WRITE, over = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
        if (by_mmap ? mmap(committed, more, access, over, -1, 0) != MAP_FAILED : mprotect(committed, more, access) == 0)
            committed += more;
    }
    if (end <= committed) {
        block = (size_t *)next + 2;
        block[-1] = size;
        next = end;
    }
    pthread_mutex_unlock(&heap);
    return block;
}

void free(void *block) { (void)block; }

void *calloc(size_t count, size_t size) { return malloc(count * size); } // Fresh memory is zero, and none is used again.

void *realloc(void *old, size_t size) {
    void *block = malloc(size);
    if (old && block)
        memcpy(block, old, ((size_t *)old)[-1] < size ? ((size_t *)old)[-1] : size);
    return block;
}

static uint64_t *pieces[PIECES];

static int right(void) {
    for (int i = 0; i < PIECES; i++)
        for (int at = 0; at < PIECE; at += PAGE)
            if (pieces[i][at / 8] != (uint64_t)i * PIECE + at + 1)
                return 0;
    return 1;
}

static int in_child(void *unused) {
    (void)unused;
    char *more = malloc(1 << 20);
    memset(more, 7, 1 << 20);
    return right() && more[(1 << 20) - 1] == 7 ? 42 : 1;
}

static void *idle(void *unused) { return unused; }

int main(int count, char **arguments) {
    const char *how = count > 1 ? arguments[1] : "threads";
    by_mmap = !strcmp(how, "fixed");
    if (strcmp(how, "single") && strcmp(how, "alone")) {
        pthread_t thread;
        pthread_create(&thread, 0, idle, 0);
        pthread_join(thread, 0);
    }
    for (int i = 0; i < PIECES; i++) {
        pieces[i] = malloc(PIECE);
        for (int at = 0; at < PIECE; at += PAGE)
            pieces[i][at / 8] = (uint64_t)i * PIECE + at + 1;
        if (i % 64 == 0 && strcmp(how, "alone"))
            close(open("/dev/null", O_RDONLY));
    }
    int ok = right();
    if (!strcmp(how, "clone")) {
        static char stack[256 << 10] __attribute__((aligned(16)));
        for (int i = 0; i < 5; i++) {
            int status = 0;
            int child = clone(in_child, stack + sizeof stack, SIGCHLD, 0);
            ok = ok && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 42;
        }
    }
    puts(ok && right() ? "right" : "wrong");
}
