/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of the vdso, by the copy of it that hpcrun leaves in a measurement: symbols of
 * ELF's .symtab or .dynsym that are functions and have a size.
 */
#ifndef SN_IMPORT_HPCTOOLKIT_VDSO_H
#define SN_IMPORT_HPCTOOLKIT_VDSO_H

#include "hpctoolkit_code.h"

/* Reads module->file, of `bytes` bytes, into module->symbols. One that is damaged, or larger than
 * any vdso (1 MiB), names nothing and is no error. 0 or SN_ERR_MEMORY. */
int sn_hpct_vdso_load(struct sn_db_builder *builder, struct sn_hpct_module *module, size_t bytes,
		      struct sn_error *error);

#endif
