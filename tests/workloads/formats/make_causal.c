/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws a causal graph from a description, or counts rows for parallel coordinates:
 *
 *	make-causal dot|svg FILE > PICTURE
 *	make-causal parallel FILE ROWS [PARTS] > JSON
 *	make-causal html FILE PAGE [ROWS]
 *
 * ROWS holds doubles in the machine's order, row by row. PARTS are counted by themselves, then merged.
 * Lines of the description: "title TEXT"; "sentence TEXT"; "graph FILE" and "variability FILE" of JSON; "tier NAME"; "target NUMBER"; "variable TIER number|category NAME";
 * "axis linear|log|category LOW HIGH UNIT NAME"; "category AXIS NAME";
 * "arrow FROM TO DIRECTED FREQUENCY DIRECTED_SHARE REVERSED_SHARE EFFECT LOW HIGH SAME_SIGN SHARE", numbers
 * that are not known as "nan".
 */
#include "show/causal/drawing.h"
#include "show/causal/page.h"

#include "base/arena.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

struct description {
	struct sn_causal_drawing drawing;
	struct sn_causal_variable *variables;
	struct sn_causal_arrow *arrows;
	const char **tiers;
	size_t variable_capacity, arrow_capacity, tier_capacity;
	struct sn_parallel_axis axes[SN_PARALLEL_AXES];
	struct sn_parallel_names names[SN_PARALLEL_AXES];
	const char **categories[SN_PARALLEL_AXES];
	size_t category_capacity[SN_PARALLEL_AXES];
	unsigned axis_count;
	const char **sentences;
	size_t sentence_count, sentence_capacity;
	const char *graph_json, *variability_json;
	struct sn_arena texts;
};

static void fail(const char *what)
{
	fprintf(stderr, "make-causal: %s\n", what);
	exit(1);
}

static void read_variable(struct description *description, const char *rest)
{
	struct sn_causal_variable variable;
	char kind[16];
	int length = 0;
	if (sscanf(rest, "%u %15s%n", &variable.tier, kind, &length) < 2)
		fail(rest);
	variable.is_category = !strcmp(kind, "category");
	variable.name = sn_arena_text(&description->texts, rest + length + (rest[length] == ' '));
	if (sn_vec_push(&description->variables, &description->variable_capacity,
			&description->drawing.variable_count, variable))
		fail("memory");
}

static void read_arrow(struct description *description, const char *rest)
{
	struct sn_causal_arrow arrow;
	int is_directed;
	if (sscanf(rest, "%u %u %d %lf %lf %lf %lf %lf %lf %lf %lf", &arrow.from, &arrow.to,
		   &is_directed, &arrow.frequency, &arrow.directed, &arrow.reversed, &arrow.effect,
		   &arrow.effect_low, &arrow.effect_high, &arrow.same_sign, &arrow.share) != 11)
		fail(rest);
	arrow.is_directed = is_directed;
	if (sn_vec_push(&description->arrows, &description->arrow_capacity,
			&description->drawing.arrow_count, arrow))
		fail("memory");
}

static void read_axis(struct description *description, const char *rest)
{
	struct sn_parallel_axis *axis = description->axes + description->axis_count++;
	char scale[16], unit[16];
	int length = 0;
	if (description->axis_count > SN_PARALLEL_AXES ||
	    sscanf(rest, "%15s %lf %lf %15s %n", scale, &axis->low, &axis->high, unit, &length) < 4)
		fail(rest);
	axis->scale = !strcmp(scale, "log")	 ? SN_PARALLEL_LOG
		      : !strcmp(scale, "linear") ? SN_PARALLEL_LINEAR
						 : SN_PARALLEL_CATEGORY;
	axis->unit = sn_arena_text(&description->texts, unit);
	axis->name = sn_arena_text(&description->texts, rest + length);
}

static void read_category(struct description *description, const char *rest)
{
	char *name;
	unsigned long axis = strtoul(rest, &name, 10);
	if (axis >= SN_PARALLEL_AXES ||
	    sn_vec_push(description->categories + axis, description->category_capacity + axis,
			&description->names[axis].count,
			sn_arena_text(&description->texts, name + 1)))
		fail(rest);
	description->names[axis].texts = description->categories[axis];
}

static const char *whole_file(struct description *description, const char *path)
{
	char *text = NULL;
	size_t size = 0;
	FILE *in = fopen(path, "r");
	if (!in || getdelim(&text, &size, '\0', in) < 0)
		fail(path);
	fclose(in);
	const char *kept = sn_arena_text(&description->texts, text);
	free(text);
	return kept;
}

static void read_line(struct description *description, char *line)
{
	struct sn_causal_drawing *drawing = &description->drawing;
	char *rest = strchr(line, ' ');
	if (!rest)
		fail(line);
	*rest++ = '\0';
	if (!strcmp(line, "title"))
		drawing->title = sn_arena_text(&description->texts, rest);
	else if (!strcmp(line, "target"))
		drawing->target = (uint32_t)strtoul(rest, NULL, 10);
	else if (!strcmp(line, "variable"))
		read_variable(description, rest);
	else if (!strcmp(line, "arrow"))
		read_arrow(description, rest);
	else if (!strcmp(line, "graph"))
		description->graph_json = whole_file(description, rest);
	else if (!strcmp(line, "variability"))
		description->variability_json = whole_file(description, rest);
	else if (!strcmp(line, "sentence")) {
		if (sn_vec_push(&description->sentences, &description->sentence_capacity,
				&description->sentence_count,
				sn_arena_text(&description->texts, rest)))
			fail("memory");
	} else if (!strcmp(line, "axis"))
		read_axis(description, rest);
	else if (!strcmp(line, "category"))
		read_category(description, rest);
	else if (strcmp(line, "tier") ||
		 sn_vec_push(&description->tiers, &description->tier_capacity, &drawing->tier_count,
			     sn_arena_text(&description->texts, rest)))
		fail(line);
}

