/* SPDX-License-Identifier: Apache-2.0 */
/* Listing and sorting; see inputs.h. */
#include "inputs.h"

#include "base/text.h"
#include "base/vec.h"
#include "format/measurement/measurement_reader.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int compare_inputs(const void *left, const void *right)
{
	const struct sn_input *a = left, *b = right;
	return strcmp(sn_text_base_name(a->path), sn_text_base_name(b->path))
		   ?: strcmp(a->path, b->path);
}

/* A folder's name, from malloc: "out/train.sonde/" is "train". */
static char *run_name(const char *path)
{
	size_t length = strlen(path);
	while (length > 1 && path[length - 1] == '/')
		length--;
	char *name = strndup(path, length);
	if (!name)
		return NULL;
	const char *base = sn_text_base_name(name);
	size_t base_length = strlen(base);
	if (base_length > strlen(".sonde") && sn_text_ends(base, ".sonde"))
		base_length -= strlen(".sonde");
	memmove(name, base, base_length);
	name[base_length] = 0;
	return name;
}

struct run {
	char *name;
	const char *path;
	uint32_t folder;
};

static int compare_runs(const void *left, const void *right)
{
	const struct run *a = left, *b = right;
	return strcmp(a->name, b->name) ?: strcmp(a->path, b->path);
}

/* Names and numbers the runs; numbers[folder]. */
static int number_runs(struct sn_inputs *inputs, const char *const *folders, size_t count,
		       uint32_t *numbers)
{
	struct run *runs = calloc(count, sizeof(*runs));
	inputs->runs = calloc(count, sizeof(*inputs->runs));
	bool has_memory = runs && inputs->runs;
	for (size_t i = 0; i < count && has_memory; i++) {
		runs[i] = (struct run){run_name(folders[i]), folders[i], (uint32_t)i};
		has_memory = runs[i].name;
	}
	if (has_memory)
		qsort(runs, count, sizeof(*runs), compare_runs);
	for (size_t i = 0; i < count && has_memory; i++) {
		bool is_ambiguous = (i && !strcmp(runs[i].name, runs[i - 1].name)) ||
				    (i + 1 < count && !strcmp(runs[i].name, runs[i + 1].name));
		inputs->runs[i] = strdup(is_ambiguous ? runs[i].path : runs[i].name);
		has_memory = inputs->runs[i];
		numbers[runs[i].folder] = (uint32_t)i;
	}
	inputs->run_count = (uint32_t)count;
	for (size_t i = 0; runs && i < count; i++)
		free(runs[i].name);
	free(runs);
	return has_memory ? 0 : SN_ERR_MEMORY;
}

static int list_folder(struct sn_inputs *inputs, const char *folder, uint32_t number, uint32_t run,
		       struct sn_error *error)
{
	size_t files;
	int result = sn_measurement_list(folder, inputs->lists + number, &files, error);
	if (result)
		return result;
	inputs->list_count = number + 1;
	if (sn_vec_reserve(&inputs->items, &inputs->capacity, inputs->count + files) < 0)
		return sn_fail_memory(error);
	for (size_t i = 0; i < files; i++) {
		const char *path = inputs->lists[number][i];
		struct stat status;
		uint64_t bytes = stat(path, &status) ? 0 : (uint64_t)status.st_size;
		inputs->items[inputs->count++] = (struct sn_input){path, number, run, bytes};
	}
	return 0;
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
	*inputs = (struct sn_inputs){.lists = calloc(count, sizeof(*inputs->lists))};
	uint32_t *runs = calloc(count, sizeof(*runs));
	int result = inputs->lists && runs && !number_runs(inputs, folders, count, runs)
			 ? 0
			 : sn_fail_memory(error);
	for (size_t i = 0; i < count && !result; i++) {
		result = list_folder(inputs, folders[i], (uint32_t)i, runs[i], error);
		if (!result && list_run_records(inputs, folders[i], runs[i]))
			result = sn_fail_memory(error);
	}
	if (!result)
		qsort(inputs->items, inputs->count, sizeof(*inputs->items), compare_inputs);
	free(runs);
	return result;
}

void sn_inputs_release(struct sn_inputs *inputs)
{
	for (size_t i = 0; i < inputs->list_count; i++)
		sn_measurement_free_list(inputs->lists[i]);
	for (uint32_t i = 0; inputs->runs && i < inputs->run_count; i++)
		free(inputs->runs[i]);
	free(inputs->runs);
	free(inputs->lists);
	free(inputs->items);
	free(inputs->records);
	*inputs = (struct sn_inputs){0};
}
