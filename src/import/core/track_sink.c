/* SPDX-License-Identifier: Apache-2.0 */
/* A sink from its first file to its end; what was measured (host, program, rank), and losses. */
#include "track_sink_internal.h"

#include "base/text.h"
#include "format/database/database_graph_builder.h"
#include "format/measurement/measurement.h"
#include "import/core/importer.h"
#include "track_dataflow.h"

#include <stdio.h>
#include <string.h>

uint64_t sn_sink_link(const struct sn_track_sink *sink, uint64_t correlation)
{
	return sink->file_count << 48 | (correlation & ((1ull << 48) - 1));
}

uint64_t sn_sink_time(const struct sn_track_sink *sink, uint64_t raw_ns)
{
	int64_t time;
	bool is_far =
	    __builtin_add_overflow((int64_t)raw_ns - SN_SINK_BIAS_NS, sink->base_ns, &time);
	return time > 0 && !is_far ? (uint64_t)time : 0;
}

void sn_sink_profile(struct sn_track_sink *sink, struct sn_track *track)
{
	bool has_pid = track->pid >= 0, has_time = track->start_ns != UINT64_MAX;
	track->start_ns = sn_sink_time(sink, track->start_ns);
	track->end_ns = sn_sink_time(sink, track->end_ns);
	if (has_time && track->start_ns < sink->start_ns)
		sink->start_ns = track->start_ns;
	if (track->end_ns > sink->end_ns)
		sink->end_ns = track->end_ns;
	struct sonde_db_profile profile = {
	    .host = track->host != SONDE_NONE ? track->host : sink->host,
	    .program = track->program != SONDE_NONE ? track->program : sink->program,
	    .thread = track->name,
	    .rank = track->rank >= 0 ? track->rank : sink->rank,
	    .pid = (uint64_t)(has_pid	      ? track->pid
			      : sink->pid > 0 ? sink->pid
					      : 0),
	    .tid = !track->is_device && track->tid >= 0 ? (uint64_t)track->tid : 0,
	    .kind = track->is_device	  ? SONDE_PROFILE_STREAM
		    : track->is_processor ? SONDE_PROFILE_PROCESSOR
					  : SONDE_PROFILE_THREAD,
	    .device = track->is_device ? track->device : SONDE_NONE,
	    .device_context = track->is_device ? track->context : SONDE_NONE,
	    .stream = track->is_device ? track->stream : SONDE_NONE,
	    .start_ns = track->start_ns,
	    .end_ns = track->end_ns,
	    .samples = track->sample_count,
	    .run = sink->run,
	};
	track->profile = sn_db_builder_profile(sink->builder, &profile);
}

int sn_track_sink_open(struct sn_track_sink *sink, const char *path, struct sn_error *error)
{
	sink->path = path;
	sink->file_count++;
	sink->rank = -1;
	sink->base_ns = 0;
	sink->pid = -1;
	sink->pid_votes = 0;
	sink->last_ns = 0;
	sink->contexts = NULL;
	sink->is_closed = false;
	sink->launch_count = sink->forward_count = 0;
	sink->are_launches_ordered = false;
	sink->last_launch = 0;
	sink->order.call_count = sink->order.operation_count = 0;
	sn_intern_release(&sink->places);
	sn_intern_release(&sink->names);
	sink->text_name_count = 0;
	memset(sink->recent_tracks, 0, sizeof(sink->recent_tracks));
	sn_table_release(&sink->sequences);
	sn_table_release(&sink->callees);
	sn_begins_release(&sink->begins);
	sn_sink_states_release(sink);
	sn_sorter_free(sink->sorter);
	sink->sorter = sn_sorter_new(sn_import_event_memory(&path, 1), NULL);
	return sink->sorter ? 0 : sn_fail_memory(error);
}

int sn_track_sink_close(struct sn_track_sink *sink)
{
	if (sink->is_closed)
		return 0;
	sink->is_closed = true;
	int result = sn_sink_end_begun(sink);
	return result ? result : sn_sink_states_finish(sink);
}

