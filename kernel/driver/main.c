// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two block devices for swap experiments, in memory that the kernel does not
 * use. Each request takes a configured virtual time, its price:
 *
 *   /dev/nvm    byte-addressable memory: synchronous, a price for each page
 *   /dev/flash  storage: channels, a bus, a queue, merged requests
 *
 * The kernel is booted with mem=SIZE, less than the machine's memory; base_kib
 * is the start of the rest. NVM comes first, flash follows it.
 */
#include <linux/mm.h>
#include <linux/module.h>

#include "swaplab.h"

static unsigned long base_kib;
module_param(base_kib, ulong, 0444);
MODULE_PARM_DESC(base_kib, "Physical address of the reserved memory, in KiB");

static unsigned long nvm_kib;
module_param(nvm_kib, ulong, 0444);
MODULE_PARM_DESC(nvm_kib, "Size of /dev/nvm in KiB, 0 for none");

static unsigned long flash_kib;
module_param(flash_kib, ulong, 0444);
MODULE_PARM_DESC(flash_kib, "Size of /dev/flash in KiB, 0 for none");

static bool spin_idle;
module_param(spin_idle, bool, 0444);
MODULE_PARM_DESC(spin_idle, "Spin in place of halting, so that a run is the same on a busy host");

/* ZONE_DEVICE memory starts and ends at a subsection: 2 MiB. */
#define AREA_ALIGN_KIB	2048

#define COUNTER_ATTR(name)						\
static ssize_t name##_show(struct device *dev,				\
			   struct device_attribute *attr, char *buf)	\
{									\
	struct swaplab_disk *disk = dev_to_disk(dev)->private_data;	\
									\
	return sysfs_emit(buf, "%lld\n",				\
			  atomic64_read(&disk->counters.name));		\
}									\
static DEVICE_ATTR_RO(name)

COUNTER_ATTR(reads);
COUNTER_ATTR(writes);
COUNTER_ATTR(read_bytes);
COUNTER_ATTR(write_bytes);
COUNTER_ATTR(busy_ns);

static struct attribute *counter_attrs[] = {
	&dev_attr_reads.attr,
	&dev_attr_writes.attr,
	&dev_attr_read_bytes.attr,
	&dev_attr_write_bytes.attr,
	&dev_attr_busy_ns.attr,
	NULL,
};

static const struct attribute_group counter_group = {
	.name = "counters",
	.attrs = counter_attrs,
};

const struct attribute_group *swaplab_counter_groups[] = { &counter_group, NULL };

int swaplab_add_disk(struct swaplab_disk *disk, struct gendisk *gendisk,
		     const char *name, const struct block_device_operations *ops)
{
	disk->gendisk = gendisk;
	gendisk->fops = ops;
	gendisk->private_data = disk;
	strscpy(gendisk->disk_name, name, DISK_NAME_LEN);
	set_capacity(gendisk, disk->area.bytes >> SECTOR_SHIFT);
	return device_add_disk(NULL, gendisk, swaplab_counter_groups);
}

static int __init swaplab_init(void)
{
	phys_addr_t start = (phys_addr_t)base_kib << 10;
	u64 nvm_bytes = (u64)nvm_kib << 10;
	u64 flash_bytes = (u64)flash_kib << 10;
	int error;

	if ((base_kib | nvm_kib | flash_kib) % AREA_ALIGN_KIB) {
		pr_err("swaplab: base_kib=%lu nvm_kib=%lu flash_kib=%lu: expected multiples of %u\n",
		       base_kib, nvm_kib, flash_kib, AREA_ALIGN_KIB);
		return -EINVAL;
	}
	if (region_intersects(start, nvm_bytes + flash_bytes, IORESOURCE_SYSTEM_RAM,
			      IORES_DESC_NONE) != REGION_DISJOINT) {
		pr_err("swaplab: %llu KiB at base_kib=%lu overlap the kernel's memory; expected memory above mem=\n",
		       (nvm_bytes + flash_bytes) >> 10, base_kib);
		return -EBUSY;
	}
	if (spin_idle) {
		error = swaplab_idle_add();
		if (error)
			return error;
	}
	if (nvm_bytes) {
		error = swaplab_nvm_add(start, nvm_bytes);
		if (error)
			goto no_nvm;
	}
	if (flash_bytes) {
		error = swaplab_flash_add(start + nvm_bytes, flash_bytes);
		if (error)
			goto no_flash;
	}
	return 0;

no_flash:
	swaplab_nvm_remove();
no_nvm:
	swaplab_idle_remove();
	return error;
}
module_init(swaplab_init);

static void __exit swaplab_exit(void)
{
	swaplab_flash_remove();
	swaplab_nvm_remove();
	swaplab_idle_remove();
}
module_exit(swaplab_exit);

MODULE_DESCRIPTION("Priced swap devices in reserved memory");
MODULE_LICENSE("GPL");
