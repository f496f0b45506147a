/* SPDX-License-Identifier: Apache-2.0 */
/* Images and names of code; see epochs_image.h. */
#include "epochs_image.h"

#include "base/search.h"
#include "base/sort_by.h"
#include "base/text.h"
#include "base/vec.h"
#include "binary/elf/elf_file.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void sn_epochs_images_release(struct sn_epochs_images *images)
{
	for (uint32_t i = 0; images->items && i < images->count; i++)
		sn_elf_code_release(&images->items[i].code);
	free(images->items);
	free(images->names);
	free(images->of_modules);
	sn_arena_release(&images->arena);
	*images = (struct sn_epochs_images){0};
}

/* ---- what an image is called ---- */

static const char *const kind_labels[SN_EPOCH_IMAGE_KINDS] = {
    [SN_EPOCH_FILE] = "[file]",	      [SN_EPOCH_KERNEL] = "[kernel]",
    [SN_EPOCH_MODULE] = "[module]",   [SN_EPOCH_BPF] = "[bpf]",
    [SN_EPOCH_VDSO] = "[vdso]",	      [SN_EPOCH_JIT] = "[jit]",
    [SN_EPOCH_UNKNOWN] = "[unknown]", [SN_EPOCH_PYTHON] = "[python]",
};

void sn_epochs_image_label(const struct sn_epoch_image *image, char *text, size_t size)
{
	const char *name = sn_text_base_name(image->path);
	bool is_plain = image->kind == SN_EPOCH_FILE && *name;
	bool is_module = image->kind == SN_EPOCH_MODULE && *name && *name != '[';
	snprintf(text, size, is_module ? "[%s]" : "%s",
		 is_plain || is_module ? name : kind_labels[image->kind]);
}

bool sn_epochs_image_is(const struct sn_epoch_image *image, const char *wanted)
{
	char label[SN_EPOCH_TEXT_MAX + 3];
	sn_epochs_image_label(image, label, sizeof(label));
	size_t length = strlen(label);
	bool is_bare = label[0] == '[' && strlen(wanted) == length - 2 &&
		       !strncmp(label + 1, wanted, length - 2); /* "kernel" */
	return is_bare || !strcmp(label, wanted) || !strcmp(image->path, wanted);
}

/* ---- whether its file is still there ---- */

static bool is_unchanged(const struct sn_epoch_image *image, const struct stat *status)
{
	uint64_t mtime_ns =
	    (uint64_t)status->st_mtim.tv_sec * 1000000000 + (uint64_t)status->st_mtim.tv_nsec;
	return (!image->bytes || image->bytes == (uint64_t)status->st_size) &&
	       (!image->mtime_ns || image->mtime_ns == mtime_ns);
}

/* The kernel gives 20 bytes of each build id, zeroes behind one that is shorter (8 bytes of lld's), and not its length. */
static bool is_same_build(const struct sn_epoch_image *image, const struct sn_elf_file *file)
{
	uint8_t id[SN_EPOCH_BUILD_ID_BYTES] = {0};
	uint32_t bytes = file->build_id_bytes;
	if (!bytes || bytes > image->build_id_bytes)
		return false;
	memcpy(id, file->build_id, bytes);
	return !memcmp(id, image->build_id, image->build_id_bytes);
}

/* Its code, if the file is the one that ran. 0 or SN_ERR_MEMORY. */
static int read_code(struct sn_epochs_image *item, const struct stat *status)
{
	const struct sn_epoch_image *image = &item->image;
	struct sn_elf_file *file = NULL;
	int result = sn_elf_file_open(image->path, &file, NULL);
	if (result)
		return result == SN_ERR_MEMORY ? result : 0;
	bool is_same = image->build_id_bytes ? is_same_build(image, file)
					     : !image->is_deleted && is_unchanged(image, status);
	result = is_same ? sn_elf_code_of(file, &item->code) : 0;
	if (is_same && image->build_id_bytes)
		item->image.build_id_bytes = file->build_id_bytes;
	sn_elf_file_free(file);
	return result;
}

/* Finds out what became of the file: *fate is "replaced", "deleted", "not found"; NULL: it is the one that ran. 0 or SN_ERR_MEMORY. */
static int find_fate(struct sn_epochs_image *item, const char **fate)
{
	struct stat status;
	*fate = item->image.is_deleted ? "deleted" : "not found";
	if (stat(item->image.path, &status) < 0 || !S_ISREG(status.st_mode))
		return 0;
	int result = read_code(item, &status);
	*fate = item->code.pieces ? NULL : "replaced";
	return result;
}

