/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arbitrary bytes as a database with events: all of them read and drawn. Checksums are made right
 * first. See run.sh.
 */
#include "fuzz_database_checksums.h"
#include "fuzz_trace.h"

#include "trace/block.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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
	char path[64];
	struct sonde_db *db;
	struct sonde_db_error error;
	int file = memfd_create("database", 0);
	uint8_t *copy = malloc(size + 1);
	memcpy(copy, data, size);
	if (size >= sizeof(struct sn_container_header) && fuzz_should_patch(size)) {
		patch_blocks(copy, size);
		fuzz_patch_database(copy, size);
	}
	if (file < 0 || write(file, copy, size) != (ssize_t)size)
		abort();
	free(copy);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	if (!sonde_db_open(path, &db, &error)) {
		fuzz_read_trace(db, false);
		sonde_db_close(db);
	}
	close(file);
	return 0;
}
