/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a timeline are called in front of people. */
#ifndef SN_SHOW_TIMELINE_NAMES_H
#define SN_SHOW_TIMELINE_NAMES_H

#include "show/label.h"
#include "timeline/path/critical_path.h"

/* "rank 3 · device 0", as short as tells devices apart. */
enum { SN_PLACE_CHARS = 128 };
const char *sn_name_device(const struct sn_answers *answers, size_t device,
			   char text[SN_PLACE_CHARS]);
const char *sn_name_participant(const struct sn_answers *answers, size_t participant,
				char text[SN_PLACE_CHARS]);
/* The same by a profile: of the device whose stream it is, and of whoever takes part as that stream
 * or thread. */
const char *sn_name_stream_device(const struct sn_answers *answers, uint32_t profile,
				  char text[SN_PLACE_CHARS]);
const char *sn_name_member(const struct sn_answers *answers, uint32_t profile,
			   char text[SN_PLACE_CHARS]);
/* "rank 3", of a profile's process. */
const char *sn_name_process(const struct sn_answers *answers, uint32_t profile,
			    char text[SN_PLACE_CHARS]);
/* "python 123", of a thread, and the name of a processor. */
const char *sn_name_thread(const struct sonde_db *db, uint32_t profile, char text[SN_PLACE_CHARS]);

/* Of a context's frame; see sn_label_name. */
const char *sn_name_context(const struct sonde_db *db, uint32_t context, char text[SN_LABEL_CHARS]);
/* "aten::linear in model.py:33 forward"; names of kernels may take 200 columns each. */
enum { SN_NODE_CHARS = 1536 };
const char *sn_name_node(const struct sn_node_map *nodes, uint32_t node, char text[SN_NODE_CHARS]);
/* As above, short enough for a sentence. */
const char *sn_mention_node(const struct sn_node_map *nodes, uint32_t node,
			    char text[SN_NODE_CHARS]);

/* "iteration 3 of ProfilerStep", or "the trace". */
enum { SN_PATH_CHARS = 200 };
const char *sn_name_path(const struct sonde_db *db, const struct sn_path_extent *extent,
			 char text[SN_PATH_CHARS]);

#endif
