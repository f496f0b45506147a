/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the kernel's functions: from the list that perf kept of the kernel it recorded
 * (~/.debug/[kernel.kallsyms]/BUILD-ID/kallsyms), else from /proc/kallsyms where the kernel that
 * runs is the one recorded and shows addresses.
 */
#pragma once

#include "perf_space.h"

struct sn_perf_kernel {
	struct sn_intern names;
	struct sn_perf_kernel_symbol *symbols; /* by address */
	size_t count, capacity;
};

/* No list is no failure. 0 or SN_ERR_MEMORY; release in either case. */
int sn_perf_kernel_load(struct sn_perf_kernel *kernel, const struct sn_perf_space *space);
void sn_perf_kernel_release(struct sn_perf_kernel *kernel);

/* The name of the function at an address, or NULL. It lives as long as the kernel. */
const char *sn_perf_kernel_find(const struct sn_perf_kernel *kernel, uint64_t address);
