/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a database; see sonde/db.h and database.h.
 *
 * Everything is checked on opening, in time linear in the file's length: checksums, every number
 * that refers to something, every order a binary search relies on, the nesting of contexts, and
 * that all numbers are finite. So no later call fails or reads outside the file, whatever its
 * bytes.
 */
#include "database.h"

#include "base/error.h"
#include "checksum.h"
#include "measurement.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* One directory of planes; stats are struct sonde_db_stat or struct sonde_db_summary. */
struct directory {
	const struct sn_database_plane *planes;
	const uint32_t *ids;
	const void *stats;
	size_t plane_count, count;
};

struct sonde_db {
	const unsigned char *bytes;
	size_t length;
	const struct sn_section_entry *sections[SN_DATABASE_SECTION_COUNT];
	const uint64_t *string_offsets;
	const char *string_bytes;
	uint32_t string_count;
	const struct sonde_db_module *modules;
	const struct sonde_db_frame *frames;
	const struct sonde_db_context *contexts;
	const struct sonde_db_metric *metrics;
	const struct sonde_db_profile *profiles;
	const struct sonde_db_drop *drops;
	const struct sn_database_property *properties;
	uint32_t module_count, frame_count, context_count, metric_count, profile_count, drop_count,
	    property_count;
	struct directory planes, rows, summaries;
};

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
	}
	close(fd);
	return result;
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
		return sn_fail(error, SN_ERR_VERSION,
			       "written in version %u of the format, this program reads version %u",
			       header->version_major, SN_DATABASE_VERSION_MAJOR);
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
	/* another index, or a type this program does not know, is somebody else's */
	if (entry->type == 0 || entry->type >= SN_DATABASE_SECTION_COUNT || entry->index != 0)
		return 0;
	if (entry->version != 1)
		return sn_fail(error, SN_ERR_VERSION,
			       "section %u has version %u, this program reads version 1",
			       entry->type, entry->version);
	if (db->sections[entry->type])
		return sn_fail(error, SN_ERR_FORMAT, "damaged (section %u twice)", entry->type);
	if (entry->checksum != sn_checksum(db->bytes + entry->offset, entry->length))
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

/* The records of a section; false where its length is not a multiple of theirs or they are too
 * many. */
static bool records(const struct sonde_db *db, unsigned type, size_t record_bytes,
		    const void *array_pointer, size_t *count)
{
	const struct sn_section_entry *entry = db->sections[type];
	*(const void **)(uintptr_t)array_pointer = db->bytes + entry->offset;
	*count = entry->length / record_bytes;
	return entry->length % record_bytes == 0;
}

