/* SPDX-License-Identifier: Apache-2.0 */
/* docs/format/annotate.md describes it. */
#include "annotate_parts.h"

#include <inttypes.h>
#include <stdio.h>

void sn_annotate_put_address(struct sn_json *json, const char *key, uint64_t address)
{
	char text[24];
	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	sn_json_put_text(json, key, text);
}

void sn_annotate_put_place(struct sn_json *json, const struct sn_annotated_instruction *one)
{
	sn_annotate_put_address(json, "address", one->address);
	sn_json_texts(json, {"text", one->text}, {"file", one->file}, {"inlined", one->inlined});
	if (one->line)
		sn_json_put_unsigned(json, "line", one->line);
	else
		sn_json_put_text(json, "line", NULL);
}

static void put_functions(const struct sn_annotation *annotation, struct sn_json *json)
{
	sn_json_open(json, "functions", '[');
	for (size_t i = 0; i < annotation->function_count; i++) {
		const struct sn_annotated_function *function = &annotation->functions[i];
		sn_json_begin(json, '{');
		sn_json_texts(json, {"name", function->name}, {"image", function->image},
			      {"file", function->file});
		sn_json_put_unsigned(json, "line", function->line);
		sn_annotate_put_address(json, "address", function->start);
		sn_json_numbers(json, {"samples", function->samples}, {"value", function->value});
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
}

void sn_annotate_put_frequency(const struct sn_annotated_function *function, double frequency,
			       unsigned confidence, struct sn_json *json)
{
	sn_json_put_number(json, "frequency", sn_annotate_runs(function, frequency));
	sn_json_put_text(json, "frequency_confidence", sn_annotate_confidence(confidence));
}

void sn_annotate_put_blame(const struct sn_insn_blame *blame, struct sn_json *json)
{
	sn_json_put_known(json, "cpi", blame->cycles);
	sn_json_put_number(json, "stall_cycles", blame->stall);
	sn_json_open(json, "culprits", '[');
	for (uint32_t i = 0; i < blame->culprit_count; i++) {
		const struct sn_culprit *one = &blame->culprits[i];
		sn_json_begin(json, '{');
		sn_json_put_text(json, "cause", sn_cause_text(one->cause));
		sn_json_numbers(json, {"min_share", (double)one->min_share},
				{"max_share", (double)one->max_share});
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
}

#define LEAST_PART 1e-6 /* less is not told */

/* Parts of the samples of all that is listed. */
static void put_summary(const struct sn_annotation *annotation, struct sn_json *json)
{
	double parts[SN_CAUSE_COUNT] = {0}, rest = 0, all = 0;
	for (size_t i = 0; i < annotation->function_count; i++) {
		const struct sn_annotated_function *function = &annotation->functions[i];
		for (int cause = 0; cause < SN_CAUSE_COUNT; cause++) {
			parts[cause] += function->parts[cause];
			all += function->parts[cause];
		}
		rest += function->rest;
	}
	all += rest;
	sn_json_open(json, "summary", '{');
	for (int cause = 0; all > 0 && cause < SN_CAUSE_COUNT; cause++)
		if (parts[cause] > LEAST_PART * all)
			sn_json_put_number(json, sn_cause_text((enum sn_cause)cause),
					   parts[cause] / all);
	sn_json_end(json, '}');
	sn_json_put_number(json, "unexplained", all > 0 ? rest / all : 0);
}

static void put_instructions(const struct sn_annotation *annotation, struct sn_json *json)
{
	sn_json_open(json, "instructions", '[');
	for (size_t f = 0; f < annotation->function_count; f++) {
		const struct sn_annotated_function *function = &annotation->functions[f];
		for (size_t i = 0; i < function->count; i++) {
			const struct sn_annotated_instruction *one = &function->instructions[i];
			sn_json_begin(json, '{');
			sn_annotate_put_place(json, one);
			sn_json_numbers(json, {"samples", one->samples}, {"value", one->value},
					{"function", (double)f});
			sn_json_put_bool(json, "begins_block", one->begins_block);
			sn_annotate_put_frequency(function, one->frequency, one->confidence, json);
			sn_annotate_put_blame(&one->blame, json);
			sn_json_end(json, '}');
		}
	}
	sn_json_end(json, ']');
}

/* Of all functions one after the other; edges name blocks by their places here. */
static void put_flow(const struct sn_annotation *annotation, struct sn_json *json)
{
	uint32_t first = 0;
	sn_json_open(json, "blocks", '[');
	for (size_t f = 0; f < annotation->function_count; f++) {
		const struct sn_annotated_function *function = &annotation->functions[f];
		for (uint32_t block = 0; block < function->block_count; block++) {
			const struct sn_annotated_block *one = &function->blocks[block];
			sn_json_begin(json, '{');
			sn_annotate_put_address(json, "start", one->start);
			sn_annotate_put_address(json, "end", one->end);
			sn_json_numbers(json, {"class", one->class}, {"samples", one->samples},
					{"value", one->value}, {"function", (double)f},
					{"micro_operations", (double)one->issue.parts},
					{"cycles_repeated", (double)one->issue.loop},
					{"cycles_of_units", (double)one->issue.resource},
					{"loads", one->issue.loads},
					{"dependent_loads", one->issue.dependent_loads});
			sn_annotate_put_frequency(function, one->frequency, one->confidence, json);
			sn_json_end(json, '}');
		}
	}
	sn_json_end(json, ']');
	sn_json_open(json, "edges", '[');
	for (size_t f = 0; f < annotation->function_count; f++) {
		const struct sn_annotated_function *function = &annotation->functions[f];
		for (uint32_t edge = 0; edge < function->edge_count; edge++) {
			const struct sn_annotated_edge *one = &function->edges[edge];
			sn_json_begin(json, '{');
			sn_json_numbers(json, {"from", (double)first + one->from},
					{"to", (double)first + one->to});
			sn_json_put_id(json, "class", one->class);
			sn_annotate_put_frequency(function, one->frequency, one->confidence, json);
			sn_json_end(json, '}');
		}
		first += function->block_count;
	}
	sn_json_end(json, ']');
}

void sn_annotate_put_metric(struct sn_json *json, const struct sn_annotation *annotation,
			    const struct sn_annotate_view *view)
{
	const struct sonde_db_metric *metric = sonde_db_metric(view->db, view->metric);
	sn_json_texts(json, {"metric", sonde_db_string(view->db, metric->name)},
		      {"unit", sonde_db_string(view->db, metric->unit)});
	sn_json_put_number(json, "value", annotation->value);
}

void sn_annotate_put_gaps(struct sn_json *json, const struct sn_annotation *annotation)
{
	sn_json_put_text(json, "no_model", annotation->no_mca);
	sn_json_open(json, "not_shown", '[');
	for (size_t i = 0; i < annotation->gap_count; i++) {
		sn_json_begin(json, '{');
		sn_json_texts(json, {"image", annotation->gaps[i].image},
			      {"why", annotation->gaps[i].why});
		sn_json_put_number(json, "value", annotation->gaps[i].value);
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
}

void sn_annotate_json(const struct sn_annotation *annotation, const struct sn_annotate_view *view,
		      FILE *out)
{
	struct sn_json json = {.out = out};
	sn_json_begin(&json, '{');
	sn_annotate_put_metric(&json, annotation, view);
	put_functions(annotation, &json);
	put_instructions(annotation, &json);
	put_flow(annotation, &json);
	put_summary(annotation, &json);
	sn_annotate_put_gaps(&json, annotation);
	sn_json_end(&json, '}');
	putc('\n', out);
}
