/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks, devices, nodes and paths; see names.h. */
#include "names.h"

#include "base/text.h"
#include "base/utf8.h"
#include "frame/alike_name.h"
#include "timeline/devices/blame_rows.h"

#include <stdarg.h>
#include <stdio.h>

struct sn_place_name sn_name_in_rank(const struct sonde_db_profile *profile, const char *rest, ...)
{
	struct sn_place_name name;
	va_list arguments;
	int used = profile->rank < 0
		       ? 0
		       : snprintf(name.text, sizeof(name.text), "rank %d · ", (int)profile->rank);
	va_start(arguments, rest);
	vsnprintf(name.text + used, sizeof(name.text) - (size_t)used, rest, arguments);
	va_end(arguments);
	return name;
}

/* "run 2 · NAME", where there is more than one. */
static struct sn_place_name name_in_run(const struct sonde_db_profile *profile, bool has_runs,
					struct sn_place_name name)
{
	struct sn_place_name whole;
	if (!has_runs)
		return name;
	snprintf(whole.text, sizeof(whole.text), "run %u · %.100s", profile->run, name.text);
	return whole;
}

struct sn_place_name sn_name_stream_device(const struct sn_answers *answers, uint32_t number)
{
	const struct sonde_db_profile *stream = sonde_db_profile(answers->db, number);
	return name_in_run(stream, answers->has_runs,
			   sn_name_in_rank(stream, "device %u", stream->device));
}

struct sn_place_name sn_name_device(const struct sn_answers *answers, size_t device)
{
	return sn_name_stream_device(answers, answers->times.devices[device].profile);
}

static struct sn_place_name name_process(const struct sonde_db_profile *profile, bool has_runs)
{
	struct sn_place_name name;
	if (profile->rank >= 0)
		snprintf(name.text, sizeof(name.text), "rank %d", (int)profile->rank);
	else
		snprintf(name.text, sizeof(name.text), "process %llu",
			 (unsigned long long)profile->pid);
	return name_in_run(profile, has_runs, name);
}

struct sn_place_name sn_name_member(const struct sn_answers *answers, uint32_t number)
{
	const struct sonde_db_profile *profile = sonde_db_profile(answers->db, number);
	return profile->kind == SONDE_PROFILE_STREAM && profile->rank < 0
		   ? sn_name_stream_device(answers, number)
		   : name_process(profile, answers->has_runs);
}

struct sn_place_name sn_name_participant(const struct sn_answers *answers, size_t participant)
{
	return sn_name_member(answers, answers->collectives.participants[participant].profile);
}

struct sn_place_name sn_name_process(const struct sn_answers *answers, uint32_t number)
{
	const struct sonde_db_profile *profile = sonde_db_profile(answers->db, number);
	return name_process(profile, profile->run);
}

struct sn_place_name sn_name_thread(const struct sonde_db *db, uint32_t number)
{
	const struct sonde_db_profile *profile = sonde_db_profile(db, number);
	const char *name =
	    profile->thread == SONDE_NONE ? "thread" : sonde_db_string(db, profile->thread);
	struct sn_place_name place;
	if (sn_is_processor(db, number))
		snprintf(place.text, sizeof(place.text), "%s", name);
	else
		snprintf(place.text, sizeof(place.text), "%s %llu", name,
			 (unsigned long long)profile->tid);
	return place;
}

struct sn_context_name sn_name_context(const struct sonde_db *db, uint32_t context)
{
	struct sn_context_name name;
	sn_label_name(db, SN_GROUP_AUTO, sonde_db_context(db, context)->frame, name.text);
	return name;
}

/* Of a frame that represents others the name without their numbers, or of code without names its file:
 * "[libgomp.so.1]". */
