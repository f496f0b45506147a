/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arbitrary bytes as a database with events: all of them read and drawn. Checksums are made right
 * first. See fuzz.sh.
 */
#include "fuzz_file.h"
#include "fuzz_trace.h"

#include "format/events/block.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void patch_blocks(uint8_t *bytes, size_t size)
{
	struct fuzz_section at = fuzz_find_section(bytes, size, SN_DATABASE_EVENT_BLOCKS);
	struct fuzz_section data = fuzz_find_section(bytes, size, SN_DATABASE_EVENT_DATA);
	struct sn_block_entry *blocks = (void *)at.bytes;
	for (uint64_t i = 0; i < at.length / sizeof(*blocks); i++) {
		uint64_t length = (uint64_t)blocks[i].core_bytes + blocks[i].rest_bytes;
		if (blocks[i].offset > data.length || length > data.length - blocks[i].offset)
			return;
		blocks[i].checksum = (uint32_t)sn_checksum(data.bytes + blocks[i].offset, length);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[FUZZ_PATH_MAX];
	struct sonde_db *db;
	struct sonde_db_error error;
	int file = fuzz_database_file(data, size, patch_blocks, path);
	if (!sonde_db_open(path, &db, &error)) {
		fuzz_read_trace(db, false);
		sonde_db_close(db);
	}
	close(file);
	return 0;
}
