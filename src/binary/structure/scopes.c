/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a function's tree of scopes; see scopes.h. */
#include "scopes.h"
#include "base/text.h"
#include "base/vec.h"

/* Children looked through before another scope of the same kind is made: bounds hostile files. */
#define CHILDREN_MAX 4096

static uint32_t append(struct sn_scopes *scopes, uint32_t parent, const struct sn_scope *like)
{
	uint32_t count = scopes->scope_count;
	if (sn_vec_reserve(&scopes->scopes, &scopes->scope_capacity, count + 1u) < 0 ||
	    sn_vec_reserve(&scopes->last_child, &scopes->last_capacity, count + 1u) < 0) {
		scopes->failed = true;
		return 0;
	}
	struct sn_scope *scope = &scopes->scopes[count];
	*scope = *like;
	scope->parent = parent;
	scope->first_child = scope->next = SN_SCOPE_NONE;
	scope->first_range = scope->last_range = SN_SCOPE_NONE;
	scopes->last_child[count] = SN_SCOPE_NONE;
	if (parent != SN_SCOPE_NONE) {
		uint32_t last = scopes->last_child[parent];
		if (last == SN_SCOPE_NONE)
			scopes->scopes[parent].first_child = count;
		else
			scopes->scopes[last].next = count;
		scopes->last_child[parent] = count;
	}
	return scopes->scope_count++;
}

void sn_scopes_begin(struct sn_scopes *scopes, const struct sn_symbol_location *location,
		     uint64_t start)
{
	const struct sn_symbol_frame *frame = &location->frames[0];
	struct sn_scope function = {.kind = SN_SCOPE_FUNCTION,
				    .name = frame->name,
				    .linkage_name = frame->linkage_name,
				    .file = frame->file,
				    .line = frame->function_line,
				    .start = start};
	scopes->scope_count = scopes->range_count = 0;
	scopes->failed = false;
	append(scopes, SN_SCOPE_NONE, &function);
}

/* Whether a scope is what `like` describes. Loops of one line are one, see nest.h. */
static bool is_same(const struct sn_scope *scope, const struct sn_scope *like)
{
	if (scope->kind != like->kind || scope->line != like->line)
		return false;
	if (like->kind == SN_SCOPE_INLINED)
		return scope->call_line == like->call_line &&
		       sn_text_is_same(scope->name, like->name);
	if (like->kind == SN_SCOPE_LOOP && like->line == 0)
		return scope->start == like->start;
	if (scope->number != like->number)
		return false;
	return sn_text_is_same(scope->file, like->file);
}

static uint32_t child(struct sn_scopes *scopes, uint32_t parent, const struct sn_scope *like)
{
	uint32_t last = scopes->last_child[parent], looked = 0;
	/* mostly the one used last */
	if (last != SN_SCOPE_NONE && is_same(&scopes->scopes[last], like))
		return last;
	for (uint32_t at = scopes->scopes[parent].first_child;
	     at != SN_SCOPE_NONE && looked < CHILDREN_MAX; at = scopes->scopes[at].next, looked++)
		if (is_same(&scopes->scopes[at], like))
			return at;
	return append(scopes, parent, like);
}

static void add_range(struct sn_scopes *scopes, uint32_t scope, uint64_t start, uint64_t end)
{
	struct sn_scope *of = &scopes->scopes[scope];
	of->bytes += end - start;
	if (of->last_range != SN_SCOPE_NONE && scopes->ranges[of->last_range].end == start) {
		scopes->ranges[of->last_range].end = end;
		return;
	}
	uint32_t added = scopes->range_count;
	scopes->failed |=
	    sn_vec_push(&scopes->ranges, &scopes->range_capacity, &scopes->range_count,
			(struct sn_scope_range){start, end, SN_SCOPE_NONE}) < 0;
	if (scopes->failed)
		return;
	if (of->last_range == SN_SCOPE_NONE)
		of->first_range = added;
	else
		scopes->ranges[of->last_range].next = added;
	of->last_range = added;
}

uint32_t sn_scopes_add(struct sn_scopes *scopes, const struct sn_symbol_location *location,
		       uint64_t start, uint64_t end, bool with_line)
{
	uint32_t at = 0;
	const struct sn_symbol_frame *last = &location->frames[location->depth - 1];
	for (uint32_t i = 1; i < location->depth && !scopes->failed; i++) {
		const struct sn_symbol_frame *frame = &location->frames[i];
		bool is_loop = frame->kind == SN_SYMBOL_LOOP;
		struct sn_scope like = {
		    .kind = is_loop ? SN_SCOPE_LOOP : SN_SCOPE_INLINED,
		    .name = frame->name,
		    .linkage_name = frame->linkage_name,
		    .file = frame->file,
		    .line = frame->function_line,
		    .number = is_loop ? frame->loop_number : 0,
		    .call_line = is_loop ? 0 : frame[-1].line,
		    .call_file = is_loop ? NULL : frame[-1].file,
		    .start = is_loop ? frame->loop_header : start,
		};
		at = child(scopes, at, &like);
	}
	if (with_line && last->line != 0 && last->file && !scopes->failed) {
		struct sn_scope like = {
		    .kind = SN_SCOPE_LINE, .file = last->file, .line = last->line, .start = start};
		at = child(scopes, at, &like);
	} else if (last->line > scopes->scopes[at].last_line) {
		scopes->scopes[at].last_line = last->line;
	}
	if (!scopes->failed)
		add_range(scopes, at, start, end);
	return at;
}

void sn_scopes_count_loop(struct sn_scopes *scopes, uint32_t scope, bool is_irreducible)
{
	while (scope != SN_SCOPE_NONE && scopes->scopes[scope].kind != SN_SCOPE_LOOP)
		scope = scopes->scopes[scope].parent;
	if (scope == SN_SCOPE_NONE)
		return;
	scopes->scopes[scope].machine_loops++;
	scopes->scopes[scope].is_irreducible |= is_irreducible;
}

void sn_scopes_finish(struct sn_scopes *scopes)
{
	/* a child has a greater number than what it is in */
	for (uint32_t i = scopes->scope_count; i-- > 0;) {
		struct sn_scope *scope = &scopes->scopes[i];
		if (scope->kind == SN_SCOPE_LINE || scope->kind == SN_SCOPE_LOOP)
			if (scope->last_line < scope->line)
				scope->last_line = scope->line;
		if (i == 0)
			break;
		struct sn_scope *around = &scopes->scopes[scope->parent];
		uint32_t line =
		    scope->kind == SN_SCOPE_INLINED ? scope->call_line : scope->last_line;
		const char *file = scope->kind == SN_SCOPE_INLINED ? scope->call_file : scope->file;
		around->bytes += scope->bytes;
		if (line > around->last_line && sn_text_is_same(file, around->file))
			around->last_line = line;
	}
}

void sn_scopes_release(struct sn_scopes *scopes)
{
	free(scopes->scopes);
	free(scopes->ranges);
	free(scopes->last_child);
	*scopes = (struct sn_scopes){0};
}
