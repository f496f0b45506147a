/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arbitrary bytes as a file of another tool: imported by whoever takes it, and what comes of that
 * written and read back from end to end with its events drawn. An import that fails says so in one
 * line; one that succeeds gives a database that can be read. What begins like a program of XLA as text, or like
 * programs of a plugin, is read as those that a measurement has of its process. See fuzz.sh.
 */
#include "fuzz_file.h"
#include "fuzz_trace.h"

#include "import/core/importer.h"
#include "import/xplane/xplane_graphs.h"
#include "format/measurement/measurement.h"
#include "sonde/graph.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_back(struct sn_db_builder *builder)
{
	char path[] = "/tmp/sonde-fuzz-XXXXXX";
	struct sn_error error;
	struct sonde_db_error db_error;
	struct sonde_db *db;
	struct sonde_graph *graph;
	int file = mkstemp(path);
	if (file < 0)
		abort();
	close(file);
	if (sn_db_builder_write(builder, path, &error) == 0) {
		if (sonde_db_open(path, &db, &db_error))
			abort();
		fuzz_read_trace(db, true);
		if (sonde_graph_open(db, &graph, &db_error))
			abort();
		sonde_graph_close(graph);
		sonde_db_close(db);
	}
	unlink(path);
}

static void import(const struct sn_importer *importer, const char *path)
{
	struct sn_error error = {{0}};
	struct sn_db_builder *builder = sn_db_builder_new();
	struct sn_trace_writer *events = sn_trace_writer_new(1 << 20, NULL);
	sn_trace_writer_attach(events, builder);
	struct sn_import_notes notes = {0};
	struct sn_import_request request = {
	    .notes = &notes, .paths = &path, .path_count = 1, .events = events};
	/* not sn_importer_read, which has words for whoever has none */
	int result = importer->read(&request, builder, &error);
	if (!result)
		read_back(builder);
	else if (!*error.text || strchr(error.text, '\n'))
		abort();
	sn_db_builder_free(builder);
}

static void add_programs(const char *path, bool is_hlo)
{
	struct sn_error error = {{0}};
	struct sn_db_builder *builder = sn_db_builder_new();
	struct sn_xplane_programs_file file = {
	    .path = path, .host = "host", .pid = 1, .is_hlo = is_hlo};
	uint32_t frame = sn_db_builder_named_frame(builder, SN_FRAME_GRAPH_NODE, "jit_f/fusion");
	sn_db_builder_context(builder, 0, frame);
	if (!sn_xplane_add_programs(&file, builder, &error))
		read_back(builder);
	else if (!*error.text)
		abort();
	sn_db_builder_free(builder);
}

/* As a file of a plugin's programs does. */
static bool begins_with_length(const uint8_t *data, size_t size)
{
	uint64_t length;
	if (size < sizeof(length))
		return false;
	memcpy(&length, data, sizeof(length));
	return length && length <= size - sizeof(length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[FUZZ_PATH_MAX];
	int file = fuzz_file(data, size, path);
	for (int i = 0; sn_importers[i]; i++)
		if (sn_importer_accepts(sn_importers[i], path))
			import(sn_importers[i], path);
	if (size > 10 && !memcmp(data, "HloModule ", 10))
		add_programs(path, false);
	if (begins_with_length(data, size))
		add_programs(path, true);
	close(file);
	return 0;
}
