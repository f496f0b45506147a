/* SPDX-License-Identifier: Apache-2.0 */
/* Stores for tests: flushes of random data, and what a store comes to, as a plain map from texts to counts. */
#pragma once

#include "base/intern.h"
#include "format/epoch/epoch_store.h"
#include "format/epoch/epoch_writer.h"

#define EPOCH_SECOND UINT64_C(1000000000)

/* Texts that say who ran what: "gcc|/a.slice|0|1000|/bin/x|1234|cpu-clock|1000000", and how often. */
struct epoch_sums {
	struct sn_intern keys;
	uint64_t *counts;
	size_t capacity;
};
void epoch_sums_add(struct epoch_sums *sums, const char *key, uint64_t count);
void epoch_sums_release(struct epoch_sums *sums);
/* Fails the test unless both have the same keys with the same counts. */
void epoch_sums_expect(const struct epoch_sums *is, const struct epoch_sums *should);
/* Whether both are the same. */
bool epoch_sums_are_same(const struct epoch_sums *a, const struct epoch_sums *b);

/* What the whole store comes to: counts, stacks, names of code, losses, samples. Returns the number of epochs; damage[0] is its
 * first one. */
size_t epoch_sums_read(struct epoch_sums *sums, const char *folder, char damage[256]);

/* A flush that began at that second after the fixture's epoch, of `length` seconds; what it holds is
 * by `seed`, of `rows` counts. It is added to `sums` unless that is NULL. Returns sn_epoch_writer_commit's
 * result. */
struct epoch_random_flush {
	uint64_t at_s, length_s, period;
	unsigned seed, rows;
	uint8_t boot;
};
int epoch_write_random(struct sn_epoch_writer *writer, const struct epoch_random_flush *flush,
		       struct epoch_sums *sums, struct sn_error *error);
/* The instant that is so many seconds after the fixture's epoch, in that boot. */
struct sn_epoch_moment epoch_moment(uint64_t at_s, uint8_t boot);
