/* SPDX-License-Identifier: Apache-2.0 */
/* Finding planes and giving them out; see sonde/db.h and database_reader.h. */
#include "base/search.h"
#include "database_reader.h"
#include "format/checksum.h"
#include "format/database/database_plane.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The records of a section; false if its length is not a multiple of theirs. */
static bool find_records(const struct sonde_db *db, unsigned type, size_t record_bytes,
			 const void *array_pointer, size_t *count)
{
	const struct sn_section_entry *entry = db->sections[type];
	*(const void **)(uintptr_t)array_pointer = db->bytes + entry->offset;
	*count = entry->length / record_bytes;
	return entry->length % record_bytes == 0;
}

/* Every entry after the one before it, the last at the end of what is there. */
static bool is_ascending(const struct sn_db_directory *directory)
{
	const struct sn_database_index *index = directory->index;
	if (index->first || index->data)
		return false;
	for (uint32_t i = 0; i < directory->major_count; i++)
		if (index[i + 1].first < index[i].first || index[i + 1].data < index[i].data ||
		    index[i + 1].data % 4)
			return false;
	return index[directory->major_count].first == directory->plane_count &&
	       index[directory->major_count].data == directory->data_bytes;
}

static int find_directory(struct sonde_db *db, struct sn_db_directory *directory, unsigned section,
			  struct sn_error *error)
{
	size_t index_count, data_bytes;
	char why[64];
	snprintf(why, sizeof(why), "damaged (%s)", directory->name);
	snprintf(directory->damage.text, sizeof(directory->damage.text), SN_DB_CANNOT_READ,
		 db->path, why);
	if (!find_records(db, section, sizeof(*directory->index), &directory->index,
			  &index_count) ||
	    !find_records(db, section + 1, directory->entry_bytes, &directory->planes,
			  &directory->plane_count) ||
	    !find_records(db, section + 2, 1, &directory->data, &data_bytes) ||
	    index_count != directory->major_count + 1ull)
		return sn_fail(error, SN_ERR_FORMAT, "%s", why);
	directory->data_bytes = data_bytes;
	if (!is_ascending(directory))
		return sn_fail(error, SN_ERR_FORMAT, "%s", why);
	directory->checked = calloc(directory->major_count + 1ull, sizeof(*directory->checked));
	directory->planes_checked =
	    calloc(directory->plane_count + 1ull, sizeof(*directory->planes_checked));
	return directory->checked && directory->planes_checked ? 0 : sn_fail_memory(error);
}

int sn_db_find_values(struct sonde_db *db, struct sn_error *error)
{
	static const unsigned sections[] = {SN_DATABASE_PLANE_INDEX, SN_DATABASE_ROW_INDEX,
					    SN_DATABASE_SUMMARY_INDEX};
	struct sn_db_directory *all = db->directories;
	size_t plane = sizeof(struct sn_database_plane);
	all[SN_DB_PLANES] = (struct sn_db_directory){.name = "values by profile",
						     .entry_bytes = plane,
						     .scopes = 1,
						     .major_count = db->profile_count,
						     .id_count = db->context_count};
	all[SN_DB_ROWS] = (struct sn_db_directory){.name = "values by context",
						   .entry_bytes = plane,
						   .scopes = 1,
						   .major_count = db->context_count,
						   .id_count = db->profile_count};
	all[SN_DB_SUMMARIES] =
	    (struct sn_db_directory){.name = "summaries",
				     .entry_bytes = sizeof(struct sn_database_summary),
				     .scopes = SONDE_DB_SCOPES,
				     .major_count = db->metric_count,
				     .id_count = db->context_count};
	int result = 0;
	for (int i = 0; i < SN_DB_DIRECTORIES && !result; i++)
		result = find_directory(db, all + i, sections[i], error);
	return result;
}

/* The planes of a major, which may be invalid. */
static struct sn_planes planes_of(const struct sn_db_directory *directory, uint32_t major)
{
	const struct sn_database_index *index = directory->index + major;
	return (struct sn_planes){.entries =
				      directory->planes + index->first * directory->entry_bytes,
				  .data = directory->data + index->data,
				  .entry_count = index[1].first - index->first,
				  .data_bytes = index[1].data - index->data,
				  .scopes = directory->scopes};
}

struct sn_database_summary sn_db_entry(const struct sn_db_directory *directory, uint64_t plane)
{
	return sn_planes_entry(
	    &(struct sn_planes){.entries = directory->planes, .scopes = directory->scopes}, plane);
}

static bool are_ids_sound(const uint32_t *ids, uint32_t count, uint32_t id_count)
{
	bool are_ascending = true;
	for (uint32_t i = 1; i < count; i++)
		are_ascending &= ids[i] > ids[i - 1];
	return are_ascending && ids[count - 1] < id_count;
}

