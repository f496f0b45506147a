/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The formats in which `sonde structure` writes the results of src/binary/structure: text, JSON,
 * and HPCToolkit's structure XML.
 *
 * A form writes a head and a foot for each binary and its functions in between. Functions are
 * written by several threads at once; for a number that counts up through the whole file they write
 * SN_STRUCTURE_NUMBER, which is replaced when the functions are in order.
 */
#pragma once

#include "binary/structure/structure.h"

#include <stdatomic.h>
#include <stdio.h>

#define SN_STRUCTURE_NUMBER '\001'

/* Of one binary; counted while its functions are written. */
struct sn_structure_counts {
	atomic_ullong functions, loops, written_loops, irreducible, jumps, unresolved;
};

struct sn_structure_form {
	bool wants_lines; /* of all functions, not only of a requested one */
	bool wants_calls;
	void (*begin)(FILE *out);
	void (*begin_binary)(const char *path, const struct sn_structure_info *info, bool is_first,
			     FILE *out);
	/* MT. `is_full`: everything, not only functions with loops. */
	void (*write)(const struct sn_structure_function *function, bool is_full, FILE *out);
	void (*end_binary)(const struct sn_structure_info *info,
			   const struct sn_structure_counts *counts, FILE *out);
	void (*end)(FILE *out);
};

extern const struct sn_structure_form sn_structure_text, sn_structure_json, sn_structure_xml;
