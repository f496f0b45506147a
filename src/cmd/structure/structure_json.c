/* SPDX-License-Identifier: Apache-2.0 */
/* Structure as JSON, as docs/format/structure.md says; see structure_write.h. */
#include "structure_write.h"

#include "show/json.h"

enum { DEPTH_MAX = 256 };

static void begin(FILE *out)
{
	fputs("{\"version\":1,\"binaries\":[", out);
}

static void begin_binary(const char *path, const struct sn_structure_info *info, bool is_first,
			 FILE *out)
{
	struct sn_json json = {.out = out};
	fputs(is_first ? "\n{" : ",\n{", out);
	sn_json_texts(&json, {"path", path}, {"machine", info->machine},
		      {"build_id", info->build_id[0] ? info->build_id : NULL},
		      {"symbols", info->status});
	sn_json_put_unsigned(&json, "code_bytes", info->code_bytes);
	sn_json_key(&json, "functions");
	fputs("[\n", out);
}

static void put_ranges(const struct sn_structure_function *function, const struct sn_scope *scope,
		       struct sn_json *json)
{
	sn_json_open(json, "ranges", '[');
	for (uint32_t at = scope->first_range; at != SN_SCOPE_NONE;
	     at = function->ranges[at].next) {
		sn_json_begin(json, '[');
		sn_json_unsigned(json, function->ranges[at].start);
		sn_json_unsigned(json, function->ranges[at].end);
		sn_json_end(json, ']');
	}
	sn_json_end(json, ']');
}

static void put_scope(const struct sn_structure_function *function, uint32_t at, unsigned depth,
		      struct sn_json *json)
{
	static const char *const kinds[] = {"function", "loop", "inlined", "line"};
	const struct sn_scope *scope = &function->scopes[at];
	bool is_inlined = scope->kind == SN_SCOPE_INLINED;
	sn_json_begin(json, '{');
	sn_json_put_text(json, "kind", kinds[scope->kind]);
	if (is_inlined || scope->kind == SN_SCOPE_FUNCTION) {
		sn_json_texts(json, {"name", scope->name}, {"linkage_name", scope->linkage_name});
	}
	sn_json_put_text(json, "file", scope->file);
	sn_json_put_number(json, "line", scope->line);
	if (is_inlined) {
		sn_json_put_text(json, "call_file", scope->call_file);
		sn_json_put_number(json, "call_line", scope->call_line);
	}
	if (scope->kind != SN_SCOPE_LINE)
		sn_json_put_number(json, "last_line", scope->last_line);
	if (scope->kind == SN_SCOPE_LOOP) {
		sn_json_put_number(json, "number", scope->number);
		sn_json_put_bool(json, "irreducible", scope->is_irreducible);
		sn_json_put_number(json, "machine_loops", scope->machine_loops);
	}
	if (scope->kind == SN_SCOPE_FUNCTION) {
		sn_json_numbers(json, {"blocks", function->block_count},
				{"unresolved_jumps", function->unresolved_count});
	}
	sn_json_put_unsigned(json, "start", scope->start);
	sn_json_put_unsigned(json, "bytes", scope->bytes);
	put_ranges(function, scope, json);
	if (scope->first_child != SN_SCOPE_NONE && depth < DEPTH_MAX) {
		sn_json_open(json, "children", '[');
		for (at = scope->first_child; at != SN_SCOPE_NONE; at = function->scopes[at].next)
			put_scope(function, at, depth + 1, json);
		sn_json_end(json, ']');
	}
	sn_json_end(json, '}');
}

static void write_function(const struct sn_structure_function *function, bool is_full, FILE *out)
{
	put_scope(function, 0, 0, &(struct sn_json){.out = out});
	fputs(",\n", out);
}

static void end_binary(const struct sn_structure_info *info,
		       const struct sn_structure_counts *counts, FILE *out)
{
	/* every function leaves a comma behind it; null ends the list */
	fprintf(out,
		"null],\"function_count\":%llu,\"loop_count\":%llu,\"machine_loop_count\":%llu,"
		"\"irreducible_count\":%llu,\"indirect_jump_count\":%llu,"
		"\"unresolved_jump_count\":%llu}",
		counts->functions, counts->written_loops, counts->loops, counts->irreducible,
		counts->jumps, counts->unresolved);
}

static void end(FILE *out)
{
	fputs("\n]}\n", out);
}

const struct sn_structure_form sn_structure_json = {true,	    false,	begin, begin_binary,
						    write_function, end_binary, end};