/* How many earlier files had this rank. */
static uint32_t seen_before(struct sn_track_sink *sink)
{
	uint32_t count = sn_table_find(&sink->ranks, (uint32_t)sink->rank);
	count = count == SN_TABLE_NONE ? 0 : count;
	sn_table_put(&sink->ranks, (uint32_t)sink->rank, count + 1);
	return count;
}

/* Distinguishes the files of one import: by rank, and by file (run) where they have no rank or
 * several have the same. */
static void note_file(struct sn_track_sink *sink, size_t path_count)
{
	char key[32];
	const char *name = sn_text_base_name(sink->path);
	sink->run = 0;
	if (sink->file_count == 1)
		sink->first_path = name;
	if (path_count == 1 || (sink->rank >= 0 && !(sink->run = seen_before(sink))))
		return;
	if (sink->rank < 0)
		sink->run = (uint32_t)sink->file_count - 1;
	else
		sn_db_builder_property(sink->builder, "run.0", sink->first_path);
	snprintf(key, sizeof(key), "run.%u", sink->run);
	sn_db_builder_property(sink->builder, key, name);
}

int sn_track_sink_build(struct sn_track_sink *sink, size_t path_count, struct sn_error *error)
{
	if (sn_track_sink_close(sink))
		return sn_fail_memory(error);
	note_file(sink, path_count);
	if (sn_sink_graph_file(sink))
		return sn_fail_memory(error);
	if (sink->dataflow)
		sn_dataflow_begin(sink);
	int result = sn_sink_build(sink, error);
	if (!result && sink->dataflow)
		result = sn_dataflow_end(sink, error);
	sn_sorter_free(sink->sorter);
	sink->sorter = NULL;
	return result;
}

static void put_count(struct sn_track_sink *sink, const char *key, uint64_t count)
{
	char text[32];
	snprintf(text, sizeof(text), "%llu", (unsigned long long)count);
	sn_db_builder_property(sink->builder, key, text);
}

static void put_losses(struct sn_track_sink *sink)
{
	const struct {
		uint64_t count;
		const char *cause, *text;
	} losses[] = {
	    {sink->losses[SN_SINK_UNLAUNCHED], "gpu-unlaunched",
	     "device operations whose launch is not in the file"},
	    {sink->graphs.unmatched, "graph-unmatched",
	     "operations of replayed graphs whose capture is not in the files read before"},
	    {sink->order.refused, "launch-ambiguous",
	     "device operations without a correlation whose launch the order of calls does not "
	     "determine"},
	    {sink->losses[SN_SINK_UNREAD], "import-unread", "events of a kind that is not read"},
	    {sink->losses[SN_SINK_UNTIMED], "import-untimed", "events without a valid time"},
	    {sink->losses[SN_SINK_UNPAIRED], "import-unpaired", "ends of events without a begin"},
	    {sink->losses[SN_SINK_UNENDED], "import-unended",
	     "events without an end, taken to the end of the recording"},
	};
	for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++)
		sn_track_sink_lost(sink, losses[i].cause, losses[i].text, losses[i].count);
}

void sn_track_sink_finish(struct sn_track_sink *sink)
{
	struct sn_db_builder *builder = sink->builder;
	char program[1024];
	/* a copy, because the builder's texts move when a string is added */
	snprintf(program, sizeof(program), "%s", sn_db_builder_text(builder, sink->program));
	sn_db_builder_set_root(builder,
			       sn_db_builder_named_frame(builder, SN_FRAME_THREAD, program));
	sn_db_builder_property(builder, "program", program);
	put_count(sink, "imported.files", sink->file_count);
	if (sink->end_ns)
		put_count(sink, "duration_ns", sink->end_ns - sink->start_ns);
	if (sink->graphs.matched)
		put_count(sink, "imported.replayed", sink->graphs.matched);
	sn_sink_graph_finish(sink);
	if (sink->order.matched)
		put_count(sink, "inferred.launches", sink->order.matched);
	put_losses(sink);
}