/* ---- modules ---- */

static int add_module(struct sn_epochs_images *images, uint32_t number, const char *path,
		      uint32_t flags)
{
	struct sn_merge *merge = images->merge;
	struct sn_epochs_image *item = images->items + number;
	struct sn_merged_module module = {.path = sn_db_builder_string(merge->builder, path),
					  .build_id_bytes = item->image.build_id_bytes};
	memcpy(module.build_id, item->image.build_id, item->image.build_id_bytes);
	item->module = sn_intern_add(&merge->modules, &module, sizeof(module));
	if (item->module == SN_INTERN_NONE ||
	    sn_vec_reserve(&merge->module_flags, &merge->module_flag_capacity,
			   item->module + 1ull) < 0 ||
	    sn_vec_reserve(&images->of_modules, &images->module_capacity, item->module + 1ull) < 0)
		return SN_ERR_MEMORY;
	merge->module_flags[item->module] = flags;
	images->of_modules[item->module] = number;
	return 0;
}

/* A file that is not the one that ran any more is asked for nothing. A debug file of its build would have the names, but not where the code lay in it. */
static int add_file(struct sn_epochs_images *images, uint32_t number)
{
	char label[SN_EPOCH_TEXT_MAX + 32];
	struct sn_epochs_image *item = images->items + number;
	const char *fate;
	if (find_fate(item, &fate) < 0)
		return SN_ERR_MEMORY;
	if (!fate)
		return add_module(images, number, item->image.path, 0);
	snprintf(label, sizeof(label), "[%s, %s]", sn_text_base_name(item->image.path), fate);
	item->nameless = sn_arena_text(&images->arena, label);
	return item->nameless ? add_module(images, number, item->nameless, SN_MODULE_ANONYMOUS)
			      : SN_ERR_MEMORY;
}

/* "FILE:FIRST LINE:NAME": a name that Python's compiler gives has no colon. */
static int add_function(struct sn_epochs_images *images, uint32_t number)
{
	struct sn_db_builder *builder = images->merge->builder;
	struct sn_epochs_image *item = images->items + number;
	const char *path = item->image.path, *name = strrchr(path, ':');
	const char *line = name ? memrchr(path, ':', (size_t)(name - path)) : NULL;
	const char *end = line ? line : path + strlen(path);
	struct sn_merged_code code = {sn_db_builder_string_n(builder, path, (size_t)(end - path)),
				      sn_db_builder_string(builder, line ? name + 1 : path),
				      line ? (uint32_t)strtoul(line + 1, NULL, 10) : 0};
	item->function = sn_intern_add(&images->merge->codes, &code, sizeof(code));
	return item->function == SN_INTERN_NONE ? SN_ERR_MEMORY : 0;
}

static int add_image(struct sn_epochs_images *images, uint32_t number)
{
	char label[SN_EPOCH_TEXT_MAX + 3];
	struct sn_epochs_image *item = images->items + number;
	item->module = SONDE_NONE;
	sn_epoch_dictionary_image_at(images->dictionary, number, &item->image);
	sn_epochs_image_label(&item->image, label, sizeof(label));
	item->label = sn_db_builder_string(images->merge->builder, label);
	switch (item->image.kind) {
	case SN_EPOCH_FILE:
		return add_file(images, number);
	case SN_EPOCH_VDSO:
		return add_module(images, number, "[vdso]", SN_MODULE_VDSO);
	case SN_EPOCH_JIT:
		return add_module(images, number, *item->image.path ? item->image.path : label,
				  SN_MODULE_ANONYMOUS);
	case SN_EPOCH_PYTHON:
		return add_function(images, number);
	default:
		return 0;
	}
}

/* ---- names that the store has ---- */

SN_SORT_BY(sort_names, uint32_t, const struct sn_epoch_name *,
	   SN_ORDER(of[*a].image, of[*b].image)
	       ?: SN_ORDER(of[*a].start, of[*b].start)
	       ?: SN_ORDER(*a, *b));

/* Names come by image and start; of those that begin at one address the last one stays. */
static void keep_name(struct sn_epochs_images *images, const struct sn_epoch_name *name)
{
	struct sn_epochs_image *item = images->items + name->image;
	if (!item->name_count)
		item->first_name = (uint32_t)images->name_count;
	else if (images->names[images->name_count - 1].start == name->start)
		images->name_count--;
	images->names[images->name_count++] = *name;
	item->name_count = (uint32_t)images->name_count - item->first_name;
}

