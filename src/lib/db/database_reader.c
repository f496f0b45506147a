/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a database; see sonde/db.h and database.h.
 *
 * All but the values is checked on opening: checksums, every number that refers to something, the
 * nesting of contexts. A plane is checked when it is first asked for: that it lies within its
 * section, that its ids ascend and exist. So no call reads outside the file or gives out a number
 * that refers to nothing, whatever the file's bytes, and opening a file costs nothing for its
 * values.
 */
#include "database_reader.h"

#include "base/error.h"
#include "database_access.h"
#include "format/checksum.h"
#include "format/measurement/measurement.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert((int)SONDE_DB_CANNOT_READ == SN_ERR_IO && (int)SONDE_DB_DAMAGED == SN_ERR_FORMAT &&
		   (int)SONDE_DB_NEWER == SN_ERR_VERSION &&
		   (int)SONDE_DB_NO_MEMORY == SN_ERR_MEMORY &&
		   (int)SONDE_DB_MISTAKE == SN_ERR_ARGUMENT &&
		   (int)SONDE_DB_CANNOT_DO == SN_ERR_UNSUPPORTED,
	       "codes are public");
_Static_assert((int)SONDE_METRIC_TIME == SN_METRIC_TIME &&
		   (int)SONDE_METRIC_COUNT == SN_METRIC_COUNT &&
		   (int)SONDE_METRIC_BYTES == SN_METRIC_BYTES &&
		   (int)SONDE_METRIC_RATIO == SN_METRIC_RATIO &&
		   (int)SONDE_METRIC_CALLS == SN_METRIC_CALLS,
	       "kinds of metrics are public");
_Static_assert((int)SONDE_MODULE_MAIN == SN_MODULE_MAIN &&
		   (int)SONDE_MODULE_VDSO == SN_MODULE_VDSO &&
		   (int)SONDE_MODULE_UNLOADED == SN_MODULE_UNLOADED &&
		   (int)SONDE_MODULE_ANONYMOUS == SN_MODULE_ANONYMOUS,
	       "flags of modules are public");

static int map_file(struct sonde_db *db, const char *path, struct sn_error *error)
{
	/* O_NONBLOCK: opening a pipe must not wait for its writer */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;
	if (fd < 0 || fstat(fd, &status) < 0) {
		int why = errno;
		if (fd >= 0)
			close(fd);
		return sn_fail(error, SN_ERR_IO, "%s", strerror(why));
	}
	int result = 0;
	if (S_ISDIR(status.st_mode))
		result = sn_fail(error, SN_ERR_FORMAT,
				 "a folder, not a Sonde database ('sonde analyze' makes a database "
				 "of a measurement folder)");
	else if (!S_ISREG(status.st_mode))
		result = sn_fail(error, SN_ERR_FORMAT, "not a regular file");
	else if (!status.st_size)
		result = sn_fail(error, SN_ERR_FORMAT, "not a Sonde database (empty file)");
	if (!result) {
		db->length = (size_t)status.st_size;
		void *map = mmap(NULL, db->length, PROT_READ, MAP_PRIVATE, fd, 0);
		if (map == MAP_FAILED)
			result = sn_fail(error, SN_ERR_IO, "%s", strerror(errno));
		else
			db->bytes = map;
		db->owner = status.st_uid;
	}
	close(fd);
	return result;
}

uid_t sn_db_owner(const struct sonde_db *db)
{
	return db->owner;
}

