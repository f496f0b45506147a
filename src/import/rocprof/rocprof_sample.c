/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of program counters on a device: rocprofv3's pc_sampling_host_trap.csv and
 * pc_sampling_stochastic.csv. A sample's path is its source line, if debug information has it, and
 * the instruction; other columns are attributes. The files do not contain the device, so samples
 * have a track of their own beside the devices' streams.
 */
#include "rocprof.h"

#include "format/measurement/measurement.h"

#include <stdlib.h>
#include <string.h>

/* The frame of "/home/me/kernel.cpp:133"; of several places, with " -> " between, the first
 * and innermost. */
static uint32_t line_frame(struct sn_db_builder *builder, const char *comment)
{
	struct sonde_db_frame frame = {.kind = SN_FRAME_GPU_LINE,
				       .flags = SN_FRAME_CALLED, /* its function is unknown */
				       .linkage_name = SONDE_NONE,
				       .module = SONDE_NONE,
				       .file = SONDE_NONE};
	const char *end = comment + strlen(comment), *more = strstr(comment, " -> ");
	if (more)
		end = more;
	const char *colon = memrchr(comment, ':', (size_t)(end - comment));
	if (!colon)
		return sn_db_builder_named_frame(builder, SN_FRAME_GPU_LINE, comment);
	const char *slash = memrchr(comment, '/', (size_t)(colon - comment));
	const char *name = slash ? slash + 1 : comment;
	frame.name = sn_db_builder_string_n(builder, name, (size_t)(end - name));
	frame.file = sn_db_builder_string_n(builder, comment, (size_t)(colon - comment));
	frame.line = (uint32_t)strtoul(colon + 1, NULL, 10);
	return sn_db_builder_frame(builder, &frame);
}

int sn_rocprof_sample(struct sn_rocprof *rocprof, const struct sn_rocprof_sample *sample)
{
	struct sn_db_builder *builder = rocprof->builder;
	struct sn_track_place place = {0, -1, -1, 0, 0};
	struct sn_attribute attributes[SN_ROCPROF_SAMPLE_FIELDS];
	struct sn_track_event event = {
	    .track = sn_track_sink_track(rocprof->sink, &place),
	    .start_ns = sample->time_ns < 0 ? INT64_MIN : sample->time_ns,
	    .end_ns = sample->time_ns,
	    .attributes = attributes,
	};
	if (event.track == SONDE_NONE)
		return SN_ERR_MEMORY;
	sn_track_sink_name_track(rocprof->sink, event.track,
				 sn_db_builder_string(builder, "GPU samples"));
	if (*sample->comment)
		event.name =
		    sn_db_builder_context(builder, 0, line_frame(builder, sample->comment));
	event.name = sn_db_builder_context(
	    builder, event.name,
	    sn_db_builder_named_frame(builder, SN_FRAME_GPU_INSTRUCTION, sample->instruction));
	for (unsigned i = 0; i < SN_ROCPROF_SAMPLE_FIELDS; i++) {
		const char *text = sample->fields[i];
		if (!*text)
			continue;
		attributes[event.attribute_count++] = (struct sn_attribute){
		    rocprof->sample_keys[i], 0,
		    i < SN_ROCPROF_SAMPLE_TEXTS ? sn_db_builder_string(builder, text)
						: strtoull(text, NULL, 10)};
	}
	sn_track_sink_sample(rocprof->sink, &event);
	return 0;
}
