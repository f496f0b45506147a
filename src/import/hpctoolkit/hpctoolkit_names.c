/* SPDX-License-Identifier: Apache-2.0 */
/* HPCToolkit's names of placeholders, metrics and identifiers, and what they mean here. */
#include "hpctoolkit_names.h"

#include "base/sort.h"
#include "base/text.h"
#include "format/database/statistics.h"
#include "format/measurement/measurement.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	char letters[9];
	const char *name;
	uint8_t kind;
} placeholders[] = {
    {"| Main  ", "<program root>", SN_FRAME_THREAD},
    {"| Thread", "<thread root>", SN_FRAME_THREAD},
    {"OMP Idle", "<omp idle>", SN_FRAME_IDLE},
    {"OMPOvrHd", "<omp overhead>", SN_FRAME_REGION},
    {"OMPBarrW", "<omp barrier wait>", SN_FRAME_IDLE},
    {"OMPTaskW", "<omp task wait>", SN_FRAME_IDLE},
    {"OMPMtexW", "<omp mutex wait>", SN_FRAME_IDLE},
    {"OMP Work", "<omp work>", SN_FRAME_REGION},
    {"OMPETask", "<omp expl task>", SN_FRAME_REGION},
    {"OMPITask", "<omp impl task>", SN_FRAME_REGION},
    {"OMTAlloc", "<omp tgt alloc>", SN_FRAME_GPU_OP},
    {"OMTDelte", "<omp tgt delete>", SN_FRAME_GPU_OP},
    {"OMTCpIn ", "<omp tgt copyin>", SN_FRAME_GPU_OP},
    {"OMTCpOut", "<omp tgt copyout>", SN_FRAME_GPU_OP},
    {"OMTKernl", "<omp tgt kernel>", SN_FRAME_GPU_OP},
    {"OMPUresv", "<omp region unresolved>", SN_FRAME_REGION},
    {"GPUCp?2?", "<gpu copy>", SN_FRAME_GPU_OP},
    {"GPUCpH2D", "<gpu copyin>", SN_FRAME_GPU_OP},
    {"GPUCpD2H", "<gpu copyout>", SN_FRAME_GPU_OP},
    {"GPUAlloc", "<gpu alloc>", SN_FRAME_GPU_OP},
    {"GPUDelte", "<gpu delete>", SN_FRAME_GPU_OP},
    {"GPUKernl", "<gpu kernel>", SN_FRAME_GPU_OP},
    {"GPUMemst", "<gpu memset>", SN_FRAME_GPU_OP},
    {"GPU Sync", "<gpu sync>", SN_FRAME_GPU_OP},
    {"GPUTrace", "<gpu kernel>", SN_FRAME_GPU_OP},
};
enum { PLACEHOLDERS = sizeof(placeholders) / sizeof(*placeholders) };

static void spell(uint64_t letters, char text[40])
{
	size_t used = 0;
	for (int shift = 56; shift >= 0; shift -= 8) {
		unsigned char letter = (unsigned char)(letters >> shift);
		if (letter >= 0x20 && letter < 0x7f)
			text[used++] = (char)letter;
		else
			used += (size_t)snprintf(text + used, 4, "\\%2x", letter);
	}
	text[used] = '\0';
}

const char *sn_hpct_placeholder(uint64_t letters, unsigned *kind, char text[40])
{
	spell(letters, text);
	for (int i = 0; i < PLACEHOLDERS; i++) {
		if (strcmp(placeholders[i].letters, text) == 0) {
			*kind = placeholders[i].kind;
			return placeholders[i].name;
		}
	}
	*kind = SN_FRAME_REGION;
	return text;
}

unsigned sn_hpct_placeholder_kind(const char *name)
{
	for (int i = 0; i < PLACEHOLDERS; i++)
		if (strcmp(placeholders[i].name, name) == 0)
			return placeholders[i].kind;
	return SN_FRAME_REGION;
}

bool sn_hpct_is_gpu_module(const char *path)
{
	return strstr(path, "gpubins/") || sn_text_ends(path, ".gpubin");
}

void sn_hpct_program(struct sn_db_builder *builder, const char *name, const char *path)
{
	sn_db_builder_property(builder, "program", path);
	sn_db_builder_property(builder, "command", name);
	sn_db_builder_set_root(builder, sn_db_builder_named_frame(builder, SN_FRAME_THREAD, name));
}