static int check_header(const struct sonde_db *db, struct sn_error *error)
{
	const struct sn_container_header *header = (const void *)db->bytes;
	size_t magic_bytes = sizeof(header->magic);
	if (db->length >= magic_bytes && !memcmp(db->bytes, SN_MEASUREMENT_MAGIC, magic_bytes))
		return sn_fail(error, SN_ERR_FORMAT,
			       "a measurement, not a database ('sonde analyze' makes a database of "
			       "its folder)");
	if (db->length < magic_bytes || memcmp(db->bytes, SN_DATABASE_MAGIC, magic_bytes))
		return sn_fail(error, SN_ERR_FORMAT, "not a Sonde database (bad magic)");
	if (db->length < sizeof(*header))
		return sn_fail(error, SN_ERR_FORMAT, "truncated (no complete header)");
	if (header->version_major != SN_DATABASE_VERSION_MAJOR)
		return sn_fail(
		    error, SN_ERR_VERSION,
		    "written in version %u of the format, this program reads version %u%s",
		    header->version_major, SN_DATABASE_VERSION_MAJOR,
		    header->version_major < SN_DATABASE_VERSION_MAJOR
			? ": make it again of the measurement with 'sonde analyze'"
			: "");
	if (header->checksum != sn_checksum(header, offsetof(struct sn_container_header, checksum)))
		return sn_fail(error, SN_ERR_FORMAT, "damaged (header checksum)");
	if (header->length > db->length)
		return sn_fail(error, SN_ERR_FORMAT, "truncated (%zu of %llu bytes)", db->length,
			       (unsigned long long)header->length);
	uint64_t table_bytes = header->section_count * (uint64_t)sizeof(struct sn_section_entry);
	if (header->table_offset % SN_SECTION_ALIGN || header->table_offset > header->length ||
	    table_bytes > header->length - header->table_offset)
		return sn_fail(error, SN_ERR_FORMAT, "damaged (section table outside the file)");
	if (header->table_checksum != sn_checksum(db->bytes + header->table_offset, table_bytes))
		return sn_fail(error, SN_ERR_FORMAT, "damaged (section table checksum)");
	return 0;
}

static int check_section(struct sonde_db *db, const struct sn_section_entry *entry,
			 struct sn_error *error)
{
	uint64_t length = ((const struct sn_container_header *)db->bytes)->length;
	if (entry->offset % SN_SECTION_ALIGN || entry->offset > length ||
	    entry->length > length - entry->offset)
		return sn_fail(error, SN_ERR_FORMAT, "damaged (section %u outside the file)",
			       entry->type);
	/* another index, or a type this program does not know, is ignored */
	if (entry->type == 0 || entry->type >= SN_DATABASE_TYPE_END || entry->index != 0)
		return 0;
	if (entry->version != 1)
		return sn_fail(error, SN_ERR_VERSION,
			       "section %u has version %u, this program reads version 1",
			       entry->type, entry->version);
	if (db->sections[entry->type])
		return sn_fail(error, SN_ERR_FORMAT, "damaged (section %u twice)", entry->type);
	bool is_indexed = entry->flags & SN_SECTION_INDEXED;
	if (!is_indexed && entry->checksum != sn_checksum(db->bytes + entry->offset, entry->length))
		return sn_fail(error, SN_ERR_FORMAT, "damaged (section %u checksum)", entry->type);
	db->sections[entry->type] = entry;
	return 0;
}

static int check_sections(struct sonde_db *db, struct sn_error *error)
{
	const struct sn_container_header *header = (const void *)db->bytes;
	const struct sn_section_entry *table = (const void *)(db->bytes + header->table_offset);
	for (uint32_t i = 0; i < header->section_count; i++) {
		int result = check_section(db, table + i, error);
		if (result)
			return result;
	}
	for (unsigned type = 1; type < SN_DATABASE_SECTION_COUNT; type++)
		if (!db->sections[type])
			return sn_fail(error, SN_ERR_FORMAT, "damaged (section %u missing)", type);
	return 0;
}

static bool has_string(const struct sonde_db *db, uint32_t string)
{
	return string < db->string_count || string == SONDE_NONE;
}

