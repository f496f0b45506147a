/* SPDX-License-Identifier: Apache-2.0 */
/* What is the user's own code: of Python by its file, of C and C++ by the module and the source file. */
#include "../db_fixture.h"

#include "format/measurement/measurement.h"
#include "frame/user_frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define VENV	 "/home/me/venv"
#define PACKAGES VENV "/lib/python3.11/site-packages/"
#define DIGITS	 "abq2jzc2yg4lxorp7m3ddn5fwsxkuhqvlv2bqmsyx7ae5rj5tz6q"

/* Python's where there is no module. */
static const struct known {
	const char *file, *function, *module;
	bool is_user;
} known[] = {
    {"/home/me/train.py", "step", NULL, true},
    {PACKAGES "torch/_ops.py", "__call__", NULL, false},
    {VENV "/lib/python3.11/threading.py", "run", NULL, false},
    {"/opt/python/lib64/python3.12/threading.py", "run", NULL, false},
    {"/opt/python/bin/ansible", "<module>", NULL, false},
    /* what an installer writes for a package's command; a program of one's own beside no Python */
    {VENV "/bin/torchrun", "<module>", NULL, false},
    {VENV "/bin/pip3.11", "<module>", NULL, false},
    {VENV "/bin/torchrun", "mine", NULL, true},
    {VENV "/bin/train.py", "<module>", NULL, true},
    {"/home/me/bin/train", "<module>", NULL, true},
    {"/home/me/bin/train.v2", "<module>", NULL, true},
    {"/home/me/venv2/bin/train", "<module>", NULL, true},
    /* a function of the program's that cloudpickle took to another process, without its file's name */
    {"<dynamic-code>", "busy", NULL, true},
    {"<frozen runpy>", "busy", NULL, false},
    /* what torch.compile writes, in its usual folder and in another; what only looks so */
    {"/tmp/torchinductor_me/ab/c" DIGITS ".py", "call", NULL, false},
    {"/scratch/cache/ab/c" DIGITS ".py", "call", NULL, false},
    {"/scratch/cache/xy/c" DIGITS ".py", "call", NULL, true},
    {"/home/me/ab/cab.py", "call", NULL, true},
    {"ab/cab.py", "call", NULL, true},
    {"/home/me/.triton/cache/X/launcher.py", "call", NULL, false},
    /* a library of one's own, its source and what it includes */
    {"/home/me/ext/spin.cpp", "spin", "/home/me/ext/spin.so", true},
    {PACKAGES "torch/include/ATen/core/TensorBody.h", "data_ptr", "/home/me/ext/spin.so", false},
    {"/usr/include/c++/12/bits/stl_vector.h", "push_back", "/home/me/ext/spin.so", false},
    {"/home/me/cuda/include/crt/device_functions.h", "launch", "/home/me/ext/spin.so", false},
    {VENV "/include/python3.11/object.h", "Py_DECREF", "/home/me/ext/spin.so", false},
    {"/scratch/cache/ab/c" DIGITS ".main.cpp", "kernel", "/scratch/cache/ab/c" DIGITS ".main.so",
     false},
    {"/build/torch.cpp", "add", PACKAGES "torch/lib/libtorch_cpu.so", false},
};
enum { COUNT = sizeof(known) / sizeof(*known) };

static char folder[] = "/tmp/sonde-user-frame-XXXXXX";
static struct sonde_db *db;

static uint32_t module_of(struct sn_db_builder *builder, const char *path)
{
	struct sonde_db_module module = {.path = sn_db_builder_string(builder, path),
					 .build_id = SONDE_NONE};
	return path ? sn_db_builder_module(builder, &module) : SONDE_NONE;
}

static void add_frame(struct sn_db_builder *builder, const struct known *it)
{
	struct sonde_db_frame frame = {
	    .kind = it->module ? SN_FRAME_NATIVE : SN_FRAME_PYTHON,
	    .name = sn_db_builder_string(builder, it->function),
	    .linkage_name = SONDE_NONE,
	    .module = module_of(builder, it->module),
	    .file = sn_db_builder_string(builder, it->file),
	    .line = 5,
	    .function_line = 1,
	};
	uint32_t context = sn_db_builder_context(builder, 0, sn_db_builder_frame(builder, &frame));
	struct sonde_db_stat stat = {1, 1, 1, 1, 1};
	sn_db_builder_value(builder, 0, context, 0, &stat);
}

static int setup(void **state)
{
	char path[128];
	assert_non_null(mkdtemp(folder));
	struct sn_db_builder *b = sn_db_builder_new();
	sn_db_builder_set_root(b, sn_db_builder_named_frame(b, SN_FRAME_THREAD, "root"));
	struct sonde_db_metric metric = {.name = sn_db_builder_string(b, "cost"),
					 .unit = sn_db_builder_string(b, "1"),
					 .source = sn_db_builder_string(b, "test"),
					 .kind = SN_METRIC_COUNT};
	sn_db_builder_metric(b, &metric);
	struct sonde_db_profile profile = {.host = sn_db_builder_string(b, "host"),
					   .program = sn_db_builder_string(b, "program"),
					   .thread = SONDE_NONE,
					   .rank = -1};
	sn_db_builder_profile(b, &profile);
	for (uint32_t i = 0; i < COUNT; i++)
		add_frame(b, &known[i]);
	snprintf(path, sizeof(path), "%s/x.sdb", folder);
	struct sn_error error;
	struct sonde_db_error open_error;
	assert_int_equal(sn_db_builder_write(b, path, &error), 0);
	sn_db_builder_free(b);
	assert_int_equal(sonde_db_open(path, &db, &open_error), 0);
	unlink(path);
	return 0;
}

static int teardown(void **state)
{
	sonde_db_close(db);
	return rmdir(folder);
}

static bool is_it(const struct sonde_db_frame *frame, const struct known *it)
{
	bool is_python = frame->kind == SN_FRAME_PYTHON;
	return frame->file != SONDE_NONE && is_python == !it->module &&
	       !strcmp(sonde_db_string(db, frame->file), it->file) &&
	       !strcmp(sonde_db_string(db, frame->name), it->function);
}

static void test_user_frames(void **state)
{
	uint32_t found = 0;
	for (uint32_t i = 0; i < sonde_db_frame_count(db); i++)
		for (uint32_t k = 0; k < COUNT; k++) {
			const struct sonde_db_frame *frame = sonde_db_frame(db, i);
			if (!is_it(frame, &known[k]))
				continue;
			found++;
			if (sn_frame_is_user(db, frame) != known[k].is_user)
				fail_msg("%s of %s", known[k].function, known[k].file);
		}
	assert_int_equal(found, COUNT);
}

/* Without debugging information there is no source, and the functions are the program's all the same. */
static void test_program_without_lines(void **state)
{
	uint32_t own = 0;
	for (uint32_t i = 0; i < sonde_db_frame_count(db); i++) {
		struct sonde_db_frame frame = *sonde_db_frame(db, i);
		if (frame.kind != SN_FRAME_NATIVE)
			continue;
		const char *module = sonde_db_string(db, sonde_db_module(db, frame.module)->path);
		frame.file = SONDE_NONE;
		frame.line = 0;
		assert_false(sn_frame_is_user(db, &frame));
		assert_int_equal(sn_frame_is_program(db, &frame),
				 !strcmp(module, "/home/me/ext/spin.so"));
		own += sn_frame_is_program(db, &frame);
	}
	assert_int_equal(own, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_user_frames),
					   cmocka_unit_test(test_program_without_lines)};
	return cmocka_run_group_tests(tests, setup, teardown);
}
