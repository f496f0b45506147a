/* SPDX-License-Identifier: Apache-2.0 */
/* Analysis from measurement files to a database: every path as a reader must see it. */
#include "../gpu_fixture.h"
#include "../measurement_fixture.h"

#include "aggregate/analyze.h"
#include "aggregate/unify/operators.h"
#include "aggregate/unify/unify.h"
#include "format/database/database_builder.h"
#include "sonde/db.h"

#include <dlfcn.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define BUILD_ID "\x01\x02\x03\x04"

static char folder[] = "/tmp/sonde-test-analyze-XXXXXX";
static char first_file[128], second_file[128], output[128];
static void *library;

/* ELF virtual address of a function of the fake library. */
static uint64_t address_of(const char *symbol)
{
	Dl_info info;
	void *function = dlsym(library, symbol);
	assert_non_null(function);
	assert_true(dladdr(function, &info));
	return (uint64_t)((char *)function - (char *)info.dli_fbase);
}

static struct measurement_fixture *new_process(const char *pid, uint64_t start_s)
{
	char line[80];
	struct measurement_fixture *f = measurement_fixture_new();
	snprintf(line, sizeof(line), "pid=%s", pid);
	measurement_fixture_property(f, line);
	snprintf(line, sizeof(line), "command=run %s", pid);
	measurement_fixture_property(f, line);
	snprintf(line, sizeof(line), "start_realtime_ns=%llu000000000",
		 (unsigned long long)start_s);
	measurement_fixture_property(f, line);
	measurement_fixture_property(f, "start_monotonic_ns=1000");
	measurement_fixture_property(f, "duration_ns=5000000000");
	measurement_fixture_property(f, "host=node0");
	measurement_fixture_property(f, "version=0.1.0");
	measurement_fixture_property(f, "program=/usr/bin/python3");
	measurement_fixture_metric(f, "cpu-time", "ns", SN_METRIC_TIME, 5000000);
	return f;
}

static uint32_t new_thread(struct measurement_fixture *f, uint64_t tid)
{
	struct sn_thread_record record = {
	    .tid = tid, .start_ns = 2000, .end_ns = 3000, .samples = 2, .own_ns = 10};
	return measurement_fixture_thread(f, "thread", record);
}

static uint32_t library_module(struct measurement_fixture *f)
{
	return measurement_fixture_module(f, FAKE_TORCH, 0x10000000, "", 0);
}

static uint32_t add_native(struct measurement_fixture *f, uint32_t parent, uint32_t module,
			   uint64_t offset, unsigned flags)
{
	return measurement_fixture_node(
	    f, 0, parent,
	    (struct sn_frame){
		.kind = SN_FRAME_NATIVE, .flags = (uint8_t)flags, .id = module, .value = offset});
}

static uint32_t add_operator(struct measurement_fixture *f, uint32_t parent, const char *name,
			     unsigned flags)
{
	return measurement_fixture_named(f, 0, parent, SN_FRAME_OPERATOR, flags, name);
}

static struct sonde_db *analyze_both(const char *first, const char *second, unsigned jobs,
				     struct sn_analyze_result *result)
{
	const char *inputs[] = {first, second};
	struct sn_analyze_options options = {.jobs = jobs, .no_cache = true};
	struct sn_error error = {""};
	if (sn_analyze(inputs, second ? 2 : 1, output, &options, result, &error))
		fail_msg("%s", error.text);
	struct sonde_db *db;
	struct sonde_db_error db_error;
	if (sonde_db_open(output, &db, &db_error))
		fail_msg("%s", db_error.text);
	return db;
}

/* Commits the process, analyses it alone, and frees it. */
static struct sonde_db *analyze(struct measurement_fixture *f)
{
	unlink(first_file);
	measurement_fixture_commit(f, first_file, true);
	measurement_fixture_free(f);
	return analyze_both(first_file, NULL, 1, NULL);
}

