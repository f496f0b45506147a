/* SPDX-License-Identifier: Apache-2.0 */
/* Frames to groups, by folding the fields that matter into one number; see group.h. */
#include "group.h"

#include "format/measurement/measurement.h"
#include "pairs.h"
#include "show/source/python_library.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_FIELDS = 6 };

struct key {
	uint32_t fields[KEY_FIELDS];
};

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_package_path(const char *path)
{
	return strstr(path, "/site-packages/") || strstr(path, "/dist-packages/");
}

/* Whether a script was run: what else is given to exec is then somebody's on its behalf. */
static bool has_script(const struct sonde_db *db)
{
	const char *at = sonde_db_property(db, "command");
	while (at && (at = strstr(at, ".py")) && at[3] != '\0' && at[3] != ' ')
		at++;
	return at != NULL;
}

/*
 * Code given with -c, typed in, or run by a program that embeds Python. Generated methods, as of
 * data classes, have such a file as well, and so have the interpreter's own preparations (site) and
 * those of its worker processes (multiprocessing).
 */
static bool is_typed_in(const struct sonde_db *db, const char *file, const char *function)
{
	if (strcmp(file, "<string>") == 0)
		return !has_prefix(function, "__") && !has_script(db);
	return strcmp(file, "<stdin>") == 0 || has_prefix(file, "<python-input") ||
	       has_prefix(file, "<ipython-input");
}

/* Kineto and XLA take the folder of libraries off a path. */
static bool is_bare_library(const struct sonde_db *db, const char *file)
{
	const char *from = sonde_db_property(db, "imported.from");
	return from && (strcmp(from, "kineto") == 0 || strcmp(from, "xplane") == 0) &&
	       sn_is_python_library(file);
}

/* What `sonde run` starts in a program's Pythons: a framework that is imported runs below it. */
static bool is_own_hook(const char *file)
{
	return strstr(file, "/xla-hook/sitecustomize.py") != NULL;
}

static bool is_user_python(const struct sonde_db *db, const char *file, const char *function)
{
	if (*file == '<')
		return is_typed_in(db, file, function);
	return *file && !is_package_path(file) && !strstr(file, "/lib/python") &&
	       !is_own_hook(file) && !is_bare_library(db, file);
}

static bool is_system_path(const char *path)
{
	return has_prefix(path, "/usr/") || has_prefix(path, "/lib") || has_prefix(path, "/opt/") ||
	       is_package_path(path) || *path == '[';
}

/* The standard libraries and packages that a compiler built into the program. */
static bool is_library_source(const char *file)
{
	return has_prefix(file, "/usr/") || has_prefix(file, "/rustc/") ||
	       has_prefix(file, "/rust/deps/") || strstr(file, "/.cargo/registry/") ||
	       strstr(file, "/.cargo/git/") || strstr(file, "/.rustup/toolchains/");
}

static bool is_native(const struct sonde_db_frame *frame)
{
	return frame->kind == SN_FRAME_NATIVE || frame->kind == SN_FRAME_INLINED;
}

bool sn_frame_is_user(const struct sonde_db *db, const struct sonde_db_frame *frame)
{
	if (frame->file == SONDE_NONE)
		return false;
	const char *file = sonde_db_string(db, frame->file);
	if (frame->kind == SN_FRAME_PYTHON)
		return is_user_python(db, file, sonde_db_string(db, frame->name));
	bool is_code = is_native(frame) || frame->kind == SN_FRAME_LOOP;
	if (!is_code || frame->module == SONDE_NONE || frame->line == 0)
		return false;
	const struct sonde_db_module *module = sonde_db_module(db, frame->module);
	const char *path = sonde_db_string(db, module->path);
	return !is_system_path(path) && !strstr(path, "/.pyenv/") && !strstr(path, "/libpython") &&
	       !strstr(path, "/libsonde.so") && !strstr(path, "/bin/python") &&
	       !is_library_source(file);
}

static struct key function_key(const struct sonde_db_frame *frame)
{
	uint32_t kind = is_native(frame) ? SN_FRAME_NATIVE : frame->kind;
	uint32_t flags = frame->flags & (SN_FRAME_BACKWARD | SN_FRAME_ITERATION);
	uint32_t file = frame->kind == SN_FRAME_PYTHON ? frame->file : SONDE_NONE;
	return (struct key){
	    {kind | flags << 8, frame->name, frame->module, file, frame->function_line, 0}};
}

