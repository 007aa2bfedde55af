// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/nvm for kernels with Direct Read (../patches): page structs for the
 * area, and prices of operations for which there is no request. Mapping a slot
 * takes nvm_map_ns; copying a slot to DRAM takes as long as a read of a page.
 */
#include <linux/memremap.h>
#include <linux/module.h>
#include <linux/swap.h>
#include <linux/swapops.h>
#include <trace/events/swap_direct.h>

#include "swaplab.h"

static bool nvm_direct;
module_param(nvm_direct, bool, 0444);
MODULE_PARM_DESC(nvm_direct, "Let swap map the slots of /dev/nvm in place");

static unsigned int nvm_map_ns;
module_param(nvm_map_ns, uint, 0644);
MODULE_PARM_DESC(nvm_map_ns, "Time to map a slot in place, in ns beyond the kernel's own");

static struct dev_pagemap pagemap;

static void on_map(void *unused, swp_entry_t entry)
{
	swaplab_nvm_stall(READ_ONCE(nvm_map_ns));
}

static void on_copy(void *disk, swp_entry_t entry)
{
	swaplab_nvm_charge(disk, false, PAGE_SIZE);
}

struct dev_pagemap *swaplab_swap_pagemap(struct gendisk *gendisk)
{
	return nvm_direct ? &pagemap : NULL;
}

int swaplab_map_area(struct swaplab_disk *disk)
{
	int error;

	if (!nvm_direct) {
		disk->area.mem = memremap(disk->area.start, disk->area.bytes, MEMREMAP_WB);
		return disk->area.mem ? 0 : -ENOMEM;
	}
	pagemap.type = MEMORY_DEVICE_GENERIC;
	pagemap.range.start = disk->area.start;
	pagemap.range.end = disk->area.start + disk->area.bytes - 1;
	pagemap.nr_range = 1;
	disk->area.mem = memremap_pages(&pagemap, first_online_node);
	if (IS_ERR(disk->area.mem))
		return PTR_ERR(disk->area.mem);
	error = register_trace_swap_direct_map(on_map, NULL);
	if (error)
		goto unmap;
	error = register_trace_swap_direct_copy(on_copy, disk);
	if (!error)
		return 0;
	unregister_trace_swap_direct_map(on_map, NULL);
	tracepoint_synchronize_unregister();
unmap:
	memunmap_pages(&pagemap);
	return error;
}

void swaplab_unmap_area(struct swaplab_disk *disk)
{
	if (!nvm_direct) {
		memunmap(disk->area.mem);
		return;
	}
	unregister_trace_swap_direct_copy(on_copy, disk);
	unregister_trace_swap_direct_map(on_map, NULL);
	tracepoint_synchronize_unregister();
	memunmap_pages(&pagemap);
}
