/* SPDX-License-Identifier: Apache-2.0 */
/* Visits the copies of devices, with their bytes, without storing them. */
#pragma once

#include "base/error.h"
#include "timeline/processes.h"

/* The direction of a copy, by its name, which differs between tools. */
enum sn_copy_direction {
	SN_COPY_TO_DEVICE,
	SN_COPY_TO_HOST,
	SN_COPY_ON_DEVICE,
	SN_COPY_BETWEEN_DEVICES,
	SN_COPY_ON_HOST,
	SN_COPY_UNKNOWN,
	SN_COPY_DIRECTIONS
};

/* The direction of a copy, by the context of its stream. */
enum sn_copy_direction sn_copy_direction(const struct sonde_db *db, uint32_t context);
/* "host to device". */
const char *sn_copy_direction_name(enum sn_copy_direction direction);

struct sn_copy {
	uint64_t start_ns, end_ns;
	double bytes; /* NAN unknown */
	uint32_t context, profile;
};

typedef void sn_visit_copy(void *data, const struct sn_copy *copy);

/* Visits the copies of the process that the profile belongs to, of all for SONDE_NONE: one stream
 * after the other, each in order of start. 0 or a negative enum sn_err. */
int sn_copies_walk(const struct sn_processes *processes, uint32_t profile, sn_visit_copy *visit,
		   void *data, struct sn_error *error);
