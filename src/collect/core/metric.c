/* SPDX-License-Identifier: Apache-2.0 */
/* The process's metrics: a small table that only grows; see thread.h. */
#include "thread.h"

#include <string.h>

#define METRIC_MAX 64u

static struct sn_metric_info metrics[METRIC_MAX];
static _Atomic uint32_t metric_claimed, metric_published;

static uint32_t find_metric(const char *name)
{
	uint32_t count = sn_metric_count();
	for (uint32_t metric = 0; metric < count; metric++)
		if (!strcmp(metrics[metric].name, name))
			return metric;
	return SN_ID_NONE;
}

uint32_t sn_metric(const char *name, const char *unit, const char *source, enum sn_metric_kind kind,
		   uint64_t period)
{
	uint32_t known = find_metric(name);
	if (known != SN_ID_NONE)
		return known;
	/* relaxed: the number is only claimed here; publication is below */
	uint32_t metric = atomic_fetch_add_explicit(&metric_claimed, 1, memory_order_relaxed);
	if (metric >= METRIC_MAX) {
		sn_drop(NULL, SN_DROP_METRIC_OVERFLOW, 1);
		return SN_ID_NONE;
	}
	metrics[metric] = (struct sn_metric_info){name, unit, source, kind, period};
	/* publish in order: whoever claimed an earlier number is about to publish it */
	uint32_t expected = metric;
	while (!atomic_compare_exchange_weak_explicit(&metric_published, &expected, metric + 1,
						      memory_order_release, memory_order_relaxed))
		expected = metric;
	return metric;
}

uint32_t sn_metric_count(void)
{
	return atomic_load_explicit(&metric_published, memory_order_acquire);
}

const struct sn_metric_info *sn_metric_at(uint32_t metric)
{
	return &metrics[metric];
}
