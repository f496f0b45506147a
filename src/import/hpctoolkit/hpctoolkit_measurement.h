/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading HPCToolkit's raw measurements into a builder: what all profiles of an import share.
 * Profiles are read one after the other; only the streams that several profiles write into are
 * kept until the end.
 */
#pragma once

#include "hpcrun.h"
#include "hpctoolkit_code.h"
#include "hpctoolkit_reconstruct.h"
#include "import/core/importer.h"

struct sn_hpct_import {
	struct sn_db_builder *builder;
	struct sn_hpct_tree tree;
	struct sn_hpct_code code;
	struct sn_hpct_reconstruction reconstruction;
	struct sn_hpct_thread **merged; /* streams that profiles write into */
	struct sn_table merged_keys;	/* their numbers by run and identifiers */
	size_t merged_count, merged_capacity;
	struct sn_trace_writer *events;
	uint32_t run;	  /* that is being read */
	uint64_t demoted; /* call paths of which the beginning is unknown */
};

/* Reads one profile with its trace. `base` is its folder, absolute, or NULL. *is_unreadable: it
 * failed because of what is in the file, before anything of it was taken. */
int sn_hpct_profile_read(struct sn_hpct_import *import, const char *path, const char *base,
			 bool *is_unreadable, struct sn_error *error);
/* Divides a thread's samples among their contexts and adds all its values to the builder. */
int sn_hpct_import_flush(struct sn_hpct_import *import, struct sn_hpct_thread *thread,
			 struct sn_error *error);

/* Reads measurement folders and single profiles; `runs`: each path is a run of its own, numbered
 * from 0. */
int sn_hpct_measurement_read(const struct sn_import_request *request, const char *const *paths,
			     size_t count, bool runs, struct sn_db_builder *builder,
			     struct sn_error *error);
/* Reads a database folder as that run. */
int sn_hpct_database_read(const struct sn_import_request *request, const char *folder, uint32_t run,
			  struct sn_db_builder *builder, struct sn_error *error);
bool sn_hpct_is_database(const char *folder);
bool sn_hpct_is_measurement(const char *folder);
