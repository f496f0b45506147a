/* SPDX-License-Identifier: Apache-2.0 */
/* Structure as an indented tree; see structure_write.h. */
#include "structure_write.h"

#include "base/utf8.h"
#include "show/label.h"

#include <inttypes.h>

enum { DEPTH_MAX = 64, TEXT_CHARS = 1024 };

static void put_clean(const char *text, FILE *out)
{
	char clean[TEXT_CHARS];
	sn_utf8_clean(text, clean, sizeof(clean));
	fputs(clean, out);
}

static void begin_binary(const char *path, const struct sn_structure_info *info, bool is_first,
			 FILE *out)
{
	if (!is_first)
		putc('\n', out);
	put_clean(path, out);
	fprintf(out, ": %s, %" PRIu64 " bytes of code, %s\n\n", info->machine, info->code_bytes,
		info->status);
}

static void put_place(const struct sn_scope *scope, FILE *out)
{
	if (!scope->file || scope->line == 0)
		return;
	fputs("  ", out);
	put_clean(sn_label_base(scope->file), out);
	fprintf(out, ":%" PRIu32, scope->line);
	if (scope->last_line > scope->line)
		fprintf(out, "-%" PRIu32, scope->last_line);
}

static void put_inlined(const struct sn_scope *scope, FILE *out)
{
	fputs("inlined ", out);
	put_clean(scope->name ? scope->name : "?", out);
	if (scope->call_line)
		fprintf(out, "  called at line %" PRIu32, scope->call_line);
}

static void put_scope(const struct sn_scope *scope, FILE *out)
{
	switch (scope->kind) {
	case SN_SCOPE_FUNCTION:
		if (scope->name)
			put_clean(scope->name, out);
		else
			fprintf(out, "0x%" PRIx64, scope->start);
		put_place(scope, out);
		break;
	case SN_SCOPE_LOOP:
		fputs("loop", out);
		put_place(scope, out);
		if (scope->number)
			fprintf(out, " #%" PRIu32, scope->number);
		if (!scope->line)
			fprintf(out, "  0x%" PRIx64, scope->start);
		if (scope->is_irreducible)
			fputs("  irreducible", out);
		if (scope->machine_loops > 1)
			fprintf(out, "  %" PRIu32 " loops in the binary", scope->machine_loops);
		break;
	case SN_SCOPE_INLINED:
		put_inlined(scope, out);
		break;
	case SN_SCOPE_LINE:
		fputs("line", out);
		put_place(scope, out);
		break;
	}
}

static void put_tree(const struct sn_structure_function *function, uint32_t at, unsigned depth,
		     FILE *out)
{
	const struct sn_scope *scope = &function->scopes[at];
	fprintf(out, "%*s", (int)(2 * depth), "");
	put_scope(scope, out);
	if (depth > 0)
		fprintf(out, "  (%" PRIu64 " bytes)\n", scope->bytes);
	else
		fprintf(out, "  0x%" PRIx64 "  (%" PRIu64 " bytes, %" PRIu32 " blocks)\n",
			scope->start, scope->bytes, function->block_count);
	if (depth == DEPTH_MAX)
		return;
	for (at = scope->first_child; at != SN_SCOPE_NONE; at = function->scopes[at].next)
		put_tree(function, at, depth + 1, out);
}

static void write_function(const struct sn_structure_function *function, bool is_full, FILE *out)
{
	if (is_full || function->loop_count > 0)
		put_tree(function, 0, 0, out);
}

static void end_binary(const struct sn_structure_info *info,
		       const struct sn_structure_counts *counts, FILE *out)
{
	fprintf(out, "\n%llu functions, %llu loops (%llu in the binary, %llu irreducible)\n",
		counts->functions, counts->written_loops, counts->loops, counts->irreducible);
	if (!info->has_jump_tables && counts->jumps > 0)
		fprintf(out,
			"%llu indirect jumps are not followed: this build is without capstone\n",
			counts->jumps);
}

static void nothing(FILE *out)
{
}

const struct sn_structure_form sn_structure_text = {
    false, false, nothing, begin_binary, write_function, end_binary, nothing};
