/* SPDX-License-Identifier: Apache-2.0 */
/* See kernel_image.h. */
#include "kernel_image.h"

#include "base/clock.h"

#include <string.h>

#define READ_AGAIN_NS UINT64_C(60000000000)
/* A function of the kernel is not longer: an address so far behind the last one is of something that came later. */
enum { FUNCTION_MOST = 1 << 20 };

void sn_kernel_images_release(struct sn_kernel_images *images)
{
	sn_kallsyms_release(&images->list);
	*images = (struct sn_kernel_images){0};
}

static int read_list(struct sn_kernel_images *images)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	sn_kallsyms_release(&images->list);
	int result = sn_kallsyms_read(&images->list, file);
	if (file)
		fclose(file);
	images->text = sn_kallsyms_address(&images->list, "_text");
	images->read_ns = sn_clock_now_ns(CLOCK_MONOTONIC);
	return result;
}

static const struct sn_kallsym *find(const struct sn_kernel_images *images, uint64_t address)
{
	const struct sn_kallsym *found = sn_kallsyms_find(&images->list, address);
	return found && address - found->address < FUNCTION_MOST ? found : NULL;
}

/* Where the module of a function begins: with its first function, as lists of modules show sizes but need not be there. */
static uint64_t module_start(const struct sn_kernel_images *images, const struct sn_kallsym *symbol)
{
	while (symbol > images->list.symbols && symbol[-1].module == symbol->module)
		symbol--;
	return symbol->address;
}

int sn_kernel_images_find(struct sn_kernel_images *images, uint64_t address,
			  struct sn_kernel_place *place)
{
	const struct sn_kallsym *symbol = find(images, address);
	if (!symbol && (!images->read_ns ||
			sn_clock_now_ns(CLOCK_MONOTONIC) - images->read_ns > READ_AGAIN_NS)) {
		if (read_list(images) < 0)
			return SN_ERR_MEMORY;
		symbol = find(images, address);
	}
	*place = (struct sn_kernel_place){.image = "", .address = address - images->text};
	if (!symbol)
		return 0;
	const char *module = sn_kallsyms_name(&images->list, symbol->module);
	uint64_t start = images->text;
	place->function = sn_kallsyms_name(&images->list, symbol->name);
	if (strcmp(module, "bpf") == 0) {
		place->part = SN_KERNEL_BPF;
		place->image = place->function;
		start = symbol->address;
	} else if (*module && strncmp(module, "__builtin", 9) != 0) {
		place->part = SN_KERNEL_MODULE;
		place->image = module;
		start = module_start(images, symbol);
	}
	place->function_start = symbol->address - start;
	place->address = address - start;
	return 0;
}
