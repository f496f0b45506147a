/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen-measurements: writes the measurements of a program that never ran; see gen_measurements.h.
 *
 * Ranks are dealt out to jobs; what they add up to is printed as JSON.
 */
#include "gen_measurements.h"

#include "base/output.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FAILED = 128, USAGE = 129, MOST_RANKS = 100000, MOST_PROFILES = 9000 };

static const char usage[] =
    "gen-measurements - write measurements of a made-up program, of any size\n\n"
    "USAGE\n"
    "    gen-measurements [OPTIONS] -o OUT.sonde\n\n"
    "    Writes a measurement folder, one file for each rank, for 'sonde analyze'. All profiles\n"
    "    share the upper contexts; each takes its own choice of the subtrees below. Threads "
    "measure\n"
    "    CPU time and events, streams what kernels, copies and instruction samples have. The same\n"
    "    options give the same bytes. Prints as JSON what all of it adds up to.\n\n"
    "HOW MUCH\n"
    "    -r, --ranks N          processes (4)\n"
    "    -t, --threads N        threads of each rank (4)\n"
    "    -s, --streams N        GPU streams of each rank (2)\n"
    "    -S, --size BYTES       instead of --ranks: as many ranks as make this size (10G)\n"
    "SHAPE\n"
    "    --contexts N           contexts that all share (400)\n"
    "    --depth N              of these (24)\n"
    "    --fan-out N            of these (6)\n"
    "    --leaves N             subtrees below, that profiles choose from (600)\n"
    "    --leaf-depth N         of each (4)\n"
    "    --leaf-fan-out N       of each (3)\n"
    "    --visit SHARE          of the subtrees and kernels that a profile visits (0.3)\n"
    "    --own N                contexts that a thread shares with nobody (1)\n"
    "    --kernels N            launches to choose from (100)\n"
    "    --instructions N       sampled places in each kernel (12)\n"
    "    --wide                 values whose columns do not shrink, for a large database\n"
    "    --slow-rank N          the rank that is slow in 'exchange' (3)\n"
    "    --imbalance FACTOR     how much longer it takes there (1.8)\n"
    "    --module ELF           take its functions as frames, and so its symbols\n"
    "OTHER\n"
    "    --seed N               (1)\n"
    "    --expect FILE          also write PATH,METRIC,COUNT,SUM,MIN,MAX of each context of its "
    "own\n"
    "                           values, without the contexts of --own; paths as the names of\n"
    "                           frames joined by ;\n"
    "    -j, --jobs N           threads that write (one for each processor)\n"
    "    -h, --help             this text\n\n"
    "EXAMPLES\n"
    "    gen-measurements -o small.sonde\n"
    "    gen-measurements -r 1000 -t 80 -s 20 -o big.sonde     # 100,000 profiles\n"
    "    gen-measurements -r 1000 -t 80 -s 20 --visit 0.21 --wide -o wide.sonde\n"
    "    gen-measurements -S 10G -t 16 -s 4 -o big.sonde\n";

enum option_code {
	OPTION_CONTEXTS = 256,
	OPTION_DEPTH,
	OPTION_FAN_OUT,
	OPTION_LEAVES,
	OPTION_LEAF_DEPTH,
	OPTION_LEAF_FAN_OUT,
	OPTION_VISIT,
	OPTION_OWN,
	OPTION_KERNELS,
	OPTION_INSTRUCTIONS,
	OPTION_WIDE,
	OPTION_SLOW_RANK,
	OPTION_IMBALANCE,
	OPTION_MODULE,
	OPTION_SEED,
	OPTION_EXPECT,
};

static const struct option table[] = {
    {"ranks", required_argument, NULL, 'r'},
    {"threads", required_argument, NULL, 't'},
    {"streams", required_argument, NULL, 's'},
    {"size", required_argument, NULL, 'S'},
    {"output", required_argument, NULL, 'o'},
    {"jobs", required_argument, NULL, 'j'},
    {"help", no_argument, NULL, 'h'},
    {"contexts", required_argument, NULL, OPTION_CONTEXTS},
    {"depth", required_argument, NULL, OPTION_DEPTH},
    {"fan-out", required_argument, NULL, OPTION_FAN_OUT},
    {"leaves", required_argument, NULL, OPTION_LEAVES},
    {"leaf-depth", required_argument, NULL, OPTION_LEAF_DEPTH},
    {"leaf-fan-out", required_argument, NULL, OPTION_LEAF_FAN_OUT},
    {"visit", required_argument, NULL, OPTION_VISIT},
    {"own", required_argument, NULL, OPTION_OWN},
    {"kernels", required_argument, NULL, OPTION_KERNELS},
    {"instructions", required_argument, NULL, OPTION_INSTRUCTIONS},
    {"wide", no_argument, NULL, OPTION_WIDE},
    {"slow-rank", required_argument, NULL, OPTION_SLOW_RANK},
    {"imbalance", required_argument, NULL, OPTION_IMBALANCE},
    {"module", required_argument, NULL, OPTION_MODULE},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"expect", required_argument, NULL, OPTION_EXPECT},
    {0}};