static bool check_strings(struct sonde_db *db)
{
	const struct sn_section_entry *entry = db->sections[SN_DATABASE_STRINGS];
	const struct sn_database_strings *header = (const void *)(db->bytes + entry->offset);
	if (entry->length < sizeof(*header))
		return false;
	uint64_t table_bytes = (header->count + 1ull) * sizeof(uint64_t);
	if (header->count == SONDE_NONE || table_bytes > entry->length - sizeof(*header))
		return false;
	uint64_t text_bytes = entry->length - sizeof(*header) - table_bytes;
	db->string_offsets = (const void *)(header + 1);
	db->string_bytes = (const char *)(header + 1) + table_bytes;
	db->string_count = header->count;
	if (db->string_offsets[0] != 0 || db->string_offsets[header->count] != text_bytes)
		return false;
	for (uint32_t i = 0; i < header->count; i++) {
		uint64_t end = db->string_offsets[i + 1];
		if (end <= db->string_offsets[i] || end > text_bytes || db->string_bytes[end - 1])
			return false;
	}
	return true;
}

static bool check_frames(const struct sonde_db *db)
{
	for (uint32_t i = 0; i < db->frame_count; i++)
		if (db->frames[i].module >= db->module_count && db->frames[i].module != SONDE_NONE)
			return false;
	return true;
}

static bool check_contexts(const struct sonde_db *db)
{
	const struct sonde_db_context *contexts = db->contexts;
	if (!db->context_count || contexts[0].parent || contexts[0].depth ||
	    contexts[0].end != db->context_count || contexts[0].frame >= db->frame_count)
		return false;
	uint32_t open = 0; /* the innermost context that c can be a child of */
	for (uint32_t c = 1; c < db->context_count; c++) {
		while (contexts[open].end <= c)
			open = contexts[open].parent;
		if (contexts[c].parent != open || contexts[c].end <= c ||
		    contexts[c].end > contexts[open].end ||
		    contexts[c].depth != contexts[open].depth + 1 ||
		    contexts[c].frame >= db->frame_count)
			return false;
		open = c;
	}
	return true;
}

/* What is found on opening: an array in struct sonde_db, its count, and which fields of its records
 * are strings. */
static const struct table {
	const char *name;
	unsigned section;
	size_t record_bytes, array, count;
	bool (*check)(const struct sonde_db *db); /* what else must hold; NULL */
	size_t strings[3], string_count;
} tables[] = {
#define TABLE(name, section, array, count, check, ...)                                             \
	{                                                                                          \
		name, section, sizeof(*((struct sonde_db *)0)->array),                             \
		    offsetof(struct sonde_db, array), offsetof(struct sonde_db, count), check,     \
		    {__VA_ARGS__}, sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t)                \
	}
#define STRING(type, field) offsetof(struct type, field)
    TABLE("modules", SN_DATABASE_MODULES, modules, module_count, NULL,
	  STRING(sonde_db_module, path), STRING(sonde_db_module, build_id)),
    TABLE("frames", SN_DATABASE_FRAMES, frames, frame_count, check_frames,
	  STRING(sonde_db_frame, name), STRING(sonde_db_frame, linkage_name),
	  STRING(sonde_db_frame, file)),
    TABLE("contexts", SN_DATABASE_CONTEXTS, contexts, context_count, check_contexts),
    TABLE("metrics", SN_DATABASE_METRICS, metrics, metric_count, NULL,
	  STRING(sonde_db_metric, name), STRING(sonde_db_metric, unit),
	  STRING(sonde_db_metric, source)),
    TABLE("profiles", SN_DATABASE_PROFILES, profiles, profile_count, NULL,
	  STRING(sonde_db_profile, host), STRING(sonde_db_profile, program),
	  STRING(sonde_db_profile, thread)),
    TABLE("drops or properties", SN_DATABASE_DROPS, drops, drop_count, NULL,
	  STRING(sonde_db_drop, cause), STRING(sonde_db_drop, text)),
    TABLE("drops or properties", SN_DATABASE_PROPERTIES, properties, property_count, NULL,
	  STRING(sn_database_property, key), STRING(sn_database_property, value)),
#undef STRING
#undef TABLE
};

static bool check_table(struct sonde_db *db, const struct table *table)
{
	const unsigned char **array = (void *)((char *)db + table->array);
	uint32_t *count = (void *)((char *)db + table->count);
	if (!sn_db_table(db, table->section, table->record_bytes, array, count))
		return false;
	for (uint32_t i = 0; i < *count; i++)
		for (size_t s = 0; s < table->string_count; s++) {
			uint32_t string;
			memcpy(&string, *array + i * table->record_bytes + table->strings[s],
			       sizeof(string));
			if (!has_string(db, string))
				return false;
		}
	return !table->check || table->check(db);
}