/* What is about to be read as a whole is asked for as a whole: page by page, as it would be missed,
 * a disk took twice as long. Advice only: nothing depends on it. */
static void expect(const unsigned char *bytes, uint64_t length)
{
	enum { SMALL = 128 << 10, PAGE = 4096 };
	uintptr_t start = (uintptr_t)bytes & ~(uintptr_t)(PAGE - 1);
	if (length > SMALL)
		madvise((void *)start, (uintptr_t)bytes + length - start, MADV_WILLNEED);
}

const char *sn_db_check_major(const struct sonde_db *db, const struct sn_db_directory *directory,
			      uint32_t major)
{
	struct sn_planes planes = planes_of(directory, major);
	uint64_t checksum;
	const char *wrong = sn_planes_checksum(&planes, expect, &checksum);
	if (wrong)
		return wrong;
	if (checksum != directory->index[major].checksum)
		return "checksum";
	uint32_t before = 0;
	for (uint64_t i = 0; i < planes.entry_count; i++) {
		struct sn_database_summary entry = sn_planes_entry(&planes, i);
		if (entry.metric >= db->metric_count || (i && entry.metric <= before))
			return "metrics";
		before = entry.metric;
		if (!sn_block_is_large(entry.count) &&
		    !are_ids_sound((const uint32_t *)planes.data + entry.ids, entry.count,
				   directory->id_count))
			return "ids";
	}
	return NULL;
}

const char *sn_db_check_plane(const struct sn_db_directory *directory, uint32_t major,
			      uint64_t plane)
{
	struct sn_planes planes = planes_of(directory, major);
	struct sn_database_summary entry = sn_db_entry(directory, plane);
	struct sn_plane_place place;
	/* of itself only the ids' place depends on where the plane before it ends */
	sn_planes_place(&planes, &entry, entry.values, &place);
	const unsigned char *ids = planes.data + 4 * place.ids;
	const unsigned char *values = planes.data + 4 * place.values;
	if (sn_block_is_large(place.ids_words)) {
		expect(ids, 4 * place.ids_words);
		if (!sn_block_is_sound(&planes, place.ids, place.ids_words))
			return "checksum";
		if (!are_ids_sound((const uint32_t *)ids, entry.count, directory->id_count))
			return "ids";
	}
	if (sn_block_is_large(place.value_words)) {
		expect(values, 4 * place.value_words);
		if (!sn_block_is_sound(&planes, place.values, place.value_words))
			return "checksum";
	}
	return NULL;
}

/* Remembers the first damage found. The database is const for its users; this is no part of it. */
static void note_damage(const struct sonde_db *db, const struct sn_db_directory *directory)
{
	const char *none = NULL;
	/* another thread may have been first */
	atomic_compare_exchange_strong((_Atomic(const char *) *)(uintptr_t)&db->damage, &none,
				       directory->damage.text);
}

const char *sonde_db_damage(const struct sonde_db *db)
{
	return atomic_load(&db->damage);
}

/* Whether that is what is known; damage is remembered. */
static bool is_known_sound(const struct sonde_db *db, const struct sn_db_directory *directory,
			   unsigned char known)
{
	if (known == SN_DB_DAMAGED)
		note_damage(db, directory);
	return known == SN_DB_SOUND;
}

/* Checks the planes of a major when it is first used. */
static bool is_usable(const struct sonde_db *db, const struct sn_db_directory *directory,
		      uint32_t major)
{
	/* relaxed: every thread that finds it unknown comes to the same answer by itself */
	unsigned char known =
	    atomic_load_explicit(directory->checked + major, memory_order_relaxed);
	if (known == SN_DB_UNKNOWN) {
		known = sn_db_check_major(db, directory, major) ? SN_DB_DAMAGED : SN_DB_SOUND;
		atomic_store_explicit(directory->checked + major, known, memory_order_relaxed);
	}
	return is_known_sound(db, directory, known);
}

/* Checks the large blocks of a plane when it is first used. */
static bool is_plane_usable(const struct sonde_db *db, const struct sn_db_directory *directory,
			    uint32_t major, uint64_t plane)
{
	/* relaxed: as above */
	_Atomic unsigned char *checked = directory->planes_checked + plane;
	unsigned char known = atomic_load_explicit(checked, memory_order_relaxed);
	if (known == SN_DB_UNKNOWN) {
		known = sn_db_check_plane(directory, major, plane) ? SN_DB_DAMAGED : SN_DB_SOUND;
		atomic_store_explicit(checked, known, memory_order_relaxed);
	}
	return is_known_sound(db, directory, known);
}

