/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde import`: files of other tools to one database. The formats are in src/import. */
#include "command.h"

#include "import/core/import_files.h"
#include "import/epochs/epochs.h"
#include "store/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_FORMATS = 32, MAX_STRUCTURES = 256, JOBS_MAX = 256 };

struct arguments {
	const char *output;
	const struct sn_importer *importer;
	const char *structures[MAX_STRUCTURES];
	struct sn_import_request request;
	struct sn_import_notes notes;
	bool wants_findings;
};

static int parse_structure(void *context, const struct sn_options *options, const char *path)
{
	struct arguments *arguments = context;
	if (arguments->request.structure_count == MAX_STRUCTURES)
		return sn_command_misuse(options->command,
					 "more than %d times -S: put the files into a folder",
					 MAX_STRUCTURES);
	arguments->structures[arguments->request.structure_count++] = path;
	return 0;
}

static bool read_options(struct arguments *arguments, struct sn_options *options)
{
	const char *formats[MAX_FORMATS] = {NULL};
	for (int i = 0; sn_importers[i] && i + 1 < MAX_FORMATS; i++)
		formats[i] = sn_importers[i]->name;
	int from = -1;
	const struct sn_option table[] = {
	    {"output", 'o', .text = &arguments->output, .is_path = true},
	    {"from", .choice = &from, .choices = formats},
	    {"structure", 'S', .parse = parse_structure, .context = arguments, .is_path = true},
	    {"jobs", 'j', SN_OPTION_WHOLE(arguments->request.jobs, 1, JOBS_MAX)},
	    {"findings", .flag = &arguments->wants_findings},
	    {"no-structure", .flag = &arguments->request.no_structure},
	    {"share", .flag = &arguments->request.is_shared},
	    SN_STORE_OPTIONS,
	    {0}};
	bool goes_on = sn_options_read(options, table);
	if (from >= 0)
		arguments->importer = sn_importers[from];
	arguments->request.structures = arguments->structures;
	return goes_on;
}

static int look_at(const char *path, struct stat *status, struct sn_error *error)
{
	return stat(path, status)
		   ? sn_fail(error, SN_ERR_IO, "cannot open '%s': %s", path, strerror(errno))
		   : 0;
}

static int check_inputs(struct arguments *arguments, struct sn_error *error)
{
	const struct sn_import_request *request = &arguments->request;
	struct stat status;
	for (size_t i = 0; i < request->structure_count; i++) {
		if (look_at(request->structures[i], &status, error))
			return SN_ERR_IO;
		if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
			return sn_fail(error, SN_ERR_IO, "cannot read '%s': not a file or folder",
				       request->structures[i]);
	}
	for (size_t i = 0; i < request->path_count && arguments->importer; i++) {
		if (look_at(request->paths[i], &status, error))
			return SN_ERR_IO;
		if (!sn_importer_accepts(arguments->importer, request->paths[i]))
			return sn_fail(error, SN_ERR_FORMAT, "cannot import '%s': not of format %s",
				       request->paths[i], arguments->importer->name);
	}
	if (!arguments->importer)
		arguments->importer =
		    sn_importer_recognise(request->paths, request->path_count, error);
	return arguments->importer ? 0 : SN_ERR_FORMAT;
}

/* Only a store has a range to choose. 0, or an exit status after saying so. */
static int choose_range(struct arguments *arguments)
{
	if (arguments->importer != &sn_importer_epochs)
		return sn_store_refuse_range(arguments->request.paths[0]);
	arguments->request.own = sn_store_wanted();
	return 0;
}

static int import(struct arguments *arguments, struct sn_import_files *inputs,
		  const char *const *operands, size_t operand_count)
{
	struct sn_error error = {""};
	struct sn_import_counts counts = {0};
	struct sn_import_request *request = &arguments->request;
	sn_progress_show(false);
	int code = sn_import_files_list(inputs, operands, operand_count, &error);
	request->paths = (const char *const *)inputs->paths;
	request->path_count = inputs->count;
	if (code == 0)
		code = check_inputs(arguments, &error);
	int status = code == 0 ? choose_range(arguments) : 0;
	if (status)
		return status;
	if (code == 0)
		code = sn_import(arguments->importer, request, arguments->output, &counts, &error);
	sn_progress_end();
	if (code != 0)
		return *error.text ? sn_command_fail("%s", error.text) : SN_EXIT_FAILED;
	sn_command_import_notes(request->notes);
	sn_command_import_skipped(inputs);
	sn_command_speak_beside(arguments->output);
	printf("%s: %" PRIu32 " contexts, %" PRIu64 " events from %zu input%s of %s\n",
	       arguments->output, counts.contexts, counts.events, request->path_count,
	       request->path_count == 1 ? "" : "s", arguments->importer->name);
	return SN_EXIT_DONE;
}

static int complete(void *context, const char *path)
{
	const struct arguments *arguments = context;
	return sn_command_store_findings(path, arguments->output, arguments->wants_findings);
}

int sn_command_import_run(int argc, char **argv)
{
	struct sn_options options = {&sn_command_import, argc, argv};
	struct sn_import_files inputs = {0};
	struct arguments *arguments = calloc(1, sizeof(*arguments));
	int status;
	if (!arguments)
		return sn_command_fail("out of memory");
	arguments->request.notes = &arguments->notes;
	arguments->request.complete = complete;
	arguments->request.complete_context = arguments;
	if (!read_options(arguments, &options))
		status = options.status;
	else if (optind == argc)
		status = sn_command_misuse(&sn_command_import, "no file given");
	else if (!arguments->output)
		status = sn_command_misuse(&sn_command_import, "no output given: add -o OUT.sdb");
	else
		status = import(arguments, &inputs, (const char *const *)argv + optind,
				(size_t)(argc - optind));
	sn_import_files_release(&inputs);
	free(arguments);
	return status;
}