struct request {
	struct gen_options options;
	const char *output, *expect;
	uint64_t size;
	uint32_t jobs;
	bool has_ranks;
};

static double number(const char *what, const char *text, double least, double most)
{
	char *end;
	double value = strtod(text, &end);
	double scale = *end == 'k' ? 1e3 : *end == 'M' ? 1e6 : *end == 'G' ? 1e9 : 1;
	value *= scale;
	if (end == text || end[scale != 1] || !(value >= least && value <= most)) {
		fprintf(stderr, "gen-measurements: %s '%s' is not a number from %g to %g\n", what,
			text, least, most);
		exit(USAGE);
	}
	return value;
}

static void take_shape(struct gen_options *options, int option)
{
	switch (option) {
	case OPTION_CONTEXTS:
		options->upper = (uint32_t)number("--contexts", optarg, 6, 1e7);
		break;
	case OPTION_DEPTH:
		options->depth = (uint32_t)number("--depth", optarg, 4, 1e6);
		break;
	case OPTION_FAN_OUT:
		options->fan_out = (uint32_t)number("--fan-out", optarg, 1, 1e6);
		break;
	case OPTION_LEAVES:
		options->leaves = (uint32_t)number("--leaves", optarg, 0, 1e7);
		break;
	case OPTION_LEAF_DEPTH:
		options->leaf_depth = (uint32_t)number("--leaf-depth", optarg, 1, 1000);
		break;
	case OPTION_LEAF_FAN_OUT:
		options->leaf_fan_out = (uint32_t)number("--leaf-fan-out", optarg, 1, 1000);
		break;
	case OPTION_VISIT:
		options->visit = number("--visit", optarg, 0, 1);
		break;
	case OPTION_OWN:
		options->own = (uint32_t)number("--own", optarg, 0, 100000);
		break;
	case OPTION_KERNELS:
		options->kernels = (uint32_t)number("--kernels", optarg, 0, 20000);
		break;
	case OPTION_INSTRUCTIONS:
		options->instructions = (uint32_t)number("--instructions", optarg, 0, 10000);
		break;
	default:
		break;
	}
}

static void take_option(struct request *request, int option)
{
	struct gen_options *options = &request->options;
	switch (option) {
	case 'r':
		options->ranks = (uint32_t)number("--ranks", optarg, 1, MOST_RANKS);
		request->has_ranks = true;
		break;
	case 't':
		options->threads = (uint32_t)number("--threads", optarg, 1, MOST_PROFILES);
		break;
	case 's':
		options->streams = (uint32_t)number("--streams", optarg, 0, MOST_PROFILES);
		break;
	case 'S':
		request->size = (uint64_t)number("--size", optarg, 1, 1e15);
		break;
	case 'o':
		request->output = optarg;
		break;
	case 'j':
		request->jobs = (uint32_t)number("--jobs", optarg, 1, 1024);
		break;
	case OPTION_WIDE:
		options->is_wide = true;
		break;
	case OPTION_SLOW_RANK:
		options->slow_rank = (uint32_t)number("--slow-rank", optarg, 0, MOST_RANKS);
		break;
	case OPTION_IMBALANCE:
		options->imbalance = number("--imbalance", optarg, 0, 1e6);
		break;
	case OPTION_MODULE:
		options->module = optarg;
		break;
	case OPTION_SEED:
		options->seed = (uint64_t)number("--seed", optarg, 0, 9e15);
		break;
	case OPTION_EXPECT:
		request->expect = optarg;
		break;
	case 'h':
		fputs(usage, stdout);
		exit(0);
	case '?':
		exit(USAGE);
	default:
		take_shape(options, option);
	}
}

static void fail(const char *what, const char *path, const char *why)
{
	fprintf(stderr, "gen-measurements: cannot %s '%s': %s\n", what, path, why);
	exit(FAILED);
}

/* Measurements of two makings in one folder would be analysed as one. */
static void make_folder(const char *path)
{
	if (mkdir(path, 0777) && errno != EEXIST)
		fail("make", path, strerror(errno));
	DIR *folder = opendir(path);
	if (!folder)
		fail("open", path, strerror(errno));
	for (struct dirent *entry; (entry = readdir(folder));)
		if (strstr(entry->d_name, SN_MEASUREMENT_SUFFIX))
			fail("write to", path, "there are measurements in it already");
	closedir(folder);
}

struct work {
	const struct request *request;
	const struct gen_universe *universe;
	_Atomic uint32_t *next_rank;
	struct gen_totals totals;
};

