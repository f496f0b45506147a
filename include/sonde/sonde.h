/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions and iterations: names that a C or C++ program gives to parts of its work.
 *
 *	sonde_region_begin("assemble");
 *	...
 *	sonde_region_end();
 *	{ SONDE_REGION("solve"); ... }		// until the scope ends
 *	for (int i = 0; i < 10; i++) {
 *		SONDE_ITERATION("step");	// one iteration
 *		...
 *	}
 *	{ sonde::region r{"assemble"}; ... }	// in C++
 *
 * and dataflow graphs: nodes, the data between them, and their executions.
 *
 *	uint32_t model = sonde_model("pipeline");
 *	uint32_t load = SONDE_NODE(model, "load", .type = "read");
 *	uint32_t sum = SONDE_NODE(model, "sum", .type = "reduce");
 *	uint64_t bytes = 4096;
 *	sonde_model_edge(load, sum, 0, bytes);	// input 0 of sum is what load made
 *	for (int i = 0; i < 10; i++) {
 *		sonde_model_iteration_begin(model);
 *		sonde_node_begin(load);
 *		...
 *		sonde_node_end(load);
 *		sonde_node_begin(sum);
 *		...
 *		sonde_node_end(sum);
 *		sonde_model_iteration_end(model);
 *	}
 *
 * `sonde graph` then shows each node's time and latency. A running node is a frame of every call
 * path below it, so that its work on a GPU is charged to it. Any thread may run any node, and
 * several threads at once; the thread that begins a node ends it. If the program marks no
 * iterations of a model, those of sonde_iteration_begin are used.
 *
 * and which part of a run is recorded over time, under `sonde run --trace --trace-paused`; it may be
 * repeated, and is of all threads:
 *
 *	sonde_trace_start();
 *	...
 *	sonde_trace_stop();
 *
 * and what processes send each other, under `sonde run --trace`:
 *
 *	uint32_t peer = 1;			// a rank
 *	uint64_t tag = 0, begun = sonde_message_begin();
 *	...					// send
 *	sonde_message_sent(begun, peer, tag, bytes);
 *	begun = sonde_message_begin();
 *	...					// receive and wait
 *	sonde_message_received(begun, peer, tag, bytes);
 *
 * The clocks of several hosts are joined by these messages: see sonde_message_sent.
 *
 * A program that has shown what was of interest can end measuring, and run on as without:
 *
 *	sonde_stop();
 *
 * Including this header is sufficient: no library is linked, and none has to be installed where the
 * program runs. If the program is not profiled, a region costs the test of one variable. Regions
 * nest, belong to the thread that began them, and end in reverse order; one that is never ended, or
 * ended twice, is counted as unbalanced and does no harm. Names may be any text; they are copied.
 * MT: all functions are safe; none may be called from a signal handler.
 *
 * Library: libsonde.so, which is preloaded, exports functions of the same names for languages that
 * cannot include this; a program that includes it needs none.
 *
 * How the collector finds the program: each program or library that includes this header carries an
 * ELF note with the place of its pointer sonde_hooks_v1. The collector reads the notes of all
 * loaded modules and sets the pointers. No dynamic symbol is involved, so this works in
 * position-independent and fixed programs, in shared and dlopened libraries and with any linker; in
 * a static program it does nothing.
 */
#ifndef SONDE_SONDE_H
#define SONDE_SONDE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum sonde_region_flags {
	SONDE_REGION_ITERATION = 1, /* one iteration of a loop; reports count and compare them */
};

/* The collector's functions. Later versions add fields at the end under a new note type. */
struct sonde_hooks {
	/* `frame` is __builtin_frame_address(0) of the function in which the region begins. */
	void (*region_begin)(const char *name, const void *frame, unsigned flags);
	void (*region_end)(void);
};

/* A node of a graph; unknown fields are NULL and 0. Texts are copied. */
struct sonde_node_description {
	const char *name;   /* identifies the node in its model */
	const char *type;   /* the kind of work: nodes of one type are added up */
	const char *module; /* the part of the model it belongs to: "encoder.layer1" */
	const char *device;
	const char *file; /* where in the source */
	uint32_t line;
	uint32_t parent; /* the node that it is a part of */
};