static struct key line_key(const struct sonde_db_frame *frame)
{
	struct key key = function_key(frame);
	key.fields[3] = frame->file;
	key.fields[5] = frame->line;
	return key;
}

static bool is_device_work(const struct sonde_db_frame *frame)
{
	return frame->kind == SN_FRAME_KERNEL || frame->kind == SN_FRAME_GPU_OP;
}

/* Writes the frame's key; false where this grouping leaves the frame out. */
static bool make_key(const struct sonde_db *db, enum sn_grouping grouping, uint32_t id,
		     struct key *key)
{
	const struct sonde_db_frame *frame = sonde_db_frame(db, id);
	bool is_code;
	switch (grouping) {
	case SN_GROUP_AUTO:
		*key = frame->kind == SN_FRAME_PYTHON ? line_key(frame) : function_key(frame);
		return true;
	case SN_GROUP_FUNCTION:
		*key = function_key(frame);
		return frame->kind != SN_FRAME_LOOP;
	case SN_GROUP_LINE:
		*key = line_key(frame);
		return true;
	case SN_GROUP_INSTRUCTION:
		*key = (struct key){{id}};
		return true;
	case SN_GROUP_SOURCE_LINE:
		*key = (struct key){{frame->file, frame->line, frame->name}};
		return frame->file != SONDE_NONE && frame->line != 0 &&
		       frame->kind != SN_FRAME_LOOP;
	case SN_GROUP_USER_LINE:
		*key = (struct key){{frame->file, frame->line, frame->name}};
		return sn_frame_is_user(db, frame) && frame->kind != SN_FRAME_LOOP;
	case SN_GROUP_FILE:
		*key = (struct key){{frame->file}};
		return frame->file != SONDE_NONE && frame->kind != SN_FRAME_LOOP;
	case SN_GROUP_OPERATOR:
		*key = function_key(frame);
		return frame->kind == SN_FRAME_OPERATOR;
	case SN_GROUP_LOOP:
		*key = function_key(frame);
		return frame->kind == SN_FRAME_LOOP;
	case SN_GROUP_KERNEL:
		*key = function_key(frame);
		return is_device_work(frame);
	case SN_GROUP_MODULE:
		is_code = is_native(frame) || frame->kind == SN_FRAME_LOOP;
		*key = (struct key){{frame->module, is_code ? 0 : frame->kind}};
		return true;
	case SN_GROUP_KIND:
		*key = (struct key){{frame->kind}};
		return true;
	}
	return false;
}

static uint32_t fold(struct sn_pairs *pairs, const struct key *key)
{
	uint32_t id = 0;
	for (int i = 0; i < KEY_FIELDS; i++) {
		id = sn_pairs_intern(pairs, id, key->fields[i]);
		if (id == 0)
			return 0;
	}
	return id;
}

static int number_frames(struct sn_groups *groups, const struct sonde_db *db,
			 struct sn_pairs *pairs, struct sn_pairs *dense)
{
	uint32_t count = sonde_db_frame_count(db);
	for (uint32_t i = 0; i < count; i++) {
		struct key key = {{0}};
		groups->of_frame[i] = SONDE_NONE;
		if (!make_key(db, groups->grouping, i, &key))
			continue;
		uint32_t folded = fold(pairs, &key);
		uint32_t id = folded ? sn_pairs_intern(dense, folded, 0) : 0;
		if (id == 0)
			return SN_ERR_MEMORY;
		groups->of_frame[i] = id - 1;
		if (id > groups->count) {
			groups->count = id;
			groups->frame[id - 1] = i;
		}
	}
	return 0;
}

int sn_groups_init(struct sn_groups *groups, const struct sonde_db *db, enum sn_grouping grouping,
		   struct sn_error *error)
{
	uint32_t count = sonde_db_frame_count(db);
	*groups = (struct sn_groups){.grouping = grouping};
	groups->of_frame = malloc((count + 1) * sizeof(uint32_t));
	groups->frame = malloc((count + 1) * sizeof(uint32_t));
	struct sn_pairs pairs, dense;
	sn_pairs_init(&pairs);
	sn_pairs_init(&dense);
	int code = SN_ERR_MEMORY;
	if (groups->of_frame && groups->frame)
		code = number_frames(groups, db, &pairs, &dense);
	sn_pairs_release(&pairs);
	sn_pairs_release(&dense);
	if (code != 0) {
		sn_groups_release(groups);
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	}
	return 0;
}

void sn_groups_release(struct sn_groups *groups)
{
	free(groups->of_frame);
	free(groups->frame);
	*groups = (struct sn_groups){0};
}
