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

#include "trace/event.h"

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

#endif
