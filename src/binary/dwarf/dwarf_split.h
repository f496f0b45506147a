/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Split debug information (DWARF 5, section 7.3.2; -gsplit-dwarf): the module's own file has a
 * skeleton of each unit with its lines and addresses, functions are in a file NAME.dwo or, packed
 * with those of all other units, in MODULE.dwp. Both the form of DWARF 5 and GNU's before it.
 * Internal to the DWARF reader (dwarf.h).
 */
#pragma once

#include "binary/elf/debug_file.h"
#include "dwarf_unit.h"

/* The search for the split files of a module. */
struct sn_dwarf_places {
	struct sn_debug_search search; /* folders are not used */
	char *path;		       /* of the file with the skeletons; owned; NULL: nowhere */
	struct sn_elf_file *package;   /* MODULE.dwp */
	bool has_tried_package;
};

struct sn_dwarf_split {
	struct sn_elf_file *elf; /* owned; NULL if it is in the package */
	struct sn_dwarf_file file;
	struct sn_dwarf_unit *unit; /* in `file` */
};

/* Finds the split unit of a skeleton (once): sets skeleton->split, which stays NULL if there is
 * none. */
void sn_dwarf_split_open(struct sn_dwarf_places *places, struct sn_dwarf_unit *skeleton);
void sn_dwarf_split_free(struct sn_dwarf_split *split);
void sn_dwarf_places_release(struct sn_dwarf_places *places);
