/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rocprofv3 writes in Perfetto's form: kernels and copies are slices on rows of a process,
 * "STREAM [1]" or "COMPUTE AGENT [4] QUEUE [0] (GPU)", and say by annotations on which device they
 * ran. Their flow is that of the call that launched them.
 */
#include "perfetto.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum sn_activity_category sn_perfetto_rocm_category(const char *category)
{
	static const struct {
		char name[16];
		uint8_t category;
	} known[] = {{"kernel_dispatch", SN_ACTIVITY_KERNEL},
		     {"memory_copy", SN_ACTIVITY_COPY},
		     {"hip_api", SN_ACTIVITY_API},
		     {"hsa_api", SN_ACTIVITY_API},
		     {"rccl_api", SN_ACTIVITY_API},
		     {"rocdecode_api", SN_ACTIVITY_API},
		     {"rocjpeg_api", SN_ACTIVITY_API},
		     {"marker_api", SN_ACTIVITY_ANNOTATION}};
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(category, known[i].name))
			return known[i].category;
	return SN_ACTIVITY_OTHER;
}

/* The value of an annotation as a number: "Agent-4" is 4. -1: it is not there. */
static int64_t number_of(struct sn_perfetto *perfetto,
			 const struct sn_perfetto_attributes *attributes, const char *name)
{
	static const enum sonde_attribute_type types[] = {
	    SONDE_ATTRIBUTE_UNSIGNED, SONDE_ATTRIBUTE_SIGNED, SONDE_ATTRIBUTE_STRING};
	for (size_t t = 0; t < sizeof(types) / sizeof(*types); t++) {
		uint32_t key = sn_track_sink_key(perfetto->sink, name, strlen(name), types[t]);
		for (unsigned i = 0; i < attributes->count; i++) {
			uint64_t value = attributes->items[i].value;
			if (attributes->items[i].key != key || key == SONDE_NONE)
				continue;
			if (types[t] != SONDE_ATTRIBUTE_STRING)
				return (int64_t)value;
			const char *text = sn_db_builder_text(perfetto->builder, (uint32_t)value);
			const char *digits = text + strcspn(text, "0123456789");
			return *digits ? strtoll(digits, NULL, 10) : -1;
		}
	}
	return -1;
}

static int64_t or_zero(int64_t number)
{
	return number < 0 ? 0 : number;
}

uint32_t sn_perfetto_rocm_track(struct sn_perfetto *perfetto, const struct sn_perfetto_track *track,
				const char *name, const struct sn_perfetto_attributes *attributes)
{
	bool is_to_host = strstr(name, "DEVICE_TO_HOST") != NULL;
	const char *const agents[] = {"agent", is_to_host ? "src_agent" : "dst_agent"};
	int64_t agent = -1, pid = sn_perfetto_track_pid(perfetto, track);
	for (int i = 0; i < 2 && agent < 0; i++)
		agent = number_of(perfetto, attributes, agents[i]);
	struct sn_track_place place = {1, or_zero(agent),
				       or_zero(number_of(perfetto, attributes, "queue")),
				       or_zero(number_of(perfetto, attributes, "stream_ID")), pid};
	uint32_t number = sn_track_sink_track(perfetto->sink, &place);
	if (number != SONDE_NONE)
		sn_track_sink_set_track_pid(perfetto->sink, number, pid);
	return number;
}

void sn_perfetto_rocm_copy(struct sn_perfetto *perfetto, struct sn_perfetto_attributes *attributes)
{
	int64_t bytes = number_of(perfetto, attributes, "copy_bytes");
	if (bytes >= 0)
		sn_perfetto_add_attribute(perfetto, attributes,
					  sn_track_sink_keys(perfetto->sink)[SN_TRACK_KEY_BYTES],
					  (uint64_t)bytes);
}
