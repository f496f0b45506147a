/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who listens: one subscriber, or several where all of them allow it (v2). The first place is also that of the functions that name
 * no subscriber. All functions: MT: yes.
 */
#ifndef FAKE_SUBSCRIBERS_H
#define FAKE_SUBSCRIBERS_H

#include "buffers.h"

#define FAKE_DOMAINS	8
#define FAKE_MOST_CBID	1024
#define FAKE_MOST_KINDS 64

struct fake_subscriber {
	bool is_taken, allows_others;
	CUpti_CallbackFunc function;
	void *data;
	char name[64];
	CUpti_ActivityThreadIdType thread_ids;
	bool enabled[FAKE_DOMAINS][FAKE_MOST_CBID];
	bool kinds[FAKE_MOST_KINDS];
	bool hidden_calls[FAKE_DOMAINS][FAKE_MOST_CBID]; /* of which no records are wanted */
	struct fake_queue queue;
};

FAKE_LOCAL extern struct fake_subscriber fake_subscribers[FAKE_MOST_SUBSCRIBERS];
#define FAKE_EACH_SUBSCRIBER(of)                                                                   \
	for (struct fake_subscriber *of = fake_subscribers;                                        \
	     of < fake_subscribers + FAKE_MOST_SUBSCRIBERS; of++)

/* Any subscriber wants records of the kind. */
FAKE_LOCAL bool fake_wants(unsigned kind);
/* Whole graphs are recorded, not their nodes. */
FAKE_LOCAL bool fake_wants_graphs(void);
/* Gives a record to all who want its kind. */
FAKE_LOCAL void fake_record(const void *record, size_t bytes, uint64_t end_ns);
/* Any subscriber has enabled the callback. */
FAKE_LOCAL bool fake_hears(CUpti_CallbackDomain domain, CUpti_CallbackId cbid);
/* Tells all who have enabled it. */
FAKE_LOCAL void fake_tell(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data);
/* records.c: listens to the devices. False where another CUPTI does. */
FAKE_LOCAL bool fake_cupti_listen(bool listens);
/* pc_sampling.c: what a listener is told of modules and runs. */
FAKE_LOCAL void fake_pc_module(int device, const void *image, size_t bytes, uint32_t number,
			       bool is_unloaded);
FAKE_LOCAL void fake_pc_run(const struct fake_run *run);
/* pc_sampling.c: the handle of a device's context, of which a listener was told; NULL: it has none. It begins with the device's number. */
FAKE_LOCAL CUcontext fake_context(int device);
/* range_profiler.c: a kernel ran. */
FAKE_LOCAL void fake_range_run(const struct fake_run *run);
/* What counts in the context ends with it. */
FAKE_LOCAL void fake_range_context_ends(int device);
/* range_profiler.c, for pm_sampling.c: metrics by their numbers; whether an image is of these. */
#define FAKE_METRICS_MOST 32
FAKE_LOCAL bool fake_metric_find(const char *name, uint32_t *metric);
FAKE_LOCAL const char *fake_metric_name(uint32_t metric);
FAKE_LOCAL bool fake_metric_image(const uint8_t *bytes, size_t size, const uint32_t *chosen,
				  uint32_t count);
/* pm_sampling.c: the values of a sample; false where the image has none of it. */
FAKE_LOCAL double fake_metric_value(uint32_t metric, int device, uint64_t number);
FAKE_LOCAL bool fake_metric_evaluate(const uint8_t *bytes, size_t size, size_t number,
				     const uint32_t *chosen, uint32_t count, double *values);
FAKE_LOCAL CUptiResult fake_cuptiFinalize(void);
/* Records what is known of the devices, for a subscriber that wants it. */
FAKE_LOCAL void fake_record_devices(struct fake_subscriber *of);

#endif