/* The path of the context with the largest value, outermost first: "kind name > kind name". */
static const char *hottest_path(const struct sonde_db *db)
{
	static char path[4096];
	uint32_t hottest = 0;
	double most = -1;
	for (uint32_t c = 0; c < sonde_db_context_count(db); c++) {
		struct sonde_db_summary summary;
		if (sonde_db_summary(db, c, 0, &summary) && summary.exclusive.sum > most) {
			hottest = c;
			most = summary.exclusive.sum;
		}
	}
	*path = 0;
	for (uint32_t c = hottest; c; c = sonde_db_context(db, c)->parent) {
		const struct sonde_db_frame *frame =
		    sonde_db_frame(db, sonde_db_context(db, c)->frame);
		char longer[4096];
		snprintf(longer, sizeof(longer), "%s %s%s%.3000s",
			 sonde_frame_kind_name(frame->kind), sonde_db_string(db, frame->name),
			 *path ? " > " : "", path);
		strcpy(path, longer);
	}
	return path;
}

static const struct sonde_db_frame *find_frame(const struct sonde_db *db, const char *name)
{
	for (uint32_t i = 0; i < sonde_db_frame_count(db); i++)
		if (!strcmp(sonde_db_string(db, sonde_db_frame(db, i)->name), name))
			return sonde_db_frame(db, i);
	fail_msg("no frame %s", name);
	return NULL;
}

static void python_and_named_frames(void **state)
{
	struct measurement_fixture *f = new_process("1", 1700000000);
	new_thread(f, 1);
	uint32_t code = measurement_fixture_code(f, 0, "/src/train.py", "train", 30);
	uint32_t node = measurement_fixture_node(
	    f, 0, 0, (struct sn_frame){.kind = SN_FRAME_PYTHON, .id = code, .value = 33});
	node = measurement_fixture_named(f, 0, node, SN_FRAME_REGION, SN_FRAME_ITERATION, "step");
	node = measurement_fixture_named(f, 0, node, SN_FRAME_GPU_API, 0, "clEnqueueNDRangeKernel");
	node = measurement_fixture_named(f, 0, node, SN_FRAME_KERNEL, 0, "sgemm");
	measurement_fixture_two_values(f, 0, node, 0, 4, 17);
	struct sonde_db *db = analyze(f);
	assert_string_equal(sonde_db_property(db, "complete"), "true");
	assert_string_equal(hottest_path(db), "python train > region step > "
					      "gpu-api clEnqueueNDRangeKernel > kernel sgemm");
	const struct sonde_db_frame *frame = find_frame(db, "train");
	assert_string_equal(sonde_db_string(db, frame->file), "/src/train.py");
	assert_int_equal(frame->line, 33);
	assert_int_equal(frame->function_line, 30);
	assert_int_equal(find_frame(db, "step")->flags, SN_FRAME_ITERATION);
	struct sonde_db_summary root;
	assert_true(sonde_db_summary(db, 0, 0, &root));
	assert_true(root.inclusive.count == 2 && root.inclusive.sum == 21);
	assert_true(root.inclusive.min == 4 && root.inclusive.max == 17);
	assert_true(root.inclusive.sum_squares == 305);
	const struct sonde_db_profile *profile = sonde_db_profile(db, 0);
	assert_true(profile->start_ns == 1700000000ull * 1000000000 + 1000);
	const struct sonde_db_frame *thread = sonde_db_frame(db, sonde_db_context(db, 0)->frame);
	assert_int_equal(thread->kind, SN_FRAME_THREAD);
	assert_string_equal(sonde_db_string(db, thread->name), "python3");
	sonde_db_close(db);
}

