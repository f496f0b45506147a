/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts and numbers of a Python pickle (protocol 2 and later), in the order in which loading would
 * push them. Nothing is executed or built: an object's state is a name, then its value.
 *
 *	struct sn_pickle pickle = {.at = bytes, .end = bytes + length};
 *	struct sn_pickle_item item;
 *	while (sn_pickle_next(&pickle, &item))
 *		if (item.kind == SN_PICKLE_TEXT) ... item.text, item.length
 *	sn_pickle_release(&pickle);
 *
 * A text that the pickle refers to again is given again. Reading ends at the pickle's end, and at the first
 * byte that makes no sense.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sn_pickle_kind {
	SN_PICKLE_OTHER, /* an operation of another kind */
	SN_PICKLE_TEXT,
	SN_PICKLE_NUMBER,
	SN_PICKLE_LIST_END, /* what was pushed since the list began becomes its members */
};

struct sn_pickle_item {
	enum sn_pickle_kind kind;
	const char *text; /* in the bytes; not terminated */
	size_t length;
	int64_t number;
};

struct sn_pickle {
	const uint8_t *at, *end;
	struct sn_pickle_item *memo, last;
	size_t memo_count, memo_capacity;
};

bool sn_pickle_next(struct sn_pickle *pickle, struct sn_pickle_item *item);
void sn_pickle_release(struct sn_pickle *pickle);