static bool records32(const struct sonde_db *db, unsigned type, size_t record_bytes,
		      const void *array_pointer, uint32_t *count)
{
	size_t wide;
	bool is_whole = records(db, type, record_bytes, array_pointer, &wide);
	*count = (uint32_t)wide;
	return is_whole && wide < SONDE_NONE;
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

static bool check_modules(struct sonde_db *db)
{
	if (!records32(db, SN_DATABASE_MODULES, sizeof(*db->modules), &db->modules,
		       &db->module_count))
		return false;
	for (uint32_t i = 0; i < db->module_count; i++)
		if (!has_string(db, db->modules[i].path) ||
		    !has_string(db, db->modules[i].build_id))
			return false;
	return true;
}

static bool check_frames(struct sonde_db *db)
{
	if (!records32(db, SN_DATABASE_FRAMES, sizeof(*db->frames), &db->frames, &db->frame_count))
		return false;
	for (uint32_t i = 0; i < db->frame_count; i++) {
		const struct sonde_db_frame *frame = db->frames + i;
		if (!has_string(db, frame->name) || !has_string(db, frame->linkage_name) ||
		    !has_string(db, frame->file) ||
		    (frame->module >= db->module_count && frame->module != SONDE_NONE))
			return false;
	}
	return true;
}

static bool check_contexts(struct sonde_db *db)
{
	if (!records32(db, SN_DATABASE_CONTEXTS, sizeof(*db->contexts), &db->contexts,
		       &db->context_count))
		return false;
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

static bool check_metrics(struct sonde_db *db)
{
	if (!records32(db, SN_DATABASE_METRICS, sizeof(*db->metrics), &db->metrics,
		       &db->metric_count))
		return false;
	for (uint32_t i = 0; i < db->metric_count; i++)
		if (!has_string(db, db->metrics[i].name) || !has_string(db, db->metrics[i].unit) ||
		    !has_string(db, db->metrics[i].source))
			return false;
	return true;
}

static bool check_profiles(struct sonde_db *db)
{
	if (!records32(db, SN_DATABASE_PROFILES, sizeof(*db->profiles), &db->profiles,
		       &db->profile_count))
		return false;
	for (uint32_t i = 0; i < db->profile_count; i++)
		if (!has_string(db, db->profiles[i].host) ||
		    !has_string(db, db->profiles[i].program) ||
		    !has_string(db, db->profiles[i].thread))
			return false;
	return true;
}

static bool check_notes(struct sonde_db *db)
{
	if (!records32(db, SN_DATABASE_DROPS, sizeof(*db->drops), &db->drops, &db->drop_count) ||
	    !records32(db, SN_DATABASE_PROPERTIES, sizeof(*db->properties), &db->properties,
		       &db->property_count))
		return false;
	for (uint32_t i = 0; i < db->drop_count; i++)
		if (!has_string(db, db->drops[i].cause) || !has_string(db, db->drops[i].text))
			return false;
	for (uint32_t i = 0; i < db->property_count; i++)
		if (!has_string(db, db->properties[i].key) ||
		    !has_string(db, db->properties[i].value))
			return false;
	return true;
}

static uint64_t plane_key(const struct sn_database_plane *plane)
{
	return (uint64_t)plane->major << 32 | plane->metric;
}

/* A directory of planes: in order, without gaps, ids ascending below `id_count`, numbers finite. */
static bool check_directory(struct sonde_db *db, unsigned first_section, size_t stat_bytes,
			    uint32_t major_count, uint32_t id_count, struct directory *directory)
{
	size_t stat_count;
	if (!records(db, first_section, sizeof(*directory->planes), &directory->planes,
		     &directory->plane_count) ||
	    !records(db, first_section + 1, sizeof(*directory->ids), &directory->ids,
		     &directory->count) ||
	    !records(db, first_section + 2, stat_bytes, &directory->stats, &stat_count) ||
	    stat_count != directory->count)
		return false;
	uint64_t next = 0;
	for (size_t i = 0; i < directory->plane_count; i++) {
		const struct sn_database_plane *plane = directory->planes + i;
		if (plane->major >= major_count || plane->metric >= db->metric_count ||
		    (i && plane_key(plane) <= plane_key(plane - 1)) || plane->first != next ||
		    !plane->count || plane->count > directory->count - next)
			return false;
		next += plane->count;
		for (uint64_t j = plane->first; j < next; j++)
			if (directory->ids[j] >= id_count ||
			    (j > plane->first && directory->ids[j] <= directory->ids[j - 1]))
				return false;
	}
	const double *numbers = directory->stats;
	for (size_t i = 0; i < directory->count * (stat_bytes / sizeof(double)); i++)
		if (!isfinite(numbers[i]))
			return false;
	return next == directory->count;
}

static int check_contents(struct sonde_db *db, struct sn_error *error)
{
	const char *part = NULL;
	if (!check_strings(db))
		part = "strings";
	else if (!check_modules(db))
		part = "modules";
	else if (!check_frames(db))
		part = "frames";
	else if (!check_contexts(db))
		part = "contexts";
	else if (!check_metrics(db))
		part = "metrics";
	else if (!check_profiles(db))
		part = "profiles";
	else if (!check_notes(db))
		part = "drops or properties";
	else if (!check_directory(db, SN_DATABASE_PLANES, sizeof(struct sonde_db_stat),
				  db->profile_count, db->context_count, &db->planes))
		part = "values by profile";
	else if (!check_directory(db, SN_DATABASE_ROWS, sizeof(struct sonde_db_stat),
				  db->context_count, db->profile_count, &db->rows))
		part = "values by context";
	else if (!check_directory(db, SN_DATABASE_SUMMARIES, sizeof(struct sonde_db_summary), 1,
				  db->context_count, &db->summaries))
		part = "summaries";
	return part ? sn_fail(error, SN_ERR_FORMAT, "damaged (inconsistent %s)", part) : 0;
}

int sonde_db_open(const char *path, struct sonde_db **opened, struct sonde_db_error *error)
{
	struct sn_error why = {""};
	struct sonde_db *db = calloc(1, sizeof(*db));
	int result = db ? 0 : sn_fail(&why, SN_ERR_MEMORY, "out of memory");
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
		snprintf(error->text, sizeof(error->text), "cannot read '%.300s': %.190s", path,
			 why.text);
	sonde_db_close(db);
	return result;
}

void sonde_db_close(struct sonde_db *db)
{
	if (db && db->bytes)
		munmap((void *)(uintptr_t)db->bytes, db->length);
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

uint32_t sonde_db_module_count(const struct sonde_db *db)
{
	return db->module_count;
}

const struct sonde_db_module *sonde_db_module(const struct sonde_db *db, uint32_t module)
{
	return module < db->module_count ? db->modules + module : NULL;
}

uint32_t sonde_db_frame_count(const struct sonde_db *db)
{
	return db->frame_count;
}

const struct sonde_db_frame *sonde_db_frame(const struct sonde_db *db, uint32_t frame)
{
	return frame < db->frame_count ? db->frames + frame : NULL;
}

uint32_t sonde_db_context_count(const struct sonde_db *db)
{
	return db->context_count;
}

const struct sonde_db_context *sonde_db_context(const struct sonde_db *db, uint32_t context)
{
	return context < db->context_count ? db->contexts + context : NULL;
}

uint32_t sonde_db_metric_count(const struct sonde_db *db)
{
	return db->metric_count;
}

const struct sonde_db_metric *sonde_db_metric(const struct sonde_db *db, uint32_t metric)
{
	return metric < db->metric_count ? db->metrics + metric : NULL;
}

uint32_t sonde_db_metric_by_name(const struct sonde_db *db, const char *name)
{
	for (uint32_t i = 0; i < db->metric_count; i++)
		if (!strcmp(sonde_db_string(db, db->metrics[i].name), name))
			return i;
	return SONDE_NONE;
}

uint32_t sonde_db_profile_count(const struct sonde_db *db)
{
	return db->profile_count;
}

const struct sonde_db_profile *sonde_db_profile(const struct sonde_db *db, uint32_t profile)
{
	return profile < db->profile_count ? db->profiles + profile : NULL;
}

static const struct sn_database_plane *find_plane(const struct directory *directory, uint32_t major,
						  uint32_t metric)
{
	uint64_t key = (uint64_t)major << 32 | metric;
	size_t low = 0, high = directory->plane_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (plane_key(directory->planes + middle) < key)
			low = middle + 1;
		else
			high = middle;
	}
	const struct sn_database_plane *plane = directory->planes + low;
	return low < directory->plane_count && plane_key(plane) == key ? plane : NULL;
}

struct sonde_db_plane sonde_db_profile_plane(const struct sonde_db *db, uint32_t profile,
					     uint32_t metric)
{
	const struct sn_database_plane *plane = find_plane(&db->planes, profile, metric);
	if (!plane)
		return (struct sonde_db_plane){0};
	const struct sonde_db_stat *stats = db->planes.stats;
	return (struct sonde_db_plane){plane->count, db->planes.ids + plane->first,
				       stats + plane->first};
}

struct sonde_db_row sonde_db_context_row(const struct sonde_db *db, uint32_t context,
					 uint32_t metric)
{
	const struct sn_database_plane *plane = find_plane(&db->rows, context, metric);
	if (!plane)
		return (struct sonde_db_row){0};
	const struct sonde_db_stat *stats = db->rows.stats;
	return (struct sonde_db_row){plane->count, db->rows.ids + plane->first,
				     stats + plane->first};
}

struct sonde_db_summary_plane sonde_db_summary_plane(const struct sonde_db *db, uint32_t metric)
{
	const struct sn_database_plane *plane = find_plane(&db->summaries, 0, metric);
	if (!plane)
		return (struct sonde_db_summary_plane){0};
	const struct sonde_db_summary *summaries = db->summaries.stats;
	return (struct sonde_db_summary_plane){plane->count, db->summaries.ids + plane->first,
					       summaries + plane->first};
}

const struct sonde_db_summary *sonde_db_summary(const struct sonde_db *db, uint32_t context,
						uint32_t metric)
{
	struct sonde_db_summary_plane plane = sonde_db_summary_plane(db, metric);
	size_t low = 0, high = plane.count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (plane.contexts[middle] < context)
			low = middle + 1;
		else
			high = middle;
	}
	return low < plane.count && plane.contexts[low] == context ? plane.summaries + low : NULL;
}

uint32_t sonde_db_drop_count(const struct sonde_db *db)
{
	return db->drop_count;
}

const struct sonde_db_drop *sonde_db_drop(const struct sonde_db *db, uint32_t drop)
{
	return drop < db->drop_count ? db->drops + drop : NULL;
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
#include "frame_kinds.def"
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
#include "frame_kinds.def"
#undef SN_FRAME_KIND
	}
	return "unknown";
}
