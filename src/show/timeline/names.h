/* SPDX-License-Identifier: Apache-2.0 */
/* Displayed names of the parts of a timeline; by value: sn_name_device(...).text.
 */
#pragma once

#include "show/label.h"
#include "timeline/path/critical_path.h"

enum { SN_PLACE_CHARS = 128, SN_NODE_CHARS = 1536, SN_PATH_CHARS = 200 };

struct sn_place_name {
	char text[SN_PLACE_CHARS];
};
/* "rank 3 · REST"; the rest alone of a profile without a rank. */
struct sn_place_name sn_name_in_rank(const struct sonde_db_profile *profile, const char *rest, ...)
    __attribute__((format(printf, 2, 3)));
/* "rank 3 · device 0", the shortest form that distinguishes devices. */
struct sn_place_name sn_name_device(const struct sn_answers *answers, size_t device);
struct sn_place_name sn_name_participant(const struct sn_answers *answers, size_t participant);
/* The same for a profile: the device of a stream, and the participant of a stream or thread. */
struct sn_place_name sn_name_stream_device(const struct sn_answers *answers, uint32_t profile);
struct sn_place_name sn_name_member(const struct sn_answers *answers, uint32_t profile);
/* "rank 3", of a profile's process. */
struct sn_place_name sn_name_process(const struct sn_answers *answers, uint32_t profile);
/* "python 123", of a thread, and the name of a processor. */
struct sn_place_name sn_name_thread(const struct sonde_db *db, uint32_t profile);

/* Of a context's frame; see sn_label_name. */
struct sn_context_name {
	char text[SN_LABEL_CHARS];
};
struct sn_context_name sn_name_context(const struct sonde_db *db, uint32_t context);
/* "ProfilerStep", of a context of iterations. */
struct sn_context_name sn_name_iterations(const struct sonde_db *db, uint32_t context);

/* "aten::linear in model.py:33 forward"; names of kernels may take 200 columns each. */
struct sn_node_name {
	char text[SN_NODE_CHARS];
};
struct sn_node_name sn_name_node(const struct sn_node_map *nodes, uint32_t node);
/* As above, short enough for a sentence. */
struct sn_node_name sn_mention_node(const struct sn_node_map *nodes, uint32_t node);

/* The node of a context, and by which functions of the program it was called, the nearest first:
 * "spin in left in main". The second is short enough for a sentence. */
struct sn_node_name sn_name_blame(const struct sn_node_map *nodes, uint32_t context);
struct sn_node_name sn_mention_blame(const struct sn_node_map *nodes, uint32_t context);

/* "iteration 3 of ProfilerStep", or "the trace". */
struct sn_path_name {
	char text[SN_PATH_CHARS];
};
struct sn_path_name sn_name_path(const struct sonde_db *db, const struct sn_path_extent *extent);
