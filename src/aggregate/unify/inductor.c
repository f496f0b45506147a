/* SPDX-License-Identifier: Apache-2.0 */
/* The names of inductor's C++ kernels, from the generated Python that calls them; see inductor.h. */
#include "inductor.h"

#include "base/arena.h"
#include "base/table.h"
#include "base/text.h"
#include "format/measurement/measurement.h"
#include "inductor_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_BYTES = 512 };

#define KERNEL "kernel"

struct naming {
	struct sn_db_builder *builder;
	struct sn_table calls; /* (file, line): which of names */
	uint32_t *names;       /* [call]: builder's string; SONDE_NONE: it calls no kernel */
	uint32_t *names_of;    /* [module]: builder's string; SONDE_NONE */
	struct sn_arena arena;
	uint32_t read_file;	      /* builder's string: the last that was read */
	struct sn_inductor_text text; /* of it */
};

static struct sonde_db_frame *frame_at(const struct sn_db_builder *builder, uint32_t frame)
{
	return (struct sonde_db_frame *)(uintptr_t)sn_intern_at(&builder->frames, frame, NULL);
}

/* A name, or several of them, of the code of one module. */
static int add_name(struct naming *naming, uint32_t module, uint32_t name)
{
	uint32_t *names = &naming->names_of[module];
	char all[NAMES_BYTES];
	if (*names == SONDE_NONE) {
		*names = name;
		return 0;
	}
	const char *known = sn_db_builder_text(naming->builder, *names);
	const char *added = sn_db_builder_text(naming->builder, name);
	const char *found = strstr(known, added);
	size_t length = strlen(added);
	for (; found; found = strstr(found + 1, added))
		if ((found == known || found[-1] == ' ') &&
		    (found[length] == '\0' || found[length] == ','))
			return 0;
	if (strlen(known) + length + 3 > sizeof(all))
		return 0;
	/* in one order, whatever was found first */
	bool is_before = strcmp(added, known) < 0;
	strcpy(all, is_before ? added : known);
	strcat(all, ", ");
	strcat(all, is_before ? known : added);
	*names = sn_db_builder_string(naming->builder, all);
	return *names == SONDE_NONE ? SN_ERR_MEMORY : 0;
}

/* What the Python at that place calls: a builder's string, or SONDE_NONE. */
static uint32_t kernel_called_at(struct naming *naming, const struct sonde_db_frame *python)
{
	uint32_t before = naming->calls.count;
	uint32_t call = sn_table_add(&naming->calls, sn_table_pair(python->file, python->line));
	char name[256];
	if (call == SN_TABLE_NONE || call < before)
		return call == SN_TABLE_NONE ? SONDE_NONE : naming->names[call];
	if (naming->read_file != python->file) {
		sn_inductor_text_release(&naming->text);
		sn_inductor_text_read(&naming->text,
				      sn_db_builder_text(naming->builder, python->file));
		naming->read_file = python->file;
	}
	struct sn_inductor_line line = sn_inductor_text_line(&naming->text, python->line);
	bool is_kernel = line.call == SN_INDUCTOR_CPP && line.length < sizeof(name);
	if (is_kernel)
		snprintf(name, sizeof(name), "%.*s", (int)line.length, line.name);
	naming->names[call] = is_kernel ? sn_db_builder_string(naming->builder, name) : SONDE_NONE;
	return naming->names[call];
}

static bool is_kernel(const struct naming *naming, const struct sonde_db_frame *frame)
{
	return frame->kind == SN_FRAME_NATIVE && frame->module != SONDE_NONE &&
	       frame->name != SONDE_NONE &&
	       strcmp(sn_db_builder_text(naming->builder, frame->name), KERNEL) == 0;
}

/* The innermost Python frame from a context on upwards; NULL without one that has a file. */
static const struct sonde_db_frame *python_above(const struct sn_db_builder *builder,
						 uint32_t context)
{
	uint32_t parent, frame;
	for (; sn_db_builder_context_at(builder, context, &parent, &frame); context = parent) {
		const struct sonde_db_frame *found = frame_at(builder, frame);
		if (found->kind == SN_FRAME_PYTHON)
			return found->file == SONDE_NONE ? NULL : found;
	}
	return NULL;
}

/* Looks for calls of kernels from Python, and notes the names by module. */
static int find_names(struct naming *naming)
{
	const struct sn_db_builder *builder = naming->builder;
	for (uint32_t c = 1; c < builder->contexts.count; c++) {
		uint32_t parent, frame;
		sn_db_builder_context_at(builder, c, &parent, &frame);
		if (!is_kernel(naming, frame_at(builder, frame)))
			continue;
		uint32_t module = frame_at(builder, frame)->module;
		const struct sonde_db_frame *python = python_above(builder, parent);
		uint32_t name = python ? kernel_called_at(naming, python) : SONDE_NONE;
		if (name != SONDE_NONE && add_name(naming, module, name))
			return SN_ERR_MEMORY;
	}
	return 0;
}

/* "kernel" and what the compiler made of its parts: "kernel._omp_fn.0". */
static int rename_frame(struct naming *naming, struct sonde_db_frame *frame)
{
	char name[NAMES_BYTES + 64];
	bool is_code = frame->kind == SN_FRAME_NATIVE || frame->kind == SN_FRAME_INLINED;
	if (!is_code || frame->module == SONDE_NONE || frame->name == SONDE_NONE ||
	    naming->names_of[frame->module] == SONDE_NONE)
		return 0;
	const char *old = sn_db_builder_text(naming->builder, frame->name);
	const char *rest = old + sizeof(KERNEL) - 1;
	if (!sn_text_begins(old, KERNEL) || (*rest && *rest != '.'))
		return 0;
	snprintf(name, sizeof(name), "%s%.60s",
		 sn_db_builder_text(naming->builder, naming->names_of[frame->module]), rest);
	uint32_t string = sn_db_builder_string(naming->builder, name);
	/* the symbol stays what it is */
	if (frame->linkage_name == SONDE_NONE)
		frame->linkage_name = frame->name;
	frame->name = string;
	return string == SONDE_NONE ? SN_ERR_MEMORY : 0;
}

int sn_name_inductor_kernels(struct sn_db_builder *builder)
{
	struct naming naming = {.builder = builder, .read_file = SONDE_NONE};
	uint32_t modules = builder->modules.count;
	naming.names = sn_arena_array(&naming.arena, uint32_t, builder->contexts.count + 1ull);
	naming.names_of = sn_arena_array(&naming.arena, uint32_t, modules + 1ull);
	int code = naming.arena.failed ? SN_ERR_MEMORY : 0;
	for (uint32_t m = 0; m < modules && code == 0; m++)
		naming.names_of[m] = SONDE_NONE;
	if (code == 0)
		code = find_names(&naming);
	for (uint32_t f = 0; f < builder->frames.count && code == 0; f++)
		code = rename_frame(&naming, frame_at(builder, f));
	sn_table_release(&naming.calls);
	sn_arena_release(&naming.arena);
	sn_inductor_text_release(&naming.text);
	return code;
}
