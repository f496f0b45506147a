/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arbitrary bytes as an epoch of a store: read piece by piece, imported, and opened by a writer that goes on with it and
 * merges it. Checksums of frames are made right first, unless the first byte says otherwise, so that what is in them is decoded. See fuzz.sh.
 */
#include "format/checksum.h"
#include "format/epoch/epoch_folder.h"
#include "format/epoch/epoch_frame.h"
#include "format/epoch/epoch_store.h"
#include "format/epoch/epoch_writer.h"
#include "import/epochs/epochs.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[64];

static void remove_files(void)
{
	DIR *all = opendir(folder);
	for (struct dirent *entry; all && (entry = readdir(all));)
		unlinkat(dirfd(all), entry->d_name, 0);
	if (all)
		closedir(all);
}

/* Gives each frame the magic, the version's reserved bytes and the checksum that it should have. */
static void mend(uint8_t *bytes, size_t size)
{
	struct sn_epoch_frame_header header;
	for (size_t at = 0; size - at >= sizeof(header);) {
		memcpy(&header, bytes + at, sizeof(header));
		header.magic = SN_EPOCH_FRAME_MAGIC;
		if (header.stored_bytes > size - at - sizeof(header))
			header.stored_bytes = (uint32_t)(size - at - sizeof(header));
		if (header.coding == SN_EPOCH_PLAIN)
			header.payload_bytes = header.stored_bytes;
		struct sn_checksum state;
		sn_checksum_init(&state);
		sn_checksum_update(&state, &header,
				   offsetof(struct sn_epoch_frame_header, checksum));
		sn_checksum_update(&state, bytes + at + sizeof(header), header.stored_bytes);
		header.checksum = sn_checksum_final(&state);
		memcpy(bytes + at, &header, sizeof(header));
		at += sizeof(header) + header.stored_bytes;
	}
}

static void check_piece(const struct sn_epoch_piece *piece,
			const struct sn_epoch_dictionary *dictionary)
{
	struct sn_epoch_origin origin;
	struct sn_epoch_image image;
	struct sn_epoch_name name;
	bool is_right = piece->flush->event != NULL;
	for (size_t i = 0; i < piece->count_count; i++)
		is_right &= piece->counts[i].origin < dictionary->origins.count &&
			    piece->counts[i].image < dictionary->images.count;
	for (size_t i = 0; i < piece->stack_count; i++) {
		const struct sn_epoch_stack *stack = piece->stacks + i;
		is_right &= stack->origin < dictionary->origins.count && stack->depth;
		for (uint32_t j = 0; is_right && j < stack->depth; j++)
			is_right &= stack->frames[j].image < dictionary->images.count;
	}
	for (uint32_t i = 0; i < dictionary->origins.count; i++)
		sn_epoch_dictionary_origin_at(dictionary, i, &origin);
	for (uint32_t i = 0; i < dictionary->images.count; i++) {
		sn_epoch_dictionary_image_at(dictionary, i, &image);
		is_right &= image.kind && image.kind < SN_EPOCH_IMAGE_KINDS && image.path != NULL;
	}
	for (uint32_t i = 0; i < dictionary->names.count; i++) {
		sn_epoch_dictionary_name_at(dictionary, i, &name);
		is_right &= name.image < dictionary->images.count && name.name != NULL;
	}
	if (!is_right)
		abort();
}

/* What all whole pieces come to; a sum that wraps around is as good as another. */
static uint64_t read_all(void)
{
	struct sn_epoch_store store;
	struct sn_epoch_piece piece;
	struct sn_error error = {""};
	uint64_t sum = 0;
	int result = sn_epoch_store_open(&store, folder, 0, UINT64_MAX, &error);
	if (result && (!*error.text || strchr(error.text, '\n')))
		abort();
	for (size_t i = 0; !result && i < store.count; i++)
		while (store.epochs[i].reader &&
		       (result = sn_epoch_reader_next(store.epochs[i].reader, &piece, &error)) >
			   0) {
			check_piece(&piece, sn_epoch_reader_dictionary(store.epochs[i].reader));
			for (size_t j = 0; j < piece.count_count; j++)
				sum += piece.counts[j].count % 1000003;
		}
	sn_epoch_store_close(&store);
	return sum;
}

static void import(void)
{
	const char *paths[] = {folder};
	struct sn_error error = {""};
	struct sn_import_notes notes = {0};
	struct sn_import_request request = {
	    .notes = &notes, .paths = paths, .path_count = 1, .jobs = 1};
	struct sn_db_builder *builder = sn_db_builder_new();
	int result = sn_importer_epochs.read(&request, builder, &error);
	if (result && (!*error.text || strchr(error.text, '\n')))
		abort();
	sn_db_builder_free(builder);
}

/* As the current epoch: a writer goes on with it, and merges what it was. */
static void go_on(void)
{
	struct sn_epoch_writer *writer;
	struct sn_error error = {""};
	struct sn_epoch_policy policy = SN_EPOCH_POLICY_DEFAULT;
	struct sn_epoch_writer_options options = {.no_sync = true};
	struct sn_epoch_flush flush = {.event = "cycles", .period = 1};
	if (sn_epoch_writer_open(&writer, folder, &options, &error)) {
		if (!*error.text)
			abort();
		return;
	}
	if (sn_epoch_writer_commit(writer, &flush, &error) && !*error.text)
		abort();
	sn_epoch_writer_seal(writer, &error);
	policy.keep_ns = 0;
	if (sn_epoch_writer_tend(writer, &policy, NULL, &error) && !*error.text)
		abort();
	sn_epoch_writer_close(writer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!*folder) {
		strcpy(folder, "/tmp/sonde-fuzz-epochs-XXXXXX");
		if (!mkdtemp(folder))
			abort();
	}
	if (!size)
		return 0;
	uint8_t *bytes = malloc(size);
	if (!bytes)
		abort();
	memcpy(bytes, data + 1, size - 1);
	if (data[0] != 'x')
		mend(bytes, size - 1);
	remove_files();
	int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = sn_epoch_folder_create(at, SN_EPOCH_CURRENT, false);
	if (fd < 0 || write(fd, bytes, size - 1) != (ssize_t)size - 1)
		abort();
	close(fd);
	close(at);
	free(bytes);
	read_all();
	import();
	go_on();
	read_all();
	return 0;
}