static void write_rank(const struct request *request, uint32_t rank,
		       const struct gen_buffer *buffer)
{
	char name[128], path[4096];
	struct sn_output output;
	struct sn_error error = {""};
	gen_rank_name(rank, name, sizeof(name));
	snprintf(path, sizeof(path), "%s/%s", request->output, name);
	int code = sn_output_open(&output, path, &error);
	if (code == 0) {
		sn_output_write(&output, buffer->bytes, buffer->length);
		code = sn_output_commit(&output, &error);
	}
	if (code) {
		fprintf(stderr, "gen-measurements: %s\n", error.text);
		_exit(FAILED);
	}
}

static void *write_ranks(void *argument)
{
	struct work *work = argument;
	struct gen_buffer buffer = {0};
	for (;;) {
		/* relaxed: ranks do not depend on each other */
		uint32_t rank = atomic_fetch_add_explicit(work->next_rank, 1, memory_order_relaxed);
		if (rank >= work->request->options.ranks)
			break;
		gen_rank(work->universe, &work->request->options, rank, &buffer, &work->totals);
		write_rank(work->request, rank, &buffer);
	}
	free(buffer.bytes);
	free(buffer.local);
	free(buffer.visited);
	return NULL;
}

static void totals_init(struct gen_totals *totals, const struct gen_universe *universe,
			bool wants_contexts)
{
	*totals = (struct gen_totals){0};
	totals->visited = gen_must(calloc(universe->node_count, 1));
	if (wants_contexts)
		totals->contexts = gen_must(calloc((size_t)universe->node_count * GEN_METRIC_COUNT,
						   sizeof(*totals->contexts)));
}

static void totals_release(struct gen_totals *totals)
{
	free(totals->visited);
	free(totals->contexts);
}

static void add_total(struct gen_total *to, const struct gen_total *from)
{
	if (!from->values)
		return;
	to->min = !to->values || from->min < to->min ? from->min : to->min;
	to->max = from->max > to->max ? from->max : to->max;
	to->values += from->values;
	to->count += from->count;
	to->sum += from->sum;
}

static void add_totals(struct gen_totals *to, const struct gen_totals *from, uint32_t node_count)
{
	to->files += from->files;
	to->bytes += from->bytes;
	to->nodes += from->nodes;
	to->values += from->values;
	for (uint32_t i = 0; i < GEN_METRIC_COUNT; i++)
		add_total(to->metrics + i, from->metrics + i);
	for (uint32_t i = 0; i < node_count; i++)
		to->visited[i] |= from->visited[i];
	for (size_t i = 0; to->contexts && i < (size_t)node_count * GEN_METRIC_COUNT; i++)
		add_total(to->contexts + i, from->contexts + i);
}

/* As many ranks as make the size that was asked for: all are about as large as the first. */
static void choose_ranks(struct request *request, const struct gen_universe *universe)
{
	struct gen_buffer buffer = {0};
	struct gen_totals totals;
	totals_init(&totals, universe, false);
	gen_rank(universe, &request->options, 0, &buffer, &totals);
	uint64_t ranks = (request->size + totals.bytes - 1) / totals.bytes;
	request->options.ranks = ranks < MOST_RANKS ? (uint32_t)ranks : MOST_RANKS;
	totals_release(&totals);
	free(buffer.bytes);
	free(buffer.local);
	free(buffer.visited);
}

static void write_all(const struct request *request, const struct gen_universe *universe,
		      struct gen_totals *totals)
{
	_Atomic uint32_t next_rank = 0;
	uint32_t jobs =
	    request->jobs < request->options.ranks ? request->jobs : request->options.ranks;
	struct work *work = gen_must(calloc(jobs, sizeof(*work)));
	pthread_t *threads = gen_must(calloc(jobs, sizeof(*threads)));
	for (uint32_t i = 0; i < jobs; i++) {
		work[i] = (struct work){request, universe, &next_rank, {0}};
		totals_init(&work[i].totals, universe, request->expect);
		if (pthread_create(threads + i, NULL, write_ranks, work + i))
			fail("start", "a thread", strerror(EAGAIN));
	}
	for (uint32_t i = 0; i < jobs; i++) {
		pthread_join(threads[i], NULL);
		add_totals(totals, &work[i].totals, universe->node_count);
		totals_release(&work[i].totals);
	}
	free(threads);
	free(work);
}

static void put_path(const struct gen_universe *universe, uint32_t node, FILE *out)
{
	char name[256];
	if (universe->nodes[node].parent) {
		put_path(universe, universe->nodes[node].parent, out);
		putc(';', out);
	}
	gen_node_name(universe, node, name, sizeof(name));
	fputs(name, out);
}

