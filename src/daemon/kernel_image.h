/* SPDX-License-Identifier: Apache-2.0 */
/* Which image of the kernel an address is in: the kernel itself, a module, or a BPF program. */
#pragma once

#include "system/kallsyms.h"

#include <stdbool.h>

struct sn_kernel_images {
	struct sn_kallsyms list;
	uint64_t text;	  /* where the kernel begins; 0: addresses are hidden from us */
	uint64_t read_ns; /* by CLOCK_MONOTONIC */
};

enum sn_kernel_part { SN_KERNEL_ITSELF, SN_KERNEL_MODULE, SN_KERNEL_BPF };

struct sn_kernel_place {
	enum sn_kernel_part part;
	const char *image;    /* of a module or BPF program its name; "" of the kernel */
	const char *function; /* NULL: not known */
	uint64_t function_start, address; /* from the image's begin on */
};

/* All zeroes is empty; release. */
void sn_kernel_images_release(struct sn_kernel_images *images);
/* Texts of *place live until the next call. Modules and BPF programs that came since the list was read are found: it is read again, but once a minute at most. 0 or SN_ERR_MEMORY. */
int sn_kernel_images_find(struct sn_kernel_images *images, uint64_t address,
			  struct sn_kernel_place *place);
