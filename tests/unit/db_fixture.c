/* SPDX-License-Identifier: Apache-2.0 */
/* Databases with known contents; see db_fixture.h. */
#include "db_fixture.h"

#include "format/database/database_graph_builder.h"
#include "format/database/statistics.h"
#include "format/measurement/measurement.h"

#include <stdio.h>
#include <stdlib.h>

struct source {
	const char *module, *file;
	uint32_t line, function_line;
	uint64_t offset;
};

static uint32_t module_of(struct sn_db_builder *builder, const char *path)
{
	struct sonde_db_module module = {sn_db_builder_string(builder, path), SONDE_NONE, 0, 0};
	if (!path)
		return SONDE_NONE;
	if (path[sizeof("/usr/lib/") - 1] != 't')
		module.build_id = sn_db_builder_string(builder, "00112233445566778899aabbccddeeff");
	return sn_db_builder_module(builder, &module);
}

static uint32_t add(struct sn_db_builder *builder, uint32_t parent, unsigned kind, unsigned flags,
		    const char *name, struct source source)
{
	struct sonde_db_frame frame = {
	    .kind = (uint8_t)kind,
	    .flags = (uint8_t)flags,
	    .name = sn_db_builder_string(builder, name),
	    .linkage_name = SONDE_NONE,
	    .module = module_of(builder, source.module),
	    .file = sn_db_builder_string(builder, source.file),
	    .line = source.line,
	    .function_line = source.function_line,
	    .offset = source.offset,
	};
	return sn_db_builder_context(builder, parent, sn_db_builder_frame(builder, &frame));
}

static uint32_t add_metric(struct sn_db_builder *builder, const char *name, const char *source,
			   uint64_t period)
{
	struct sonde_db_metric metric = {
	    .name = sn_db_builder_string(builder, name),
	    .unit = sn_db_builder_string(builder, "ns"),
	    .source = sn_db_builder_string(builder, source),
	    .kind = SN_METRIC_TIME,
	    .period = period,
	};
	return sn_db_builder_metric(builder, &metric);
}

static uint32_t add_thread(struct sn_db_builder *builder, const char *name, uint64_t tid,
			   uint64_t cpu_ms)
{
	const uint64_t start_ns = 1700000000ull * 1000000000;
	struct sonde_db_profile profile = {
	    .host = sn_db_builder_string(builder, "node0"),
	    .program = sn_db_builder_string(builder, "/usr/bin/python3"),
	    .thread = sn_db_builder_string(builder, name),
	    .rank = -1,
	    .pid = 4000,
	    .tid = tid,
	    .device = SONDE_NONE,
	    .device_context = SONDE_NONE,
	    .stream = SONDE_NONE,
	    .start_ns = start_ns + (tid - 4000) * 1000000,
	    .end_ns = start_ns + 600000000,
	    .cpu_ns = cpu_ms * 1000000,
	    .samples = cpu_ms / 5,
	    .own_ns = cpu_ms * 1000,
	};
	return sn_db_builder_profile(builder, &profile);
}

/* `ms` milliseconds in samples of 5. */
static void sampled(struct sn_db_builder *builder, uint32_t profile, uint32_t context, double ms)
{
	double count = ms / 5, each = 5 * FIXTURE_MS;
	struct sonde_db_stat stat = {count, ms * FIXTURE_MS, each, each, count * each * each};
	sn_db_builder_value(builder, profile, context, 0, &stat);
}

static void add_notes(struct sn_db_builder *builder)
{
	static const char *const properties[][2] = {
	    {"command", "python3 train.py"},
	    {"program", "/usr/bin/python3"},
	    {"host", "node0"},
	    {"start", "2023-11-14T22:13:20Z"},
	    {"start_realtime_ns", "1700000000000000000"},
	    {"duration_ns", "600000000"},
	    {"complete", "true"},
	    {"sonde.version", "0.1.0"},
	    {"processes", "1"},
	    {"events", "cpu-time@200Hz"},
	    {"adapter.python", "CPython 3.11.2"},
	    {"adapter.torch", "PyTorch 1.13.1"},
	    {"own_ns", "500000"},
	    {"peak_bytes", "8388608"},
	};
	for (size_t i = 0; i < sizeof(properties) / sizeof(*properties); i++)
		sn_db_builder_property(builder, properties[i][0], properties[i][1]);
	sn_db_builder_drop(builder, "unwind-truncated",
			   "native call paths whose outermost callers are unknown", 2);
	sn_db_builder_drop(builder, "sample-busy",
			   "samples that fell inside the collector; their time went to the next",
			   1);
}

