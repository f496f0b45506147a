/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a kernel and its modules by address, from a list in the form of /proc/kallsyms. */
#pragma once

#include "base/intern.h"

#include <stdio.h>

struct sn_kallsym {
	uint64_t address;
	uint32_t name,
	    module; /* of names; module: SN_INTERN_NONE in the kernel itself, "bpf" of BPF programs */
};

/* All zeroes is empty. */
struct sn_kallsyms {
	struct sn_intern names;
	struct sn_kallsym *symbols; /* by address */
	size_t count, capacity;
};

/* Reads a list, which may be NULL; one that hides addresses has no functions. 0 or SN_ERR_MEMORY; release in either case. */
int sn_kallsyms_read(struct sn_kallsyms *list, FILE *file);
void sn_kallsyms_release(struct sn_kallsyms *list);

static inline const char *sn_kallsyms_name(const struct sn_kallsyms *list, uint32_t name)
{
	return name == SN_INTERN_NONE ? "" : sn_intern_at(&list->names, name, NULL);
}

/* The function at an address: the last one that begins there or before. NULL: none. */
const struct sn_kallsym *sn_kallsyms_find(const struct sn_kallsyms *list, uint64_t address);
/* The address of a symbol of that name, or 0. Looks at all of them. */
uint64_t sn_kallsyms_address(const struct sn_kallsyms *list, const char *name);
