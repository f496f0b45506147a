/* SPDX-License-Identifier: Apache-2.0 */
/* The process's metrics (declared in thread.h): a small table that only grows. */
#include "thread.h"

#include <string.h>

#define METRIC_MAX 128u

static struct {
	_Atomic bool is_there;
	struct sn_metric_info info;
} metrics[METRIC_MAX];
static _Atomic uint32_t claimed;

static uint32_t find_metric(const char *name)
{
	uint32_t count = sn_metric_count();
	for (uint32_t metric = 0; metric < count; metric++)
		if (!strcmp(sn_metric_at(metric)->name, name))
			return metric;
	return SN_ID_NONE;
}

uint32_t sn_metric(const char *name, const char *unit, const char *source, enum sn_metric_kind kind,
		   uint64_t period)
{
	uint32_t known = find_metric(name);
	if (known != SN_ID_NONE)
		return known;
	/* relaxed: the number is only claimed here */
	uint32_t metric = atomic_fetch_add_explicit(&claimed, 1, memory_order_relaxed);
	if (metric >= METRIC_MAX) {
		sn_drop(NULL, SN_DROP_METRIC_OVERFLOW, 1);
		return SN_ID_NONE;
	}
	metrics[metric].info = (struct sn_metric_info){name, unit, source, kind, period};
	/* release: a reader that sees the flag sees all of it */
	atomic_store_explicit(&metrics[metric].is_there, true, memory_order_release);
	return metric;
}

uint32_t sn_metric_once(_Atomic uint32_t *known, const char *name, const char *unit,
			const char *source, enum sn_metric_kind kind)
{
	uint32_t metric = atomic_load_explicit(known, memory_order_relaxed);
	if (metric != SN_ID_NONE)
		return metric;
	metric = sn_metric(name, unit, source, kind, 0);
	/* relaxed: threads that race store the same number */
	atomic_store_explicit(known, metric, memory_order_relaxed);
	return metric;
}

uint32_t sn_metric_count(void)
{
	uint32_t count = atomic_load_explicit(&claimed, memory_order_relaxed);
	return count < METRIC_MAX ? count : METRIC_MAX;
}

/* A thread may have been interrupted between claiming a number and saying what it is. */
const struct sn_metric_info *sn_metric_at(uint32_t metric)
{
	static const struct sn_metric_info unknown = {.name = "", .unit = "", .source = ""};
	return atomic_load_explicit(&metrics[metric].is_there, memory_order_acquire)
		   ? &metrics[metric].info
		   : &unknown;
}