/* The same for graphs, of note type 2. Numbers of models and nodes are 0 for none. */
struct sonde_graph_hooks {
	uint32_t (*model)(const char *name);
	uint32_t (*node)(uint32_t model, const struct sonde_node_description *node);
	void (*edge)(uint32_t from, uint32_t to, unsigned index, uint64_t bytes);
	void (*node_begin)(uint32_t node, const void *frame);
	void (*node_end)(uint32_t node);
	void (*iteration_begin)(uint32_t model);
	void (*iteration_end)(uint32_t model);
};

/* The same for recording, of note type 3. */
struct sonde_trace_hooks {
	void (*run)(int is_running);
};

/* The same for messages, of note type 4. */
struct sonde_message_hooks {
	uint64_t (*begin)(void);
	void (*end)(uint64_t begun, int is_sent, uint32_t peer, uint64_t tag, uint64_t bytes);
};

/* The same for measuring as a whole, of note type 5. */
struct sonde_measure_hooks {
	void (*stop)(void);
};

#ifndef SONDE_TYPES_ONLY /* defined by users of the structs alone */

#if defined(__ELF__) && defined(__LP64__) && defined(__GNUC__) && !defined(SONDE_DISABLE)

/*
 * One for each program or library, for any number of files that include this. Volatile, because
 * link-time optimisation sees that the program never writes it.
 */
extern const struct sonde_hooks *volatile sonde_hooks_v1;
__attribute__((weak, visibility("hidden"), used))
const struct sonde_hooks *volatile sonde_hooks_v1 = 0;

extern const struct sonde_graph_hooks *volatile sonde_graph_hooks_v1;
__attribute__((weak, visibility("hidden"), used))
const struct sonde_graph_hooks *volatile sonde_graph_hooks_v1 = 0;

extern const struct sonde_trace_hooks *volatile sonde_trace_hooks_v1;
__attribute__((weak, visibility("hidden"), used))
const struct sonde_trace_hooks *volatile sonde_trace_hooks_v1 = 0;

extern const struct sonde_message_hooks *volatile sonde_message_hooks_v1;
__attribute__((weak, visibility("hidden"), used))
const struct sonde_message_hooks *volatile sonde_message_hooks_v1 = 0;

extern const struct sonde_measure_hooks *volatile sonde_measure_hooks_v1;
__attribute__((weak, visibility("hidden"), used))
const struct sonde_measure_hooks *volatile sonde_measure_hooks_v1 = 0;

/* The notes: owner "Sonde", type 1 to 5, the distance from the field to the pointer. */
#define SONDE_NOTE_(type, pointer)                                                                 \
	__asm__(".pushsection .note.sonde, \"a\", %note\n\t"                                       \
		".balign 4\n\t"                                                                    \
		".long 6, 8, " #type "\n\t"                                                        \
		".asciz \"Sonde\"\n\t"                                                             \
		".balign 4\n\t"                                                                    \
		".quad " #pointer " - .\n\t"                                                       \
		".popsection")
SONDE_NOTE_(1, sonde_hooks_v1);
SONDE_NOTE_(2, sonde_graph_hooks_v1);
SONDE_NOTE_(3, sonde_trace_hooks_v1);
SONDE_NOTE_(4, sonde_message_hooks_v1);
SONDE_NOTE_(5, sonde_measure_hooks_v1);

extern void sonde_register_hooks_v1(const struct sonde_hooks *volatile *pointer)
    __attribute__((weak));
extern void sonde_register_graph_hooks_v1(const struct sonde_graph_hooks *volatile *pointer)
    __attribute__((weak));
extern void sonde_register_trace_hooks_v1(const struct sonde_trace_hooks *volatile *pointer)
    __attribute__((weak));
extern void sonde_register_message_hooks_v1(const struct sonde_message_hooks *volatile *pointer)
    __attribute__((weak));
extern void sonde_register_measure_hooks_v1(const struct sonde_measure_hooks *volatile *pointer)
    __attribute__((weak));
static __attribute__((constructor, used)) void sonde_register_(void)
{
	if (sonde_register_hooks_v1)
		sonde_register_hooks_v1(&sonde_hooks_v1);
	if (sonde_register_graph_hooks_v1)
		sonde_register_graph_hooks_v1(&sonde_graph_hooks_v1);
	if (sonde_register_trace_hooks_v1)
		sonde_register_trace_hooks_v1(&sonde_trace_hooks_v1);
	if (sonde_register_message_hooks_v1)
		sonde_register_message_hooks_v1(&sonde_message_hooks_v1);
	if (sonde_register_measure_hooks_v1)
		sonde_register_measure_hooks_v1(&sonde_measure_hooks_v1);
}

