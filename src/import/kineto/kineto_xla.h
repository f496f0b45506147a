/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events that XLA's profiler writes for Chrome's trace viewer (HOST.trace.json.gz of JAX and
 * TensorFlow). They have no category: their arguments determine their kind, and the names of their
 * "process", /device:GPU:0, and "thread", Stream #14(Compute).
 */
#pragma once

#include "kineto_process.h"
#include "import/core/track_sink.h"
#include "import/json/trace_json.h"

/* The number of the GPU that a process represents; -1: none. */
int64_t sn_xla_device(const struct sn_kineto_processes *processes, int64_t pid,
		      const struct sn_db_builder *builder);
/* The category of an event of that device (-1: of a thread), in a file with or without devices. */
enum sn_activity_category sn_xla_category(const struct sn_json_event *event, int64_t device,
					  bool has_devices);
/* The stream number of a device's thread; `tid` if its name does not contain it. */
int64_t sn_xla_stream(const struct sn_track_sink *sink, const struct sn_db_builder *builder,
		      int64_t pid, int64_t tid);
/* The event's correlation, which is a text; 0 without. */
int64_t sn_xla_correlation(const struct sn_json_event *event);
/* Adds the event's data of a kernel or copy as attributes; returns their number. */
unsigned sn_xla_attributes(const struct sn_json_event *event, const uint32_t *keys,
			   struct sn_attribute *attributes);
