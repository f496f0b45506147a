/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arbitrary bytes as a measurement file: read, merged, expanded and written as a database, which
 * then must open: whatever a measurement holds, analysis either refuses it or makes a database of
 * it. Checksums are made right first (fuzz_checksums.h); symbols are left out, they have their own
 * fuzzer. See fuzz.sh.
 */
#include "fuzz_checksums.h"

#include "aggregate/unify/expand.h"
#include "aggregate/unify/merge.h"
#include "aggregate/read/provenance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The header page's checksums, and the container each slot names. */
static void patch(uint8_t *bytes, size_t size)
{
	if (size < SN_MEASUREMENT_PAGE_BYTES)
		return;
	struct sn_measurement_header *header = (void *)bytes;
	header->checksum = sn_checksum(header, offsetof(struct sn_measurement_header, checksum));
	for (unsigned i = 0; i < 2; i++) {
		struct sn_commit_slot *slot = (void *)(bytes + SN_COMMIT_SLOT_OFFSET(i));
		slot->checksum = sn_checksum(slot, offsetof(struct sn_commit_slot, checksum));
		if (slot->offset >= SN_MEASUREMENT_PAGE_BYTES && slot->offset % 8 == 0 &&
		    slot->offset <= size && slot->length <= size - slot->offset)
			fuzz_patch_container(bytes + slot->offset, slot->length);
	}
}

static void write_and_open(struct sn_db_builder *builder)
{
	char path[64];
	struct sn_error error;
	struct sonde_db *db;
	struct sonde_db_error db_error;
	snprintf(path, sizeof(path), "/tmp/fuzz-measurement-%d.sdb", (int)getpid());
	if (sn_db_builder_write(builder, path, &error)) {
		fprintf(stderr, "%s\n", error.text);
		abort();
	}
	if (sonde_db_open(path, &db, &db_error)) {
		fprintf(stderr, "%s\n", db_error.text);
		abort();
	}
	sonde_db_close(db);
	unlink(path);
}

/* All native frames are nameless. */
static void resolve(const struct sn_merge *merge, struct sn_resolved *resolved)
{
	static const struct sn_symbol_frame nothing;
	static const struct sn_symbol_location nowhere = {&nothing, 1, 0};
	*resolved = (struct sn_resolved){0};
	resolved->locations = calloc(merge->frames.count + 1ull, sizeof(*resolved->locations));
	for (uint32_t i = 0; i < merge->frames.count; i++) {
		struct sn_frame frame;
		memcpy(&frame, sn_intern_at(&merge->frames, i, NULL), sizeof(frame));
		if (frame.kind == SN_FRAME_NATIVE && frame.id != SONDE_NONE)
			resolved->locations[i] = &nowhere;
	}
}

static void analyze(const struct sn_measurement *measurement)
{
	struct sn_db_builder *builder = sn_db_builder_new();
	struct sn_merge merge;
	struct sn_provenance provenance;
	struct sn_resolved resolved;
	sn_provenance_init(&provenance);
	struct sn_process_totals totals = sn_process_totals(measurement, builder);
	/* twice, as two processes would be */
	if (sn_merge_init(&merge, builder) || sn_merge_add(&merge, measurement) ||
	    sn_merge_add(&merge, measurement) ||
	    sn_provenance_add(&provenance, measurement, &totals, 0) ||
	    sn_provenance_add(&provenance, measurement, &totals, 0) ||
	    sn_provenance_finish(&provenance, builder))
		abort();
	resolve(&merge, &resolved);
	if (sn_expand(&merge, &resolved))
		abort();
	write_and_open(builder);
	free(resolved.locations);
	sn_provenance_release(&provenance);
	sn_merge_release(&merge);
	sn_db_builder_free(builder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sn_measurement *measurement;
	struct sn_error error;
	uint8_t *copy = malloc(size + 1);
	memcpy(copy, data, size);
	if (fuzz_should_patch(size))
		patch(copy, size);
	if (!sn_measurement_parse(copy, size, "x", &measurement, &error)) {
		analyze(measurement);
		sn_measurement_free(measurement);
	} else if (strchr(error.text, '\n') || strncmp(error.text, "cannot read '", 13)) {
		abort();
	}
	free(copy);
	return 0;
}
