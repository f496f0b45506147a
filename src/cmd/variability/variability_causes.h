/* SPDX-License-Identifier: Apache-2.0 */
/* Why kernels vary: the table of launches of `sonde variability` as a table for an analysis of causes, and the pictures of both. */
#pragma once

#include "causal/causal.h"
#include "show/sheet.h"
#include "variability/variability.h"

/* Launches that are compared; of more, every n-th. */
#define SN_CAUSES_ROWS 20000

struct sn_variability_causes {
	enum sn_feature target;
	struct sn_causal_table table;
	uint32_t
	    determined; /* columns that are left out, as few kernels determine them; of rank 0 */
	struct sn_prior prior;
	struct sn_causal causal;
	bool is_known; /* else nothing could be compared: */
	struct sn_error why;
};

/* The kernel, its place and configuration are set from outside; when and beside what a launch ran, and its copy, come after; the target last.
 * The features are those of rank 0; all peers take part, and rank 0 alone has what is shown. 0, also where the table says nothing, or a negative enum
 * sn_err. Release it in either case. */
int sn_variability_causes(struct sn_variability_causes *causes,
			  const struct sn_launch_features *features, enum sn_feature target,
			  const struct sn_peers *peers, unsigned threads, struct sn_error *error);
void sn_variability_causes_release(struct sn_variability_causes *causes);

/* Sentences, of which the first says what was to be explained, and tables. */
void sn_variability_causes_show(const struct sn_variability_causes *causes, struct sn_page *page);
/* With the page's sentences the member "graph" of an open object, as docs/format/causal.md has it; without anything but "why" where nothing could be compared. */
void sn_variability_causes_json(const struct sn_variability_causes *causes,
				const struct sn_page *page, struct sn_json *json);
/* The page of HTML with both pages' sentences and all that is known: `json` is what the command prints. 0 or a negative enum sn_err. */
int sn_variability_causes_html(const struct sn_variability_causes *causes,
			       const struct sn_launch_picture *launches,
			       const struct sn_page *const pages[2], const char *json,
			       const char *title, const char *path, struct sn_error *error);
