/* SPDX-License-Identifier: Apache-2.0 */
/* Why kernels vary: the table of launches of `sonde variability` as a table for an analysis of causes, and the pictures of both. */
#pragma once

#include "cmd/causal/causal_asked.h"
#include "variability/counted/counted.h"

/* Launches that are compared; of more, every n-th. */
#define SN_CAUSES_ROWS 20000

struct sn_variability_causes {
	const char *target; /* a column of the table */
	struct sn_causal_table table;
	size_t single_count; /* launches left out, as their configuration has no other one */
	size_t
	    *rows; /* of the features, of each row of the table; owned, and rank 0 alone has it */
	struct sn_prior prior;
	struct sn_causal causal;
	struct sn_causal_settings settings; /* what was asked by --do */
	bool is_known;			    /* else nothing could be compared: */
	struct sn_error why;
};

/* The column of the stretch of time that a launch is of. */
#define SN_STRETCH_COLUMN   "stretch"
/* What stands for the categories that are not told apart. */
#define SN_OTHER_CATEGORIES "(other)"

/* The kernel, its place and configuration are set from outside, unless `asked` names tiers; when and beside what a launch ran, and its copy, come after;
 * the target last. `asked` has the threads and peers as well. The features are those of rank 0; all peers take part, and rank 0 alone has what is shown. 0,
 * also where the table says nothing, or a negative enum sn_err. Release it in either case. */
int sn_variability_causes(struct sn_variability_causes *causes,
			  const struct sn_launch_features *features, enum sn_feature target,
			  const struct sn_causal_asked *asked, struct sn_error *error);
/* The same of tables of counters, whose table is taken. */
int sn_variability_causes_counted(struct sn_variability_causes *causes, struct sn_counted *counted,
				  const struct sn_causal_asked *asked, struct sn_error *error);
void sn_variability_causes_release(struct sn_variability_causes *causes);

/* Finds the answers to --do, each of which the page says first. 0 or a negative enum sn_err. */
int sn_variability_causes_ask(struct sn_variability_causes *causes,
			      const struct sn_causal_asked *asked, struct sn_page *page,
			      struct sn_error *error);
/* Why an option cannot be answered where nothing could be compared. SN_ERR_ARGUMENT. */
int sn_variability_causes_refuse(const struct sn_variability_causes *causes, const char *option,
				 struct sn_error *error);

/* What the target is, in words: "perf_variation (kernel_variability)", "|duration - ...|"; NULL: a column of the user's own. */
const char *sn_variability_target_name(const char *target);
const char *sn_variability_target_meaning(const char *target);
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
