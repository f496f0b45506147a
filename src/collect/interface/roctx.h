/* SPDX-License-Identifier: Apache-2.0 */
/* AMD's markers; see roctx.c. */
#pragma once

#include <stdint.h>

/* The functions of a library of AMD's, which calls itself through them; releases only append. */
struct sn_roctx_table {
	uint64_t bytes;
	void (*mark)(const char *message);
	int (*push)(const char *message);
	int (*pop)(void);
	uint64_t (*start)(const char *message);
	void (*stop)(uint64_t id);
};

/* A library shows its table (adapters/rocm/table.c). AS-safe: no. MT: yes. */
void sn_roctx_wrap(struct sn_roctx_table *table);
