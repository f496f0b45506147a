/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of `sonde graph`: graph.c selects, the others write. */
#pragma once

#include "timeline/graph_table.h"

#include <stdbool.h>
#include <stdio.h>

struct sn_graph_view {
	const struct sonde_db *db;
	const struct sonde_graph *graph;
	const char *path;
	const char *model; /* NULL: all */
	size_t top;	   /* rows of each model; 0 all */
	enum sn_graph_by by;
	bool wants_iterations;
};

/* Whether the model was requested. */
bool sn_graph_is_wanted(const struct sn_graph_view *view, uint32_t model);
/* 0, or SN_ERR_MEMORY with its text. */
int sn_graph_text(const struct sn_graph_view *view, FILE *out, struct sn_error *error);
int sn_graph_json(const struct sn_graph_view *view, FILE *out, struct sn_error *error);
int sn_graph_csv(const struct sn_graph_view *view, FILE *out, struct sn_error *error);
/* Of one model. */
int sn_graph_drawing(const struct sn_graph_view *view, uint32_t model, bool as_svg, FILE *out,
		     struct sn_error *error);
