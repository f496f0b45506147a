/* SPDX-License-Identifier: Apache-2.0 */
/* Events of XLA's profiler in Chrome's JSON: their category, device, stream and attributes. */
#include "kineto_xla.h"

#include "import/xplane/xla_details.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	enum sn_activity_category category;
} details[] = {{"kernel_details", SN_ACTIVITY_KERNEL},
	       {"memcpy_details", SN_ACTIVITY_COPY},
	       {"memset_details", SN_ACTIVITY_FILL}};

int64_t sn_xla_device(const struct sn_kineto_processes *processes, int64_t pid,
		      const struct sn_db_builder *builder)
{
	static const char prefix[] = "/device:GPU:";
	const struct sn_kineto_process *process = sn_kineto_processes_find(processes, pid);
	if (!process || process->program == SONDE_NONE)
		return -1;
	const char *name = sn_db_builder_text(builder, process->program);
	return strncmp(name, prefix, sizeof(prefix) - 1) != 0
		   ? -1
		   : strtol(name + sizeof(prefix) - 1, NULL, 10);
}

enum sn_activity_category sn_xla_category(const struct sn_json_event *event, int64_t device,
					  bool has_devices)
{
	for (size_t i = 0; i < sizeof(details) / sizeof(*details) && device >= 0; i++)
		if (sn_json_find_arg(event, details[i].name))
			return details[i].category;
	/* lines of modules, operations and steps repeat the time of the streams */
	if (device >= 0)
		return SN_ACTIVITY_DEVICE_ANNOTATION;
	return has_devices && sn_json_find_arg(event, "correlation_id") ? SN_ACTIVITY_API
									: SN_ACTIVITY_OTHER;
}

int64_t sn_xla_stream(const struct sn_track_sink *sink, const struct sn_db_builder *builder,
		      int64_t pid, int64_t tid)
{
	struct sn_track_place place = {0, pid, tid, 0, 0};
	uint32_t track = sn_track_sink_find(sink, &place);
	long long number;
	if (track == SONDE_NONE || sn_track_sink_at(sink, track)->name == SONDE_NONE)
		return tid;
	const char *name = sn_db_builder_text(builder, sn_track_sink_at(sink, track)->name);
	return sscanf(name, "Stream #%lld", &number) == 1 ? number : tid;
}

int64_t sn_xla_correlation(const struct sn_json_event *event)
{
	char text[32];
	const struct sn_json_value *value = sn_json_find_arg(event, "correlation_id");
	if (!value || !value->text.text || value->text.length >= sizeof(text))
		return 0;
	snprintf(text, sizeof(text), "%.*s", (int)value->text.length, value->text.text);
	return strtoll(text, NULL, 10);
}

unsigned sn_xla_attributes(const struct sn_json_event *event, const uint32_t *keys,
			   struct sn_attribute *attributes)
{
	for (size_t i = 0; i < sizeof(details) / sizeof(*details); i++) {
		const struct sn_json_value *value = sn_json_find_arg(event, details[i].name);
		if (value && value->kind == SN_JSON_TEXT)
			return sn_xla_details(value->text.text, value->text.length, keys,
					      attributes);
	}
	return 0;
}
