/* SPDX-License-Identifier: Apache-2.0 */
/* From where to where a copy goes, by its name: tools say it in many ways. */
#ifndef SN_TIMELINE_COPY_DIRECTION_H
#define SN_TIMELINE_COPY_DIRECTION_H

#include "sonde/db.h"

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

#endif
