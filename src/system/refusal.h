/* SPDX-License-Identifier: Apache-2.0 */
/* Why the kernel refuses an event, and what would allow it. */
#pragma once

struct sn_refusal {
	char why[200], fix[200]; /* fix: "" not known */
};

/* `error`: of perf_event_open(2). */
void sn_refusal_explain(struct sn_refusal *refusal, int error);
/* Raises the limit of descriptors as far as it goes, because there is an event for each thread or kind, and processor. */
void sn_allow_descriptors(void);