static void write_expected(const struct request *request, const struct gen_universe *universe,
			   const struct gen_totals *totals)
{
	FILE *out = fopen(request->expect, "w");
	if (!out)
		fail("open", request->expect, strerror(errno));
	fputs("path,metric,count,sum,min,max\n", out);
	for (uint32_t node = 1; node < universe->node_count; node++)
		for (uint32_t metric = 0; metric < GEN_METRIC_COUNT; metric++) {
			const struct gen_total *total =
			    totals->contexts + (size_t)node * GEN_METRIC_COUNT + metric;
			if (!total->values)
				continue;
			put_path(universe, node, out);
			fprintf(out, ",%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
				gen_metrics[metric].name, total->count, total->sum, total->min,
				total->max);
		}
	if (ferror(out) | fclose(out))
		fail("write", request->expect, strerror(errno));
}

static void print_summary(const struct request *request, const struct gen_universe *universe,
			  const struct gen_totals *totals)
{
	const struct gen_options *options = &request->options;
	uint64_t threads = (uint64_t)options->ranks * options->threads;
	uint64_t streams = (uint64_t)options->ranks * options->streams;
	uint64_t contexts = threads * options->own;
	for (uint32_t i = 0; i < universe->node_count; i++)
		contexts += totals->visited[i];
	printf("{\"ranks\":%u,\"threads\":%" PRIu64 ",\"streams\":%" PRIu64 ",\"profiles\":%" PRIu64
	       ",\"files\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\n",
	       options->ranks, threads, streams, threads + streams, totals->files, totals->bytes);
	/* symbols of a real module split and join contexts */
	if (!options->module)
		printf("\"contexts\":%" PRIu64 ",", contexts);
	printf("\"nodes\":%" PRIu64 ",\"values\":%" PRIu64 ",\n", totals->nodes, totals->values);
	if (options->slow_rank < options->ranks)
		printf("\"slow\":{\"rank\":%u,\"context\":\"exchange\",\"factor\":%g},\n",
		       options->slow_rank, options->imbalance);
	printf("\"metrics\":{");
	const char *comma = "";
	for (uint32_t i = 0; i < GEN_METRIC_COUNT; i++) {
		const struct gen_total *total = totals->metrics + i;
		if (!total->values)
			continue;
		printf("%s\n\"%s\":{\"unit\":\"%s\",\"values\":%" PRIu64 ",\"count\":%" PRIu64
		       ",\"sum\":%" PRIu64 ",\"min\":%" PRIu64 ",\"max\":%" PRIu64 "}",
		       comma, gen_metrics[i].name, gen_metrics[i].unit, total->values, total->count,
		       total->sum, total->min, total->max);
		comma = ",";
	}
	printf("}}\n");
}

static void parse(int argc, char **argv, struct request *request)
{
	for (int option; (option = getopt_long(argc, argv, "r:t:s:S:o:j:h", table, NULL)) != -1;)
		take_option(request, option);
	const char *wrong = optind < argc      ? "operands are not taken"
			    : !request->output ? "no output given: add -o OUT.sonde"
			    : request->size && request->has_ranks
				? "--ranks and --size say the same"
			    : request->options.threads + request->options.streams > MOST_PROFILES
				? "too many profiles in a rank"
				: NULL;
	if (!wrong)
		return;
	fprintf(stderr, "gen-measurements: %s (see gen-measurements -h)\n", wrong);
	exit(USAGE);
}

static double seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	struct request request = {
	    .options = {.seed = 1,
			.ranks = 4,
			.threads = 4,
			.streams = 2,
			.upper = 400,
			.depth = 24,
			.fan_out = 6,
			.leaves = 600,
			.leaf_depth = 4,
			.leaf_fan_out = 3,
			.visit = 0.3,
			.own = 1,
			.kernels = 100,
			.instructions = 12,
			.slow_rank = 3,
			.imbalance = 1.8},
	    .jobs = processors > 0 ? (uint32_t)processors : 1,
	};
	parse(argc, argv, &request);
	struct gen_universe universe;
	struct gen_totals totals;
	gen_universe_init(&universe, &request.options);
	totals_init(&totals, &universe, request.expect);
	if (request.size)
		choose_ranks(&request, &universe);
	make_folder(request.output);
	double start = seconds();
	write_all(&request, &universe, &totals);
	double taken = seconds() - start;
	if (request.expect)
		write_expected(&request, &universe, &totals);
	print_summary(&request, &universe, &totals);
	fprintf(stderr, "%.1f MB in %.2f s, %.0f MB/s\n", (double)totals.bytes / 1e6, taken,
		(double)totals.bytes / 1e6 / taken);
	totals_release(&totals);
	gen_universe_release(&universe);
	if (fflush(stdout) || ferror(stdout))
		fail("write", "the summary", strerror(errno));
	return 0;
}
