/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structure as HPCToolkit's structure XML, version 4.9, which hpcprof reads; see
 * structure_write.h and docs/format/structure.md. Loops and inlined calls stand where they do in
 * the other forms; an inlined call is two nested A elements, where it is called and what.
 */
#include "structure_write.h"

#include "base/escape.h"
#include "base/search.h"

#include <inttypes.h>

enum { DEPTH_MAX = 256 };

/* structure.dtd, made a C array by export/html/embed.py */
extern const char sn_structure_dtd[];

static void begin(FILE *out)
{
	fprintf(out,
		"<?xml version=\"1.0\"?>\n%s"
		"<HPCToolkitStructure i=\"%c\" version=\"4.9\" n=\"\">\n",
		sn_structure_dtd, SN_STRUCTURE_NUMBER);
}

static void put_attribute(const char *name, const char *text, FILE *out)
{
	fprintf(out, " %s=\"", name);
	sn_escape_write(out, SN_ESCAPE_MARKUP, text);
	putc('"', out);
}

static void put_start(const char *element, FILE *out)
{
	fprintf(out, "<%s i=\"%c\"", element, SN_STRUCTURE_NUMBER);
}

static void begin_binary(const char *path, const struct sn_structure_info *info, bool is_first,
			 FILE *out)
{
	put_start("LM", out);
	put_attribute("n", path, out);
	fputs(" has-calls=\"1\" v=\"{}\">\n", out);
}

/* The first call that does not end before an address. */
static uint32_t call_at(const struct sn_structure_function *function, uint64_t address)
{
	return sn_search(i, function->call_count, function->calls[i].start < address);
}

/* Writes a range, if it is not empty; true then. */
static bool put_range(uint64_t start, uint64_t end, bool is_first, FILE *out)
{
	if (start < end)
		fprintf(out, "%s[0x%" PRIx64 "-0x%" PRIx64 ")", is_first ? "" : " ", start, end);
	return start < end;
}

/* An S for the scope's own instructions, if it has any but calls. */
static void put_statement(const struct sn_structure_function *function,
			  const struct sn_scope *scope, uint32_t line, FILE *out)
{
	bool is_first = true;
	for (uint32_t at = scope->first_range; at != SN_SCOPE_NONE;
	     at = function->ranges[at].next) {
		uint64_t start = function->ranges[at].start, end = function->ranges[at].end;
		for (uint32_t i = call_at(function, start);; i++) {
			bool is_last = i == function->call_count || function->calls[i].start >= end;
			uint64_t until = is_last ? end : function->calls[i].start;
			if (is_first && start < until) {
				put_start("S", out);
				fprintf(out, " l=\"%" PRIu32 "\" v=\"{", line);
			}
			is_first &= !put_range(start, until, is_first, out);
			if (is_last)
				break;
			start = function->calls[i].end;
		}
	}
	if (!is_first)
		fputs("}\"/>\n", out);
}

/* A C for each call among the scope's own instructions; whom an indirect one calls is not said. */
static void put_calls(const struct sn_structure_function *function, const struct sn_scope *scope,
		      uint32_t line, FILE *out)
{
	for (uint32_t at = scope->first_range; at != SN_SCOPE_NONE;
	     at = function->ranges[at].next) {
		const struct sn_scope_range *range = &function->ranges[at];
		for (uint32_t i = call_at(function, range->start);
		     i < function->call_count && function->calls[i].start < range->end; i++) {
			const struct sn_structure_call *call = &function->calls[i];
			put_start("C", out);
			fprintf(out, " l=\"%" PRIu32 "\" v=\"{[0x%" PRIx64 "-0x%" PRIx64 ")}\"",
				line, call->start, call->end);
			if (call->target)
				fprintf(out, " t=\"0x%" PRIx64 "\"", call->target);
			fputs("/>\n", out);
		}
	}
}

static void put_line(const struct sn_structure_function *function, const struct sn_scope *scope,
		     uint32_t line, FILE *out)
{
	put_statement(function, scope, line, out);
	put_calls(function, scope, line, out);
}

static void put_scope(const struct sn_structure_function *function, uint32_t at, unsigned depth,
		      FILE *out);

static void put_children(const struct sn_structure_function *function, const struct sn_scope *scope,
			 unsigned depth, FILE *out)
{
	/* instructions without a line */
	if (scope->first_range != SN_SCOPE_NONE)
		put_line(function, scope, 0, out);
	if (depth == DEPTH_MAX)
		return;
	for (uint32_t at = scope->first_child; at != SN_SCOPE_NONE; at = function->scopes[at].next)
		put_scope(function, at, depth + 1, out);
}

static void put_scope(const struct sn_structure_function *function, uint32_t at, unsigned depth,
		      FILE *out)
{
	const struct sn_scope *scope = &function->scopes[at];
	switch (scope->kind) {
	case SN_SCOPE_LINE:
		put_line(function, scope, scope->line, out);
		break;
	case SN_SCOPE_LOOP:
		put_start("L", out);
		fprintf(out, " l=\"%" PRIu32 "\"", scope->line);
		put_attribute("f", scope->file ? scope->file : "", out);
		fprintf(out, " v=\"{[0x%" PRIx64 "-0x%" PRIx64 ")}\">\n", scope->start,
			scope->start + 1);
		put_children(function, scope, depth, out);
		fputs("</L>\n", out);
		break;
	default:
		put_start("A", out);
		fprintf(out, " l=\"%" PRIu32 "\"", scope->call_line);
		put_attribute("f", scope->call_file ? scope->call_file : "", out);
		fputs(" n=\"\" v=\"{}\">\n", out);
		put_start("A", out);
		fprintf(out, " l=\"%" PRIu32 "\"", scope->line);
		put_attribute("f", scope->file ? scope->file : "", out);
		put_attribute("n", scope->name ? scope->name : "", out);
		fputs(" v=\"{}\">\n", out);
		put_children(function, scope, depth, out);
		fputs("</A>\n</A>\n", out);
	}
}

static void write_function(const struct sn_structure_function *function, bool is_full, FILE *out)
{
	const struct sn_scope *scope = &function->scopes[0];
	char unknown[64];
	snprintf(unknown, sizeof(unknown), "<unknown procedure> 0x%" PRIx64, scope->start);
	put_start("F", out);
	put_attribute("n", scope->file ? scope->file : "<unknown file>", out);
	fputs(">\n", out);
	put_start("P", out);
	put_attribute("n", scope->name ? scope->name : unknown, out);
	if (scope->linkage_name)
		put_attribute("ln", scope->linkage_name, out);
	fprintf(out, " l=\"%" PRIu32 "\" v=\"{[0x%" PRIx64 "-0x%" PRIx64 ")}\">\n", scope->line,
		scope->start, scope->start + 1);
	put_children(function, scope, 0, out);
	fputs("</P>\n</F>\n", out);
}

static void end_binary(const struct sn_structure_info *info,
		       const struct sn_structure_counts *counts, FILE *out)
{
	fputs("</LM>\n", out);
}

static void end(FILE *out)
{
	fputs("</HPCToolkitStructure>\n", out);
}

const struct sn_structure_form sn_structure_xml = {true,	   true,       begin, begin_binary,
						   write_function, end_binary, end};
