/* SPDX-License-Identifier: Apache-2.0 */
/* What of the operating system `sonde run --os` can record here; see doctor.h. */
#include "doctor.h"

#include "system/perf.h"

#include <stdio.h>

void sn_diagnose_os(struct sn_diagnosis *diagnosis)
{
	diagnosis->group = "Operating system";
	struct sn_os_options options = {.sources = SN_OS_SOURCES_ALL, .ring_bytes = 65536};
	struct sn_os_coverage coverage;
	struct sn_os_perf *perf = NULL;
	struct sn_error error = {""};
	/* opened for ourselves, and never enabled: we do not execute anything */
	if (sn_os_perf_open(&options, 0, &perf, &coverage, &error)) {
		sn_diagnose(diagnosis, "sonde run --os", SN_VERDICT_NO, NULL, "%s", error.text);
		return;
	}
	sn_os_perf_close(perf);
	for (int source = 0; source < SN_OS_SOURCES; source++) {
		const struct sn_os_gap *gap = coverage.gaps + source;
		const char *name = sn_os_source_name((enum sn_os_source)source);
		const char *what = sn_os_source_text((enum sn_os_source)source);
		if (!gap->is_missing) {
			sn_diagnose(diagnosis, name, SN_VERDICT_OK, NULL, "%s", what);
			continue;
		}
		bool is_limited = source == SN_OS_SOURCE_SCHEDULER && coverage.has_switches;
		sn_diagnose(diagnosis, name, is_limited ? SN_VERDICT_LIMITED : SN_VERDICT_NO,
			    gap->fix, "%s%s",
			    is_limited ? "only a program's own context switches: " : "", gap->why);
	}
}
