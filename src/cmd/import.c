/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde import`: files of other tools to one database. The formats are in src/import. */
#include "command.h"

#include "import/core/import_files.h"
#include "cmd/timeline/trace_input.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	OPTION_FROM = 256,
	OPTION_NO_STRUCTURE,
	OPTION_SHARE,
	MAX_FORMATS = 32,
	MAX_STRUCTURES = 256,
	JOBS_MAX = 256
};

static const struct option table[] = {{"output", required_argument, NULL, 'o'},
				      {"from", required_argument, NULL, OPTION_FROM},
				      {"structure", required_argument, NULL, 'S'},
				      {"no-structure", no_argument, NULL, OPTION_NO_STRUCTURE},
				      {"share", no_argument, NULL, OPTION_SHARE},
				      {"jobs", required_argument, NULL, 'j'},
				      SN_OPTION_HELP,
				      {0}};

static const char usage[] =
    "USAGE\n"
    "    sonde import [--from FORMAT] [-S FILE]... FILE... -o OUT.sdb\n\n"
    "    Makes one database of measurements and results of another tool. The format is recognised\n"
    "    by what is in the files. Several files of one format make one database; a folder of\n"
    "    them stands for all that it holds.\n\n"
    "OPTIONS\n"
    "    -o, --output OUT.sdb  the database to write\n"
    "    --from FORMAT         take the files for this format; see below\n"
    "    -S, --structure FILE  hpctoolkit: program structure, a file or a folder of them, beside\n"
    "                          what is in a measurement's own folder structs\n"
    "    --no-structure        hpctoolkit: use no program structure, show addresses\n"
    "    -j, --jobs N          threads that write (default: one for each processor)\n"
    "    --share               let others read the database as your umask says; else only you can\n"
    "    -h, --help            this text\n\n"
    "FORMATS\n"
    "    hpctoolkit   measurements (.m folders, .hpcrun files) and databases (.d folders) of\n"
    "                 HPCToolkit: CPU and GPU profiles, program structure, kernel symbols\n"
    "    ctf          folders of CTF traces: LTTng's of programs and of the kernel, barectf's, "
    "and\n"
    "                 what sonde export --to ctf wrote, which comes back whole\n"
    "    kineto       traces of torch.profiler, JSON, plain or gzip: operators, Python, kernels,\n"
    "                 copies, memory, with all events (sonde timeline); a file for each rank;\n"
    "                 a trace of a capture before one of replays says what graphs run;\n"
    "                 other programs' traces in Chrome's JSON as well\n"
    "    nsys         reports of Nsight Systems as SQLite (nsys export --type sqlite): CUDA, "
    "NVTX,\n"
    "                 OS calls, samples, with all events\n"
    "    rocprof      results of rocprofv3: the CSV files of a run, JSON, or rocpd databases:\n"
    "                 kernels, copies, calls of HIP, HSA and RCCL, markers, counters\n"
    "    perf         files of perf record, or what it wrote into a pipe: samples with call "
    "paths,\n"
    "                 tracepoints with their fields, states of threads from sched events\n"
    "    xplane       profiles of JAX and TensorFlow (HOST.xplane.pb, or the folder they were\n"
    "                 written to): threads, GPU streams, TPUs; compiled programs as graphs\n"
    "                 (sonde graph)\n"
    "    step_stats   runs of TensorFlow's sessions (RunMetadata or StepStats, event files), "
    "plain\n"
    "                 or gzip: what each node waited, took and allocated (sonde graph)\n"
    "    perfetto     traces of Perfetto, protobuf, plain or gzip: track events, samples, GPU\n"
    "                 stages, the scheduler's switches as states of threads\n"
    "    execution_trace  PyTorch's ExecutionTraceObserver, JSON, plain or gzip: the graph of\n"
    "                 operators and tensors, without times (sonde graph)\n\n"
    "EXIT STATUS\n"
    "    0 done; 128 no database was written; 129 usage.\n\n"
    "EXAMPLES\n"
    "    sonde import hpctoolkit-app-measurements -o app.sdb\n"
    "    sonde import hpctoolkit-app-database -o app.sdb\n"
    "    sonde import rank*.pt.trace.json.gz -o ranks.sdb && sonde timeline ranks.sdb\n"
    "    sonde import folder-of-ranks -o ranks.sdb\n"
    "    sonde import run1.m run2.m -o both.sdb && sonde report both.sdb\n";

struct arguments {
	const char *output;
	const struct sn_importer *importer;
	const char *structures[MAX_STRUCTURES];
	struct sn_import_request request;
	struct sn_import_notes notes;
};

static const struct sn_importer *find_importer(const struct sn_options *options, const char *name)
{
	const char *names[MAX_FORMATS];
	int count = 0;
	for (; sn_importers[count] && count + 1 < MAX_FORMATS; count++)
		names[count] = sn_importers[count]->name;
	names[count] = NULL;
	int choice = sn_options_choice(options, "--from", name, names);
	return choice < 0 ? NULL : sn_importers[choice];
}

/* 0 to go on, or -1 to end with *status. */
static int parse(int argc, char **argv, struct arguments *arguments, int *status)
{
	struct sn_options options = {&sn_command_import, argc, argv, "o:S:j:", table};
	double number = 0;
	*status = SN_EXIT_USAGE;
	for (int option; (option = sn_options_next(&options)) != -1;) {
		switch (option) {
		case SN_OPTION_STOP:
			*status = options.status;
			return -1;
		case 'o':
			arguments->output = optarg;
			break;
		case 'S':
			if (arguments->request.structure_count == MAX_STRUCTURES) {
				sn_command_misuse(
				    options.command,
				    "more than %d times -S: put the files into a folder",
				    MAX_STRUCTURES);
				return -1;
			}
			arguments->structures[arguments->request.structure_count++] = optarg;
			break;
		case 'j':
			if (sn_options_number(&options, "-j", optarg, 1, JOBS_MAX, &number))
				return -1;
			arguments->request.jobs = (unsigned)number;
			break;
		case OPTION_NO_STRUCTURE:
			arguments->request.no_structure = true;
			break;
		case OPTION_SHARE:
			arguments->request.is_shared = true;
			break;
		default:
			arguments->importer = find_importer(&options, optarg);
			if (!arguments->importer)
				return -1;
		}
	}
	arguments->request.structures = arguments->structures;
	return 0;
}

static int check_inputs(struct arguments *arguments, struct sn_error *error)
{
	const struct sn_import_request *request = &arguments->request;
	for (size_t i = 0; i < request->structure_count; i++) {
		struct stat status;
		if (stat(request->structures[i], &status) < 0)
			return sn_fail(error, SN_ERR_IO, "cannot open '%s': %s",
				       request->structures[i], strerror(errno));
		if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
			return sn_fail(error, SN_ERR_IO, "cannot read '%s': not a file or folder",
				       request->structures[i]);
	}
	if (!arguments->importer) {
		arguments->importer =
		    sn_importer_recognise(request->paths, request->path_count, error);
		return arguments->importer ? 0 : SN_ERR_FORMAT;
	}
	for (size_t i = 0; i < request->path_count; i++) {
		struct stat status;
		if (stat(request->paths[i], &status) < 0)
			return sn_fail(error, SN_ERR_IO, "cannot open '%s': %s", request->paths[i],
				       strerror(errno));
		if (!sn_importer_takes(arguments->importer, request->paths[i]))
			return sn_fail(error, SN_ERR_FORMAT, "cannot import '%s': not of format %s",
				       request->paths[i], arguments->importer->name);
	}
	return 0;
}

static int import(struct arguments *arguments, struct sn_import_files *inputs,
		  const char *const *operands, size_t operand_count)
{
	struct sn_error error = {""};
	struct sn_import_counts counts = {0};
	struct sn_import_request *request = &arguments->request;
	int code = sn_import_files_list(inputs, operands, operand_count, &error);
	request->paths = (const char *const *)inputs->paths;
	request->path_count = inputs->count;
	if (code == 0)
		code = check_inputs(arguments, &error);
	if (code == 0)
		code = sn_import(arguments->importer, request, arguments->output, &counts, &error);
	if (code != 0)
		return sn_command_fail("%s", error.text);
	sn_command_import_notes(request->notes);
	sn_command_speak_beside(arguments->output);
	printf("%s: %" PRIu32 " contexts, %" PRIu64 " events from %zu input%s of %s\n",
	       arguments->output, counts.contexts, counts.events, request->path_count,
	       request->path_count == 1 ? "" : "s", arguments->importer->name);
	return SN_EXIT_DONE;
}

static int run(int argc, char **argv)
{
	struct arguments *arguments = calloc(1, sizeof(*arguments));
	int status = SN_EXIT_FAILED;
	if (!arguments)
		return sn_command_fail("out of memory");
	struct sn_import_files inputs = {0};
	arguments->request.notes = &arguments->notes;
	if (parse(argc, argv, arguments, &status) == 0) {
		if (optind == argc)
			status = sn_command_misuse(&sn_command_import, "no file given");
		else if (!arguments->output)
			status = sn_command_misuse(&sn_command_import,
						   "no output given: add -o OUT.sdb");
		else
			status = import(arguments, &inputs, (const char *const *)argv + optind,
					(size_t)(argc - optind));
	}
	sn_import_files_release(&inputs);
	free(arguments);
	return status;
}

const struct sn_command sn_command_import = {
    .name = "import",
    .summary = "make a database of another tool's files",
    .usage = usage,
    .run = run,
};