static int collect_names(struct sn_epochs_images *images)
{
	uint32_t count = images->dictionary->names.count;
	struct sn_epoch_name *all = malloc((count + 1ull) * sizeof(*all));
	uint32_t *order = malloc((count + 1ull) * sizeof(*order));
	images->names = malloc((count + 1ull) * sizeof(*images->names));
	int result = all && order && images->names ? 0 : SN_ERR_MEMORY;
	for (uint32_t i = 0; !result && i < count; i++) {
		sn_epoch_dictionary_name_at(images->dictionary, i, all + i);
		order[i] = i;
	}
	if (!result)
		sort_names(order, count, all);
	for (uint32_t i = 0; !result && i < count; i++)
		keep_name(images, all + order[i]);
	free(all);
	free(order);
	return result;
}

int sn_epochs_images_init(struct sn_epochs_images *images, struct sn_merge *merge,
			  const struct sn_epoch_dictionary *dictionary)
{
	*images = (struct sn_epochs_images){.merge = merge, .dictionary = dictionary};
	images->count = dictionary->images.count;
	images->items = calloc(images->count + 1ull, sizeof(*images->items));
	int result = images->items ? 0 : SN_ERR_MEMORY;
	for (uint32_t i = 0; i < images->count && !result; i++)
		result = add_image(images, i);
	return result ? result : collect_names(images);
}

static const char *name_at(const struct sn_epochs_images *images,
			   const struct sn_epochs_image *item, uint64_t address)
{
	const struct sn_epoch_name *names = images->names + item->first_name;
	size_t behind = sn_search(i, item->name_count, names[i].start <= address);
	if (!behind)
		return NULL;
	const struct sn_epoch_name *name = names + behind - 1;
	return !name->bytes || address - name->start < name->bytes ? name->name : NULL;
}

/* ---- frames ---- */

struct sn_frame sn_epochs_frame(struct sn_epochs_images *images, uint32_t image, uint64_t address,
				bool is_return)
{
	const struct sn_epochs_image *item = images->items + image;
	struct sn_frame frame = {.kind = SN_FRAME_NATIVE, .id = SN_ID_NONE};
	if (item->image.kind == SN_EPOCH_PYTHON) {
		frame = (struct sn_frame){
		    .kind = SN_FRAME_PYTHON, .id = item->function, .value = address};
	} else if (item->module != SONDE_NONE) {
		frame.id = item->module;
		frame.value = sn_elf_code_address(&item->code, address);
		frame.flags = is_return ? SN_FRAME_RETURN_ADDRESS : 0;
	} else if (item->image.kind != SN_EPOCH_UNKNOWN) {
		const char *name = name_at(images, item, address - (is_return && address));
		frame.kind = SN_FRAME_OS;
		frame.id = name ? sn_db_builder_string(images->merge->builder, name) : item->label;
	}
	return frame;
}

/* A location that is a name alone; NULL without memory. */
static const struct sn_symbol_location *make_location(struct sn_epochs_images *images,
						      const char *name)
{
	struct sn_symbol_frame *frame = sn_arena_array(&images->arena, struct sn_symbol_frame, 1);
	struct sn_symbol_location *location =
	    sn_arena_array(&images->arena, struct sn_symbol_location, 1);
	if (!frame || !location)
		return NULL;
	*frame = (struct sn_symbol_frame){.name = name, .kind = SN_SYMBOL_FUNCTION};
	*location = (struct sn_symbol_location){.frames = frame, .depth = 1};
	return location;
}

int sn_epochs_name_rest(struct sn_epochs_images *images, struct sn_resolved *resolved)
{
	const struct sn_merge *merge = images->merge;
	for (uint32_t i = 0; i < merge->frames.count; i++) {
		struct sn_frame frame;
		memcpy(&frame, sn_intern_at(&merge->frames, i, NULL), sizeof(frame));
		if (frame.kind != SN_FRAME_NATIVE || frame.id == SN_ID_NONE ||
		    !resolved->locations[i] || resolved->locations[i]->frames[0].name)
			continue;
		const struct sn_epochs_image *item = images->items + images->of_modules[frame.id];
		bool is_return = frame.flags & SN_FRAME_RETURN_ADDRESS && frame.value;
		const char *name = item->nameless;
		if (item->image.kind == SN_EPOCH_JIT)
			name = name_at(images, item, frame.value - is_return);
		if (!name)
			continue;
		resolved->locations[i] = make_location(images, name);
		if (!resolved->locations[i])
			return SN_ERR_MEMORY;
	}
	return 0;
}