#define SONDE_HOOKS_()	       sonde_hooks_v1
#define SONDE_GRAPH_HOOKS_()   sonde_graph_hooks_v1
#define SONDE_TRACE_HOOKS_()   sonde_trace_hooks_v1
#define SONDE_MESSAGE_HOOKS_() sonde_message_hooks_v1
#define SONDE_MEASURE_HOOKS_() sonde_measure_hooks_v1
#else
#define SONDE_HOOKS_()	       ((const struct sonde_hooks *)0)
#define SONDE_GRAPH_HOOKS_()   ((const struct sonde_graph_hooks *)0)
#define SONDE_TRACE_HOOKS_()   ((const struct sonde_trace_hooks *)0)
#define SONDE_MESSAGE_HOOKS_() ((const struct sonde_message_hooks *)0)
#define SONDE_MEASURE_HOOKS_() ((const struct sonde_measure_hooks *)0)
#endif

/* Always inlined, also without optimisation, so that the frame is the caller's.
 */
#define SONDE_INLINE_ static inline __attribute__((always_inline, unused))

SONDE_INLINE_ void sonde_begin_(const char *name, unsigned flags)
{
	const struct sonde_hooks *hooks = SONDE_HOOKS_();
	if (__builtin_expect(hooks != 0, 0))
		hooks->region_begin(name, __builtin_frame_address(0), flags);
}

/* Begins a region of the calling thread; `name` is copied. */
SONDE_INLINE_ void sonde_region_begin(const char *name)
{
	sonde_begin_(name, 0);
}

/* Ends the region or iteration that this thread began last. */
SONDE_INLINE_ void sonde_region_end(void)
{
	const struct sonde_hooks *hooks = SONDE_HOOKS_();
	if (__builtin_expect(hooks != 0, 0))
		hooks->region_end();
}

/* One iteration of a loop: a region whose entries are reported as repetitions of the same work. */
SONDE_INLINE_ void sonde_iteration_begin(const char *name)
{
	sonde_begin_(name, SONDE_REGION_ITERATION);
}

SONDE_INLINE_ void sonde_iteration_end(void)
{
	sonde_region_end();
}

SONDE_INLINE_ void sonde_scope_end_(const char *scope)
{
	(void)scope;
	sonde_region_end();
}

/* A region, an iteration, that ends when the enclosing scope is left, in any way. */
#define SONDE_JOIN_(a, b) a##b
#define SONDE_SCOPE_(begin, name, line)                                                            \
	__attribute__((cleanup(sonde_scope_end_), unused)) char SONDE_JOIN_(sonde_scope_, line) =  \
	    (begin(name), 0)
#define SONDE_REGION(name)    SONDE_SCOPE_(sonde_region_begin, name, __LINE__)
#define SONDE_ITERATION(name) SONDE_SCOPE_(sonde_iteration_begin, name, __LINE__)

/* ---- graphs ---- */

/* The model of that name; 0 if the program is not measured, which all functions below accept. */
SONDE_INLINE_ uint32_t sonde_model(const char *name)
{
	const struct sonde_graph_hooks *hooks = SONDE_GRAPH_HOOKS_();
	return __builtin_expect(hooks != 0, 0) ? hooks->model(name) : 0;
}

/* The node of that name; its other fields are only used the first time. */
SONDE_INLINE_ uint32_t sonde_model_node(uint32_t model, const struct sonde_node_description *node)
{
	const struct sonde_graph_hooks *hooks = SONDE_GRAPH_HOOKS_();
	return __builtin_expect(hooks != 0, 0) ? hooks->node(model, node) : 0;
}

/* SONDE_NODE(model, "name", .type = "...", .module = "..."); C only. */
#define SONDE_NODE(model, ...)                                                                     \
	sonde_model_node(model, &(const struct sonde_node_description){__VA_ARGS__})

/* Input `index` of `to` is the output of `from`, of `bytes` bytes (0 unknown). */
SONDE_INLINE_ void sonde_model_edge(uint32_t from, uint32_t to, unsigned index, uint64_t bytes)
{
	const struct sonde_graph_hooks *hooks = SONDE_GRAPH_HOOKS_();
	if (__builtin_expect(hooks != 0, 0))
		hooks->edge(from, to, index, bytes);
}

/* The calling thread begins to run the node. */
SONDE_INLINE_ void sonde_node_begin(uint32_t node)
{
	const struct sonde_graph_hooks *hooks = SONDE_GRAPH_HOOKS_();
	if (__builtin_expect(hooks != 0, 0))
		hooks->node_begin(node, __builtin_frame_address(0));
}

