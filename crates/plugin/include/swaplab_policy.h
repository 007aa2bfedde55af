/* The interface of page-replacement policies in shared libraries, version 1. All texts are UTF-8. */
#ifndef SWAPLAB_POLICY_H
#define SWAPLAB_POLICY_H
#include <stddef.h>
#include <stdint.h>

#define SWAPLAB_POLICY_VERSION 1u
#define SWAPLAB_NO_PAGE UINT32_MAX
/* Bits of a page's state. The bits 4, 64 and 128 are used by the runner: ignore them. */
#define SWAPLAB_RESIDENT 1u
#define SWAPLAB_DIRTY 2u /* written since it was brought in */
#define SWAPLAB_CLASS_SHIFT 3 /* two bits: 0 anonymous, 1 private mapping of a file, 2 shared mapping of a file */
#define SWAPLAB_COPIED 32u /* a private file page that was written: anonymous from then on */

/* A text, not terminated. */
typedef struct { const char *start; size_t length; } swaplab_text;
#define SWAPLAB_TEXT(literal) { literal, sizeof(literal) - 1 }

typedef struct { swaplab_text name, default_value, meaning; } swaplab_parameter;

/* What a policy is built for. Pages are numbered from 0 to `pages` - 1; times are for one page. */
typedef struct {
    size_t pages, frames;
    uint64_t swap_read_ns, swap_write_ns, file_read_ns, file_write_ns, seed;
} swaplab_setup;

/* The runner, for the length of one call. */
typedef struct swaplab_host swaplab_host;
struct swaplab_host {
    void *context; /* used by the runner */
    const uint8_t *states; /* one byte per page; read the pointer again after each release */
    size_t pages;
    /* The page leaves memory: allowed in `reclaim` and `insert`, for a page that is in memory. */
    void (*release)(swaplab_host *, uint32_t page);
    /* The policy cannot continue; the replay ends with `why`. */
    void (*fail)(swaplab_host *, swaplab_text why);
};

/* One policy. No C++ exception may leave a function: catch it and call `fail`. For each reference (`op`: 0 read, 1 write, 2 instruction
 * fetch) the runner calls `touch` if the page is in memory. Otherwise it calls `miss`, then `reclaim` until a frame is free, then `insert`. */
typedef struct {
    swaplab_text key, what, source;
    uint32_t signal; /* 0 exact, 1 reference bit, 2 faults only */
    const swaplab_parameter *parameters;
    size_t parameter_count;
    /* A new policy; NULL after `fail`. `values`: one text for each parameter, in their order. The other functions get it as `state`. */
    void *(*build)(const swaplab_setup *, const swaplab_text *values, swaplab_host *);
    void (*destroy)(void *state);
    void (*touch)(void *state, uint32_t page, uint32_t op, swaplab_host *);
    void (*miss)(void *state, uint32_t page, uint32_t op, swaplab_host *);
    /* Release at least one page. `page` is the one that needs the frame, or SWAPLAB_NO_PAGE. */
    void (*reclaim)(void *state, uint32_t page, uint32_t op, swaplab_host *);
    void (*insert)(void *state, uint32_t page, uint32_t op, swaplab_host *);
    /* The page no longer exists, in memory or not. */
    void (*forget)(void *state, uint32_t page, swaplab_host *);
} swaplab_policy;

/* What a policy library exports: a constant that lives as long as the process. `version` is SWAPLAB_POLICY_VERSION. */
typedef struct {
    uint32_t version;
    size_t count;
    const swaplab_policy *policies;
} swaplab_library;

/* The function that a policy library exports. */
const swaplab_library *swaplab_policies(void);
#endif
