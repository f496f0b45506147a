/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws a causal graph from a description: make-causal dot|svg FILE > PICTURE.
 *
 * Lines of the description: "title TEXT"; "tier NAME"; "target NUMBER"; "variable TIER number|category NAME";
 * "arrow FROM TO DIRECTED FREQUENCY DIRECTED_SHARE REVERSED_SHARE EFFECT LOW HIGH SAME_SIGN SHARE", numbers
 * that are not known as "nan".
 */
#include "show/causal/drawing.h"

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

int main(int argc, char **argv)
{
	struct description description = {.drawing = {.title = "", .target = SN_CAUSAL_NO_TARGET}};
	if (argc != 3)
		fail("dot|svg FILE");
	read_description(&description, argv[2]);
	if (!strcmp(argv[1], "dot"))
		sn_causal_dot(&description.drawing, stdout);
	else if (sn_causal_svg(&description.drawing, stdout))
		fail("memory");
	free(description.variables);
	free(description.arrows);
	free(description.tiers);
	sn_arena_release(&description.texts);
	return 0;
}