static void native_frames_become_functions(void **state)
{
	struct measurement_fixture *f = new_process("1", 1700000000);
	new_thread(f, 1);
	uint32_t module = library_module(f);
	uint64_t second = address_of("sonde_second");
	uint32_t node = add_native(f, 0, module, second, SN_FRAME_RETURN_ADDRESS);
	node = add_native(f, node, module, address_of("sonde_in_inner"), 0);
	measurement_fixture_value(f, 0, node, 0, 1, 7);
	struct sonde_db *db = analyze(f);
	assert_string_equal(hottest_path(db),
			    "native sonde_first > native sonde_outer > inlined inner");
	const struct sonde_db_frame *caller = find_frame(db, "sonde_first");
	assert_int_equal(caller->flags, SN_FRAME_RETURN_ADDRESS);
	assert_true(caller->offset == second);
	const struct sonde_db_frame *outer = find_frame(db, "sonde_outer");
	const char *file = sonde_db_string(db, outer->file);
	assert_string_equal(strrchr(file, '/') + 1, "fake_torch.cpp");
	assert_int_equal(outer->line, 26);
	assert_int_equal(find_frame(db, "inner")->line, 19);
	const char *path = sonde_db_string(db, sonde_db_module(db, outer->module)->path);
	assert_string_equal(path, FAKE_TORCH);
	sonde_db_close(db);
}

/* The instruction at 0x20 of the kernel `outer`, see gpu_fixture.h. */
static void gpu_instructions_become_functions_and_loops(void **state)
{
	struct measurement_fixture *f = new_process("1", 1700000000);
	char path[] = "/tmp/sonde-cubin-XXXXXX";
	size_t bytes;
	uint8_t *cubin = gpu_fixture_cubin(90, &bytes);
	int file = mkstemp(path);
	assert_int_equal(write(file, cubin, bytes), bytes);
	close(file);
	free(cubin);
	new_thread(f, 1);
	uint32_t module = measurement_fixture_module(f, path, 0, "", 0);
	uint32_t kernel = measurement_fixture_named(f, 0, 0, SN_FRAME_KERNEL, 0, "outer");
	static const uint32_t offsets[] = {0x20, 0x40, 0x90};
	for (unsigned i = 0; i < 3; i++) {
		struct sn_frame frame = {.kind = SN_FRAME_GPU_INSTRUCTION,
					 .id = module,
					 .value = GPU_FIXTURE_OUTER + offsets[i]};
		uint32_t node = measurement_fixture_node(f, 0, kernel, frame);
		measurement_fixture_value(f, 0, node, 0, 1, 9 - i);
	}
	struct sonde_db *db = analyze(f);
	unlink(path);
	assert_string_equal(
	    hottest_path(db),
	    "kernel outer > gpu-function outer > gpu-loop loop at kernel.cu:11 > "
	    "gpu-loop loop at kernel.cu:12 > inlined square > gpu-line square.h:21 > "
	    "gpu-instruction 0x420");
	assert_int_equal(find_frame(db, "0x440")->line, 13);
	assert_int_equal(find_frame(db, "helper")->kind, SN_FRAME_GPU_FUNCTION);
	assert_true(find_frame(db, "helper")->offset == GPU_FIXTURE_OUTER + 0x90);
	sonde_db_close(db);
}

/* helper is called by `outer` alone: all its samples come below the call at 0x40. */
static void gpu_samples_get_their_callers(void **state)
{
	struct measurement_fixture *f = new_process("1", 1700000000);
	char path[] = "/tmp/sonde-cubin-XXXXXX";
	size_t bytes;
	uint8_t *cubin = gpu_fixture_cubin(90, &bytes);
	int file = mkstemp(path);
	assert_int_equal(write(file, cubin, bytes), bytes);
	close(file);
	free(cubin);
	new_thread(f, 1);
	uint32_t module = measurement_fixture_module(f, path, 0, "", 0);
	uint32_t kernel = measurement_fixture_named(f, 0, 0, SN_FRAME_KERNEL, 0, "outer");
	static const uint32_t offsets[] = {0x20, 0x90, 0xa0};
	static const uint64_t counts[] = {5, 11, 7};
	for (unsigned i = 0; i < 3; i++) {
		struct sn_frame frame = {.kind = SN_FRAME_GPU_INSTRUCTION,
					 .id = module,
					 .value = GPU_FIXTURE_OUTER + offsets[i]};
		uint32_t node = measurement_fixture_node(f, 0, kernel, frame);
		measurement_fixture_value(f, 0, node, 0, counts[i], 3);
	}
	struct sonde_db *db = analyze(f);
	unlink(path);
	assert_string_equal(hottest_path(db),
			    "kernel outer > gpu-function outer > gpu-loop loop at kernel.cu:11 > "
			    "gpu-line kernel.cu:13 > gpu-function helper > gpu-loop loop at "
			    "kernel.cu:32 > gpu-line kernel.cu:30 > gpu-instruction 0x490");
	struct sonde_db_summary root;
	assert_true(sonde_db_summary(db, 0, 0, &root));
	assert_true(root.inclusive.count == 23 && root.inclusive.sum == 69);
	sonde_db_close(db);
}

