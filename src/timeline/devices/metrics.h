/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics of devices over time: counters whose track is a device's. Values are sampled at a fixed interval, so each counts as much as
 * another; those of the time while a device computes are weighted by how much of their interval that is.
 */
#pragma once

#include "timeline/answers.h"

enum { SN_DEVICE_METRIC_STEPS = 200 };

struct sn_device_metric {
	uint32_t profile, metric; /* of the database */
	uint64_t count;
	double mean, least, most;
	double
	    computing_mean; /* while the device computed; NAN: it did not, or that is not recorded */
	uint64_t start_ns, end_ns;	      /* of the first and the last value */
	double means[SN_DEVICE_METRIC_STEPS]; /* of equal parts of that time; NAN: no value */
};

struct sn_device_metrics {
	struct sn_device_metric *items; /* by track */
	size_t count, capacity;
};

/* Needs SN_ANSWERS_DEVICES. Memory is 16 bytes a value of one metric. 0 or a negative enum sn_err; free the items in either case. */
int sn_device_metrics(const struct sn_answers *answers, struct sn_device_metrics *metrics,
		      struct sn_error *error);
