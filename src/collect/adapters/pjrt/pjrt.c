/* SPDX-License-Identifier: Apache-2.0 */
/* The adapter: plugins come when the program asks for them, so it has nothing to find. */
#include "pjrt.h"

#include "collect/core/line.h"

struct sn_gpu_interface sn_pjrt_interface = SN_GPU_INTERFACE(pjrt, .device = "PJRT device ");

static int attach(void)
{
	sn_pjrt_executables_init();
	return 0;
}

static void detach(void)
{
	struct sn_thread *thread = sn_thread_self();
	if (thread)
		sn_gpu_collect_all(thread);
	uint32_t pending = sn_pjrt_pending();
	if (pending)
		sn_drop(NULL, SN_DROP_GPU_LOST, pending);
}

static void after_fork(void)
{
	sn_pjrt_done_after_fork();
	sn_pjrt_programs_after_fork();
}

static void add_plugin(struct sn_line *line, const struct sn_pjrt_plugin *plugin,
		       const struct sn_pjrt_made *made)
{
	uint32_t module = sn_module_find_or_refresh(
	    (uintptr_t)atomic_load_explicit(&plugin->get, memory_order_relaxed));
	uint32_t there = 0;
	for (uint32_t i = 0; made && i < SN_PJRT_WRAPPED_COUNT; i++)
		there += made->functions[i] != NULL;
	SN_LINE_ADD(line, line->length ? ", " : "",
		    module == SN_MODULE_NONE ? "a plugin" : sn_module_at(module)->path, ": ");
	if (!made) {
		sn_line_add(line, "its table of functions is of an unknown form");
		return;
	}
	sn_line_add_number(line, there);
	sn_line_add(line, " of ");
	sn_line_add_number(line, SN_PJRT_WRAPPED_COUNT);
	sn_line_add(line, " functions (PJRT ");
	sn_line_add_number(line, (uint64_t)made->copy.version.major);
	sn_line_add(line, ".");
	sn_line_add_number(line, (uint64_t)made->copy.version.minor);
	sn_line_add(line, plugin->is_other ? ", and another table that is not measured)" : ")");
}

static const char *status(void)
{
	static char text[512];
	struct sn_line line = SN_LINE(text);
	for (uint32_t i = 0; i < SN_PJRT_PLUGINS; i++) {
		const struct sn_pjrt_plugin *plugin = &sn_pjrt_plugins[i];
		const struct sn_pjrt_made *made =
		    atomic_load_explicit(&plugin->made, memory_order_acquire);
		if (made || plugin->is_other)
			add_plugin(&line, plugin, made);
	}
	return line.length ? text : NULL;
}

const struct sn_adapter sn_adapter_pjrt = {
    .name = "pjrt",
    .attach = attach,
    .detach = detach,
    .after_fork = after_fork,
    .status = status,
};
