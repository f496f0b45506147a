/* SPDX-License-Identifier: Apache-2.0 */
/* Units and their prefixes; see unit.h. */
#include "unit.h"

#include "base/text.h"

#include <stdint.h>

struct part {
	char word[64];
	double scale;
};

static const struct {
	const char *word, *base;
	double scale;
} known[] = {
    {"s", "second", 1},	      {"sec", "second", 1},	{"second", "second", 1},
    {"ms", "second", 1e-3},   {"us", "second", 1e-6},	{"ns", "second", 1e-9},
    {"KB", "byte", 1e3},      {"MB", "byte", 1e6},	{"GB", "byte", 1e9},
    {"TB", "byte", 1e12},     {"B", "byte", 1},		{"KiB", "byte", 1024},
    {"MiB", "byte", 1048576}, {"GiB", "byte", 1 << 30}, {"bytes", "byte", 1},
};

static const struct {
	char letter;
	double scale;
} prefixes[] = {{'n', 1e-9}, {'u', 1e-6}, {'m', 1e-3}, {'k', 1e3},
		{'K', 1e3},  {'M', 1e6},  {'G', 1e9},  {'T', 1e12}};

static bool takes_prefix(const char *word)
{
	static const char *const words[] = {"second", "byte", "bit",	"cycle",   "hz",
					    "Hz",     "inst", "sector", "request", "flop"};
	for (size_t number = 0; number < sizeof(words) / sizeof(*words); number++)
		if (!strcmp(word, words[number]))
			return true;
	return false;
}

static void replace(struct part *part, const char *word, double scale)
{
	memmove(part->word, word, strlen(word) + 1);
	part->scale = scale;
}

static struct part part_of(const char *text, size_t length)
{
	struct part part = {.scale = 1};
	memcpy(part.word, text, length < sizeof(part.word) - 1 ? length : sizeof(part.word) - 1);
	for (size_t number = 0; number < sizeof(known) / sizeof(*known); number++)
		if (!strcmp(part.word, known[number].word)) {
			replace(&part, known[number].base, known[number].scale);
			return part;
		}
	for (size_t number = 0; number < sizeof(prefixes) / sizeof(*prefixes); number++)
		if (*part.word == prefixes[number].letter && takes_prefix(part.word + 1)) {
			replace(&part, part.word + 1, prefixes[number].scale);
			break;
		}
	if (!strcmp(part.word, "Hz"))
		replace(&part, "hz", part.scale);
	return part;
}

double sn_unit_scale(const char *unit, struct sn_arena *arena, const char **base)
{
	const char *slash = strchr(unit, '/');
	struct part upper = part_of(unit, slash ? (size_t)(slash - unit) : strlen(unit));
	if (!strcmp(upper.word, "second"))
		replace(&upper, "ns", upper.scale * 1e9);
	if (!slash) {
		*base = sn_arena_text(arena, upper.word);
		return upper.scale;
	}
	struct part lower = part_of(slash + 1, strlen(slash + 1));
	*base = sn_arena_print(arena, "%s/%s", upper.word, lower.word);
	return upper.scale / lower.scale;
}
