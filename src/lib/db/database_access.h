/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sonde's own functions on an open database beyond sonde/db.h. None is exported.
 *
 * MT: safe, as all of sonde/db.h.
 */
#pragma once

#include "format/database/database.h"

#include <sys/types.h>

/* The bytes of a section (enum sn_database_section), which are the database's; NULL and 0 if it is
 * missing. Aligned to 8 bytes; only its place in the file and its checksum, if it has one, have
 * been checked. */
const void *sn_db_section(const struct sonde_db *db, unsigned type, uint64_t *length);

/* The same as records of so many bytes, *(const RECORD **)array_pointer; false if the section has
 * an incomplete record, or too many. */
bool sn_db_table(const struct sonde_db *db, unsigned type, size_t record_bytes,
		 const void *array_pointer, uint32_t *count);

/* Defines the interface's functions for a table: the number of its records, and one of them, NULL
 * for an invalid number. */
#define SN_DB_TABLE(owner, record, array, number)                                                  \
	uint32_t owner##_##record##_count(const struct owner *from)                                \
	{                                                                                          \
		return from->number;                                                               \
	}                                                                                          \
	const struct owner##_##record *owner##_##record(const struct owner *from, uint32_t index)  \
	{                                                                                          \
		return index < from->number ? from->array + index : NULL;                          \
	}

/* The user who owned the file when it was opened. */
uid_t sn_db_owner(const struct sonde_db *db);
