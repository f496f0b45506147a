/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page of causes: sentences, the causal graph, its edges and baselines, kernels, bins over time,
 * and parallel coordinates, drawn by the viewer (docs/format/html.md). All but the title is
 * optional. The page has the JSON that the command prints, as it is, so that they cannot disagree.
 */
#pragma once

#include "drawing.h"
#include "parallel_json.h"

struct sn_causal_page {
	const char *title;
	const char *const *sentences; /* the answer in short */
	size_t sentence_count;
	/* What `sonde causal --format json` prints: "nodes", "edges", "undetermined", "baselines"; or
	 * NULL. */
	const char *graph_json;
	/* What `sonde variability --format json` prints: "kernels", "bins", "graph", "parallel", of
	 * which any may be absent; or NULL. Without graph_json its graph is shown. */
	const char *variability_json;
	/* The picture of the graph, with nodes and edges in the order of the JSON: the viewer refuses
	 * another. NULL: none. */
	const struct sn_causal_drawing *drawing;
	/* If the JSON has no "parallel"; or NULL. Names are by axis. */
	const struct sn_parallel *parallel;
	const struct sn_parallel_names *names;
};

/* Writes a temporary file and renames it. 0 or a negative enum sn_err. */
int sn_causal_page(const struct sn_causal_page *page, const char *path, struct sn_error *error);
