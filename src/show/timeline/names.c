/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks, devices, nodes and paths; see names.h. */
#include "names.h"

#include "base/utf8.h"

#include <stdio.h>

const char *sn_name_stream_device(const struct sn_answers *answers, uint32_t profile,
				  char text[SN_PLACE_CHARS])
{
	const struct sonde_db_profile *stream = sonde_db_profile(answers->db, profile);
	int used = 0;
	if (answers->has_runs)
		used += snprintf(text, SN_PLACE_CHARS, "run %u · ", stream->run);
	if (stream->rank >= 0)
		used += snprintf(text + used, SN_PLACE_CHARS - (size_t)used, "rank %d · ",
				 (int)stream->rank);
	snprintf(text + used, SN_PLACE_CHARS - (size_t)used, "device %u", stream->device);
	return text;
}

const char *sn_name_device(const struct sn_answers *answers, size_t device,
			   char text[SN_PLACE_CHARS])
{
	return sn_name_stream_device(answers, answers->times.devices[device].profile, text);
}

static const char *name_process(const struct sonde_db_profile *profile, bool has_run,
				char text[SN_PLACE_CHARS])
{
	int used = has_run ? snprintf(text, SN_PLACE_CHARS, "run %u · ", profile->run) : 0;
	if (profile->rank >= 0)
		snprintf(text + used, SN_PLACE_CHARS - (size_t)used, "rank %d", (int)profile->rank);
	else
		snprintf(text + used, SN_PLACE_CHARS - (size_t)used, "process %llu",
			 (unsigned long long)profile->pid);
	return text;
}

const char *sn_name_member(const struct sn_answers *answers, uint32_t number,
			   char text[SN_PLACE_CHARS])
{
	const struct sonde_db_profile *profile = sonde_db_profile(answers->db, number);
	return profile->kind == SONDE_PROFILE_STREAM && profile->rank < 0
		   ? sn_name_stream_device(answers, number, text)
		   : name_process(profile, answers->has_runs, text);
}

const char *sn_name_participant(const struct sn_answers *answers, size_t participant,
				char text[SN_PLACE_CHARS])
{
	return sn_name_member(answers, answers->collectives.participants[participant].profile,
			      text);
}

const char *sn_name_process(const struct sn_answers *answers, uint32_t number,
			    char text[SN_PLACE_CHARS])
{
	const struct sonde_db_profile *profile = sonde_db_profile(answers->db, number);
	return name_process(profile, profile->run, text);
}

const char *sn_name_thread(const struct sonde_db *db, uint32_t number, char text[SN_PLACE_CHARS])
{
	const struct sonde_db_profile *profile = sonde_db_profile(db, number);
	const char *name =
	    profile->thread == SONDE_NONE ? "thread" : sonde_db_string(db, profile->thread);
	if (sn_is_processor(db, number))
		snprintf(text, SN_PLACE_CHARS, "%s", name);
	else
		snprintf(text, SN_PLACE_CHARS, "%s %llu", name, (unsigned long long)profile->tid);
	return text;
}

const char *sn_name_context(const struct sonde_db *db, uint32_t context, char text[SN_LABEL_CHARS])
{
	sn_label_name(db, SN_GROUP_AUTO, sonde_db_context(db, context)->frame, text);
	return text;
}

static const char *name_node(const struct sn_node_map *nodes, uint32_t number, size_t name_columns,
			     size_t caller_columns, char text[SN_NODE_CHARS])
{
	char name[SN_LABEL_CHARS], caller[SN_LABEL_CHARS];
	struct sn_node node = sn_node_map_at(nodes, number);
	sn_label_name(nodes->db, SN_GROUP_AUTO, node.frame, name);
	sn_utf8_elide(name, name_columns);
	if (node.caller == SONDE_NONE) {
		snprintf(text, SN_NODE_CHARS, "%s", name);
		return text;
	}
	sn_label_name(nodes->db, SN_GROUP_AUTO, node.caller, caller);
	sn_utf8_elide(caller, caller_columns);
	snprintf(text, SN_NODE_CHARS, "%.880s in %.640s", name, caller);
	return text;
}

const char *sn_name_node(const struct sn_node_map *nodes, uint32_t number, char text[SN_NODE_CHARS])
{
	return name_node(nodes, number, 200, 150, text);
}

const char *sn_mention_node(const struct sn_node_map *nodes, uint32_t number,
			    char text[SN_NODE_CHARS])
{
	return name_node(nodes, number, 80, 60, text);
}

const char *sn_name_path(const struct sonde_db *db, const struct sn_path_extent *extent,
			 char text[SN_PATH_CHARS])
{
	char name[SN_LABEL_CHARS];
	if (extent->context != SONDE_NONE)
		snprintf(text, SN_PATH_CHARS, "iteration %zu of %.150s", extent->iteration,
			 sn_name_context(db, extent->context, name));
	else
		snprintf(text, SN_PATH_CHARS, "%s",
			 extent->is_cut ? "the begin of the trace" : "the trace");
	return text;
}
