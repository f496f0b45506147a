/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes of an event while it is put together. Beyond the room there are none.
 *
 *	struct sn_attributes attributes;
 *	attributes.count = 0;
 *	sn_attributes_put(&attributes, key, value);
 */
#ifndef SN_IMPORT_ATTRIBUTES_H
#define SN_IMPORT_ATTRIBUTES_H

#include "track_sink.h"

#include <string.h>

#define SN_ATTRIBUTES_MAX 48

struct sn_attributes {
	uint16_t count;
	struct sn_attribute items[SN_ATTRIBUTES_MAX];
};

static inline void sn_attributes_put(struct sn_attributes *attributes, uint32_t key, uint64_t value)
{
	if (attributes->count < SN_ATTRIBUTES_MAX)
		attributes->items[attributes->count++] = (struct sn_attribute){key, 0, value};
}

/* Keys that only an importer knows, by its own numbers of them. */
struct sn_key_name {
	const char *name;
	enum sonde_attribute_type type;
};

static inline void sn_attributes_make_keys(struct sn_track_sink *sink,
					   const struct sn_key_name *names, size_t count,
					   uint32_t *keys)
{
	for (size_t i = 0; i < count; i++)
		keys[i] =
		    sn_track_sink_key(sink, names[i].name, strlen(names[i].name), names[i].type);
}

#endif
