/* SPDX-License-Identifier: Apache-2.0 */
/* docs/format/annotate.md describes it. */
#include "annotate_forms.h"

#include <inttypes.h>
#include <stdio.h>

static void put_address(struct sn_json *json, const char *key, uint64_t address)
{
	char text[24];
	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	sn_json_put_text(json, key, text);
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
		put_address(json, "address", function->start);
		sn_json_numbers(json, {"samples", function->samples}, {"value", function->value});
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
}

static void put_instructions(const struct sn_annotation *annotation, struct sn_json *json)
{
	sn_json_open(json, "instructions", '[');
	for (size_t f = 0; f < annotation->function_count; f++) {
		const struct sn_annotated_function *function = &annotation->functions[f];
		for (size_t i = 0; i < function->count; i++) {
			const struct sn_annotated_instruction *one = &function->instructions[i];
			sn_json_begin(json, '{');
			put_address(json, "address", one->address);
			sn_json_put_text(json, "text", one->text);
			sn_json_put_text(json, "file", one->file);
			sn_json_put_text(json, "inlined", one->inlined);
			if (one->line)
				sn_json_put_unsigned(json, "line", one->line);
			else
				sn_json_put_text(json, "line", NULL);
			sn_json_numbers(json, {"samples", one->samples}, {"value", one->value},
					{"function", (double)f});
			sn_json_put_bool(json, "begins_block", one->begins_block);
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
			put_address(json, "start", one->start);
			put_address(json, "end", one->end);
			sn_json_numbers(json, {"class", one->class}, {"samples", one->samples},
					{"value", one->value}, {"function", (double)f});
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
			sn_json_end(json, '}');
		}
		first += function->block_count;
	}
	sn_json_end(json, ']');
}

void sn_annotate_json(const struct sn_annotation *annotation, const struct sn_annotate_view *view,
		      FILE *out)
{
	struct sn_json json = {.out = out};
	const struct sonde_db_metric *metric = sonde_db_metric(view->db, view->metric);
	sn_json_begin(&json, '{');
	sn_json_texts(&json, {"metric", sonde_db_string(view->db, metric->name)},
		      {"unit", sonde_db_string(view->db, metric->unit)});
	sn_json_put_number(&json, "value", annotation->value);
	put_functions(annotation, &json);
	put_instructions(annotation, &json);
	put_flow(annotation, &json);
	sn_json_open(&json, "not_shown", '[');
	for (size_t i = 0; i < annotation->gap_count; i++) {
		sn_json_begin(&json, '{');
		sn_json_texts(&json, {"image", annotation->gaps[i].image},
			      {"why", annotation->gaps[i].why});
		sn_json_put_number(&json, "value", annotation->gaps[i].value);
		sn_json_end(&json, '}');
	}
	sn_json_end(&json, ']');
	sn_json_end(&json, '}');
	putc('\n', out);
}
