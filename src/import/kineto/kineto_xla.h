/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events that XLA's profiler writes for Chrome's trace viewer (HOST.trace.json.gz of JAX and
 * TensorFlow). They have no category: what they are is told by their arguments, and by the names of
 * their "process", /device:GPU:0, and "thread", Stream #14(Compute).
 */
#ifndef SN_IMPORT_KINETO_XLA_H
#define SN_IMPORT_KINETO_XLA_H

#include "kineto_process.h"
#include "import/core/track_sink.h"
#include "import/json/trace_json.h"

/* The number of the GPU that a process stands for; -1: it does not. */
int64_t sn_xla_device(const struct sn_kineto_processes *processes, int64_t pid,
		      const struct sn_db_builder *builder);
/* What an event of that device (-1: of a thread) is, in a file that has devices or not. */
enum sn_activity_category sn_xla_category(const struct sn_json_event *event, int64_t device,
					  bool has_devices);
/* The number of the stream that a thread of a device is; `tid` where its name does not say. */
int64_t sn_xla_stream(const struct sn_track_sink *sink, const struct sn_db_builder *builder,
		      int64_t pid, int64_t tid);
/* The event's correlation, which is a text; 0 without. */
int64_t sn_xla_correlation(const struct sn_json_event *event);
/* Attributes of what the event says of a kernel or copy: how many. */
unsigned sn_xla_attributes(const struct sn_json_event *event, const uint32_t *keys,
			   struct sn_attribute *attributes);

#endif
