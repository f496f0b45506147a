/* SPDX-License-Identifier: Apache-2.0 */
/* Finding planes and giving them out; see sonde/db.h and database_reader.h. */
#include "checksum.h"
#include "database_plane.h"
#include "database_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

bool sn_db_records(const struct sonde_db *db, unsigned type, size_t record_bytes,
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
	if (!sn_db_records(db, section, sizeof(*directory->index), &directory->index,
			   &index_count) ||
	    !sn_db_records(db, section + 1, directory->entry_bytes, &directory->planes,
			   &directory->plane_count) ||
	    !sn_db_records(db, section + 2, 1, &directory->data, &data_bytes) ||
	    index_count != directory->major_count + 1ull)
		return sn_fail(error, SN_ERR_FORMAT, "%s", why);
	directory->data_bytes = data_bytes;
	if (!is_ascending(directory))
		return sn_fail(error, SN_ERR_FORMAT, "%s", why);
	directory->checked = calloc(directory->major_count + 1ull, sizeof(*directory->checked));
	return directory->checked ? 0 : sn_fail(error, SN_ERR_MEMORY, "out of memory");
}

int sn_db_find_values(struct sonde_db *db, struct sn_error *error)
{
	static const unsigned sections[] = {SN_DATABASE_PLANE_INDEX, SN_DATABASE_ROW_INDEX,
					    SN_DATABASE_SUMMARY_INDEX};
	struct sn_db_directory *all = db->directories;
	size_t plane = sizeof(struct sn_database_plane);
	all[SN_DB_PLANES] = (struct sn_db_directory){.name = "values by profile",
						     .entry_bytes = plane,
						     .major_count = db->profile_count,
						     .id_count = db->context_count};
	all[SN_DB_ROWS] = (struct sn_db_directory){.name = "values by context",
						   .entry_bytes = plane,
						   .major_count = db->context_count,
						   .id_count = db->profile_count};
	all[SN_DB_SUMMARIES] =
	    (struct sn_db_directory){.name = "summaries",
				     .entry_bytes = sizeof(struct sn_database_summary),
				     .major_count = db->metric_count,
				     .id_count = db->context_count};
	int result = 0;
	for (int i = 0; i < SN_DB_DIRECTORIES && !result; i++)
		result = find_directory(db, all + i, sections[i], error);
	return result;
}

struct sn_db_entry sn_db_entry(const struct sn_db_directory *directory, uint64_t plane)
{
	/* a plane's entry is the beginning of a summary's */
	struct sn_database_summary from = {0};
	memcpy(&from, directory->planes + plane * directory->entry_bytes, directory->entry_bytes);
	return (struct sn_db_entry){from.metric,
				    from.count,
				    from.ids,
				    from.values,
				    {from.forms[0], from.forms[1], from.forms[2]}};
}

static bool are_ids_sound(const uint32_t *ids, uint32_t count, uint32_t id_count)
{
	bool are_ascending = true;
	for (uint32_t i = 1; i < count; i++)
		are_ascending &= ids[i] > ids[i - 1];
	return are_ascending && ids[count - 1] < id_count;
}

/* Bytes of all columns; UINT64_MAX where their forms are none. */
static uint64_t column_bytes(const struct sn_db_directory *directory,
			     const struct sn_db_entry *entry)
{
	int scopes = directory->entry_bytes == sizeof(struct sn_database_plane) ? 1 : 3;
	uint64_t bytes = 0;
	for (int i = 0; i < scopes; i++) {
		uint64_t more = sn_plane_bytes(entry->forms[i], entry->count);
		if (more == UINT64_MAX)
			return more;
		bytes += more;
	}
	return bytes;
}

/* A plane that begins at the word *end of `length` words of data, and moves *end past it. */
static const char *check_plane(const struct sn_db_directory *directory,
			       const struct sn_db_entry *entry, const uint32_t *data,
			       uint64_t length, uint64_t *end)
{
	bool is_shared = entry->values == *end;
	uint64_t bytes = column_bytes(directory, entry);
	if (!entry->count || bytes == UINT64_MAX)
		return "count or forms";
	if (!is_shared && (entry->ids != *end || entry->values != *end + entry->count))
		return "a gap";
	if (entry->values > length || (uint64_t)entry->ids + entry->count > entry->values ||
	    bytes > 4 * (length - entry->values))
		return "outside its section";
	if (!are_ids_sound(data + entry->ids, entry->count, directory->id_count))
		return "ids";
	*end = entry->values + (bytes + 3) / 4;
	return NULL;
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

static uint64_t major_checksum(const struct sn_db_directory *directory,
			       const struct sn_database_index *index)
{
	struct sn_checksum state;
	expect(directory->data + index->data, index[1].data - index->data);
	sn_checksum_init(&state);
	sn_checksum_update(&state, directory->planes + index->first * directory->entry_bytes,
			   (index[1].first - index->first) * directory->entry_bytes);
	sn_checksum_update(&state, directory->data + index->data, index[1].data - index->data);
	return sn_checksum_final(&state);
}

const char *sn_db_check_major(const struct sonde_db *db, const struct sn_db_directory *directory,
			      uint32_t major)
{
	const struct sn_database_index *index = directory->index + major;
	uint64_t length = (index[1].data - index->data) / 4, end = 0;
	if (index->checksum !=
	    (index->first < index[1].first ? major_checksum(directory, index) : 0))
		return "checksum";
	struct sn_db_entry before = {0};
	for (uint64_t i = index->first; i < index[1].first; i++) {
		struct sn_db_entry entry = sn_db_entry(directory, i);
		if (entry.metric >= db->metric_count ||
		    (i > index->first && entry.metric <= before.metric))
			return "metrics";
		const char *wrong =
		    check_plane(directory, &entry,
				(const uint32_t *)(directory->data + index->data), length, &end);
		if (wrong)
			return wrong;
		before = entry;
	}
	return end == length ? NULL : "length";
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
	if (known == SN_DB_DAMAGED)
		note_damage(db, directory);
	return known == SN_DB_SOUND;
}

/* False where there is no such plane, or none that can be used. */
static bool find_plane(const struct sonde_db *db, const struct sn_db_directory *directory,
		       uint32_t major, uint32_t metric, struct sn_db_entry *entry)
{
	if (major >= directory->major_count || metric >= db->metric_count ||
	    !is_usable(db, directory, major))
		return false;
	uint64_t first = directory->index[major].first, end = directory->index[major + 1].first;
	while (first < end) {
		uint64_t middle = first + (end - first) / 2;
		*entry = sn_db_entry(directory, middle);
		if (entry->metric == metric)
			return true;
		if (entry->metric < metric)
			first = middle + 1;
		else
			end = middle;
	}
	return false;
}

static struct sonde_db_plane plane_of(const struct sonde_db *db, enum sn_db_directories which,
				      uint32_t major, uint32_t metric)
{
	const struct sn_db_directory *directory = db->directories + which;
	struct sonde_db_plane plane = {0};
	struct sn_db_entry entry;
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
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (ids[middle] < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && ids[low] == id ? low : count;
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
	struct sn_db_entry entry;
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
