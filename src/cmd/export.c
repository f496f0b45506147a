/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sonde export`: finds the exporter and gives it a stream, or an empty folder. The file appears
 * under its name only when it is whole (base/output.h), and so does the folder (base/folder.h); the
 * formats are in src/export.
 */
#include "command.h"
#include "metrics.h"

#include "base/folder.h"
#include "base/text.h"
#include "export/exporter.h"
#include "show/source/source_roots.h"
#include "sonde/db.h"
#include "store/store.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_FORMATS = 32 };

static bool is_same_file(const char *a, const char *b)
{
	struct stat first, second;
	return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
	       first.st_ino == second.st_ino;
}

struct file {
	const struct sn_exporter *exporter;
	const struct sn_export_request *request;
};

static int write_whole(void *context, FILE *out, struct sn_error *error)
{
	const struct file *file = context;
	int code = file->exporter->write(file->request, out, error);
	const char *damage = sonde_db_damage(file->request->db);
	return code == 0 && damage ? sn_fail(error, SN_ERR_FORMAT, "%s", damage) : code;
}

static int write_file(const struct sn_exporter *exporter, const struct sn_export_request *request,
		      const char *path)
{
	struct sn_error error = {""};
	struct file file = {exporter, request};
	if (is_same_file(path, request->path))
		return sn_command_fail("'%s' is the database itself", path);
	return sn_command_write_file(path, write_whole, &file, &error)
		   ? sn_command_fail("%s", error.text)
		   : SN_EXIT_DONE;
}

/* A folder that is there already is replaced only if it is one of the kind. */
static int write_folder(const struct sn_exporter *exporter, const struct sn_export_request *request,
			const char *path)
{
	struct sn_error error = {""};
	struct sn_folder folder;
	int code = sn_folder_open(&folder, path, exporter->own, &error);
	if (code != 0)
		return sn_command_fail("%s", error.text);
	code = exporter->write_folder(request, folder.temporary, &error);
	if (code != 0) {
		sn_folder_explain(&folder, &error);
		sn_folder_abandon(&folder);
	} else {
		code = sn_folder_commit(&folder, &error);
	}
	return code == 0 ? SN_EXIT_DONE : sn_command_fail("%s", error.text);
}

static int write_stream(const struct sn_exporter *exporter, const struct sn_export_request *request)
{
	struct sn_error error = {""};
	int code = exporter->write(request, stdout, &error);
	if (code == 0 || code == SN_ERR_IO) /* main looks at the stream */
		return SN_EXIT_DONE;
	return sn_command_fail("%s", error.text);
}

/* "DIR/train.sdb" and "html" make "train.html". */
static void name_output(const char *path, const struct sn_exporter *exporter, char *name,
			size_t size)
{
	const char *base = sn_text_base_name(path);
	size_t length = strlen(base);
	if (length > 4 && sn_text_ends(base, ".sdb"))
		length -= 4;
	snprintf(name, size, "%.*s.%s", (int)(length < 3000 ? length : 3000), base,
		 exporter->extension);
}

static int choose(const struct sn_exporter *exporter, const struct sn_texts *lists,
		  struct sn_metric_choice *choice)
{
	int status = 0;
	for (size_t i = 0; i < lists->count && status == 0; i++)
		status = sn_choice_add(choice, lists->items[i]);
	if (status == 0 && lists->count == 0)
		sn_choice_add_all(choice);
	if (status == 0 && lists->count > 0 && exporter->has_events)
		status = sn_command_fail(
		    "format %s holds events and no metrics: leave --metric out", exporter->name);
	if (status == 0 && choice->formula_count > 0 && !exporter->has_formulas)
		status =
		    sn_command_fail("'%s' is a formula, whose values do not add up: '%s' holds "
				    "measured metrics only; html, csv and hatchet hold formulas",
				    choice->formulas[0]->name, exporter->name);
	return status == 0 ? sn_choice_finish(choice) : status;
}

/* Formats of whole databases take more metrics than a table has columns. */
static uint32_t *every_metric(uint32_t count)
{
	uint32_t *metrics = malloc(((size_t)count + 1) * sizeof(*metrics));
	for (uint32_t i = 0; metrics && i < count; i++)
		metrics[i] = i;
	return metrics;
}

/* What was asked for, and what of it could not be done. */
struct wanted {
	const struct sn_exporter *exporter;
	const char *output;
	struct sn_texts lists;
	struct sn_source_roots sources;
	const char *image;
	bool no_source, collapse_recursion;
};

/* Where it goes: a stream, a file or a folder, which without a name has the database's. */
static int write_to(const struct wanted *wanted, const struct sn_export_request *request)
{
	const struct sn_exporter *exporter = wanted->exporter;
	bool is_stream = wanted->output && strcmp(wanted->output, "-") == 0;
	char name[4096];
	if (is_stream && exporter->write_folder)
		return sn_command_fail("format %s is a folder and cannot go to standard output",
				       exporter->name);
	if (is_stream)
		return write_stream(exporter, request);
	name_output(request->path, exporter, name, sizeof(name));
	int status = (exporter->write_folder ? write_folder : write_file)(
	    exporter, request, wanted->output ? wanted->output : name);
	if (status == SN_EXIT_DONE && !wanted->output)
		sn_command_warn("wrote '%s'", name);
	return status;
}

static void warn_of_losses(const struct sn_export_request *request)
{
	const struct sn_export_loss *loss = request->loss;
	if (loss->count > 0)
		sn_command_warn("%" PRIu32 " formula%s not written, as %s would not mean the same; "
				"the first, '%s': %s",
				loss->count, loss->count == 1 ? " was" : "s were",
				loss->count == 1 ? "it" : "they", loss->first, loss->why.text);
	if (request->sources)
		sn_sources_tell_outside(request->sources);
	if (request->cut->paths > 0)
		sn_command_warn("%" PRIu64 " call paths have more than %" PRIu32
				" frames: the middle of each is left out",
				request->cut->paths, request->cut->limit);
}

static int export(void *context, struct sonde_db *db, const char *path)
{
	struct wanted *wanted = context;
	const struct sn_exporter *exporter = wanted->exporter;
	struct sn_metric_choice choice;
	int status = sn_choice_init(&choice, db);
	if (status == 0)
		status = choose(exporter, &wanted->lists, &choice);
	uint32_t *every = NULL, every_count = sonde_db_metric_count(db);
	if (status == 0 && exporter->write_folder && wanted->lists.count == 0)
		every = every_metric(every_count);
	struct sn_stack_cut cut = {0};
	struct sn_export_loss loss = {0};
	struct sn_export_request request = {
	    .db = db,
	    .path = path,
	    .metrics = every ? every : choice.metrics,
	    .metric_count = every ? every_count : choice.metric_count,
	    .formulas = choice.formulas,
	    .formula_count = choice.formula_count,
	    .hidden_count = choice.hidden_count,
	    .cut = &cut,
	    .loss = &loss,
	    .known = &choice.known,
	    .image = wanted->image,
	    .collapse_recursion = wanted->collapse_recursion,
	    .sources = exporter->has_sources && !wanted->no_source ? &wanted->sources : NULL,
	};
	if (status == 0 && choice.metric_count == 0 && !exporter->has_events)
		status = sn_command_fail("'%s' holds no measured values", path);
	else if (status == 0)
		status = write_to(wanted, &request);
	if (status == SN_EXIT_DONE)
		warn_of_losses(&request);
	sn_choice_release(&choice);
	free(every);
	return status;
}

int sn_command_export_run(int argc, char **argv)
{
	struct sn_options options = {&sn_command_export, argc, argv};
	const char *formats[MAX_FORMATS] = {NULL};
	for (int i = 0; sn_exporters[i] && i + 1 < MAX_FORMATS; i++)
		formats[i] = sn_exporters[i]->name;
	struct wanted wanted = {0};
	int to = -1;
	const struct sn_option table[] = {
	    {"to", .choice = &to, .choices = formats},
	    {"output", 'o', .text = &wanted.output, .is_path = true},
	    {"metric", .texts = &wanted.lists, .most = SN_CHOICE_LISTS_MAX},
	    {"source", .parse = sn_sources_parse, .context = &wanted.sources, .is_path = true},
	    {"no-source", .flag = &wanted.no_source},
	    {"collapse-recursion", .flag = &wanted.collapse_recursion},
	    SN_STORE_TIMES,
	    {"image", .text = &wanted.image},
	    {0}};
	if (!sn_options_read(&options, table))
		return options.status;
	if (!sn_options_operand(&options, "database"))
		return SN_EXIT_USAGE;
	if (to < 0)
		return sn_command_misuse(options.command, "say what to write: --to FORMAT");
	wanted.exporter = sn_exporters[to];
	if (!wanted.exporter->has_sources && (wanted.no_source || wanted.sources.count > 0))
		return sn_command_misuse(options.command, "format %s holds no source lines",
					 wanted.exporter->name);
	if (!wanted.exporter->collapses && wanted.collapse_recursion)
		return sn_command_misuse(options.command,
					 "format %s shows recursions as they are; folded and "
					 "speedscope can collapse them",
					 wanted.exporter->name);
	/* for the others it is a part of a store, as is a time */
	if (wanted.image && !wanted.exporter->has_image)
		sn_store_parse_image(NULL, &options, wanted.image);
	sn_sources_add_usual(&wanted.sources);
	sn_progress_show(wanted.output && strcmp(wanted.output, "-") == 0);
	int status = sn_command_read(&options, "database", export, &wanted);
	sn_source_roots_release(&wanted.sources);
	return status;
}
