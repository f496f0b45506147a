/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BOLT's profile (fdata, as its DataReader takes it), a line for each edge between blocks and for each call: 1 FUNCTION OFFSET 1 FUNCTION OFFSET WRONG COUNT, in hexadecimal the offsets alone. A branch from
 * elsewhere comes from "0 [unknown] 0"; nothing is known of wrong predictions. Where there are no frequencies it is the form without branches: 1 FUNCTION OFFSET SAMPLES, after a line "no_lbr".
 */
#include "calls.h"
#include "code_symbols.h"
#include "export/exporter.h"
#include "pgo_image.h"

#include "base/search.h"
#include "base/sort_by.h"
#include "base/vec.h"
#include "binary/structure/flow_graph.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* `from` 0: from elsewhere. */
struct branch {
	uint64_t from, to, count;
};

struct writing {
	FILE *out;
	const struct sn_pgo_image *image;
	struct sn_code_symbols symbols;
	struct sn_pgo_calls calls;
	struct branch *branches; /* calls by target, once all are there */
	size_t count, capacity;
};

SN_SORT_BY(sort_branches, struct branch, const void *, SN_ORDER_BY(a, b, to, from));

static int add(struct writing *writing, uint64_t from, uint64_t to, double count)
{
	if (count < 0.5)
		return 0;
	return sn_vec_push(&writing->branches, &writing->capacity, &writing->count,
			   (struct branch){from, to, (uint64_t)llround(count)});
}

static uint64_t last_of(const struct sn_annotated_function *function, uint32_t block)
{
	const struct sn_annotated_block *own = &function->blocks[block];
	return own->count ? function->instructions[own->first + own->count - 1].address
			  : own->start;
}

static int add_edges(struct writing *writing, const struct sn_annotated_function *function)
{
	int result = 0;
	for (uint32_t edge = 0; !result && edge < function->edge_count; edge++) {
		const struct sn_annotated_edge *own = &function->edges[edge];
		result = add(writing, last_of(function, own->from), function->blocks[own->to].start,
			     sn_pgo_edge_count(function, edge));
	}
	return result;
}

static int add_calls(struct writing *writing)
{
	int result = 0;
	for (size_t i = 0; !result && i < writing->calls.count; i++)
		result = add(writing, writing->calls.list[i].at, writing->calls.list[i].target,
			     writing->calls.list[i].count);
	return result;
}

/* Calls of a function that no call in the image explains; `known` are those that are there, sorted. */
static int add_entry(struct writing *writing, const struct sn_annotated_function *function,
		     size_t known)
{
	double count = sn_pgo_entry_count(function);
	size_t at = sn_search(i, known, writing->branches[i].to < function->start);
	for (; at < known && writing->branches[at].to == function->start; at++)
		count -= (double)writing->branches[at].count;
	return add(writing, 0, function->start, count);
}

static int collect(struct writing *writing)
{
	const struct sn_annotation *annotation = &writing->image->annotation;
	int result = add_calls(writing);
	sort_branches(writing->branches, writing->count, NULL);
	size_t known = writing->count;
	for (size_t i = 0; !result && i < annotation->function_count; i++)
		result = add_entry(writing, &annotation->functions[i], known);
	for (size_t i = 0; !result && i < annotation->function_count; i++)
		result = add_edges(writing, &annotation->functions[i]);
	sort_branches(writing->branches, writing->count, NULL);
	return result;
}

static void put_place(FILE *out, const struct sn_code_symbol *symbol, uint64_t address)
{
	fprintf(out, "1 %s", symbol->name);
	if (symbol->number)
		fprintf(out, "/%" PRIu32, symbol->number);
	fprintf(out, " %" PRIx64 " ", address - symbol->start);
}

static void put_branch(struct writing *writing, const struct branch *branch, uint64_t count)
{
	const struct sn_code_symbol *from = sn_code_symbol_at(&writing->symbols, branch->from);
	const struct sn_code_symbol *to = sn_code_symbol_at(&writing->symbols, branch->to);
	if (!to || (branch->from && !from))
		return;
	if (from)
		put_place(writing->out, from, branch->from);
	else
		fputs("0 [unknown] 0 ", writing->out);
	put_place(writing->out, to, branch->to);
	fprintf(writing->out, "0 %" PRIu64 "\n", count);
}

/* Branches between two places are one. */
static void put_branches(struct writing *writing)
{
	for (size_t i = 0, end; i < writing->count; i = end) {
		const struct branch *first = &writing->branches[i];
		uint64_t count = 0;
		for (end = i; end < writing->count && writing->branches[end].from == first->from &&
			      writing->branches[end].to == first->to;
		     end++)
			count += writing->branches[end].count;
		put_branch(writing, first, count);
	}
}

static void put_samples(struct writing *writing, const struct sn_annotated_function *function)
{
	for (size_t i = 0; i < function->count; i++) {
		const struct sn_annotated_instruction *one = &function->instructions[i];
		const struct sn_code_symbol *symbol =
		    one->samples >= 0.5 ? sn_code_symbol_at(&writing->symbols, one->address) : NULL;
		if (!symbol)
			continue;
		put_place(writing->out, symbol, one->address);
		fprintf(writing->out, "%.0f\n", one->samples);
	}
}

static int put_all(struct writing *writing, struct sn_error *error)
{
	const struct sn_annotation *annotation = &writing->image->annotation;
	if (!writing->symbols.count)
		return sn_fail(error, SN_ERR_MISSING,
			       "cannot write a profile of '%s': it has no symbol table, by which "
			       "llvm-bolt finds functions",
			       writing->image->path);
	/* of one image all functions are modelled, or none */
	if (annotation->functions[0].is_modelled) {
		int result = sn_fail_code(error, collect(writing));
		if (!result)
			put_branches(writing);
		return result;
	}
	fputs("no_lbr samples\n", writing->out);
	for (size_t i = 0; i < annotation->function_count; i++)
		put_samples(writing, &annotation->functions[i]);
	return 0;
}

static int write_bolt(const struct sn_export_request *request, FILE *out, struct sn_error *error)
{
	struct sn_pgo_image image;
	struct sn_elf_file *file = NULL;
	struct writing writing = {.out = out, .image = &image};
	int result = sn_pgo_image_open(&image, request, error);
	if (!result)
		result = sn_elf_file_open(image.path, &file, error);
	if (!result)
		result = sn_fail_code(error, sn_code_symbols_read(&writing.symbols, file));
	if (!result)
		result = sn_fail_code(error, sn_pgo_calls_find(&writing.calls, &image, request));
	if (!result)
		result = put_all(&writing, error);
	sn_code_symbols_release(&writing.symbols);
	sn_pgo_calls_release(&writing.calls);
	free(writing.branches);
	sn_elf_file_free(file);
	sn_pgo_image_release(&image);
	return result;
}

const struct sn_exporter sn_exporter_bolt = {
    .name = "bolt", .extension = "fdata", .write = write_bolt, .has_image = true};
