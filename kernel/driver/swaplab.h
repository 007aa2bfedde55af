/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SWAPLAB_H
#define SWAPLAB_H

#include <linux/atomic.h>
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/io.h>
#include <linux/sysfs.h>
#include <linux/version.h>

/* A device's part of the memory that `mem=` excludes from the kernel's. */
struct swaplab_area {
	phys_addr_t start;
	u64 bytes;
	void *mem;		/* kernel address of its mapping */
};

/* Totals since the module was loaded, shown in /sys/block/NAME/counters/. */
struct swaplab_counters {
	atomic64_t reads;	/* requests, after merging */
	atomic64_t writes;
	atomic64_t read_bytes;
	atomic64_t write_bytes;
	atomic64_t busy_ns;	/* priced time, summed over requests */
};

/* The private_data of every swaplab disk starts with this structure. */
struct swaplab_disk {
	struct gendisk *gendisk;
	struct swaplab_area area;
	struct swaplab_counters counters;
};

extern const struct attribute_group *swaplab_counter_groups[];

static inline void swaplab_count(struct swaplab_counters *c, bool is_write,
				 unsigned int bytes, u64 busy_ns)
{
	atomic64_inc(is_write ? &c->writes : &c->reads);
	atomic64_add(bytes, is_write ? &c->write_bytes : &c->read_bytes);
	atomic64_add(busy_ns, &c->busy_ns);
}

int swaplab_add_disk(struct swaplab_disk *disk, struct gendisk *gendisk,
		     const char *name, const struct block_device_operations *ops);

/* Both return 0, or a negative errno after undoing all changes. */
int swaplab_nvm_add(phys_addr_t start, u64 bytes);
int swaplab_flash_add(phys_addr_t start, u64 bytes);
/* Both do nothing if the device was not added. */
void swaplab_nvm_remove(void);
void swaplab_flash_remove(void);

/* nvm.c, for direct.c: wait for the price of a transfer of these bytes, and count it. */
void swaplab_nvm_stall(unsigned int ns);
void swaplab_nvm_charge(struct swaplab_disk *disk, bool is_write, unsigned int bytes);

/*
 * direct.c: map the area in the kernel. With Direct Read and nvm_direct, the
 * area has page structs, so that swap can map its slots.
 */
#ifdef CONFIG_SWAP_DIRECT
int swaplab_map_area(struct swaplab_disk *disk);
void swaplab_unmap_area(struct swaplab_disk *disk);
struct dev_pagemap *swaplab_swap_pagemap(struct gendisk *gendisk);
#else
static inline int swaplab_map_area(struct swaplab_disk *disk)
{
	disk->area.mem = memremap(disk->area.start, disk->area.bytes, MEMREMAP_WB);
	return disk->area.mem ? 0 : -ENOMEM;
}

static inline void swaplab_unmap_area(struct swaplab_disk *disk)
{
	memunmap(disk->area.mem);
}
#endif

int swaplab_idle_add(void);
void swaplab_idle_remove(void);

#endif
