/* SPDX-License-Identifier: Apache-2.0 */
/* Which tracks belong to runs that were recorded only as evidence, such as captures of graphs. */
#include "evidence.h"

#include "format/database/database.h"
#include "lib/db/trace_reader.h"

#include <stdio.h>
#include <stdlib.h>

const char *sn_evidence(const struct sonde_db *db, uint32_t number)
{
	const struct sonde_db_profile *profile = sonde_db_profile(db, number);
	char key[64];
	snprintf(key, sizeof(key), SN_EVIDENCE_PROPERTY, profile->run,
		 profile->rank >= 0 ? (int)profile->rank : -1);
	return sonde_db_property(db, key);
}

int sn_evidence_leave_out(const struct sonde_db *db, struct sonde_trace *trace,
			  struct sn_error *error)
{
	uint32_t profiles = sonde_db_profile_count(db);
	bool *kept = calloc(profiles + 1ull, sizeof(*kept)), is_any = false, is_all = true;
	if (!kept)
		return sn_fail_memory(error);
	for (uint32_t i = 0; i < sonde_trace_track_count(trace); i++) {
		uint32_t profile = sonde_trace_track(trace, i)->profile;
		kept[profile] = kept[profile] || !sn_evidence(db, profile);
		is_any |= kept[profile];
		is_all &= kept[profile];
	}
	int result = is_any && !is_all ? sn_trace_keep(trace, kept) : 0;
	free(kept);
	return result ? sn_fail_memory(error) : 0;
}