static void unknown_code_is_named_by_its_place(void **state)
{
	struct measurement_fixture *f = new_process("1", 1700000000);
	new_thread(f, 1);
	uint32_t gone = measurement_fixture_module(f, "/gone/libgone.so", 0x7000000, "", 0);
	uint32_t node = add_native(f, 0, gone, 0x1234, SN_FRAME_TRUNCATED);
	node = add_native(f, node, SN_ID_NONE, 0x123456789abc, 0);
	node = add_native(f, node, SN_ID_NONE, 0x7001055, 0);
	measurement_fixture_value(f, 0, node, 0, 1, 7);
	struct sonde_db *db = analyze(f);
	assert_string_equal(hottest_path(db),
			    "native [callers unknown] > native libgone.so+0x1234 > "
			    "native [unknown code] > native libgone.so+0x1055");
	sonde_db_close(db);
}

/* Paths of an operator's entry point (call) and the collector's frame for it (shadow). */
static void operators_appear_once(void **state)
{
	static const char call[] = "_ZN2at4_ops10add_Tensor4callEi";
	static const char again[] = "_ZN2at4_ops10add_Tensor10redispatchEi";
	static const char sum[] = "_ZN2at4_ops3sum4callEi";
	static const char sum_dim[] = "_ZN2at4_ops15sum_dim_IntList4callEi";
	static const char node[] = "_ZN5torch8autograd9generated14AddmmBackward05applyEi";
	static const struct {
		const char *path[6]; /* a symbol; or an operator's name */
		const char *expected;
	} cases[] = {
	    {{call, again}, "operator aten::add > native at::_ops::add_Tensor::redispatch"},
	    {{call, "sonde_first", "aten::add", again},
	     "operator aten::add > native sonde_first > native at::_ops::add_Tensor::redispatch"},
	    {{call, "sonde_first", "aten::add"}, "operator aten::add"},
	    {{"aten::add", call}, "operator aten::add > native at::_ops::add_Tensor::call"},
	    {{"aten::sum", "sonde_first", sum_dim},
	     "operator aten::sum > native sonde_first > operator aten::sum"},
	    {{sum, "aten::sum", "aten::sum"}, "operator aten::sum > operator aten::sum"},
	    {{sum, "aten::sum", "sonde_first", sum_dim, "aten::sum"},
	     "operator aten::sum > native sonde_first > operator aten::sum"},
	    {{"aten::sum", "aten::sum"}, "operator aten::sum > operator aten::sum"},
	    {{call, "aten::mul"}, "operator aten::add > operator aten::mul"},
	    {{node}, "operator AddmmBackward0"},
	    {{"AddmmBackward0", "sonde_first", node},
	     "operator AddmmBackward0 > native sonde_first > "
	     "native torch::autograd::generated::AddmmBackward0::apply"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct measurement_fixture *f = new_process("1", 1700000000);
		new_thread(f, 1);
		uint32_t module = library_module(f), place = 0;
		for (const char *const *step = cases[i].path; *step; step++) {
			bool is_symbol = (*step)[0] == '_' || !strncmp(*step, "sonde_", 6);
			bool is_backward = !strcmp(*step, "AddmmBackward0");
			place = is_symbol ? add_native(f, place, module, address_of(*step), 0)
					  : add_operator(f, place, *step,
							 is_backward ? SN_FRAME_BACKWARD : 0);
		}
		measurement_fixture_value(f, 0, place, 0, 1, 7);
		struct sonde_db *db = analyze(f);
		assert_string_equal(hottest_path(db), cases[i].expected);
		sonde_db_close(db);
	}
}

static void compilations_are_regions(void **state)
{
	struct measurement_fixture *f = new_process("1", 1700000000);
	new_thread(f, 1);
	uint32_t code = measurement_fixture_code(
	    f, 0, "/lib/site-packages/torch/_dynamo/convert_frame.py", "_compile", 700);
	uint32_t node = measurement_fixture_node(
	    f, 0, 0, (struct sn_frame){.kind = SN_FRAME_PYTHON, .id = code, .value = 710});
	measurement_fixture_two_values(f, 0, node, 0, 4, 17);
	struct sonde_db *db = analyze(f);
	assert_string_equal(hottest_path(db), "region torch.compile > python _compile");
	sonde_db_close(db);
	assert_null(sn_region_from_python("/src/convert_frame.py", "_compile"));
	assert_null(sn_region_from_python("/torch/_dynamo/convert_frame.py", "compile"));
	assert_null(sn_region_from_python(NULL, "_compile"));
	assert_null(sn_region_from_python("torch/_dynamo/convert_frame.py", NULL));
}

static void operators_are_known_by_symbol(void **state)
{
	struct sn_operator found;
	assert_true(sn_operator_from_symbol("at::_ops::add_Tensor::call",
					    "_ZN2at4_ops10add_Tensor4callERKNS_6TensorE", &found));
	assert_string_equal(found.name, "aten::add");
	assert_false(found.is_backward);
	assert_false(sn_operator_from_symbol("at::_ops::add_Tensor::redispatch",
					     "_ZN2at4_ops10add_Tensor10redispatchEv", &found));
	assert_true(sn_operator_from_symbol("torch::autograd::generated::MulBackward0::apply",
					    "_ZN1x", &found));
	assert_string_equal(found.name, "MulBackward0");
	assert_true(found.is_backward);
	assert_true(
	    sn_operator_from_symbol("torch::autograd::AccumulateGrad::apply", NULL, &found));
	assert_string_equal(found.name, "torch::autograd::AccumulateGrad");
	assert_false(sn_operator_from_symbol("torch::autograd::a::b::apply", NULL, &found));
	assert_false(sn_operator_from_symbol("torch::autograd::CppNode<X>::apply", NULL, &found));
	assert_false(sn_operator_from_symbol("torch::autograd::::apply", NULL, &found));
	assert_false(sn_operator_from_symbol("main", NULL, &found));
}

/* Two processes: one path of theirs is the same. */
static void write_two_processes(void)
{
	static const char *const adapters[] = {"adapter.python=CPython 3.11",
					       "adapter.python=no Python here"};
	const char *const files[] = {first_file, second_file};
	for (int process = 0; process < 2; process++) {
		struct measurement_fixture *f =
		    new_process(process ? "20" : "30", process ? 1700000001 : 1700000000);
		measurement_fixture_property(f, adapters[process]);
		measurement_fixture_property(f, "events=cpu-time@199Hz");
		measurement_fixture_property(f, process ? "peak_bytes=7000" : "peak_bytes=9000");
		measurement_fixture_drop(f, "sample-busy", 3);
		measurement_fixture_drop(f, process ? "unheard-of" : "path-too-deep", 1);
		/* other strings first, so that numbers differ between the two */
		uint32_t thread = new_thread(f, 30);
		for (int i = 0; i < 5 * process; i++)
			measurement_fixture_module(f, "/lib/other.so", 0, "x", 1);
		uint32_t module = measurement_fixture_module(f, "/lib/same.so", 0, BUILD_ID, 4);
		uint32_t other =
		    measurement_fixture_module(f, "/lib/same.so", 0, process ? "y" : "z", 1);
		uint32_t node = add_operator(f, 0, "aten::same", 0);
		node = add_native(f, node, module, 0x100, 0);
		measurement_fixture_value(f, thread, node, 0, 2, 10 + (uint64_t)process);
		node = add_native(f, 0, other, 0x200, 0);
		measurement_fixture_value(f, thread, node, 0, 1, 1);
		new_thread(f, 31);
		unlink(files[process]);
		measurement_fixture_commit(f, files[process], process == 0);
		measurement_fixture_free(f);
	}
}

static void processes_and_threads_share_one_tree(void **state)
{
	write_two_processes();
	struct sn_analyze_result result;
	struct sonde_db *db = analyze_both(first_file, second_file, 1, &result);
	assert_int_equal(result.processes, 2);
	assert_int_equal(sonde_db_profile_count(db), 4);
	/* the root, aten::same, its function, and one function of each differing module */
	assert_int_equal(sonde_db_context_count(db), 5);
	assert_int_equal(sonde_db_module_count(db), 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(sonde_db_module(db, i)->flags, 0);
	assert_string_equal(hottest_path(db), "operator aten::same > native same.so+0x100");
	struct sonde_db_summary root;
	assert_true(sonde_db_summary(db, 0, 0, &root));
	assert_true(root.inclusive.count == 6 && root.inclusive.sum == 44);
	assert_true(root.across.count == 2 && root.across.min == 21 && root.across.max == 23);
	sonde_db_close(db);
}

static const char *property(const struct sonde_db *db, const char *key)
{
	const char *value = sonde_db_property(db, key);
	if (!value)
		fail_msg("no property %s", key);
	return value;
}

static void provenance_is_of_all_processes(void **state)
{
	write_two_processes();
	struct sonde_db *db = analyze_both(second_file, first_file, 1, NULL);
	assert_string_equal(property(db, "command"), "run 30");
	assert_string_equal(property(db, "start"), "2023-11-14T22:13:20Z");
	assert_string_equal(property(db, "duration_ns"), "6000000000");
	assert_string_equal(property(db, "complete"), "false");
	assert_string_equal(property(db, "processes"), "2");
	assert_string_equal(property(db, "processes.unfinished"), "1");
	assert_string_equal(property(db, "threads"), "4");
	assert_string_equal(property(db, "samples"), "8");
	assert_string_equal(property(db, "own_ns"), "40");
	assert_string_equal(property(db, "peak_bytes"), "9000");
	assert_string_equal(property(db, "events"), "cpu-time@199Hz");
	assert_string_equal(property(db, "adapter.python"),
			    "CPython 3.11 (1 of 2 processes); no Python here (1 of 2 processes)");
	assert_int_equal(sonde_db_drop_count(db), 3);
	for (uint32_t i = 0; i < 3; i++) {
		const struct sonde_db_drop *drop = sonde_db_drop(db, i);
		bool is_busy = !strcmp(sonde_db_string(db, drop->cause), "sample-busy");
		assert_int_equal(drop->count, is_busy ? 6 : 1);
		assert_int_not_equal(sonde_db_string_length(db, drop->text), 0);
	}
	sonde_db_close(db);
}

static unsigned char *read_output(size_t *length)
{
	FILE *file = fopen(output, "rb");
	assert_non_null(file);
	unsigned char *bytes = malloc(1 << 20);
	*length = fread(bytes, 1, 1 << 20, file);
	fclose(file);
	return bytes;
}

static void order_and_jobs_make_no_difference(void **state)
{
	write_two_processes();
	size_t length, other_length;
	sonde_db_close(analyze_both(first_file, second_file, 1, NULL));
	unsigned char *bytes = read_output(&length);
	sonde_db_close(analyze_both(second_file, first_file, 4, NULL));
	unsigned char *other = read_output(&other_length);
	assert_int_equal(length, other_length);
	assert_memory_equal(bytes, other, length);
	free(bytes);
	free(other);
}

static void unreadable_files_are_counted(void **state)
{
	write_two_processes();
	assert_int_equal(truncate(second_file, 5000), 0);
	const char *inputs[] = {folder, first_file};
	struct sn_analyze_result result;
	struct sn_error error = {""};
	assert_int_equal(sn_analyze(inputs, 1, output, NULL, &result, &error), 0);
	assert_int_equal(result.unreadable, 1);
	assert_int_equal(result.processes, 1);
	assert_non_null(strstr(result.first_problem.text, second_file));
	struct sonde_db *db;
	assert_int_equal(sonde_db_open(output, &db, NULL), 0);
	assert_string_equal(property(db, "processes.unreadable"), "1");
	assert_string_equal(property(db, "complete"), "false");
	sonde_db_close(db);

	assert_int_equal(truncate(first_file, 100), 0);
	unlink(output);
	assert_true(sn_analyze(inputs, 1, output, NULL, &result, &error) < 0);
	assert_non_null(strstr(error.text, "cannot read '"));
	assert_int_not_equal(access(output, F_OK), 0);
	assert_true(sn_analyze(inputs, 0, output, NULL, &result, &error) < 0);
}

/* What --memory bounds: every array of a table, as the C library has it. */
static void tables_are_counted_whole(void **state)
{
	struct sn_unified unified;
	assert_int_equal(sn_unified_init(&unified), 0);
	struct sn_intern *interns[] = {&unified.builder->strings, &unified.merge.modules,
				       &unified.merge.codes, &unified.merge.frames};
	uint64_t held = 0;
	for (size_t t = 0; t < sizeof(interns) / sizeof(*interns); t++) {
		for (uint64_t i = 0; i < 100000; i++)
			assert_int_not_equal(sn_intern_add(interns[t], &i, sizeof(i)),
					     SN_INTERN_NONE);
		held += malloc_usable_size(interns[t]->bytes) +
			malloc_usable_size(interns[t]->ends) +
			malloc_usable_size(interns[t]->slots);
	}
	uint64_t counted = sn_unified_bytes(&unified);
	/* the C library rounds up to pages */
	assert_in_range(counted, held - held / 50, held + held / 50);
	sn_unified_release(&unified);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(python_and_named_frames),
	    cmocka_unit_test(native_frames_become_functions),
	    cmocka_unit_test(gpu_instructions_become_functions_and_loops),
	    cmocka_unit_test(gpu_samples_get_their_callers),
	    cmocka_unit_test(unknown_code_is_named_by_its_place),
	    cmocka_unit_test(operators_appear_once),
	    cmocka_unit_test(compilations_are_regions),
	    cmocka_unit_test(operators_are_known_by_symbol),
	    cmocka_unit_test(processes_and_threads_share_one_tree),
	    cmocka_unit_test(provenance_is_of_all_processes),
	    cmocka_unit_test(order_and_jobs_make_no_difference),
	    cmocka_unit_test(unreadable_files_are_counted),
	    cmocka_unit_test(tables_are_counted_whole),
	};
	library = dlopen(FAKE_TORCH, RTLD_NOW);
	if (!library || !mkdtemp(folder)) {
		fprintf(stderr, "cannot load %s, or make a folder in /tmp\n", FAKE_TORCH);
		return 1;
	}
	/* the cache of symbols, where it is not switched off, stays among the test's own files */
	setenv("XDG_CACHE_HOME", folder, 1);
	snprintf(first_file, sizeof(first_file), "%s/a.sonde-process", folder);
	snprintf(second_file, sizeof(second_file), "%s/b.sonde-process", folder);
	snprintf(output, sizeof(output), "%s/out.sdb", folder);
	int failures = cmocka_run_group_tests(tests, NULL, NULL);
	char command[200];
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command) ? 1 : failures;
}
