/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the files of CPython have what is needed of them. Each is read once, into memory of our own: whoever may write to it may truncate it while it is read.
 */
#pragma once

#include "base/intern.h"
#include "system/mappings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sn_python_symbol {
	SN_PYTHON_RUNTIME,
	SN_PYTHON_VERSION,
	SN_PYTHON_CODE_TYPE,
	SN_PYTHON_TEXT_TYPE,
	SN_PYTHON_BYTES_TYPE,
	SN_PYTHON_EVAL,
	SN_PYTHON_ADDED_3_10,
	SN_PYTHON_ADDED_3_9,
	SN_PYTHON_SYMBOLS
};

struct sn_python_symbols {
	uintptr_t at[SN_PYTHON_SYMBOLS]; /* in the process; 0: there is none */
	size_t bytes[SN_PYTHON_SYMBOLS];
};

struct sn_python_file;

/* All zeroes is empty. */
struct sn_python_files {
	struct sn_intern keys;
	struct sn_python_file *files;
	size_t capacity;
};

void sn_python_files_release(struct sn_python_files *files);
/* The symbols of a mapping of code of a process; false where the file is not to be had or no CPython. */
bool sn_python_files_find(struct sn_python_files *files, pid_t pid,
			  const struct sn_mapping *mapping, struct sn_python_symbols *symbols);
