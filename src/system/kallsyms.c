/* SPDX-License-Identifier: Apache-2.0 */
/* See kallsyms.h. */
#include "kallsyms.h"

#include "base/search.h"
#include "base/sort_by.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

SN_SORT_BY(sort_symbols, struct sn_kallsym, const void *, SN_ORDER(a->address, b->address));

static uint32_t add_name(struct sn_kallsyms *list, const char *name)
{
	return sn_intern_add_text(&list->names, name, strlen(name));
}

/* "ffffffff81000000 T name [module]", the last of which may be missing; cut into its parts. */
struct line {
	uint64_t address;
	char type;
	char *name, *module; /* module: NULL in the kernel itself */
};

static bool cut_line(char *text, struct line *line)
{
	char *end, *rest;
	text[strcspn(text, "\n")] = 0;
	line->address = strtoull(text, &end, 16);
	if (end == text || end[0] != ' ' || !end[1] || end[2] != ' ')
		return false;
	line->type = end[1];
	line->name = end + 3;
	rest = line->name + strcspn(line->name, " \t");
	line->module = *rest ? strchr(rest + 1, '[') : NULL;
	*rest = 0;
	if (line->module)
		line->module[strcspn(line->module, "]")] = 0;
	return *line->name;
}

static int add(struct sn_kallsyms *list, const struct line *line)
{
	struct sn_kallsym symbol = {line->address, add_name(list, line->name), SN_INTERN_NONE};
	if (line->module)
		symbol.module = add_name(list, line->module + 1);
	if (symbol.name == SN_INTERN_NONE || (line->module && symbol.module == SN_INTERN_NONE))
		return SN_ERR_MEMORY;
	return sn_vec_push(&list->symbols, &list->capacity, &list->count, symbol);
}

int sn_kallsyms_read(struct sn_kallsyms *list, FILE *file)
{
	char text[512];
	struct line line;
	int result = 0;
	*list = (struct sn_kallsyms){0};
	while (file && !result && fgets(text, sizeof(text), file))
		if (cut_line(text, &line) && line.address && strchr("tTwW", line.type))
			result = add(list, &line);
	sort_symbols(list->symbols, list->count, NULL);
	return result;
}

void sn_kallsyms_release(struct sn_kallsyms *list)
{
	sn_intern_release(&list->names);
	free(list->symbols);
}

const struct sn_kallsym *sn_kallsyms_find(const struct sn_kallsyms *list, uint64_t address)
{
	size_t behind = sn_search(i, list->count, list->symbols[i].address <= address);
	return behind ? &list->symbols[behind - 1] : NULL;
}

uint64_t sn_kallsyms_address(const struct sn_kallsyms *list, const char *name)
{
	uint32_t number = sn_intern_find(&list->names, name, strlen(name) + 1);
	for (size_t i = 0; number != SN_INTERN_NONE && i < list->count; i++)
		if (list->symbols[i].name == number)
			return list->symbols[i].address;
	return 0;
}