/* Whether the section of formulas, which may be missing, is whole. */
static bool check_formulas(const struct sonde_db *db)
{
	const struct sn_section_entry *entry = db->sections[SN_DATABASE_FORMULAS];
	const struct sn_database_formulas *head;
	if (!entry)
		return true;
	const char *at = (const char *)db->bytes + entry->offset, *end = at + entry->length;
	if (entry->length < sizeof(*head))
		return false;
	head = (const void *)at;
	uint64_t strings = 0;
	for (at += sizeof(*head); at < end; at++)
		strings += !*at;
	return strings == 2ull * head->count && (head->count == 0 || !end[-1]);
}

static int check_contents(struct sonde_db *db, struct sn_error *error)
{
	const char *part = check_strings(db) ? NULL : "strings";
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables) && !part; i++)
		part = check_table(db, tables + i) ? NULL : tables[i].name;
	if (!part && !check_formulas(db))
		part = "formulas";
	if (!part && !sn_db_check_findings(db))
		part = "findings";
	return part ? sn_fail(error, SN_ERR_FORMAT, "damaged (inconsistent %s)", part)
		    : sn_db_find_values(db, error);
}

int sonde_db_open(const char *path, struct sonde_db **opened, struct sonde_db_error *error)
{
	struct sn_error why = {""};
	struct sonde_db *db = calloc(1, sizeof(*db));
	if (db)
		db->path = strdup(path);
	int result = db && db->path ? 0 : sn_fail_memory(&why);
	if (!result)
		result = map_file(db, path, &why);
	if (!result)
		result = check_header(db, &why);
	if (!result)
		result = check_sections(db, &why);
	if (!result)
		result = check_contents(db, &why);
	if (!result) {
		*opened = db;
		return 0;
	}
	if (error)
		snprintf(error->text, sizeof(error->text), SN_DB_CANNOT_READ, path, why.text);
	sonde_db_close(db);
	return result;
}

void sonde_db_close(struct sonde_db *db)
{
	if (!db)
		return;
	if (db->bytes)
		munmap((void *)(uintptr_t)db->bytes, db->length);
	for (int i = 0; i < SN_DB_DIRECTORIES; i++) {
		free(db->directories[i].checked);
		free(db->directories[i].planes_checked);
	}
	free(db->path);
	free(db);
}

const char *sonde_db_string(const struct sonde_db *db, uint32_t string)
{
	return string < db->string_count ? db->string_bytes + db->string_offsets[string] : "";
}

size_t sonde_db_string_length(const struct sonde_db *db, uint32_t string)
{
	if (string >= db->string_count)
		return 0;
	return db->string_offsets[string + 1] - db->string_offsets[string] - 1;
}

SN_DB_TABLE(sonde_db, module, modules, module_count)
SN_DB_TABLE(sonde_db, frame, frames, frame_count)
SN_DB_TABLE(sonde_db, context, contexts, context_count)
SN_DB_TABLE(sonde_db, profile, profiles, profile_count)
SN_DB_TABLE(sonde_db, drop, drops, drop_count)

/* Metrics of calls come last, and are no metrics to users. */
uint32_t sonde_db_metric_count(const struct sonde_db *db)
{
	uint32_t count = db->metric_count;
	while (count && db->metrics[count - 1].kind == SN_METRIC_CALLS)
		count--;
	return count;
}

const struct sonde_db_metric *sonde_db_metric(const struct sonde_db *db, uint32_t metric)
{
	return metric < db->metric_count ? db->metrics + metric : NULL;
}

uint32_t sonde_db_metric_by_name(const struct sonde_db *db, const char *name)
{
	for (uint32_t i = 0; i < sonde_db_metric_count(db); i++)
		if (!strcmp(sonde_db_string(db, db->metrics[i].name), name))
			return i;
	return SONDE_NONE;
}