uint32_t sn_hpct_metric(struct sn_db_builder *builder, const char *name, uint64_t period)
{
	static const struct {
		const char *ending, *unit;
		uint32_t kind;
	} units[] = {
	    {" (sec)", "s", SN_METRIC_TIME},	    {" (s)", "s", SN_METRIC_TIME},
	    {" (ns)", "ns", SN_METRIC_TIME},	    {" (usec)", "us", SN_METRIC_TIME},
	    {" (us)", "us", SN_METRIC_TIME},	    {" (B)", "bytes", SN_METRIC_BYTES},
	    {" (bytes)", "bytes", SN_METRIC_BYTES}, {" (cyc)", "cycles", SN_METRIC_COUNT},
	};
	struct sonde_db_metric metric = {
	    .name = sn_db_builder_string(builder, name),
	    .unit = SONDE_NONE,
	    .source = sn_db_builder_string(builder, "hpctoolkit"),
	    .kind = SN_METRIC_COUNT,
	    .period = period,
	};
	const char *unit = "1";
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (!sn_text_ends(name, units[i].ending))
			continue;
		unit = units[i].unit;
		metric.kind = units[i].kind;
	}
	metric.unit = sn_db_builder_string(builder, unit);
	return sn_db_builder_metric(builder, &metric);
}

static void fill(struct sn_db_builder *builder, struct sonde_db_profile *profile,
		 const struct sn_hpct_id *id)
{
	char host[20];
	if (strcmp(id->name, "NODE") == 0) {
		snprintf(host, sizeof(host), "%08" PRIx64, id->number);
		profile->host = sn_db_builder_string(builder, host);
	} else if (strcmp(id->name, "RANK") == 0 && id->number <= INT32_MAX) {
		profile->rank = (int32_t)id->number;
	} else if (strcmp(id->name, "PROCESS") == 0) {
		profile->pid = id->number;
	} else if (strcmp(id->name, "THREAD") == 0) {
		profile->tid = id->number;
	} else if (strcmp(id->name, "GPUDEVICE") == 0) {
		profile->device = (uint32_t)id->number;
		profile->kind = 1;
	} else if (strcmp(id->name, "GPUCONTEXT") == 0) {
		profile->device_context = (uint32_t)id->number;
		profile->kind = 1;
	} else if (strcmp(id->name, "GPUSTREAM") == 0) {
		profile->stream = (uint32_t)id->number;
		profile->kind = 1;
	}
}

struct sonde_db_profile sn_hpct_profile(struct sn_db_builder *builder, const struct sn_hpct_id *ids,
					size_t count)
{
	struct sonde_db_profile profile = {
	    .host = sn_db_builder_string(builder, ""),
	    .program = SONDE_NONE,
	    .rank = -1,
	    .device = SONDE_NONE,
	    .device_context = SONDE_NONE,
	    .stream = SONDE_NONE,
	};
	char text[1024];
	size_t used = 0;
	text[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		fill(builder, &profile, ids + i);
		if (used + strlen(ids[i].name) + 24 > sizeof(text))
			break;
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 ids[i].is_physical ? "%s%s 0x%" PRIx64 : "%s%s %" PRIu64,
					 i ? " " : "", ids[i].name, ids[i].number);
	}
	profile.thread = sn_db_builder_string(builder, text);
	if (profile.kind == 1 && profile.device == SONDE_NONE)
		profile.device = 0;
	return profile;
}

void sn_hpct_value(struct sn_db_builder *builder, uint32_t profile, uint32_t context,
		   uint32_t metric, double value)
{
	struct sonde_db_stat stat = sn_stat_of(value);
	if (value != 0)
		sn_db_builder_value(builder, profile, context, metric, &stat);
}

static int compare_points(const void *left, const void *right)
{
	const struct sn_hpct_traced *a = left, *b = right;
	/* at equal times an end comes before a begin */
	return sn_order_then(SN_ORDER(a->time_ns, b->time_ns),
			     SN_ORDER(a->context != 0, b->context != 0));
}

void sn_hpct_points(struct sn_trace_writer *events, uint32_t profile, bool is_stream,
		    struct sn_hpct_traced *points, size_t count)
{
	struct sn_event event = {.profile = profile,
				 .metric = SONDE_NONE,
				 .kind = is_stream ? SONDE_TRACK_INTERVALS : SONDE_TRACK_SAMPLES};
	size_t ordered = 1;
	while (ordered < count && points[ordered - 1].time_ns <= points[ordered].time_ns)
		ordered++;
	if (is_stream && ordered < count)
		qsort(points, count, sizeof(*points), compare_points);
	for (size_t i = 0; i < count; i++) {
		event.start_ns = event.end_ns = points[i].time_ns;
		event.context = points[i].context;
		if (is_stream && !event.context)
			continue;
		if (is_stream && i + 1 < count)
			event.end_ns = points[i + 1].time_ns;
		sn_trace_writer_add(events, &event);
	}
}
