/* SPDX-License-Identifier: Apache-2.0 */
/* One more section; see database_append.h. */
#include "database_append.h"

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

/* The section and the new table go behind what is there; the header, which makes them count, last.
 * 0 or the errno. */
static int append(int fd, struct sn_container_header *header, struct sn_section_entry *table,
		  unsigned type, const struct sn_buffer *section)
{
	uint32_t count = 0;
	uint64_t offset = aligned(header->length);
	for (uint32_t i = 0; i < header->section_count; i++)
		if (table[i].type != type)
			table[count++] = table[i];
	table[count++] =
	    (struct sn_section_entry){.type = type,
				      .version = 1,
				      .offset = offset,
				      .length = section->count,
				      .checksum = sn_checksum(section->bytes, section->count)};
	header->section_count = count;
	header->table_offset = offset + aligned(section->count);
	header->length = header->table_offset + count * sizeof(*table);
	header->table_checksum = sn_checksum(table, count * sizeof(*table));
	header->checksum = sn_checksum(header, offsetof(struct sn_container_header, checksum));
	int failed = sn_write_at(fd, section->bytes, section->count, offset);
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

int sn_db_append(const char *path, unsigned type, const struct sn_buffer *section,
		 struct sn_error *error)
{
	struct sn_container_header header;
	struct sn_section_entry *table = malloc(SECTIONS_MAX * sizeof(*table));
	int fd = open(path, O_RDWR | O_CLOEXEC), result = 0, failed = fd < 0 ? errno : 0;
	if (section->failed || !table)
		result = sn_fail_memory(error);
	else if (!failed)
		result = read_table(fd, &header, table, error);
	if (!result && !failed)
		failed = append(fd, &header, table, type, section);
	if (fd >= 0 && close(fd) && !failed)
		failed = errno;
	if (!result && failed)
		result = sn_fail(error, SN_ERR_IO, "%s", strerror(failed));
	free(table);
	return result ? sn_fail_prefix(error, result, "cannot write '%s'", path) : 0;
}