/* False where there is no such plane, or none that can be used. */
static bool find_plane(const struct sonde_db *db, const struct sn_db_directory *directory,
		       uint32_t major, uint32_t metric, struct sn_database_summary *entry)
{
	if (major >= directory->major_count || metric >= db->metric_count ||
	    !is_usable(db, directory, major))
		return false;
	uint64_t end = directory->index[major + 1].first;
	uint64_t at = sn_search_from(i, directory->index[major].first, end,
				     sn_db_entry(directory, i).metric < metric);
	if (at == end)
		return false;
	*entry = sn_db_entry(directory, at);
	return entry->metric == metric && is_plane_usable(db, directory, major, at);
}

static struct sonde_db_plane plane_of(const struct sonde_db *db, enum sn_db_directories which,
				      uint32_t major, uint32_t metric)
{
	const struct sn_db_directory *directory = db->directories + which;
	struct sonde_db_plane plane = {0};
	struct sn_database_summary entry;
	if (!find_plane(db, directory, major, metric, &entry))
		return plane;
	const unsigned char *data = directory->data + directory->index[major].data;
	plane.count = entry.count;
	plane.ids = (const uint32_t *)data + entry.ids;
	sn_plane_find_columns(data + 4ull * entry.values, entry.forms[0], entry.count,
			      (double)db->metrics[metric].period, &plane.columns);
	return plane;
}

struct sonde_db_plane sonde_db_profile_plane(const struct sonde_db *db, uint32_t profile,
					     uint32_t metric)
{
	return plane_of(db, SN_DB_PLANES, profile, metric);
}

struct sonde_db_plane sonde_db_context_row(const struct sonde_db *db, uint32_t context,
					   uint32_t metric)
{
	return plane_of(db, SN_DB_ROWS, context, metric);
}

static size_t find_id(const uint32_t *ids, size_t count, uint32_t id)
{
	size_t at = sn_search(i, count, ids[i] < id);
	return at < count && ids[at] == id ? at : count;
}

size_t sonde_db_plane_find(const struct sonde_db_plane *plane, uint32_t id)
{
	return find_id(plane->ids, plane->count, id);
}

double sonde_db_plane_sum(const struct sonde_db_plane *plane, size_t position)
{
	return sn_columns_sum(&plane->columns, position);
}

void sonde_db_plane_stat(const struct sonde_db_plane *plane, size_t position,
			 struct sonde_db_stat *stat)
{
	sn_columns_stat(&plane->columns, position, stat);
}

void sonde_db_plane_numbers(const struct sonde_db_plane *plane, enum sonde_db_part part,
			    size_t first, size_t count, double *numbers)
{
	sn_columns_numbers(&plane->columns, part, first, count, numbers);
}

struct sonde_db_summary_plane sonde_db_summary_plane(const struct sonde_db *db, uint32_t metric)
{
	struct sonde_db_summary_plane plane = {0};
	struct sn_database_summary entry;
	const struct sn_db_directory *directory = db->directories + SN_DB_SUMMARIES;
	if (!find_plane(db, directory, metric, metric, &entry))
		return plane;
	const unsigned char *data = directory->data + directory->index[metric].data;
	const unsigned char *bytes = data + 4ull * entry.values;
	plane.count = entry.count;
	plane.contexts = (const uint32_t *)data + entry.ids;
	for (int i = 0; i < SONDE_DB_SCOPES; i++)
		bytes =
		    sn_plane_find_columns(bytes, entry.forms[i], entry.count,
					  (double)db->metrics[metric].period, plane.columns + i);
	return plane;
}

void sonde_db_summary_stat(const struct sonde_db_summary_plane *plane, size_t position,
			   enum sonde_db_scope scope, struct sonde_db_stat *stat)
{
	sn_columns_stat(plane->columns + scope, position, stat);
}

void sonde_db_summary_numbers(const struct sonde_db_summary_plane *plane, enum sonde_db_scope scope,
			      enum sonde_db_part part, size_t first, size_t count, double *numbers)
{
	sn_columns_numbers(plane->columns + scope, part, first, count, numbers);
}

bool sonde_db_summary(const struct sonde_db *db, uint32_t context, uint32_t metric,
		      struct sonde_db_summary *summary)
{
	struct sonde_db_summary_plane plane = sonde_db_summary_plane(db, metric);
	size_t position = find_id(plane.contexts, plane.count, context);
	*summary = (struct sonde_db_summary){0};
	if (position == plane.count)
		return false;
	struct sonde_db_stat *stats[] = {&summary->exclusive, &summary->inclusive,
					 &summary->across};
	for (int i = 0; i < SONDE_DB_SCOPES; i++)
		sn_columns_stat(plane.columns + i, position, stats[i]);
	return true;
}
