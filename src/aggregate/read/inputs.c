/* SPDX-License-Identifier: Apache-2.0 */
/* Listing and sorting; see inputs.h. */
#include "inputs.h"

#include "base/sort_by.h"
#include "base/text.h"
#include "base/vec.h"
#include "format/measurement/measurement_reader.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

SN_SORT_BY(sort_inputs, struct sn_input, const void *,
	   strcmp(sn_text_base_name(a->path), sn_text_base_name(b->path))
	       ?: strcmp(a->path, b->path));

/* A folder's name: "out/train.sonde/" is "train". */
static const char *run_name(struct sn_arena *arena, const char *path)
{
	size_t length = strlen(path);
	while (length > 1 && path[length - 1] == '/')
		length--;
	char *copy = sn_arena_copy(arena, path, length);
	const char *name = copy ? sn_text_base_name(copy) : NULL;
	if (name && sn_text_ends(name, ".sonde") && strlen(name) > strlen(".sonde"))
		copy[length - strlen(".sonde")] = 0;
	return name;
}

struct run {
	const char *name, *path;
	uint32_t folder;
};

SN_SORT_BY(sort_runs, struct run, const void *,
	   strcmp(a->name, b->name) ?: strcmp(a->path, b->path));

/* Names and numbers the runs; numbers[folder], NULL without memory. */
static uint32_t *number_runs(struct sn_inputs *inputs, const char *const *folders, size_t count)
{
	struct sn_arena *arena = &inputs->arena;
	struct run *runs = sn_arena_array(arena, struct run, count);
	uint32_t *numbers = sn_arena_array(arena, uint32_t, count);
	inputs->runs = sn_arena_array(arena, const char *, count);
	for (size_t i = 0; i < count && !arena->failed; i++)
		runs[i] = (struct run){run_name(arena, folders[i]), folders[i], (uint32_t)i};
	if (arena->failed)
		return NULL;
	sort_runs(runs, count, NULL);
	for (size_t i = 0; i < count; i++) {
		bool is_ambiguous = (i && !strcmp(runs[i].name, runs[i - 1].name)) ||
				    (i + 1 < count && !strcmp(runs[i].name, runs[i + 1].name));
		inputs->runs[i] = is_ambiguous ? runs[i].path : runs[i].name;
		numbers[runs[i].folder] = (uint32_t)i;
	}
	inputs->run_count = (uint32_t)count;
	return numbers;
}

static int list_folder(struct sn_inputs *inputs, const char *folder, uint32_t number, uint32_t run,
		       struct sn_error *error)
{
	char **files;
	size_t count;
	int result = sn_measurement_list(folder, &files, &count, error);
	if (result)
		return result;
	for (size_t i = 0; i < count && !result; i++) {
		const char *path = sn_arena_text(&inputs->arena, files[i]);
		struct stat status;
		uint64_t bytes = stat(files[i], &status) ? 0 : (uint64_t)status.st_size;
		result = sn_vec_push(&inputs->items, &inputs->capacity, &inputs->count,
				     (struct sn_input){path, number, run, bytes});
	}
	sn_measurement_free_list(files);
	return result || inputs->arena.failed ? sn_fail_memory(error) : 0;
}

static int list_run_records(struct sn_inputs *inputs, const char *folder, uint32_t run)
{
	struct sn_run_record *records;
	size_t count;
	int result = sn_run_files_read(folder, &records, &count);
	for (size_t i = 0; i < count && !result; i++)
		result = sn_vec_push(&inputs->records, &inputs->record_capacity,
				     &inputs->record_count, (struct sn_input_run){records[i], run});
	free(records);
	return result ? SN_ERR_MEMORY : 0;
}

int sn_inputs_list(struct sn_inputs *inputs, const char *const *folders, size_t count,
		   struct sn_error *error)
{
	*inputs = (struct sn_inputs){0};
	const uint32_t *runs = number_runs(inputs, folders, count);
	int result = runs ? 0 : sn_fail_memory(error);
	for (size_t i = 0; i < count && !result; i++) {
		result = list_folder(inputs, folders[i], (uint32_t)i, runs[i], error);
		if (!result && list_run_records(inputs, folders[i], runs[i]))
			result = sn_fail_memory(error);
	}
	if (!result)
		sort_inputs(inputs->items, inputs->count, NULL);
	return result;
}

void sn_inputs_release(struct sn_inputs *inputs)
{
	free(inputs->items);
	free(inputs->records);
	sn_arena_release(&inputs->arena);
	*inputs = (struct sn_inputs){0};
}
