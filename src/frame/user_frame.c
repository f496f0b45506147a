/* SPDX-License-Identifier: Apache-2.0 */
/* By files and modules; see user_frame.h. */
#include "user_frame.h"

#include "base/text.h"
#include "format/measurement/measurement.h"
#include "frame/python_library.h"

#include <string.h>

bool sn_file_is_of_package(const char *path)
{
	return strstr(path, "/site-packages/") || strstr(path, "/dist-packages/");
}

/* Where the library of a Python begins in the path of one of its files, or NULL: Fedora has lib64. */
static const char *python_library(const char *path)
{
	const char *found = strstr(path, "/lib/python");
	return found ? found : strstr(path, "/lib64/python");
}

/* Whether a script was run: other code that is passed to exec is then not the user's. */
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
 * those of its worker processes (multiprocessing). cloudpickle, of joblib among others, takes functions of
 * the main program to other processes by their code, without the file's name.
 */
static bool is_typed_in(const struct sonde_db *db, const char *file, const char *function)
{
	if (strcmp(file, "<string>") == 0)
		return !sn_text_begins(function, "__") && !has_script(db);
	return strcmp(file, "<stdin>") == 0 || strcmp(file, "<dynamic-code>") == 0 ||
	       sn_text_begins(file, "<python-input") || sn_text_begins(file, "<ipython-input");
}

/*
 * What torch.compile writes: its files lie in a folder of two letters, the second and third of
 * their own names, which are a "c" and digits of a checksum; wherever its cache is.
 */
bool sn_file_is_of_inductor(const char *file)
{
	enum { DIGITS = 40 };
	const char *name = strrchr(file, '/');
	if (strstr(file, "/torchinductor_"))
		return true;
	if (!name || name - file < 3 || name[-3] != '/' || name[1] != 'c' ||
	    memcmp(name - 2, name + 2, 2) != 0)
		return false;
	return strspn(name + 2, "abcdefghijklmnopqrstuvwxyz234567") >= DIGITS;
}

/* Files that a compiler of the program's has written: the line that led there is the user's. */
static bool is_generated(const char *file)
{
	return sn_file_is_of_inductor(file) || strstr(file, "/.triton/") ||
	       strstr(file, "/torch_compile_debug/");
}

bool sn_frame_is_generated(const struct sonde_db *db, const struct sonde_db_frame *frame)
{
	return frame->kind == SN_FRAME_PYTHON && is_generated(sonde_db_string(db, frame->file));
}

/* Whether a Python of this database keeps its library in `folder` of `bytes`: "/opt/venv". */
static bool is_python_home(const struct sonde_db *db, const char *folder, size_t bytes)
{
	for (uint32_t i = 0; i < sonde_db_frame_count(db); i++) {
		const struct sonde_db_frame *frame = sonde_db_frame(db, i);
		const char *file = frame->kind == SN_FRAME_PYTHON && frame->file != SONDE_NONE
				       ? sonde_db_string(db, frame->file)
				       : "";
		if (strncmp(file, folder, bytes) == 0 && python_library(file) == file + bytes)
			return true;
	}
	return false;
}

/* The few lines that an installer puts beside a Python for each of a package's commands; their names
 * may have a version ("pip3.11"), but not the ending of a script. */
static bool is_console_script(const struct sonde_db *db, const char *file, const char *function)
{
	const char *name = strrchr(file, '/'), *ending = name ? strrchr(name, '.') : NULL;
	if (!name || (ending && strcmp(ending, ".py") == 0) || strcmp(function, "<module>") != 0)
		return false;
	size_t folder = (size_t)(name - file);
	return folder > 4 && memcmp(name - 4, "/bin", 4) == 0 &&
	       is_python_home(db, file, folder - 4);
}

/* JAX's own files, of which XLA tells the last name alone; of such a name as a program may have the
 * functions that wait and that record. */