struct sn_db_builder *db_fixture_small(void)
{
	struct sn_db_builder *b = sn_db_builder_new();
	if (!b)
		return NULL;
	static const char libc[] = "/usr/lib/libc.so.6", torch[] = "/usr/lib/torch/libtorch_cpu.so";
	const struct source none = {0};
	sn_db_builder_set_root(b, sn_db_builder_named_frame(b, SN_FRAME_THREAD, "train.py"));
	add_metric(b, "cpu-time", "timer", 5000000);
	add_metric(b, "gpu-time", "opencl", 0);
	add_thread(b, NULL, 4000, 300);
	add_thread(b, "pt_autograd_0", 4001, 100);
	add_thread(b, "worker", 4002, 100);

	uint32_t start = add(b, 0, SN_FRAME_NATIVE, SN_FRAME_RETURN_ADDRESS, "start_thread",
			     (struct source){libc, NULL, 0, 0, 0x89044});
	uint32_t worker =
	    add(b, start, SN_FRAME_NATIVE, 0, "worker_main",
		(struct source){"/usr/lib/worker.so", "/src/worker.c", 20, 18, 0x1140});
	sampled(b, 2, worker, 100);

	uint32_t main = add(b, 0, SN_FRAME_PYTHON, 0, "<module>",
			    (struct source){NULL, "/src/train.py", 40, 1, 0});
	uint32_t load = add(b, main, SN_FRAME_PYTHON, 0, "load_batch",
			    (struct source){NULL, "/src/data.py", 12, 8, 0});
	uint32_t read =
	    add(b, load, SN_FRAME_NATIVE, 0, "read", (struct source){libc, NULL, 0, 0, 0xf7a10});
	uint32_t train = add(b, main, SN_FRAME_PYTHON, 0, "train",
			     (struct source){NULL, "/src/train.py", 31, 25, 0});
	uint32_t linear = add(b, train, SN_FRAME_OPERATOR, 0, "aten::linear", none);
	uint32_t native = add(b, linear, SN_FRAME_NATIVE, SN_FRAME_RETURN_ADDRESS,
			      "at::native::linear(at::Tensor const&, at::Tensor const&)",
			      (struct source){torch, "/src/aten/Linear.cpp", 90, 80, 0x1f00120});
	uint32_t inlined = add(b, native, SN_FRAME_INLINED, 0, "c10::Tensor::sizes",
			       (struct source){torch, "/src/c10/Tensor.h", 120, 118, 0});
	uint32_t sgemm = add(b, native, SN_FRAME_NATIVE, 0, "sgemm_kernel",
			     (struct source){"/usr/lib/libmkl.so", NULL, 0, 0, 0x5000});
	uint32_t enqueue = add(b, linear, SN_FRAME_GPU_API, 0, "clEnqueueNDRangeKernel", none);
	uint32_t kernel = add(b, enqueue, SN_FRAME_KERNEL, 0, "sgemm_nn", none);
	uint32_t backward =
	    add(b, train, SN_FRAME_OPERATOR, SN_FRAME_BACKWARD, "AddmmBackward0", none);
	uint32_t addmm = add(b, backward, SN_FRAME_NATIVE, 0, "at::native::addmm",
			     (struct source){torch, "/src/aten/Blas.cpp", 300, 290, 0x1e00450});
	sampled(b, 0, main, 5);
	sampled(b, 0, load, 20);
	sampled(b, 0, read, 30);
	sampled(b, 0, train, 10);
	sampled(b, 0, linear, 5);
	sampled(b, 0, native, 15);
	sampled(b, 0, inlined, 5);
	sampled(b, 0, sgemm, 200);
	sampled(b, 0, enqueue, 10);
	sampled(b, 1, addmm, 100);
	struct sonde_db_stat kernels = {3, 300 * FIXTURE_MS, 50 * FIXTURE_MS, 150 * FIXTURE_MS,
					35000 * FIXTURE_MS * FIXTURE_MS};
	sn_db_builder_value(b, 0, kernel, 1, &kernels);
	add_notes(b);
	return b;
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

/* A frame under a context at that depth; its kind follows the order of the layers. */
static uint32_t big_frame(struct sn_db_builder *b, uint32_t depth, uint32_t max_depth, uint64_t n)
{
	char name[64], file[64];
	bool is_python = depth * 3 < max_depth, is_operator = depth * 3 == max_depth;
	snprintf(name, sizeof(name),
		 is_python     ? "step_%u"
		 : is_operator ? "aten::op%u"
			       : "at::native::function_%u(at::Tensor const&)",
		 (unsigned)(n % 5000));
	snprintf(file, sizeof(file), is_python ? "/src/model/layer_%u.py" : "/src/aten/file_%u.cpp",
		 (unsigned)(n % 300));
	struct sonde_db_frame frame = {
	    .kind = is_python	  ? SN_FRAME_PYTHON
		    : is_operator ? SN_FRAME_OPERATOR
				  : SN_FRAME_NATIVE,
	    .name = sn_db_builder_string(b, name),
	    .linkage_name = SONDE_NONE,
	    .module = is_python || is_operator ? SONDE_NONE
					       : module_of(b, "/usr/lib/torch/libtorch_cpu.so"),
	    .file = is_operator ? SONDE_NONE : sn_db_builder_string(b, file),
	    .line = is_operator ? 0 : (uint32_t)(n % 900 + 1),
	    .offset = is_python || is_operator ? 0 : 0x1000 + n % 5000 * 16,
	};
	return sn_db_builder_frame(b, &frame);
}

struct sn_db_builder *db_fixture_big(uint32_t contexts, uint32_t profiles, uint32_t depth)
{
	struct sn_db_builder *b = sn_db_builder_new();
	uint32_t *depths = calloc(contexts + 1ull, sizeof(*depths));
	if (!b || !depths) {
		free(depths);
		sn_db_builder_free(b);
		return NULL;
	}
	sn_db_builder_set_root(b, sn_db_builder_named_frame(b, SN_FRAME_THREAD, "big.py"));
	add_metric(b, "cpu-time", "timer", 5000000);
	add_metric(b, "gpu-time", "opencl", 0);
	for (uint32_t i = 0; i < profiles; i++)
		add_thread(b, i ? "worker" : NULL, 4000 + i, 100);
	uint64_t random = 1;
	while (sn_db_builder_context_count(b) < contexts) {
		uint32_t count = sn_db_builder_context_count(b);
		/* mostly below the newest: long chains with some branching, as programs have */
		uint32_t back =
		    next_random(&random) % 3 ? 1 : (uint32_t)(next_random(&random) % 40);
		uint32_t parent = back < count ? count - 1 - back : 0;
		if (depths[parent] >= depth)
			parent = (uint32_t)(next_random(&random) % count) / 4;
		if (depths[parent] >= depth)
			continue;
		uint32_t frame = big_frame(b, depths[parent] + 1, depth, next_random(&random));
		uint32_t context = sn_db_builder_context(b, parent, frame);
		if (context == SONDE_NONE)
			break;
		depths[context] = depths[parent] + 1;
		uint32_t profile = profiles ? (uint32_t)(next_random(&random) % profiles) : 0;
		if (profiles && next_random(&random) % 2)
			sampled(b, profile, context, 5.0 * (double)(1 + next_random(&random) % 20));
		if (profiles && next_random(&random) % 16 == 0) {
			double ns = (double)(1000 + next_random(&random) % 100000);
			struct sonde_db_stat stat = {1, ns, ns, ns, ns * ns};
			sn_db_builder_value(b, profile, context, 1, &stat);
		}
	}
	free(depths);
	add_notes(b);
	return b;
}

struct sn_db_builder *db_fixture_recursion(uint32_t depth)
{
	struct sn_db_builder *b = sn_db_builder_new();
	if (!b)
		return NULL;
	sn_db_builder_set_root(b, sn_db_builder_named_frame(b, SN_FRAME_THREAD, "deep"));
	add_metric(b, "cpu-time", "timer", 5000000);
	add_thread(b, NULL, 4000, depth * 5ull);
	uint32_t at = 0;
	for (uint32_t level = 1; level <= depth; level++) {
		at = add(b, at, SN_FRAME_NATIVE, SN_FRAME_RETURN_ADDRESS, "down",
			 (struct source){"/usr/lib/deep.so", "/src/deep.c", 7, 3, 0x1140});
		if (at == SONDE_NONE)
			break;
		sampled(b, 0, at, 5);
	}
	return b;
}

static uint32_t add_node(struct sn_db_builder *builder, uint32_t model, const char *name,
			 uint32_t parent)
{
	struct sonde_graph_node node = SN_GRAPH_NODE;
	node.model = model;
	node.name = sn_db_builder_string(builder, name);
	node.parent = parent;
	return sn_db_builder_graph_node(builder, &node);
}

static void add_edge(struct sn_db_builder *builder, uint32_t from, uint32_t to, uint32_t index,
		     uint64_t bytes)
{
	sn_db_builder_graph_edge(builder, &(struct sonde_graph_edge){.from = from,
								     .to = to,
								     .index = index,
								     .kind = SONDE_EDGE_DATA,
								     .bytes = bytes,
								     .count = 1});
}

static void add_value(struct sn_db_builder *builder, uint32_t node, enum sonde_node_stat kind,
		      double value)
{
	struct sonde_db_stat stat = sn_stat_of(value);
	sn_db_builder_graph_stat(builder, node, kind, &stat);
}

struct sn_db_builder *db_fixture_graph(void)
{
	struct sn_db_builder *builder = db_fixture_small();
	struct sonde_graph_model model = SN_GRAPH_MODEL;
	model.name = sn_db_builder_string(builder, "first");
	uint32_t first = sn_db_builder_graph_model(builder, &model);
	model.name = sn_db_builder_string(builder, "second");
	uint32_t second = sn_db_builder_graph_model(builder, &model);
	uint32_t a = add_node(builder, second, "a", SONDE_NONE);
	uint32_t x = add_node(builder, first, "x", SONDE_NONE);
	uint32_t b = add_node(builder, second, "b", a);
	uint32_t y = add_node(builder, first, "y", SONDE_NONE);
	uint32_t c = add_node(builder, second, "c", SONDE_NONE);
	add_edge(builder, b, c, 1, 64);
	add_edge(builder, a, c, 0, 0);
	add_edge(builder, x, y, 0, 8);
	add_edge(builder, a, b, 0, 16);
	add_edge(builder, a, b, 0, 32); /* the same once more */
	add_value(builder, b, SONDE_NODE_TIME, 10);
	add_value(builder, x, SONDE_NODE_TIME, 1);
	add_value(builder, b, SONDE_NODE_TIME, 30);
	add_value(builder, b, SONDE_NODE_LATENCY, 5);
	for (uint64_t i = 3; i--;)
		sn_db_builder_graph_iteration(
		    builder, &(struct sonde_graph_iteration){.model = second,
							     .number = i,
							     .start_ns = 100 * i,
							     .end_ns = 100 * i + 40 + 10 * i});
	return builder;
}

struct sn_db_builder *db_fixture_sources(const char *const *files, size_t count)
{
	struct sn_db_builder *builder = sn_db_builder_new();
	if (!builder)
		return NULL;
	struct sonde_db_profile profile = {
	    .host = sn_db_builder_string(builder, "elsewhere"),
	    .program = sn_db_builder_string(builder, "python3"),
	    .thread = sn_db_builder_string(builder, "main"),
	    .rank = -1,
	    .pid = 1,
	    .tid = 1,
	    .device = SONDE_NONE,
	    .device_context = SONDE_NONE,
	    .stream = SONDE_NONE,
	    .start_ns = 1,
	    .end_ns = UINT64_MAX / 4,
	    .samples = count,
	};
	uint32_t thread = sn_db_builder_profile(builder, &profile);
	add_metric(builder, "cpu-time", "timer", 5000000);
	for (size_t i = 0; i < count; i++) {
		struct source source = {NULL, files[i], 1, 1, 0};
		char name[32];
		snprintf(name, sizeof(name), "f%zu", i);
		sampled(builder, thread, add(builder, 0, SN_FRAME_PYTHON, 0, name, source), 5);
	}
	return builder;
}
