/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The PyTorch adapter: finds libtorch_cpu, decides what can be measured, and reports it.
 *
 * Nothing signals that libtorch has been loaded. The functions of hooks.c are called from inside
 * it, the first of them while libtorch_python is initialised, and the adapter attaches at that
 * first call. If PyTorch calls none of them, as an unsupported build may, operators of samples are
 * still recognised by address, and the status line says what is missing.
 */
#include "graph.h"
#include "collect/core/line.h"

#include "collect/unwind/elf_symbol.h"

#include <errno.h>
#include <string.h>

struct sn_torch_duties sn_torch_duties;

enum { WAITING, DECIDED };
static _Atomic int decided;
static _Atomic int calls_before_decision; /* from inside PyTorch, so it has been relocated */
static uint32_t torch_module = SN_MODULE_NONE;
static const char *missing; /* why autograd cannot be followed */
static bool exact, nodes, exact_failed, memory_failed, unnamed_failed;
static char status_line[256];

#define CALLS_MAX 16 /* after as many, some other library has these functions */

bool sn_torch_undecided(void)
{
	return atomic_load_explicit(&decided, memory_order_relaxed) == WAITING;
}

uintptr_t sn_torch_symbol_size(const char *name, size_t *bytes)
{
	const struct sn_module *module =
	    torch_module == SN_MODULE_NONE ? NULL : sn_module_at(torch_module);
	return module ? sn_elf_symbol(module, name, bytes) : 0;
}

uintptr_t sn_torch_symbol(const char *name)
{
	return sn_torch_symbol_size(name, NULL);
}

void sn_torch_called(uintptr_t from)
{
	if (!sn_measuring() || !sn_thread_self())
		return;
	sn_module_find_or_refresh(from);
	if (sn_module_by_name("libtorch_cpu.so") == SN_MODULE_NONE)
		sn_modules_stale();
	sn_module_find_or_refresh(from);
	int calls = atomic_fetch_add_explicit(&calls_before_decision, 1, memory_order_relaxed);
	sn_adapters_retry();
	sn_adapters_attach();
	if (sn_torch_undecided() && calls > CALLS_MAX)
		atomic_store(&decided, DECIDED);
}

struct sn_torch_thread *sn_torch_thread(struct sn_thread *thread)
{
	struct sn_torch_thread *self = thread->adapters[SN_ADAPTER_SLOT_torch];
	if (__builtin_expect(self != NULL, 1))
		return self;
	self = sn_pages_map(sizeof(*self));
	if (self)
		self->thread = thread;
	thread->adapters[SN_ADAPTER_SLOT_torch] = self;
	return self;
}

static void start_autograd(void)
{
	static const struct {
		const char *symbol, *absence;
	} needed[] = {
	    {SN_TORCH_SEQUENCE, "it has no at::sequence_number::get_and_increment"},
	    {SN_TORCH_EVALUATE, "it has no Engine::evaluate_function of the known form"},
	    {"_ZN2at14RecordFunction15currentThreadIdEv",
	     "it has no RecordFunction::currentThreadId"},
	};
	for (size_t index = 0; index < sizeof(needed) / sizeof(*needed); index++)
		if (!sn_torch_symbol(needed[index].symbol)) {
			missing = needed[index].absence;
			return;
		}
	sn_torch_node_init();
	atomic_store(&sn_torch_duties.autograd, true);
}

/* Starts recognising operators by their entry points, and the callback for the others. */
static void start_sampled(const struct sn_module *module)
{
	bool can_tell = sn_torch_operators_init(module) > 0;
	unnamed_failed = !can_tell || sn_torch_exact_start(SN_TORCH_SAMPLED) != 0;
}

/* Removes the callback if the layout of its answers is unknown, because announcing each operator
 * would cost too much. */
static void check_announced(void)
{
	sn_torch_callbacks_ready();
	if (exact || unnamed_failed || sn_torch_callbacks_known())
		return;
	unnamed_failed = true;
	if (!sn_config.graph)
		sn_torch_callbacks_withdraw();
}

static int attach(void)
{
	uint32_t module = sn_module_by_name("libtorch_cpu.so");
	/* it may be mapped but not relocated yet: wait for the first call */
	if (module == SN_MODULE_NONE ||
	    !atomic_load_explicit(&calls_before_decision, memory_order_relaxed))
		return -EAGAIN;
	torch_module = module;
	bool off = !strcmp(sn_config.operators, "off");
	nodes = !strcmp(sn_config.operators, "nodes");
	exact = nodes || !strcmp(sn_config.operators, "exact");
	if (!off)
		start_autograd();
	sn_torch_callbacks_learn();
	if (exact && sn_torch_exact_start(nodes ? SN_TORCH_NODES : SN_TORCH_EXACT))
		exact_failed = true;
	if (!off && (!exact || exact_failed) && (sn_config.sources & SN_SOURCE_OPERATOR))
		start_sampled(sn_module_at(module));
	if (sn_config.graph)
		sn_torch_graph_start();
	check_announced();
	if (exact && !exact_failed)
		sn_torch_exact_announce_nodes();
	if (sn_config.tensor_memory) {
		memory_failed = sn_torch_memory_start() != 0;
		atomic_store(&sn_torch_duties.memory, !memory_failed);
	}
	atomic_store(&decided, DECIDED);
	return 0;
}

/* The record may have belonged to another thread before. */
static void thread_begin(struct sn_thread *thread)
{
	struct sn_torch_thread *self = thread->adapters[SN_ADAPTER_SLOT_torch];
	if (self)
		self->torch_id = 0;
}

static void after_fork(void)
{
	sn_torch_iteration_after_fork();
}

static const char *backward_status(void)
{
	if (!strcmp(sn_config.operators, "off"))
		return "operators off as asked";
	if (missing)
		return missing;
	return sn_torch_node_readable() ? "backward operators under their forward operators"
					: "the numbers of its autograd nodes could not be found";
}

static const char *status(void)
{
	if (torch_module == SN_MODULE_NONE)
		return sn_module_by_name("libtorch_cpu.so") == SN_MODULE_NONE
			   ? "PyTorch is not loaded"
			   : "PyTorch is loaded, but it calls none of the functions that are "
			     "followed";
	struct sn_line line = SN_LINE(status_line);
	SN_LINE_ADD(&line, sn_module_at(torch_module)->path, ": ", backward_status());
	if (exact)
		sn_line_add(&line, exact_failed
				       ? "; exact operators not possible: it has no callback"
				   : nodes ? "; exact operators that the program calls"
					   : "; exact operators");
	else if (unnamed_failed)
		sn_line_add(&line, "; of operators only PyTorch's own");
	if (sn_config.graph)
		SN_LINE_ADD(&line, "; graph", sn_torch_graph_lack() ? ": " : NULL,
			    sn_torch_graph_lack());
	if (sn_config.tensor_memory)
		sn_line_add(&line,
			    memory_failed ? "; no room for tensor memory" : "; tensor memory");
	return status_line;
}

const struct sn_adapter sn_adapter_torch = {
    .name = "torch",
    .attach = attach,
    .after_fork = after_fork,
    .thread_begin = thread_begin,
    .status = status,
};
