/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs out of the profiles that JAX or TensorFlow wrote below a folder while Sonde measured their
 * program: only models, nodes and what these took; no contexts, profiles or events, which the
 * measurement has of its own. Beside the profiles the folder may have
 *
 *   dump/	programs that --xla_dump_to wrote before XLA's passes: models of those that ran
 *   graphs/	functions of TensorFlow, described as XLA describes programs: models with edges
 */
#pragma once

#include "base/error.h"
#include "format/database/database_writer.h"

/* A folder that is not there has no graphs. 0 or a negative enum sn_err. */
int sn_xplane_add_graphs(const char *folder, struct sn_db_builder *builder, struct sn_error *error);

/* The programs that a measured process called (SN_PROGRAMS_FILE_SUFFIX), or that a plugin compiled for it
 * (SN_HLO_FILE_SUFFIX). */
struct sn_xplane_programs_file {
	const char *path, *host;
	int64_t pid;
	bool has_profile; /* JAX's own profile has its models */
	bool is_hlo;	  /* of a plugin */
};
/* Source lines for the frames of what the programs ran; and models of those that have such frames, of a plugin's of all,
 * unless a profile has them. 0 or a negative enum sn_err. */
int sn_xplane_add_programs(const struct sn_xplane_programs_file *file,
			   struct sn_db_builder *builder, struct sn_error *error);
