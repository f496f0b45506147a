/* SPDX-License-Identifier: Apache-2.0 */
/* What the threads that ran most did the rest of the time. */
#include "finding.h"

#include "timeline/threads/thread_states.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 3 };

static void put(const struct sn_thread_times *times, const struct sn_thread_time *thread,
		struct sn_findings *findings)
{
	double whole = sn_thread_whole_ns(thread);
	const uint64_t *ns = thread->times_ns;
	const struct sn_state_share *in = sn_thread_worst(times, thread->profile);
	struct sn_finding *finding = sn_findings_add(findings, SN_RULE_thread_states,
						     sn_share((double)ns[SN_THREAD_READY], whole));
	sn_finding_put(finding, "time", "ns", whole);
	sn_finding_put(finding, "thread", "profile", thread->profile);
	sn_finding_put(finding, "running", "ratio", sn_share((double)ns[SN_THREAD_RUNNING], whole));
	sn_finding_put(finding, "ready", "ratio", sn_share((double)ns[SN_THREAD_READY], whole));
	sn_finding_put(finding, "blocked", "ratio", sn_share((double)ns[SN_THREAD_BLOCKED], whole));
	if (!in || !strcmp(sn_state_name(times->db, in->context), "blocked"))
		return;
	sn_finding_put(finding, "blocked_in", "context", in->context);
	sn_finding_put(finding, "blocked_in_share", "ratio", sn_share((double)in->time_ns, whole));
}

int sn_rule_thread_states(const struct sn_rule_input *input, struct sn_findings *findings,
			  struct sn_error *error)
{
	size_t count;
	const struct sn_thread_time **list = sn_threads_by_running(input->threads, false, &count);
	if (!list)
		return sn_fail_memory(error);
	for (size_t i = 0; i < count && i < MOST_THREADS; i++)
		put(input->threads, list[i], findings);
	free(list);
	return 0;
}
