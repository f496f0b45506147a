/* SPDX-License-Identifier: Apache-2.0 */
/* What the forms of an annotation share. */
#pragma once

#include "annotate_forms.h"

/* Executions such that these times the cycles are the value. */
double sn_annotate_runs(const struct sn_annotated_function *function, double frequency);
/* "low". */
const char *sn_annotate_confidence(unsigned confidence);
/* "data cache 80-100%, data TLB 0-100%": the most likely ones; "" where nothing was waited for. */
struct sn_annotate_culprits {
	char text[256];
};
struct sn_annotate_culprits sn_annotate_culprits_of(const struct sn_insn_blame *blame);
/* The unit of the metric. */
const char *sn_annotate_unit(const struct sn_annotate_view *view);
/* A text made safe, at most so many columns; a room of 8 or less is none to keep to. */
void sn_annotate_clean(const struct sn_terminal *page, const char *text, int room);
/* How often it ran, with a mark where that is little known, and the cycles of an execution: "3.1G~" and "1.02"; "" where nothing is known. */
struct sn_annotate_speed {
	char runs[40], cycles[24];
};
struct sn_annotate_speed sn_annotate_speed_of(const struct sn_annotated_function *function,
					      const struct sn_annotated_instruction *one);

/* Why cycles are not llvm-mca's, and what is not shown, a line each. */
void sn_annotate_print_gaps(const struct sn_annotation *annotation, const struct sn_terminal *page);

/* As members of an open object. */
void sn_annotate_put_address(struct sn_json *json, const char *key, uint64_t address);
void sn_annotate_put_metric(struct sn_json *json, const struct sn_annotation *annotation,
			    const struct sn_annotate_view *view);
void sn_annotate_put_place(struct sn_json *json, const struct sn_annotated_instruction *one);
void sn_annotate_put_frequency(const struct sn_annotated_function *function, double frequency,
			       unsigned confidence, struct sn_json *json);
void sn_annotate_put_blame(const struct sn_insn_blame *blame, struct sn_json *json);
/* "no_model" and "not_shown". */
void sn_annotate_put_gaps(struct sn_json *json, const struct sn_annotation *annotation);
