/* SPDX-License-Identifier: Apache-2.0 */
/* What devices waited for when they did not compute, and what threads did while they were idle. */
#include "finding.h"

#include "timeline/answers.h"
#include "timeline/devices/blame_rows.h"

#include <stdlib.h>

struct reasons {
	double ns[SN_WAITS], all, time, idle;
	unsigned first, second;
};

static struct reasons sum_up(const struct sn_answers *answers)
{
	struct reasons reasons = {.second = SN_WAITS};
	for (size_t i = 0; i < answers->times.count; i++) {
		const struct sn_device_time *time = answers->times.devices + i;
		reasons.time += (double)(time->end_ns - time->start_ns);
		reasons.idle += (double)time->idle_ns;
		for (unsigned r = 0; r < SN_WAITS; r++)
			reasons.ns[r] += (double)answers->waits[i].reasons_ns[r];
	}
	for (unsigned r = 0; r < SN_WAITS; r++) {
		reasons.all += reasons.ns[r];
		if (reasons.ns[r] > reasons.ns[reasons.first])
			reasons.first = r;
	}
	for (unsigned r = 0; r < SN_WAITS; r++)
		if (r != reasons.first &&
		    (reasons.second == SN_WAITS || reasons.ns[r] > reasons.ns[reasons.second]))
			reasons.second = r;
	return reasons;
}

static int put_thread_activity(const struct sn_answers *answers, const struct reasons *reasons,
			       struct sn_finding *finding)
{
	size_t count;
	struct sn_blame_row *rows =
	    sn_blame_rows(&answers->nodes, answers->blames, answers->times.count, &count);
	if (!rows)
		return SN_ERR_MEMORY;
	if (count && reasons->idle > 0.1 * reasons->all) {
		sn_finding_put(finding, "host", "context", rows[0].context);
		sn_finding_put(finding, "host_share", "ratio",
			       sn_share(rows[0].time_ns, reasons->idle));
	}
	free(rows);
	return 0;
}

int sn_rule_device_waits(const struct sn_rule_input *input, struct sn_findings *findings,
			 struct sn_error *error)
{
	struct reasons reasons = sum_up(input->answers);
	if (reasons.time <= 0)
		return 0;
	double part = reasons.all / reasons.time;
	struct sn_finding *finding = sn_findings_add(findings, SN_RULE_device_waits, part);
	sn_finding_put(finding, "without_computation", "ratio", part);
	if (!reasons.all)
		return 0;
	sn_finding_put(finding, "reason", "wait", reasons.first);
	sn_finding_put(finding, "reason_share", "ratio", reasons.ns[reasons.first] / reasons.all);
	if (reasons.ns[reasons.second] >= 0.05 * reasons.all) {
		sn_finding_put(finding, "then", "wait", reasons.second);
		sn_finding_put(finding, "then_share", "ratio",
			       reasons.ns[reasons.second] / reasons.all);
	}
	return put_thread_activity(input->answers, &reasons, finding) ? sn_fail_memory(error) : 0;
}
