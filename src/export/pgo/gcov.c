/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GCC's sample profile, for -fauto-profile: a file of its coverage format (as read_profile of its auto-profile takes it in release 12) with a table of names, and functions as trees of positions and inlined calls.
 *
 * A position is a distance in the upper 16 bits of a number. The lower ones are for discriminators, which GCC 12 ignores: it takes the last of a line's counts. So here a line has one.
 * GCC adds up totals itself, and cuts names of clones at their first point.
 */
#include "base/buffer.h"
#include "export/exporter.h"
#include "source_profile.h"

#include <string.h>

enum {
	MAGIC = 0x67636461, /* "gcda" */
	VERSION = 2,
	TAG_NAMES = (int)0xaa000000,
	TAG_FUNCTIONS = (int)0xac000000,
	TAG_MODULES = (int)0xae000000,
	HISTOGRAM_OF_CALLS = 7, /* is read and not looked at */
};

static void put(struct sn_buffer *buffer, uint32_t number)
{
	sn_buffer_number(buffer, number, 4);
}

static void put_count(struct sn_buffer *buffer, uint64_t count)
{
	sn_buffer_number(buffer, count, 8);
}

/* With its length in bytes, the NUL among them. */
static void put_names(struct sn_buffer *buffer, const struct sn_pgo_profile *profile)
{
	put(buffer, (uint32_t)TAG_NAMES);
	put(buffer, 0); /* the length of the section, which is skipped */
	put(buffer, profile->names.count);
	for (uint32_t i = 0; i < profile->names.count; i++) {
		const char *name = sn_pgo_name(profile, i);
		put(buffer, (uint32_t)strlen(name) + 1);
		sn_buffer_put(buffer, name, strlen(name) + 1);
	}
}

static void put_line(struct sn_buffer *buffer, const struct sn_pgo_profile *profile,
		     const struct sn_pgo_line *line)
{
	put(buffer, line->offset << 16);
	put(buffer, line->end_target - line->first_target);
	put_count(buffer, line->count);
	for (uint32_t i = line->first_target; i < line->end_target; i++) {
		put(buffer, HISTOGRAM_OF_CALLS);
		put_count(buffer, profile->targets[i].name);
		put_count(buffer, profile->targets[i].count);
	}
}

/* And what was inlined into it; as deep as a compiler inlines. */
static void put_node(struct sn_buffer *buffer, const struct sn_pgo_profile *profile,
		     const struct sn_pgo_node *node)
{
	put(buffer, node->name);
	put(buffer, node->end_line - node->first_line);
	put(buffer, node->end_child - node->first_child);
	for (uint32_t i = node->first_line; i < node->end_line; i++)
		put_line(buffer, profile, &profile->lines[i]);
	for (uint32_t i = node->first_child; i < node->end_child; i++) {
		const struct sn_pgo_node *child = &profile->nodes[profile->order[i]];
		put(buffer, child->offset << 16);
		put_node(buffer, profile, child);
	}
}

static void put_functions(struct sn_buffer *buffer, const struct sn_pgo_profile *profile)
{
	uint32_t end = profile->first_function;
	while (end < profile->node_keys.count && profile->nodes[profile->order[end]].total)
		end++;
	put(buffer, (uint32_t)TAG_FUNCTIONS);
	put(buffer, 0);
	put(buffer, end - profile->first_function);
	for (uint32_t i = profile->first_function; i < end; i++) {
		const struct sn_pgo_node *node = &profile->nodes[profile->order[i]];
		put_count(buffer, node->head);
		put_node(buffer, profile, node);
	}
}

static int put_all(const struct sn_pgo_profile *profile, FILE *out, struct sn_error *error)
{
	struct sn_buffer buffer = {0};
	put(&buffer, MAGIC);
	put(&buffer, VERSION);
	put(&buffer, 0);
	put_names(&buffer, profile);
	put_functions(&buffer, profile);
	put(&buffer, (uint32_t)TAG_MODULES);
	put(&buffer, 0);
	put(&buffer, 0); /* of modules there are none */
	if (!buffer.failed)
		fwrite(buffer.bytes, 1, buffer.count, out);
	int result = buffer.failed ? sn_fail_memory(error) : 0;
	sn_buffer_release(&buffer);
	return result;
}

static int write_gcov(const struct sn_export_request *request, FILE *out, struct sn_error *error)
{
	struct sn_pgo_profile profile;
	int result = sn_pgo_profile_make(&profile, request, SN_PGO_WITHOUT, error);
	if (!result)
		result = put_all(&profile, out, error);
	sn_pgo_profile_release(&profile);
	return result;
}

const struct sn_exporter sn_exporter_gcov = {
    .name = "gcov", .extension = "afdo", .write = write_gcov, .has_image = true};