SONDE_INLINE_ void sonde_node_end(uint32_t node)
{
	const struct sonde_graph_hooks *hooks = SONDE_GRAPH_HOOKS_();
	if (__builtin_expect(hooks != 0, 0))
		hooks->node_end(node);
}

/* One iteration of a model; another thread may end it. Those of one model do not overlap. */
SONDE_INLINE_ void sonde_model_iteration_begin(uint32_t model)
{
	const struct sonde_graph_hooks *hooks = SONDE_GRAPH_HOOKS_();
	if (__builtin_expect(hooks != 0, 0))
		hooks->iteration_begin(model);
}

SONDE_INLINE_ void sonde_model_iteration_end(uint32_t model)
{
	const struct sonde_graph_hooks *hooks = SONDE_GRAPH_HOOKS_();
	if (__builtin_expect(hooks != 0, 0))
		hooks->iteration_end(model);
}

/* Starts or stops recording events, if --trace enables it. An interval is recorded if recording is
 * on when it ends. */
SONDE_INLINE_ void sonde_trace_start(void)
{
	const struct sonde_trace_hooks *hooks = SONDE_TRACE_HOOKS_();
	if (__builtin_expect(hooks != 0, 0))
		hooks->run(1);
}

SONDE_INLINE_ void sonde_trace_stop(void)
{
	const struct sonde_trace_hooks *hooks = SONDE_TRACE_HOOKS_();
	if (__builtin_expect(hooks != 0, 0))
		hooks->run(0);
}

/* ---- messages between processes ---- */

/* Before a message is sent, or waited for; its result is passed to the functions below afterwards.
 * */
SONDE_INLINE_ uint64_t sonde_message_begin(void)
{
	const struct sonde_message_hooks *hooks = SONDE_MESSAGE_HOOKS_();
	return __builtin_expect(hooks != 0, 0) ? hooks->begin() : 0;
}

/*
 * A message of `bytes` bytes has been sent to rank `peer`. The n-th message that one rank sends to
 * another with a tag must be the n-th that the other one receives with it: choose tags accordingly.
 * Ranks are the launcher's (OMPI_COMM_WORLD_RANK, PMI_RANK, SLURM_PROCID, RANK, ...).
 */
SONDE_INLINE_ void sonde_message_sent(uint64_t begun, uint32_t peer, uint64_t tag, uint64_t bytes)
{
	const struct sonde_message_hooks *hooks = SONDE_MESSAGE_HOOKS_();
	if (__builtin_expect(hooks != 0, 0))
		hooks->end(begun, 1, peer, tag, bytes);
}

/* A message from rank `peer` has been received. */
SONDE_INLINE_ void sonde_message_received(uint64_t begun, uint32_t peer, uint64_t tag,
					  uint64_t bytes)
{
	const struct sonde_message_hooks *hooks = SONDE_MESSAGE_HOOKS_();
	if (__builtin_expect(hooks != 0, 0))
		hooks->end(begun, 0, peer, tag, bytes);
}

/* ---- the end of measuring ---- */

/* Ends measuring in this process for good: what was measured is written, no sample is taken and no call is heard any more, and
 * what the process starts later is not measured. Reports say how much of the CPU time came after. Open regions of
 * this thread end here. Other threads may stop as well, but none may change the environment meanwhile: `environ` becomes another
 * list. The old one and its texts stay as they are. */
SONDE_INLINE_ void sonde_stop(void)
{
	const struct sonde_measure_hooks *hooks = SONDE_MEASURE_HOOKS_();
	if (__builtin_expect(hooks != 0, 0))
		hooks->stop();
}

#endif /* SONDE_TYPES_ONLY */

#ifdef __cplusplus
}

#ifndef SONDE_TYPES_ONLY
namespace sonde
{

/* A region that begins with its construction and ends with its destruction. */
class region
{
      public:
	__attribute__((always_inline)) explicit region(const char *name, unsigned flags = 0)
	{
		sonde_begin_(name, flags);
	}
	__attribute__((always_inline)) ~region()
	{
		sonde_region_end();
	}
	region(const region &) = delete;
	region &operator=(const region &) = delete;
};

class iteration : public region
{
      public:
	__attribute__((always_inline)) explicit iteration(const char *name)
	    : region(name, SONDE_REGION_ITERATION)
	{
	}
};

} // namespace sonde
#endif
#endif

#endif
