/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store as readers see it: its epochs, in the order of time. Takes no lock and changes nothing;
 * a writer may append, merge and delete meanwhile, and no sample is seen twice or missed for it.
 *
 *	result = sn_epoch_store_open(&store, "/var/lib/sonde", since_ns, until_ns, &error);
 *	for (size_t i = 0; i < store.count; i++)
 *		... sn_epoch_reader_next(store.epochs[i].reader, ...)
 *	sn_epoch_store_close(&store);
 */
#pragma once

#include "epoch_reader.h"

struct sn_epoch_info {
	char name[64];		   /* of the file in the folder */
	bool is_current;	   /* still being appended to */
	struct sn_epoch_head head; /* `replaces` is the reader's */
	uint64_t bytes;		   /* of the file */
	struct sn_epoch_summary summary;
	/* Why it or its end is not read; "" nothing is missing. */
	char damage[256];
	struct sn_epoch_reader *reader; /* at the first piece; NULL: it cannot be read at all */
};

struct sn_epoch_store {
	struct sn_epoch_info *epochs; /* by begin; epochs that others replace are left out */
	size_t count, capacity;
	uint64_t bytes; /* of all files, also of those outside of the range */
	size_t all;	/* epochs in the folder, likewise */
	/* Of all its parts, likewise; first_ns > last_ns: it has none. */
	uint64_t first_ns, last_ns;
};

/*
 * The epochs with parts in [since_ns, until_ns] (0 and UINT64_MAX: all), each open: so many
 * descriptors are in use. SN_ERR_FORMAT if the folder is no store. Damaged epochs are listed where
 * they may belong to the range. `store` is closed after a failure.
 */
int sn_epoch_store_open(struct sn_epoch_store *store, const char *folder, uint64_t since_ns,
			uint64_t until_ns, struct sn_error *error);
void sn_epoch_store_close(struct sn_epoch_store *store);
/* Whether a flush lies in the range at least in part. */
bool sn_epoch_is_within(const struct sn_epoch_flush *flush, uint64_t since_ns, uint64_t until_ns);
/* Whether the folder is a store: it has a current epoch, or others. Reads little. */
bool sn_epoch_is_store(const char *folder);