uint32_t sonde_db_metric_calls(const struct sonde_db *db, uint32_t metric)
{
	uint32_t first = sonde_db_metric_count(db);
	if (metric >= first)
		return SONDE_NONE;
	const char *name = sonde_db_string(db, db->metrics[metric].name);
	size_t length = strlen(name);
	for (uint32_t i = first; i < db->metric_count; i++) {
		const char *of = sonde_db_string(db, db->metrics[i].name);
		if (!strncmp(of, name, length) && !strcmp(of + length, SN_METRIC_CALLS_SUFFIX))
			return i;
	}
	return SONDE_NONE;
}

const char *sonde_db_metric_counts(const struct sonde_db *db, uint32_t metric)
{
	if (metric < db->metric_count && db->metrics[metric].period)
		return "samples";
	if (metric < db->metric_count &&
	    !strcmp(sonde_db_string(db, db->metrics[metric].source), "hpctoolkit"))
		return "sums"; /* its databases do not say of how many values a sum is */
	return sonde_db_metric_calls(db, metric) == SONDE_NONE ? "events" : "calls";
}

const char *sonde_profile_kind_name(uint32_t kind)
{
	static const char *const names[] = {"thread", "stream", "processor"};
	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "unknown";
}

uint32_t sonde_db_property_count(const struct sonde_db *db)
{
	return db->property_count;
}

const char *sonde_db_property_key(const struct sonde_db *db, uint32_t property)
{
	return property < db->property_count ? sonde_db_string(db, db->properties[property].key)
					     : "";
}

const char *sonde_db_property_value(const struct sonde_db *db, uint32_t property)
{
	return property < db->property_count ? sonde_db_string(db, db->properties[property].value)
					     : "";
}

const char *sonde_db_property(const struct sonde_db *db, const char *key)
{
	for (uint32_t i = 0; i < db->property_count; i++)
		if (!strcmp(sonde_db_string(db, db->properties[i].key), key))
			return sonde_db_string(db, db->properties[i].value);
	return NULL;
}

const char *sonde_frame_kind_name(unsigned kind)
{
	switch (kind) {
#define SN_FRAME_KIND(id, number, name, layer)                                                     \
	case SN_FRAME_##id:                                                                        \
		return name;
#include "format/frame_kinds.def"
#undef SN_FRAME_KIND
	}
	return "unknown";
}

const char *sonde_frame_kind_layer(unsigned kind)
{
	switch (kind) {
#define SN_FRAME_KIND(id, number, name, layer)                                                     \
	case SN_FRAME_##id:                                                                        \
		return layer;
#include "format/frame_kinds.def"
#undef SN_FRAME_KIND
	}
	return "unknown";
}

bool sonde_db_formula(const struct sonde_db *db, uint32_t formula, const char **name,
		      const char **text)
{
	const struct sn_section_entry *entry = db->sections[SN_DATABASE_FORMULAS];
	const struct sn_database_formulas *head =
	    entry ? (const void *)(db->bytes + entry->offset) : NULL;
	if (!head || formula >= head->count)
		return false;
	const char *at = (const char *)(head + 1);
	for (uint64_t i = 0; i < 2ull * formula; i++)
		at += strlen(at) + 1;
	*name = at;
	*text = at + strlen(at) + 1;
	return true;
}

const void *sn_db_section(const struct sonde_db *db, unsigned type, uint64_t *length)
{
	const struct sn_section_entry *entry =
	    type < SN_DATABASE_TYPE_END ? db->sections[type] : NULL;
	*length = entry ? entry->length : 0;
	return entry ? db->bytes + entry->offset : NULL;
}

bool sn_db_table(const struct sonde_db *db, unsigned type, size_t record_bytes,
		 const void *array_pointer, uint32_t *count)
{
	uint64_t length;
	*(const void **)(uintptr_t)array_pointer = sn_db_section(db, type, &length);
	*count = (uint32_t)(length / record_bytes);
	return length % record_bytes == 0 && length / record_bytes < SONDE_NONE;
}
