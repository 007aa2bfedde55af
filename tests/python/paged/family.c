// A process and its descendants, each with a copy of 3,000 pages. Each writes, reads, discards,
// moves and protects pages at random, and now and then forks a child that does the same, while it
// goes on itself. What a page contains must be what its own process wrote last, or what its parent
// had when it forked. Says "right".
// Usage: family SEED
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 3000, STEPS = 20000, GENERATIONS = 3, CHILDREN = 2 };
static char *memory;
static uint32_t version[PAGES]; // 0: zeros
static uint64_t random_state;
static int generation;

static uint32_t below(uint32_t limit) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % limit;
}

static uint64_t word(int page, int at) { return version[page] ? ((uint64_t)version[page] << 32) + page * 512 + at : 0; }

static void write_page(int page) {
    version[page] = below(1u << 30) + 1;
    for (int at = 0; at < 512; at += 16)
        ((uint64_t *)(memory + (size_t)page * PAGE))[at] = word(page, at);
}

static void check(int page) {
    for (int at = 0; at < 512; at += 16)
        if (((uint64_t *)(memory + (size_t)page * PAGE))[at] != word(page, at)) {
            printf("generation %d: page %d is wrong at %d\n", generation, page, at);
            fflush(stdout);
            _exit(1);
        }
}

static void need(int ok, const char *what) {
    if (!ok) {
        perror(what);
        _exit(1);
    }
}

static void live(void);

static pid_t child(void) {
    pid_t id = fork();
    need(id >= 0, "fork");
    if (id == 0) {
        generation++;
        random_state += generation * 7919;
        live();
        _exit(0);
    }
    return id;
}

static void live(void) {
    pid_t children[CHILDREN];
    int born = 0, status;
    char *other = malloc(1 << 20);
    need(other != 0, "malloc");
    memset(other, generation + 1, 1 << 20);
    for (int step = 0; step < STEPS; step++) {
        int page = below(PAGES), some = 1 + below(40), end = page + some < PAGES ? page + some : PAGES;
        char *at = memory + (size_t)page * PAGE;
        size_t bytes = (size_t)(end - page) * PAGE;
        switch (below(64)) {
        case 0:
            need(!madvise(at, bytes, MADV_DONTNEED), "madvise");
            for (int i = page; i < end; i++)
                version[i] = 0;
            break;
        case 1:
            need(!mprotect(at, bytes, PROT_READ), "mprotect");
            for (int i = page; i < end; i++)
                check(i);
            need(!mprotect(at, bytes, PROT_READ | PROT_WRITE), "mprotect back");
            break;
        case 2: {
            char *aside = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            need(aside != MAP_FAILED && mremap(at, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, aside) == aside, "mremap away");
            need(mremap(aside, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) == at, "mremap back");
            break;
        }
        case 3:
            need(!mlock(at, PAGE) && !munlock(at, PAGE), "mlock");
            break;
        case 4:
            other = realloc(other, (1 << 20) + below(1 << 20));
            need(other && other[(1 << 20) - 1] == generation + 1, "realloc");
            break;
        default:
            below(3) ? check(page) : write_page(page);
        }
        if (generation < GENERATIONS && born < CHILDREN && below(STEPS / CHILDREN) == 0)
            children[born++] = child();
    }
    for (int i = 0; i < born; i++) {
        need(waitpid(children[i], &status, 0) == children[i], "waitpid");
        if (status)
            _exit(1);
    }
    for (int page = 0; page < PAGES; page++)
        check(page);
}

int main(int count, char **arguments) {
    random_state = count > 1 ? atoi(arguments[1]) : 1;
    memory = mmap(0, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    need(memory != MAP_FAILED, "mmap");
    for (int page = 0; page < PAGES; page++)
        write_page(page);
    live();
    puts("right");
}
