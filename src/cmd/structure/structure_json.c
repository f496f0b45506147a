/* SPDX-License-Identifier: Apache-2.0 */
/* Structure as JSON, as docs/format/structure.md says; see structure_write.h. */
#include "structure_write.h"

#include "show/json.h"

#include <inttypes.h>

enum { DEPTH_MAX = 256 };

static void begin(FILE *out)
{
	fputs("{\"version\":1,\"binaries\":[", out);
}

static void put_member(const char *key, const char *text, FILE *out)
{
	fprintf(out, "\"%s\":", key);
	if (text)
		sn_json_quote(out, text);
	else
		fputs("null", out);
	putc(',', out);
}

static void begin_binary(const char *path, const struct sn_structure_info *info, bool is_first,
			 FILE *out)
{
	fputs(is_first ? "\n{" : ",\n{", out);
	put_member("path", path, out);
	put_member("machine", info->machine, out);
	put_member("build_id", info->build_id[0] ? info->build_id : NULL, out);
	put_member("symbols", info->status, out);
	fprintf(out, "\"code_bytes\":%" PRIu64 ",\"functions\":[\n", info->code_bytes);
}

static void put_ranges(const struct sn_structure_function *function, const struct sn_scope *scope,
		       FILE *out)
{
	fputs("\"ranges\":[", out);
	for (uint32_t at = scope->first_range; at != SN_SCOPE_NONE; at = function->ranges[at].next)
		fprintf(out, "%s[%" PRIu64 ",%" PRIu64 "]", at == scope->first_range ? "" : ",",
			function->ranges[at].start, function->ranges[at].end);
	putc(']', out);
}

static void put_scope(const struct sn_structure_function *function, uint32_t at, unsigned depth,
		      FILE *out)
{
	static const char *const kinds[] = {"function", "loop", "inlined", "line"};
	const struct sn_scope *scope = &function->scopes[at];
	fprintf(out, "{\"kind\":\"%s\",", kinds[scope->kind]);
	if (scope->kind == SN_SCOPE_FUNCTION || scope->kind == SN_SCOPE_INLINED) {
		put_member("name", scope->name, out);
		put_member("linkage_name", scope->linkage_name, out);
	}
	put_member("file", scope->file, out);
	fprintf(out, "\"line\":%" PRIu32 ",", scope->line);
	if (scope->kind == SN_SCOPE_INLINED) {
		put_member("call_file", scope->call_file, out);
		fprintf(out, "\"call_line\":%" PRIu32 ",", scope->call_line);
	}
	if (scope->kind != SN_SCOPE_LINE)
		fprintf(out, "\"last_line\":%" PRIu32 ",", scope->last_line);
	if (scope->kind == SN_SCOPE_LOOP)
		fprintf(
		    out, "\"number\":%" PRIu32 ",\"irreducible\":%s,\"machine_loops\":%" PRIu32 ",",
		    scope->number, scope->is_irreducible ? "true" : "false", scope->machine_loops);
	if (scope->kind == SN_SCOPE_FUNCTION)
		fprintf(out, "\"blocks\":%" PRIu32 ",\"unresolved_jumps\":%" PRIu32 ",",
			function->block_count, function->unresolved_count);
	fprintf(out, "\"start\":%" PRIu64 ",\"bytes\":%" PRIu64 ",", scope->start, scope->bytes);
	put_ranges(function, scope, out);
	if (scope->first_child != SN_SCOPE_NONE && depth < DEPTH_MAX) {
		fputs(",\"children\":[", out);
		for (at = scope->first_child; at != SN_SCOPE_NONE; at = function->scopes[at].next) {
			if (at != scope->first_child)
				putc(',', out);
			put_scope(function, at, depth + 1, out);
		}
		putc(']', out);
	}
	putc('}', out);
}

static void write_function(const struct sn_structure_function *function, bool is_full, FILE *out)
{
	put_scope(function, 0, 0, out);
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

const struct sn_structure_form sn_structure_json = {"json",	  true,		  false,      begin,
						    begin_binary, write_function, end_binary, end};