static void read_description(struct description *description, const char *path)
{
	FILE *in = fopen(path, "r");
	char *line = NULL;
	size_t size = 0;
	if (!in)
		fail(path);
	while (getline(&line, &size, in) > 0) {
		line[strcspn(line, "\n")] = '\0';
		read_line(description, line);
	}
	free(line);
	fclose(in);
	description->drawing.variables = description->variables;
	description->drawing.arrows = description->arrows;
	description->drawing.tiers = description->tiers;
}

enum { BATCH = 1 << 14, MOST_PARTS = 64 };

/* Rows go to the parts in turn, so that each has other ranges. */
static void add_rows(const struct description *description, const char *path,
		     struct sn_parallel **parts, unsigned part_count)
{
	FILE *in = fopen(path, "r");
	double *values = malloc(sizeof(*values) * BATCH * description->axis_count);
	size_t row_bytes = sizeof(*values) * description->axis_count, row = 0;
	if (!in || !values)
		fail(path);
	for (size_t count; (count = fread(values, row_bytes, BATCH, in)) > 0;)
		for (size_t i = 0; i < count; i++)
			sn_parallel_add(parts[row++ % part_count],
					values + i * description->axis_count);
	free(values);
	fclose(in);
}

/* As another process would get it. */
static void merge_packed(const struct description *description, struct sn_parallel *into,
			 const struct sn_parallel *part)
{
	struct sn_parallel *one = sn_parallel_new(description->axes, description->axis_count);
	struct sn_buffer bytes = {0};
	sn_parallel_pack(part, &bytes);
	struct sn_span span = {bytes.bytes, bytes.count};
	if (!one || bytes.failed || !sn_parallel_unpack(one, span) || sn_parallel_merge(into, one))
		fail("memory");
	sn_buffer_release(&bytes);
	sn_parallel_free(one);
}

static void write_parallel(const struct description *description, const char *rows,
			   unsigned part_count, struct sn_json *json)
{
	struct sn_parallel *parts[MOST_PARTS];
	if (!part_count || part_count > MOST_PARTS)
		fail("1 to 64 parts");
	for (unsigned i = 0; i < part_count; i++)
		if (!(parts[i] = sn_parallel_new(description->axes, description->axis_count)))
			fail("memory");
	add_rows(description, rows, parts, part_count);
	for (unsigned i = 1; i < part_count; i++)
		merge_packed(description, parts[0], parts[i]);
	if (sn_parallel_json(parts[0], description->names, json))
		fail("memory");
	for (unsigned i = 0; i < part_count; i++)
		sn_parallel_free(parts[i]);
}

static void write_page(const struct description *description, const char *path, const char *rows)
{
	struct sn_causal_page page = {.title = description->drawing.title,
				      .sentences = description->sentences,
				      .sentence_count = description->sentence_count,
				      .graph_json = description->graph_json,
				      .variability_json = description->variability_json,
				      .names = description->names};
	struct sn_parallel *parallel = NULL;
	struct sn_error error = {""};
	if (description->drawing.variable_count)
		page.drawing = &description->drawing;
	if (rows) {
		if (!(parallel = sn_parallel_new(description->axes, description->axis_count)))
			fail("memory");
		add_rows(description, rows, &parallel, 1);
		page.parallel = parallel;
	}
	if (sn_causal_page(&page, path, &error))
		fail(error.text);
	sn_parallel_free(parallel);
}

static void release(struct description *description)
{
	for (unsigned i = 0; i < SN_PARALLEL_AXES; i++)
		free(description->categories[i]);
	free(description->variables);
	free(description->arrows);
	free(description->tiers);
	free(description->sentences);
	sn_arena_release(&description->texts);
}

int main(int argc, char **argv)
{
	struct description description = {.drawing = {.title = "", .target = SN_CAUSAL_NO_TARGET}};
	struct sn_json json = {.out = stdout, .is_shown = true};
	if (argc < 3)
		fail("dot|svg|parallel FILE");
	read_description(&description, argv[2]);
	if (!strcmp(argv[1], "parallel") && argc > 3) {
		sn_json_begin(&json, '{');
		write_parallel(&description, argv[3], argc > 4 ? (unsigned)atoi(argv[4]) : 1,
			       &json);
		sn_json_end(&json, '}');
	} else if (!strcmp(argv[1], "html") && argc > 3)
		write_page(&description, argv[3], argc > 4 ? argv[4] : NULL);
	else if (!strcmp(argv[1], "dot"))
		sn_causal_dot(&description.drawing, stdout);
	else if (sn_causal_svg(&description.drawing, stdout))
		fail("memory");
	release(&description);
	return 0;
}
