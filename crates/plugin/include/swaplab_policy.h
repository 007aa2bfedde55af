/* The interface of page-replacement policies in shared libraries, version 1; what each field means stands in src/abi.rs. */
#ifndef SWAPLAB_POLICY_H
#define SWAPLAB_POLICY_H
#include <stddef.h>
#include <stdint.h>

#define SWAPLAB_POLICY_VERSION 1u
#define SWAPLAB_NO_PAGE UINT32_MAX
#define SWAPLAB_RESIDENT 1u
#define SWAPLAB_DIRTY 2u
#define SWAPLAB_CLASS_SHIFT 3
#define SWAPLAB_COPIED 32u

typedef struct { const char *start; size_t length; } swaplab_text;
#define SWAPLAB_TEXT(literal) { literal, sizeof(literal) - 1 }

typedef struct { swaplab_text name, default_value, meaning; } swaplab_parameter;

typedef struct {
    size_t pages, frames;
    uint64_t swap_read_ns, swap_write_ns, file_read_ns, file_write_ns, seed;
} swaplab_setup;

typedef struct swaplab_host swaplab_host;
struct swaplab_host {
    void *context;
    const uint8_t *states;
    size_t pages;
    void (*release)(swaplab_host *, uint32_t page);
    void (*fail)(swaplab_host *, swaplab_text why);
};

typedef struct {
    swaplab_text key, what, source;
    uint32_t signal; /* 0 exact, 1 reference bit, 2 faults only */
    const swaplab_parameter *parameters;
    size_t parameter_count;
    void *(*build)(const swaplab_setup *, const swaplab_text *values, swaplab_host *);
    void (*destroy)(void *state);
    void (*touch)(void *state, uint32_t page, uint32_t op, swaplab_host *);
    void (*miss)(void *state, uint32_t page, uint32_t op, swaplab_host *);
    void (*reclaim)(void *state, uint32_t page, uint32_t op, swaplab_host *);
    void (*insert)(void *state, uint32_t page, uint32_t op, swaplab_host *);
    void (*forget)(void *state, uint32_t page, swaplab_host *);
} swaplab_policy;

typedef struct {
    uint32_t version;
    size_t count;
    const swaplab_policy *policies;
} swaplab_library;

/* What a policy library exports. */
const swaplab_library *swaplab_policies(void);
#endif