static bool is_of_jax(const char *file, const char *function)
{
	static const struct {
		const char *file, *function;
	} known[] = {{"api.py", "block_until_ready"},
		     {"api.py", "try_to_block"},
		     {"profiler.py", "start_trace"},
		     {"profiler.py", "stop_trace"},
		     {"named_sharding.py", NULL},
		     {"pjit.py", NULL},
		     {"pxla.py", NULL},
		     {"sharding_impls.py", NULL},
		     {"tree_util.py", NULL},
		     {"xla_bridge.py", NULL}};
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(file, known[i].file) == 0 &&
		    (!known[i].function || strcmp(function, known[i].function) == 0))
			return true;
	return false;
}

/* Kineto and XLA take the folder of libraries off a path. */
static bool is_bare_library(const struct sonde_db *db, const char *file, const char *function)
{
	const char *from = sonde_db_property(db, "imported.from");
	bool is_xla = from && strcmp(from, "xplane") == 0;
	return (is_xla && is_of_jax(file, function)) ||
	       (from && (is_xla || strcmp(from, "kineto") == 0) && sn_is_python_library(file));
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
	return *file && !sn_file_is_of_package(file) && !python_library(file) &&
	       !is_own_hook(file) && !is_generated(file) && !is_bare_library(db, file, function) &&
	       !is_console_script(db, file, function);
}

static bool is_system_path(const char *path)
{
	return sn_text_begins(path, "/usr/") || sn_text_begins(path, "/lib") ||
	       sn_text_begins(path, "/opt/") || sn_file_is_of_package(path) || is_generated(path) ||
	       *path == '[';
}

/* The standard libraries and packages that a compiler built into the program: of headers, too. */
static bool is_library_source(const char *file)
{
	return sn_text_begins(file, "/usr/") || sn_file_is_of_package(file) || is_generated(file) ||
	       strstr(file, "/include/python3.") || strstr(file, "/include/crt/") ||
	       sn_text_begins(file, "/rustc/") || sn_text_begins(file, "/rust/deps/") ||
	       strstr(file, "/.cargo/registry/") || strstr(file, "/.cargo/git/") ||
	       strstr(file, "/.rustup/toolchains/");
}

/* Machine code of a module that is no library of the system's or of a language's. */
static bool is_program_code(const struct sonde_db *db, const struct sonde_db_frame *frame)
{
	bool is_code = frame->kind == SN_FRAME_NATIVE || frame->kind == SN_FRAME_INLINED ||
		       frame->kind == SN_FRAME_LOOP || frame->kind == SN_FRAME_GPU_LINE ||
		       frame->kind == SN_FRAME_GPU_INSTRUCTION;
	if (!is_code || frame->module == SONDE_NONE)
		return false;
	const char *path = sonde_db_string(db, sonde_db_module(db, frame->module)->path);
	return !is_system_path(path) && !strstr(path, "/.pyenv/") && !strstr(path, "/libpython") &&
	       !strstr(path, "/libsonde.so") && !strstr(path, "/bin/python") &&
	       (frame->file == SONDE_NONE || !is_library_source(sonde_db_string(db, frame->file)));
}

bool sn_frame_is_user(const struct sonde_db *db, const struct sonde_db_frame *frame)
{
	if (frame->kind == SN_FRAME_GRAPH_NODE)
		return frame->file != SONDE_NONE && frame->line &&
		       is_user_python(db, sonde_db_string(db, frame->file), "");
	if (frame->kind == SN_FRAME_PYTHON)
		return sn_frame_is_program(db, frame);
	return frame->file != SONDE_NONE && frame->line && is_program_code(db, frame);
}

bool sn_frame_is_program(const struct sonde_db *db, const struct sonde_db_frame *frame)
{
	if (frame->name == SONDE_NONE)
		return false;
	const char *name = sonde_db_string(db, frame->name);
	if (frame->kind == SN_FRAME_PYTHON)
		return frame->file != SONDE_NONE &&
		       is_user_python(db, sonde_db_string(db, frame->file), name);
	return strcmp(name, "_start") != 0 && is_program_code(db, frame);
}
