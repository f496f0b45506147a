/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LLVM's sample profile in its text form (as its SampleProfileReaderText takes it): for each function a line NAME:TOTAL:HEAD, below it, one blank deeper for each level, lines OFFSET[.DISCRIMINATOR]: COUNT [CALLED:COUNT ...] and
 * inlined functions OFFSET[.DISCRIMINATOR]: NAME:TOTAL, which have lines of their own.
 */
#include "export/exporter.h"
#include "source_profile.h"

#include <inttypes.h>

static void put_place(FILE *out, uint32_t depth, uint32_t offset, uint32_t discriminator)
{
	fprintf(out, "%*s%" PRIu32, (int)depth, "", offset);
	if (discriminator)
		fprintf(out, ".%" PRIu32, discriminator);
	fputs(": ", out);
}

static void put_line(FILE *out, const struct sn_pgo_profile *profile,
		     const struct sn_pgo_line *line, uint32_t depth)
{
	put_place(out, depth, line->offset, line->discriminator);
	fprintf(out, "%" PRIu64, line->count);
	for (uint32_t i = line->first_target; i < line->end_target; i++)
		fprintf(out, " %s:%" PRIu64, sn_pgo_name(profile, profile->targets[i].name),
			profile->targets[i].count);
	putc('\n', out);
}

/* Its lines, and those of what was inlined into it; as deep as a compiler inlines. */
static void put_body(FILE *out, const struct sn_pgo_profile *profile,
		     const struct sn_pgo_node *node, uint32_t depth)
{
	for (uint32_t i = node->first_line; i < node->end_line; i++)
		put_line(out, profile, &profile->lines[i], depth);
	for (uint32_t i = node->first_child; i < node->end_child; i++) {
		const struct sn_pgo_node *child = &profile->nodes[profile->order[i]];
		put_place(out, depth, child->offset, child->discriminator);
		fprintf(out, "%s:%" PRIu64 "\n", sn_pgo_name(profile, child->name), child->total);
		put_body(out, profile, child, depth + 1);
	}
}

static void put_functions(FILE *out, const struct sn_pgo_profile *profile)
{
	for (uint32_t i = profile->first_function; i < profile->node_keys.count; i++) {
		const struct sn_pgo_node *node = &profile->nodes[profile->order[i]];
		if (!node->total)
			continue;
		fprintf(out, "%s:%" PRIu64 ":%" PRIu64 "\n", sn_pgo_name(profile, node->name),
			node->total, node->head);
		put_body(out, profile, node, 1);
	}
}

static int write_autofdo(const struct sn_export_request *request, FILE *out, struct sn_error *error)
{
	struct sn_pgo_profile profile;
	int result = sn_pgo_profile_make(&profile, request, SN_PGO_LLVM, error);
	if (!result)
		put_functions(out, &profile);
	sn_pgo_profile_release(&profile);
	return result;
}

const struct sn_exporter sn_exporter_autofdo = {
    .name = "autofdo", .extension = "prof", .write = write_autofdo, .has_image = true};
