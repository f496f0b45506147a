/* SPDX-License-Identifier: Apache-2.0 */
/* In place of kernel.c where Sonde was built without clang or libbpf. */
#include "kernel.h"

int sn_kernel_open(const struct sn_kernel_options *options, struct sn_kernel **kernel,
		   struct sn_error *error)
{
	(void)options, (void)kernel;
	return sn_fail(
	    error, SN_ERR_UNSUPPORTED,
	    "this sonde was built without BPF: install clang and libbpf-dev, and build it again");
}

void sn_kernel_close(struct sn_kernel *kernel)
{
	(void)kernel;
}

const char *sn_kernel_event(const struct sn_kernel *kernel)
{
	(void)kernel;
	return "";
}

uint64_t sn_kernel_period(const struct sn_kernel *kernel)
{
	(void)kernel;
	return 0;
}

unsigned sn_kernel_processors(const struct sn_kernel *kernel)
{
	(void)kernel;
	return 0;
}

void sn_kernel_set_rate(struct sn_kernel *kernel, unsigned rate)
{
	(void)kernel, (void)rate;
}

void sn_kernel_vary_period(struct sn_kernel *kernel)
{
	(void)kernel;
}

int sn_kernel_take(struct sn_kernel *kernel, bool whole, const struct sn_kernel_taker *taker,
		   int *begun)
{
	(void)kernel, (void)whole, (void)taker;
	*begun = -1;
	return 0;
}

void sn_kernel_sum(const struct sn_kernel *kernel, struct sn_kernel_sums *sums)
{
	(void)kernel;
	*sums = (struct sn_kernel_sums){0};
}

void sn_kernel_begin_timing(struct sn_kernel *kernel)
{
	(void)kernel;
}

double sn_kernel_end_timing(struct sn_kernel *kernel)
{
	(void)kernel;
	return 0;
}

int sn_kernel_stacks_fd(const struct sn_kernel *kernel)
{
	(void)kernel;
	return -1;
}

int sn_kernel_take_stacks(struct sn_kernel *kernel, const struct sn_kernel_stack_taker *taker)
{
	(void)kernel, (void)taker;
	return 0;
}

int sn_kernel_look_for_waits(struct sn_kernel *kernel, bool anew, uint64_t weight)
{
	(void)kernel, (void)anew, (void)weight;
	return 0;
}

uint64_t sn_kernel_waits_lost(const struct sn_kernel *kernel)
{
	(void)kernel;
	return 0;
}
