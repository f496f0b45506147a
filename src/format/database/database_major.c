/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding planes one after the other; see database_major.h. */
#include "database_major.h"

#include "base/vec.h"
#include "format/checksum.h"
#include "database_blocks.h"
#include "database_plane.h"

#include <stdlib.h>
#include <string.h>

void sn_major_init(struct sn_major *major, unsigned scopes)
{
	*major = (struct sn_major){.scopes = scopes};
}

void sn_major_release(struct sn_major *major)
{
	sn_buffer_release(&major->entries);
	sn_buffer_release(&major->data);
	free(major->ids);
	free(major->numbers);
	free(major->ends);
	sn_major_init(major, major->scopes);
}

void sn_major_clear(struct sn_major *major)
{
	major->entry_count = 0;
	sn_buffer_cut(&major->entries, 0);
	sn_buffer_cut(&major->data, 0);
}

size_t sn_major_entry_bytes(const struct sn_major *major)
{
	return sn_planes_entry_bytes(major->scopes);
}

/* Where the same ids lie in an earlier plane, or SONDE_NONE. */
static uint32_t find_ids(const struct sn_major *major, const uint32_t *ids, size_t count)
{
	size_t stride = sn_major_entry_bytes(major);
	for (size_t i = major->entry_count; i-- > 0;) {
		struct sn_database_plane entry;
		memcpy(&entry, major->entries.bytes + i * stride, sizeof(entry));
		if (entry.count == count &&
		    !memcmp(major->data.bytes + 4ull * entry.ids, ids, 4 * count))
			return entry.ids;
	}
	return SONDE_NONE;
}

/* The checksum of a large block, directly behind it. */
static void close_block(struct sn_major *major, size_t begin)
{
	uint64_t bytes = major->data.count - begin;
	if (!sn_block_is_large(bytes / 4) || major->data.failed)
		return;
	uint64_t checksum = sn_checksum(major->data.bytes + begin, bytes);
	sn_buffer_put(&major->data, &checksum, sizeof(checksum));
}

int sn_major_add(struct sn_major *major, uint32_t metric, const uint32_t *ids,
		 const double *numbers, size_t count, double period)
{
	size_t stride = (size_t)SONDE_DB_PART_COUNT * major->scopes, bytes = 0;
	struct sn_database_summary entry = {.count = (uint32_t)count, .metric = metric};
	for (unsigned i = 0; i < major->scopes; i++) {
		entry.forms[i] = sn_plane_choose(numbers + i * (size_t)SONDE_DB_PART_COUNT, stride,
						 count, period);
		bytes += sn_plane_bytes(entry.forms[i], count);
	}
	size_t begin = major->data.count;
	if ((begin + 4 * count + bytes + 3 + 2 * sizeof(uint64_t)) / 4 >= SONDE_NONE)
		return SN_ERR_ARGUMENT;
	entry.ids = find_ids(major, ids, count);
	if (entry.ids == SONDE_NONE) {
		entry.ids = (uint32_t)(begin / 4);
		sn_buffer_put(&major->data, ids, 4 * count);
		close_block(major, begin);
	}
	begin = major->data.count;
	entry.values = (uint32_t)(begin / 4);
	unsigned char *at = sn_buffer_room(&major->data, bytes);
	for (unsigned i = 0; i < major->scopes && at; i++)
		at = sn_plane_encode(numbers + i * (size_t)SONDE_DB_PART_COUNT, stride, count,
				     period, entry.forms[i], at);
	sn_buffer_align(&major->data, 4);
	close_block(major, begin);
	/* a plane's entry is the beginning of a summary's */
	sn_buffer_put(&major->entries, &entry, sn_major_entry_bytes(major));
	major->entry_count++;
	return major->data.failed || major->entries.failed ? SN_ERR_MEMORY : 0;
}

/* Values by metric, counting; afterwards ends[m] is one past the values of m. */
static int sort_by_metric(struct sn_major *major, const struct sn_db_value *values, size_t count,
			  size_t metric_count)
{
	if (sn_vec_reserve(&major->ids, &major->id_capacity, count) < 0 ||
	    sn_vec_reserve(&major->numbers, &major->number_capacity, count * SONDE_DB_PART_COUNT) ||
	    sn_vec_reserve(&major->ends, &major->end_capacity, metric_count + 1) < 0)
		return SN_ERR_MEMORY;
	size_t *ends = major->ends;
	memset(ends, 0, (metric_count + 1) * sizeof(*ends));
	for (size_t i = 0; i < count; i++)
		ends[values[i].metric + 1]++;
	for (size_t m = 0; m < metric_count; m++)
		ends[m + 1] += ends[m];
	for (size_t i = 0; i < count; i++) {
		size_t at = ends[values[i].metric]++;
		major->ids[at] = values[i].context;
		memcpy(major->numbers + at * SONDE_DB_PART_COUNT, &values[i].stat,
		       sizeof(values[i].stat));
	}
	return 0;
}

int sn_major_set(struct sn_major *major, const struct sn_db_value *values, size_t count,
		 size_t metric_count)
{
	int result = sort_by_metric(major, values, count, metric_count);
	sn_major_clear(major);
	for (size_t m = 0, first = 0; m < metric_count && !result; first = major->ends[m++])
		if (major->ends[m] > first)
			result = sn_major_add(major, (uint32_t)m, major->ids + first,
					      major->numbers + first * SONDE_DB_PART_COUNT,
					      major->ends[m] - first, 0);
	return result;
}

int sn_major_spill(const struct sn_major *major, struct sn_spill *spill, uint64_t *offset,
		   struct sn_error *error)
{
	struct sn_buffer bytes = {0};
	sn_buffer_put(&bytes, major->entries.bytes, major->entries.count);
	sn_buffer_put(&bytes, major->data.bytes, major->data.count);
	int result = bytes.failed ? sn_fail_memory(error)
				  : sn_spill_append(spill, bytes.bytes, bytes.count, offset, error);
	sn_buffer_release(&bytes);
	return result;
}

int sn_major_append(struct sn_major *major, const struct sn_major *planes)
{
	sn_buffer_put(&major->entries, planes->entries.bytes, planes->entries.count);
	sn_buffer_put(&major->data, planes->data.bytes, planes->data.count);
	major->entry_count += planes->entry_count;
	return major->data.failed || major->entries.failed ? SN_ERR_MEMORY : 0;
}

uint64_t sn_major_checksum(const struct sn_major *major)
{
	uint64_t checksum = 0;
	sn_planes_checksum(&(struct sn_planes){major->entries.bytes, major->data.bytes,
					       major->entry_count, major->data.count,
					       major->scopes},
			   NULL, &checksum);
	return checksum;
}
