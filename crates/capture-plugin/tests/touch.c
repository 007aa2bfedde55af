/* Accesses pages of an arena at a fixed address in a known order; program.rs has the steps that a trace must contain.
 * Usage: touch FILE, a file of at least three pages. Exits with code 7. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define ARENA ((volatile char *)0x1000000000)
#define PAGE(n) (ARENA + 4096L * (n))

static volatile char seen; /* valgrind drops loads whose result is not used */

static void map(int page, int pages, int flags, int file, long offset)
{
    if (mmap((void *)PAGE(page), 4096L * pages, PROT_READ | PROT_WRITE, MAP_FIXED | flags, file, offset) != (void *)PAGE(page))
        _exit(1);
}

int main(int argc, char **argv)
{
    int file = open(argv[argc - 1], O_RDWR), pair[2];
    struct iovec two[2] = {{(void *)(PAGE(22) + 4000), 200}, {(void *)PAGE(25), 5000}};
    struct msghdr message = {.msg_iov = two, .msg_iovlen = 2};
    if (file < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        return 1;

    /* The program's own accesses. */
    map(0, 8, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *PAGE(3) = 1;
    seen += *PAGE(0);
    seen += *PAGE(5);
    *PAGE(0) = 1;
    *(volatile int *)(PAGE(2) - 2) = 1; /* across a page boundary */
    munmap((void *)PAGE(3), 8192);
    map(4, 1, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *PAGE(4) = 2;
    madvise((void *)PAGE(0), 4096, MADV_DONTNEED);
    seen += *PAGE(0);
    mremap((void *)PAGE(4), 4096, 8192, MREMAP_MAYMOVE | MREMAP_FIXED, PAGE(12));
    *PAGE(12) = 3;
    seen += *PAGE(13);

    /* Files: a private mapping, written later; a shared one. */
    map(16, 2, MAP_PRIVATE, file, 4096);
    seen += *PAGE(17);
    *PAGE(17) = 4;
    map(18, 1, MAP_SHARED, file, 0);
    seen += *PAGE(18);

    /* Accesses by the kernel on behalf of the program. */
    map(20, 10, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pread(file, (void *)(PAGE(20) + 100), 5000, 0) != 5000 || send(pair[0], (void *)PAGE(21), 4096, 0) != 4096)
        return 1;
    if (recv(pair[1], (void *)PAGE(28), 4096, 0) != 4096 || write(pair[0], (void *)PAGE(29), 10) != 10)
        return 1;
    if (readv(pair[1], two, 2) != 10 || preadv(file, two, 2, 0) != 5200)
        return 1;
    if (sendmsg(pair[0], &message, 0) != 5200 || recvmsg(pair[1], &message, 0) != 5200)
        return 1;
    munmap((void *)PAGE(20), 10 * 4096);
    return 7;
}