void sn_track_sink_free(struct sn_track_sink *sink)
{
	if (!sink)
		return;
	sn_sorter_free(sink->sorter);
	sn_intern_release(&sink->places);
	sn_intern_release(&sink->names);
	sn_table_release(&sink->sequences);
	sn_table_release(&sink->callees);
	sn_totals_release(&sink->totals);
	sn_table_release(&sink->ranks);
	sn_sink_replay_release(&sink->replay);
	sn_dataflow_free(sink->dataflow);
	sn_order_release(&sink->order);
	sn_begins_release(&sink->begins);
	sn_sink_states_release(sink);
	free(sink->graphs.captures);
	free(sink->graphs.captured);
	free(sink->graphs.files);
	free(sink->frames);
	free(sink->traits);
	free(sink->text_names);
	free(sink->tracks);
	free(sink->launches);
	free(sink->forwards);
	sn_sink_thread_release(sink);
	sn_sink_nested_release(sink);
	free(sink);
}

struct sn_track_sink *sn_track_sink_new(const char *source, struct sn_db_builder *builder,
					const struct sn_import_request *request)
{
	struct sn_track_sink *sink = malloc(sizeof(*sink));
	if (!sink)
		return NULL;
	*sink = (struct sn_track_sink){
	    .source = source,
	    .builder = builder,
	    .writer = request->events,
	    .jobs = request->jobs,
	    .host = sn_db_builder_string(builder, ""),
	    .program = sn_db_builder_string(builder, source),
	    .start_ns = UINT64_MAX,
	};
	sn_begins_init(&sink->begins);
	sn_sink_make_keys(sink);
	return sink;
}

/* ---- who was measured ---- */

void sn_track_sink_set_host(struct sn_track_sink *sink, uint32_t host)
{
	sink->host = host;
}

void sn_track_sink_set_program(struct sn_track_sink *sink, uint32_t program)
{
	sink->program = program;
}

void sn_track_sink_set_busiest_program(struct sn_track_sink *sink)
{
	uint64_t most = 0;
	for (uint32_t i = 0; i < sink->places.count; i++) {
		const struct sn_track *track = sink->tracks + i;
		if (track->event_count <= most || track->program == SONDE_NONE)
			continue;
		most = track->event_count;
		sink->program = track->program;
	}
}

void sn_track_sink_set_rank(struct sn_track_sink *sink, int32_t rank)
{
	sink->rank = rank;
}

void sn_track_sink_set_pid(struct sn_track_sink *sink, int64_t pid)
{
	sink->pid = pid;
}

int64_t sn_track_sink_pid(const struct sn_track_sink *sink)
{
	return sink->pid;
}

void sn_track_sink_set_base(struct sn_track_sink *sink, int64_t base_ns)
{
	sink->base_ns = base_ns;
}

uint64_t sn_track_sink_time(const struct sn_track_sink *sink, int64_t time_ns)
{
	return sn_sink_time(sink, (uint64_t)(time_ns + SN_SINK_BIAS_NS));
}

void sn_track_sink_sign(const struct sn_track_sink *sink, struct sonde_graph_model *model)
{
	model->program = sink->program;
	model->rank = sink->rank;
	model->run = sink->run;
}

/* ---- losses ---- */

void sn_track_sink_unread(struct sn_track_sink *sink, uint64_t count)
{
	sink->losses[SN_SINK_UNREAD] += count;
}

uint64_t sn_track_sink_unread_count(const struct sn_track_sink *sink)
{
	return sink->losses[SN_SINK_UNREAD];
}

void sn_track_sink_untimed(struct sn_track_sink *sink, uint64_t count)
{
	sink->losses[SN_SINK_UNTIMED] += count;
}

void sn_track_sink_unpaired(struct sn_track_sink *sink, uint64_t count)
{
	sink->losses[SN_SINK_UNPAIRED] += count;
}

void sn_track_sink_unended(struct sn_track_sink *sink, uint64_t count)
{
	sink->losses[SN_SINK_UNENDED] += count;
}

void sn_track_sink_lost(struct sn_track_sink *sink, const char *cause, const char *text,
			uint64_t count)
{
	if (count)
		sn_db_builder_drop(sink->builder, cause, text, count);
}
