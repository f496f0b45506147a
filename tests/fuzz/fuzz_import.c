/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arbitrary bytes as the files that `sonde import` reads: what they hold is either refused or makes
 * a database, which then must open. The first byte chooses: an HPCToolkit profile, its trace, its
 * program structure, or a database's meta.db with the profile.db behind it.
 */
#include "import/hpctoolkit/hpcrun.h"
#include "import/hpctoolkit/hpcstruct.h"
#include "import/core/importer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[64];

static void remove_files(void)
{
	static const char *const names[] = {"a.hpcrun", "a.hpctrace", "structs/a.hpcstruct",
					    "structs",	"meta.db",    "profile.db",
					    "a.sdb"};
	char path[128];
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		remove(path);
	}
}

static void put(const char *name, const uint8_t *data, size_t size)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *file = fopen(path, "wb");
	if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
		abort();
}

static void import(void)
{
	char path[128];
	struct sn_error error = {""};
	struct sonde_db *db;
	struct sonde_db_error db_error;
	const char *paths[] = {folder};
	struct sn_import_notes notes = {0};
	struct sn_import_request request = {.notes = &notes,
					    .paths = paths,
					    .path_count = 1,
					    .events = sn_trace_writer_new(1 << 20, folder)};
	struct sn_db_builder *builder = sn_db_builder_new();
	const struct sn_importer *importer = sn_importer_recognise(paths, 1, &error);
	int code = importer ? importer->read(&request, builder, &error) : -1;
	if (code != 0 && (!error.text[0] || strchr(error.text, '\n')))
		abort(); /* every refusal says why, in one line */
	snprintf(path, sizeof(path), "%s/a.sdb", folder);
	if (code == 0) {
		sn_trace_writer_attach(request.events, builder);
		if (sn_db_builder_write(builder, path, &error) != 0) {
			fprintf(stderr, "%s\n", error.text);
			abort();
		}
		if (sonde_db_open(path, &db, &db_error) != 0) {
			fprintf(stderr, "%s\n", db_error.text);
			abort();
		}
		sonde_db_close(db);
	} else {
		sn_trace_writer_free(request.events);
	}
	sn_db_builder_free(builder);
}

/* A length before each file: two bytes, little endian. */
static size_t take(const uint8_t **data, size_t *size)
{
	if (*size < 2)
		return 0;
	size_t length = (*data)[0] | (size_t)(*data)[1] << 8;
	*data += 2;
	*size -= 2;
	return length < *size ? length : *size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[][3] = {{"a.hpcrun", "structs/a.hpcstruct", "a.hpctrace"},
					       {"meta.db", "profile.db", NULL}};
	char structs[80];
	if (size < 1)
		return 0;
	if (!folder[0])
		snprintf(folder, sizeof(folder), "/tmp/fuzz-import-%d", (int)getpid());
	snprintf(structs, sizeof(structs), "%s/structs", folder);
	mkdir(folder, 0777);
	mkdir(structs, 0777);
	unsigned kind = data[0] & 1;
	data++;
	size--;
	for (int i = 0; i < 3 && names[kind][i]; i++) {
		size_t length = take(&data, &size);
		if (length > 0 || i == 0)
			put(names[kind][i], data, length);
		data += length;
		size -= length;
	}
	import();
	remove_files();
	rmdir(folder);
	return 0;
}
