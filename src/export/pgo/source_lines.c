/* SPDX-License-Identifier: Apache-2.0 */
/* From the instructions of an image to functions and lines; see source_profile.h. */
#include "pgo_name.h"
#include "source_profile.h"

#include "base/sort_by.h"
#include "base/vec.h"
#include "binary/structure/flow_graph.h"
#include "binary/symbolize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	OFFSET_MASK = 0xffff,
	/* the symbolizer sorts all that it knows whenever it learns: it is to forget what was asked for other functions */
	ASKED_MOST = 20000
};

/* A call, whose target has a name only after all lines have been read. */
struct call {
	uint64_t target, count;
	uint32_t line;
};

struct reading {
	struct sn_pgo_profile *profile;
	enum sn_pgo_discriminators discriminators;
	const struct sn_pgo_calls *known;
	struct sn_symbolizer *symbolizer;
	uint32_t module;
	size_t asked; /* addresses since it forgot them */
	struct call *calls;
	size_t call_count, call_capacity;
};

/* What a compiler calls it. */
static const char *symbol_of(const struct sn_symbol_frame *frame)
{
	return frame->linkage_name ? frame->linkage_name : frame->name;
}

/* ---- discriminators ---- */

/*
 * LLVM's, from the lowest bit: which block of the line, how often its code was duplicated, which copy it is. Each is one bit where it is 0; else 7 bits for five, or 14 for twelve, of which the
 * sixth says that there are more (LLVM, DILocation::decodeDiscriminator).
 */
static uint32_t component_of(uint32_t discriminator)
{
	if (discriminator & 1)
		return 0;
	discriminator >>= 1;
	return discriminator & 0x20 ? ((discriminator >> 1) & 0xfe0) | (discriminator & 0x1f)
				    : discriminator & 0x1f;
}

static uint32_t duplicated(uint32_t discriminator)
{
	uint32_t rest = discriminator & 1      ? discriminator >> 1
			: discriminator & 0x40 ? discriminator >> 14
					       : discriminator >> 7;
	uint32_t factor = component_of(rest);
	return factor ? factor : 1;
}

static uint32_t block_of(const struct reading *reading, uint32_t discriminator)
{
	return reading->discriminators == SN_PGO_LLVM ? component_of(discriminator) : 0;
}

static uint32_t factor_of(const struct reading *reading, uint32_t discriminator)
{
	return reading->discriminators == SN_PGO_LLVM ? duplicated(discriminator) : 1;
}

/* ---- lines ---- */

static uint32_t offset_of(const struct sn_symbol_frame *frame)
{
	return (frame->line - frame->function_line) & OFFSET_MASK;
}

/* Whether the compiler left out no line and no name on the way. */
static bool is_complete(const struct sn_symbol_location *location)
{
	for (uint32_t level = 0; level < location->depth; level++) {
		const struct sn_symbol_frame *frame = &location->frames[level];
		if (!sn_pgo_is_name(symbol_of(frame)) || !frame->line || !frame->function_line)
			return false;
	}
	return true;
}

/* The innermost function of a complete location. */
static uint32_t node_at(struct reading *reading, const struct sn_symbol_location *location)
{
	struct sn_pgo_profile *profile = reading->profile;
	uint32_t node = SN_PGO_NONE, offset = 0, discriminator = 0;
	for (uint32_t level = 0; level < location->depth; level++) {
		const struct sn_symbol_frame *frame = &location->frames[level];
		node = sn_pgo_profile_node(profile, node, offset, discriminator,
					   sn_pgo_profile_name(profile, symbol_of(frame)));
		offset = offset_of(frame);
		discriminator = block_of(reading, frame->call_discriminator);
	}
	return node;
}

static uint32_t line_at(struct reading *reading, const struct sn_symbol_location *location)
{
	const struct sn_symbol_frame *last = &location->frames[location->depth - 1];
	return is_complete(location)
		   ? sn_pgo_profile_line(reading->profile, node_at(reading, location),
					 offset_of(last), block_of(reading, last->discriminator))
		   : SN_PGO_NONE;
}

/* The calls of an instruction. */
static int note_calls(struct reading *reading, uint32_t line, uint64_t address)
{
	const struct sn_pgo_calls *known = reading->known;
	int result = 0;
	for (size_t i = sn_pgo_calls_at(known, address);
	     !result && i < known->count && known->list[i].at == address; i++)
		if (known->list[i].count >= 0.5)
			result = sn_vec_push(
			    &reading->calls, &reading->call_capacity, &reading->call_count,
			    (struct call){known->list[i].target,
					  (uint64_t)llround(known->list[i].count), line});
	return result;
}

/* Where the function stands by itself: how often it was called. */
static void add_head(struct reading *reading, const struct sn_annotated_function *function,
		     const struct sn_symbol_location *location)
{
	struct sn_pgo_profile *profile = reading->profile;
	const char *symbol = symbol_of(&location->frames[0]);
	if (!sn_pgo_is_name(symbol) || !location->frames[0].function_line)
		return;
	uint32_t node =
	    sn_pgo_profile_node(profile, SN_PGO_NONE, 0, 0, sn_pgo_profile_name(profile, symbol));
	if (node != SN_PGO_NONE)
		profile->nodes[node].head += (uint64_t)llround(sn_pgo_entry_count(function));
}

