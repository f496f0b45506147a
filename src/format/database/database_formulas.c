/* SPDX-License-Identifier: Apache-2.0 */
/* Storing formulas in a database; see database_formulas.h. */
#include "database_formulas.h"

#include "base/file_at.h"
#include "database.h"
#include "format/checksum.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SECTIONS_MAX = 1024 };

static uint64_t aligned(uint64_t length)
{
	return (length + SN_SECTION_ALIGN - 1) & ~(uint64_t)(SN_SECTION_ALIGN - 1);
}

unsigned char *sn_db_lay_formulas(const struct sn_database_formula *formulas, uint32_t count,
				  size_t *length)
{
	struct sn_database_formulas head = {count, 0};
	*length = sizeof(head);
	for (uint32_t i = 0; i < count; i++)
		*length += strlen(formulas[i].name) + strlen(formulas[i].text) + 2;
	unsigned char *bytes = calloc(1, aligned(*length));
	if (!bytes)
		return NULL;
	memcpy(bytes, &head, sizeof(head));
	char *at = (char *)bytes + sizeof(head);
	for (uint32_t i = 0; i < count; i++) {
		at = stpcpy(at, formulas[i].name) + 1;
		at = stpcpy(at, formulas[i].text) + 1;
	}
	return bytes;
}

/* The section and the new table go behind what is there; the header, which makes them count, last.
 * 0 or an errno. */
static int append(int fd, struct sn_container_header *header, struct sn_section_entry *table,
		  const unsigned char *bytes, size_t length)
{
	uint32_t count = 0;
	uint64_t offset = aligned(header->length);
	for (uint32_t i = 0; i < header->section_count; i++)
		if (table[i].type != SN_DATABASE_FORMULAS)
			table[count++] = table[i];
	table[count++] = (struct sn_section_entry){.type = SN_DATABASE_FORMULAS,
						   .version = 1,
						   .offset = offset,
						   .length = length,
						   .checksum = sn_checksum(bytes, length)};
	header->section_count = count;
	header->table_offset = offset + aligned(length);
	header->length = header->table_offset + count * sizeof(*table);
	header->table_checksum = sn_checksum(table, count * sizeof(*table));
	header->checksum = sn_checksum(header, offsetof(struct sn_container_header, checksum));
	int failed = sn_write_at(fd, bytes, aligned(length), offset);
	if (!failed)
		failed = sn_write_at(fd, table, count * sizeof(*table), header->table_offset);
	return failed ? failed : sn_write_at(fd, header, sizeof(*header), 0);
}

static int read_table(int fd, struct sn_container_header *header, struct sn_section_entry *table,
		      struct sn_error *error)
{
	int failed = sn_read_at(fd, header, sizeof(*header), 0);
	bool is_database = !failed &&
			   !memcmp(header->magic, SN_DATABASE_MAGIC, sizeof(header->magic)) &&
			   header->version_major == SN_DATABASE_VERSION_MAJOR &&
			   header->section_count < SECTIONS_MAX;
	if (is_database)
		failed = sn_read_at(fd, table, header->section_count * sizeof(*table),
				    header->table_offset);
	if (failed && failed != ENODATA)
		return sn_fail(error, SN_ERR_IO, "%s", strerror(failed));
	return is_database && !failed ? 0 : sn_fail(error, SN_ERR_FORMAT, "not a Sonde database");
}

int sn_db_store_formulas(const char *path, const struct sn_database_formula *formulas,
			 uint32_t count, struct sn_error *error)
{
	struct sn_container_header header;
	size_t length = 0;
	unsigned char *bytes = sn_db_lay_formulas(formulas, count, &length);
	struct sn_section_entry *table = malloc(SECTIONS_MAX * sizeof(*table));
	int fd = open(path, O_RDWR | O_CLOEXEC), result = 0;
	if (!bytes || !table)
		result = sn_fail_memory(error);
	else if (fd < 0)
		result = sn_fail(error, SN_ERR_IO, "%s", strerror(errno));
	else
		result = read_table(fd, &header, table, error);
	int failed = result ? 0 : append(fd, &header, table, bytes, length);
	if (failed)
		result = sn_fail(error, SN_ERR_IO, "%s", strerror(failed));
	if (fd >= 0 && close(fd) && !result)
		result = sn_fail(error, SN_ERR_IO, "%s", strerror(errno));
	free(bytes);
	free(table);
	return result ? sn_fail_prefix(error, result, "cannot write '%s'", path) : 0;
}
