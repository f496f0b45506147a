/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the kernel's functions: from the list that perf kept of the kernel it recorded
 * (~/.debug/[kernel.kallsyms]/BUILD-ID/kallsyms), else from /proc/kallsyms where the kernel that
 * runs is the one recorded and shows addresses.
 */
#pragma once

#include "perf_space.h"

#include "system/kallsyms.h"

/* No list is no failure. 0 or SN_ERR_MEMORY; release in either case. */
int sn_perf_kernel_load(struct sn_kallsyms *kernel, const struct sn_perf_space *space);
