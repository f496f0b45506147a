/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Sonde itself asks of an open database beyond sonde/db.h. Nothing of it is exported.
 *
 * MT: safe, as all of sonde/db.h.
 */
#ifndef SN_LIB_DATABASE_ACCESS_H
#define SN_LIB_DATABASE_ACCESS_H

#include "format/database/database.h"

#include <sys/types.h>

/* The bytes of a section (enum sn_database_section), which are the database's; NULL and 0 where it
 * is missing. Aligned to 8 bytes; checked for nothing but lying within the file, and its checksum
 * where it has one. */
const void *sn_db_section(const struct sonde_db *db, unsigned type, uint64_t *length);

/* The same as records of so many bytes, *(const RECORD **)array_pointer; false where the section
 * has a part of one, or too many. */
bool sn_db_table(const struct sonde_db *db, unsigned type, size_t record_bytes,
		 const void *array_pointer, uint32_t *count);

/* Functions of the interface that give out a table: how many records it has, and one of them, NULL
 * where there is none. */
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

#endif
