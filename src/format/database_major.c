/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding planes one after the other; see database_major.h. */
#include "database_major.h"

#include "base/error.h"
#include "base/vec.h"
#include "checksum.h"
#include "database_plane.h"

#include <stdlib.h>
#include <string.h>

void sn_major_init(struct sn_major *major, unsigned scopes)
{
	*major = (struct sn_major){.scopes = scopes};
}

void sn_major_release(struct sn_major *major)
{
	free(major->entries);
	free(major->data);
	sn_major_init(major, major->scopes);
}

void sn_major_clear(struct sn_major *major)
{
	major->entry_count = 0;
	major->data_bytes = 0;
}

size_t sn_major_entry_bytes(const struct sn_major *major)
{
	return major->scopes == 1 ? sizeof(struct sn_database_plane)
				  : sizeof(struct sn_database_summary);
}

/* Where the same ids lie in an earlier plane, or SONDE_NONE. */
static uint32_t find_ids(const struct sn_major *major, const uint32_t *ids, size_t count)
{
	size_t entry_bytes = sn_major_entry_bytes(major);
	for (size_t i = major->entry_count; i-- > 0;) {
		struct sn_database_plane entry;
		memcpy(&entry, major->entries + i * entry_bytes, sizeof(entry));
		if (entry.count == count && !memcmp(major->data + 4ull * entry.ids, ids, 4 * count))
			return entry.ids;
	}
	return SONDE_NONE;
}

static int append_entry(struct sn_major *major, const struct sn_database_summary *entry)
{
	size_t bytes = sn_major_entry_bytes(major), used = major->entry_count * bytes;
	if (sn_vec_reserve(&major->entries, &major->entry_capacity, used + bytes) < 0)
		return SN_ERR_MEMORY;
	/* a plane's entry is the beginning of a summary's */
	memcpy(major->entries + used, entry, bytes);
	major->entry_count++;
	return 0;
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
	if ((major->data_bytes + bytes) / 4 + count + 1 >= SONDE_NONE)
		return SN_ERR_ARGUMENT;
	if (sn_vec_reserve(&major->data, &major->data_capacity,
			   major->data_bytes + 4 * count + bytes + 3) < 0)
		return SN_ERR_MEMORY;
	entry.ids = find_ids(major, ids, count);
	if (entry.ids == SONDE_NONE) {
		entry.ids = (uint32_t)(major->data_bytes / 4);
		memcpy(major->data + major->data_bytes, ids, 4 * count);
		major->data_bytes += 4 * count;
	}
	entry.values = (uint32_t)(major->data_bytes / 4);
	unsigned char *at = major->data + major->data_bytes;
	for (unsigned i = 0; i < major->scopes; i++)
		at = sn_plane_encode(numbers + i * (size_t)SONDE_DB_PART_COUNT, stride, count,
				     period, entry.forms[i], at);
	for (major->data_bytes += bytes; major->data_bytes % 4; major->data_bytes++)
		*at++ = 0;
	return append_entry(major, &entry);
}

uint64_t sn_major_checksum(const struct sn_major *major)
{
	struct sn_checksum state;
	if (!major->entry_count)
		return 0;
	sn_checksum_init(&state);
	sn_checksum_update(&state, major->entries,
			   major->entry_count * sn_major_entry_bytes(major));
	sn_checksum_update(&state, major->data, major->data_bytes);
	return sn_checksum_final(&state);
}
