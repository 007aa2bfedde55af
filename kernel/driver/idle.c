// SPDX-License-Identifier: GPL-2.0-only
/*
 * An idle state in which the processor spins until a task has to run.
 *
 * QEMU counts instructions, but its behavior at a WFI depends on the host: with
 * "-icount sleep=off" its main thread may advance the clock while the
 * processor's thread has halted and not yet accounted for the instructions that
 * it has executed (seen with QEMU 7.2 on a host with ten tasks for each
 * processor). This cannot happen if the guest never halts. Its idle time is then
 * counted like any other time, but has to be executed.
 */
#include <linux/cpu.h> /* __cpuidle, in Linux 6.1 */
#include <linux/cpuidle.h>
#include <linux/module.h>
#include <linux/sched/idle.h>

#include "swaplab.h"

#if IS_ENABLED(CONFIG_CPU_IDLE)
static __cpuidle int spin(struct cpuidle_device *dev, struct cpuidle_driver *drv,
			  int index)
{
	raw_local_irq_enable();
	if (!current_set_polling_and_test()) {
		/*
		 * No cpu_relax(), as QEMU leaves its translated code at a YIELD.
		 * A NOP counts as an instruction and is translated to nothing.
		 */
		while (!need_resched())
			asm volatile(".rept 256\n\tnop\n\t.endr" ::: "memory");
	}
	raw_local_irq_disable();
	current_clr_polling();
	return index;
}

/* Not flagged as polling, so that the tick stops like in a real idle state. */
static struct cpuidle_driver idle_driver = {
	.name = "swaplab",
	.owner = THIS_MODULE,
	.states = { { .name = "spin", .desc = "spin until needed", .enter = spin } },
	.state_count = 1,
};

static bool registered;

int swaplab_idle_add(void)
{
	int error = cpuidle_register(&idle_driver, NULL);

	registered = !error;
	return error;
}

void swaplab_idle_remove(void)
{
	if (registered)
		cpuidle_unregister(&idle_driver);
}
#else
int swaplab_idle_add(void)
{
	pr_err("swaplab: spin_idle=1 needs a kernel with CONFIG_CPU_IDLE\n");
	return -EOPNOTSUPP;
}

void swaplab_idle_remove(void)
{
}
#endif