static void name_frame(const struct sn_node_map *nodes, uint32_t frame, char *text)
{
	char name[SN_LABEL_CHARS];
	const struct sonde_db_frame *of = sonde_db_frame(nodes->db, frame);
	if (nodes->are_alike[frame] && sn_node_is_unnamed(nodes->db, of)) {
		const char *path =
		    sonde_db_string(nodes->db, sonde_db_module(nodes->db, of->module)->path);
		snprintf(name, sizeof(name), "[%s]", sn_text_base_name(path));
		sn_utf8_clean(name, text, SN_LABEL_CHARS);
	} else if (nodes->are_alike[frame] && sn_alike_name(nodes->db, frame, name, sizeof(name))) {
		sn_utf8_clean(name, text, SN_LABEL_CHARS);
	} else {
		sn_label_name(nodes->db, SN_GROUP_AUTO, frame, text);
	}
}

static struct sn_node_name name_node(const struct sn_node_map *nodes, uint32_t number,
				     size_t name_columns, size_t caller_columns)
{
	char name[SN_LABEL_CHARS], caller[SN_LABEL_CHARS];
	struct sn_node node = sn_node_map_at(nodes, number);
	struct sn_node_name whole;
	name_frame(nodes, node.frame, name);
	sn_utf8_elide(name, name_columns);
	if (node.caller == SONDE_NONE) {
		snprintf(whole.text, sizeof(whole.text), "%s", name);
		return whole;
	}
	name_frame(nodes, node.caller, caller);
	sn_utf8_elide(caller, caller_columns);
	snprintf(whole.text, sizeof(whole.text), "%.880s in %.640s", name, caller);
	return whole;
}

struct sn_node_name sn_name_node(const struct sn_node_map *nodes, uint32_t number)
{
	return name_node(nodes, number, 200, 150);
}

struct sn_node_name sn_mention_node(const struct sn_node_map *nodes, uint32_t number)
{
	return name_node(nodes, number, 80, 60);
}

struct sn_context_name sn_name_iterations(const struct sonde_db *db, uint32_t context)
{
	struct sn_context_name name;
	uint32_t frame = sonde_db_context(db, context)->frame;
	snprintf(name.text, sizeof(name.text), "%s",
		 sonde_db_string(db, sonde_db_frame(db, frame)->name));
	return name;
}

enum { CALLERS = 3 };

static struct sn_node_name name_blame(const struct sn_node_map *nodes, uint32_t context,
				      size_t name_columns, size_t caller_columns)
{
	const struct sonde_db *db = nodes->db;
	char label[SN_LABEL_CHARS];
	struct sn_node_name whole;
	uint32_t function = sn_node_map_at(nodes, nodes->of_context[context]).frame;
	name_frame(nodes, function, label);
	sn_utf8_elide(label, name_columns);
	size_t used = (size_t)snprintf(whole.text, sizeof(whole.text), "%.640s", label);
	for (int i = 0; i < CALLERS; i++) {
		context = sn_blame_caller(db, context, function);
		if (context == SONDE_NONE)
			break;
		function = sonde_db_context(db, context)->frame;
		sn_label_name(db, SN_GROUP_AUTO, function, label);
		sn_utf8_elide(label, caller_columns);
		used += (size_t)snprintf(whole.text + used, sizeof(whole.text) - used, " in %.280s",
					 label);
	}
	return whole;
}

struct sn_node_name sn_name_blame(const struct sn_node_map *nodes, uint32_t context)
{
	return name_blame(nodes, context, 200, 70);
}

struct sn_node_name sn_mention_blame(const struct sn_node_map *nodes, uint32_t context)
{
	return name_blame(nodes, context, 80, 40);
}

struct sn_path_name sn_name_path(const struct sonde_db *db, const struct sn_path_extent *extent)
{
	struct sn_path_name name;
	if (extent->context != SONDE_NONE)
		snprintf(name.text, sizeof(name.text), "iteration %llu of %.150s",
			 (unsigned long long)extent->iteration,
			 sn_name_iterations(db, extent->context).text);
	else
		snprintf(name.text, sizeof(name.text), "%s",
			 extent->is_cut ? "the begin of the trace" : "the trace");
	return name;
}