static int add_instruction(struct reading *reading, const struct sn_annotated_function *function,
			   uint32_t number, size_t at, const struct sn_symbol_location *location)
{
	const struct sn_annotated_instruction *one = &function->instructions[at];
	const struct sn_symbol_frame *last = &location->frames[location->depth - 1];
	uint32_t block = sn_pgo_block_at(function, one->address);
	if (one->address == function->start)
		add_head(reading, function, location);
	/* padding has the line of whatever is before it */
	bool has_line = block != SN_FLOW_NONE && one->control != SN_INSN_PADDING;
	uint32_t line = has_line ? line_at(reading, location) : SN_PGO_NONE;
	if (line == SN_PGO_NONE)
		return 0;
	uint64_t count = (uint64_t)llround(sn_pgo_block_count(function, block));
	sn_pgo_profile_count(reading->profile, line, number,
			     count * factor_of(reading, last->discriminator));
	return note_calls(reading, line, one->address);
}

static void forget_at_times(struct reading *reading, size_t asked)
{
	reading->asked += asked;
	if (reading->asked < ASKED_MOST)
		return;
	sn_symbolizer_forget(reading->symbolizer, reading->module);
	reading->asked = 0;
}

static int add_function(struct reading *reading, const struct sn_annotated_function *function,
			uint32_t number)
{
	size_t count = function->count;
	uint64_t *addresses = malloc((count + 1) * sizeof(*addresses));
	struct sn_symbol_location *locations = malloc((count + 1) * sizeof(*locations));
	int result = addresses && locations ? 0 : SN_ERR_MEMORY;
	for (size_t i = 0; !result && i < count; i++)
		addresses[i] = function->instructions[i].address;
	if (!result)
		result = sn_symbolizer_lookup(reading->symbolizer, reading->module, addresses,
					      count, locations);
	for (size_t i = 0; !result && i < count; i++)
		result = add_instruction(reading, function, number, i, &locations[i]);
	forget_at_times(reading, count);
	free(addresses);
	free(locations);
	return result;
}

/* ---- calls ---- */

SN_SORT_BY(sort_calls, struct call, const void *, SN_ORDER_BY(a, b, target, line));

/* The name of a function that is called: of one in another image the part before "@plt". */
static uint32_t name_of_target(struct reading *reading, const struct sn_symbol_frame *frame)
{
	const char *symbol = symbol_of(frame);
	size_t length = symbol ? strlen(symbol) : 0;
	if (length > 4 && !strcmp(symbol + length - 4, "@plt"))
		length -= 4;
	if (!sn_pgo_is_name(symbol))
		return SN_PGO_NONE;
	return sn_intern_add_text(&reading->profile->names, symbol, length);
}

static int name_calls(struct reading *reading)
{
	size_t count = reading->call_count;
	uint64_t *targets = malloc((count + 1) * sizeof(*targets));
	struct sn_symbol_location *locations = malloc((count + 1) * sizeof(*locations));
	int result = targets && locations ? 0 : SN_ERR_MEMORY;
	sort_calls(reading->calls, count, NULL);
	for (size_t i = 0; !result && i < count; i++)
		targets[i] = reading->calls[i].target;
	if (!result)
		result = sn_symbolizer_lookup(reading->symbolizer, reading->module, targets, count,
					      locations);
	for (size_t i = 0; !result && i < count; i++) {
		uint32_t name = name_of_target(reading, &locations[i].frames[0]);
		if (name != SN_PGO_NONE)
			sn_pgo_profile_call(reading->profile, reading->calls[i].line, name,
					    reading->calls[i].count);
	}
	free(targets);
	free(locations);
	return result;
}

/* ---- the image ---- */

static int open_symbols(struct reading *reading, const struct sn_pgo_image *image,
			struct sn_error *error)
{
	struct sn_symbolizer_options options = {.cache_folder = "", .no_loops = true};
	int result = sn_symbolizer_new(&options, &reading->symbolizer, error);
	/* that it is the file that was measured has been seen when it was annotated */
	return result ? result
		      : sn_fail_code(error, sn_symbolizer_module(reading->symbolizer, image->path,
								 NULL, 0, 0, &reading->module));
}

static int refuse(const struct reading *reading, const struct sn_pgo_image *image,
		  struct sn_error *error)
{
	struct sn_symbol_module_info info;
	sn_symbolizer_module_info(reading->symbolizer, reading->module, &info);
	return sn_fail(error, SN_ERR_MISSING, "cannot write a profile of '%s': %s", image->path,
		       info.status == SN_SYMBOL_LINES
			   ? "no code with samples has debug information"
			   : "it has no debug information (compile it with -g)");
}

static int read_image(struct reading *reading, const struct sn_pgo_image *image,
		      struct sn_error *error)
{
	struct sn_pgo_profile *profile = reading->profile;
	int result = open_symbols(reading, image, error);
	for (size_t i = 0; !result && i < image->annotation.function_count; i++)
		result = sn_fail_code(
		    error, add_function(reading, &image->annotation.functions[i], (uint32_t)i));
	if (!result)
		result = sn_fail_code(error, name_calls(reading));
	if (!result && !profile->line_keys.count && !profile->failed)
		result = refuse(reading, image, error);
	return result ? result : sn_fail_code(error, sn_pgo_profile_finish(profile));
}

int sn_pgo_profile_make(struct sn_pgo_profile *profile, const struct sn_export_request *request,
			enum sn_pgo_discriminators discriminators, struct sn_error *error)
{
	struct sn_pgo_image image;
	struct sn_pgo_calls calls = {0};
	struct reading reading = {
	    .profile = profile, .discriminators = discriminators, .known = &calls};
	*profile = (struct sn_pgo_profile){0};
	int result = sn_pgo_image_open(&image, request, error);
	if (!result)
		result = sn_fail_code(error, sn_pgo_calls_find(&calls, &image, request));
	if (!result)
		result = read_image(&reading, &image, error);
	sn_symbolizer_free(reading.symbolizer);
	free(reading.calls);
	sn_pgo_calls_release(&calls);
	sn_pgo_image_release(&image);
	return result;
}
