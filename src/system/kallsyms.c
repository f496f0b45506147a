/* SPDX-License-Identifier: Apache-2.0 */
/* See kallsyms.h. */
#include "kallsyms.h"

#include "base/search.h"
#include "base/sort_by.h"

#include <inttypes.h>
#include <string.h>

SN_SORT_BY(sort_symbols, struct sn_kallsym, const void *, SN_ORDER(a->address, b->address));

static uint32_t add_name(struct sn_kallsyms *list, const char *name)
{
	return sn_intern_add_text(&list->names, name, strlen(name));
}

static int add(struct sn_kallsyms *list, uint64_t address, const char *name, char *module)
{
	struct sn_kallsym symbol = {address, add_name(list, name), SN_INTERN_NONE};
	if (*module) {
		module[strcspn(module, "]")] = 0;
		symbol.module = add_name(list, module + 1);
	}
	if (symbol.name == SN_INTERN_NONE || (*module && symbol.module == SN_INTERN_NONE))
		return SN_ERR_MEMORY;
	return sn_vec_push(&list->symbols, &list->capacity, &list->count, symbol);
}

int sn_kallsyms_read(struct sn_kallsyms *list, FILE *file)
{
	char line[512], name[256], module[128], type;
	uint64_t address;
	int result = 0;
	*list = (struct sn_kallsyms){0};
	while (file && !result && fgets(line, sizeof(line), file)) {
		*module = 0;
		int fields =
		    sscanf(line, "%" SCNx64 " %c %255s %127s", &address, &type, name, module);
		if (fields >= 3 && address && strchr("tTwW", type))
			result = add(list, address, name, module);
	}
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
