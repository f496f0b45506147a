/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stand-ins for what the Python adapter uses of the collector, so that the probe can be built from
 * the adapter alone: pages, the module list (by dl_iterate_phdr, outside handlers), and a code
 * table.
 */
#include "collect/unwind/module_list.h"
#include "collect/core/arena.h"
#include "format/measurement/measurement.h"
#include "python_probe.h"

#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void *sn_pages_map(size_t bytes)
{
	void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return pages == MAP_FAILED ? NULL : pages;
}

void sn_pages_unmap(void *pages, size_t bytes)
{
	munmap(pages, bytes);
}

static struct sn_module modules[1024];
static char paths[1024][512];
static uint32_t module_count;

static int add_module(struct dl_phdr_info *info, size_t size, void *unused)
{
	struct sn_module module = {.bias = info->dlpi_addr, .start = UINTPTR_MAX};

	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
			module.eh_frame_hdr = (const unsigned char *)start;
		if (info->dlpi_phdr[i].p_type != PT_LOAD)
			continue;
		start &= ~(uintptr_t)4095;
		module.start = start < module.start ? start : module.start;
		uintptr_t end = start + info->dlpi_phdr[i].p_memsz + 4096;
		module.end = end > module.end ? end : module.end;
	}
	for (uint32_t i = 0; i < module_count; i++)
		if (modules[i].start == module.start)
			return 0;
	if (module_count == 1024)
		return 1;
	char *path = paths[module_count];
	if (info->dlpi_name[0]) {
		strncpy(path, info->dlpi_name, 511);
	} else {
		module.flags = SN_MODULE_MAIN;
		if (readlink("/proc/self/exe", path, 511) < 0)
			return 0;
	}
	if (strstr(path, "vdso"))
		module.flags = SN_MODULE_VDSO;
	module.path = path;
	modules[module_count++] = module;
	return 0;
}

void probe_modules_read(void)
{
	dl_iterate_phdr(add_module, NULL);
}

uint32_t sn_module_count(void)
{
	return module_count;
}

const struct sn_module *sn_module_at(uint32_t index)
{
	return &modules[index];
}

/* The stack that is there is large enough. */
void sn_on_own_stack(void (*function)(void *argument), void *argument)
{
	function(argument);
}
