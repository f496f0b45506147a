/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds CPython in a module by the symbols it exports. The only function of the interpreter that is
 * called is PyGILState_GetThisThreadState, which just reads a thread-local variable.
 */
#include "target.h"

#include "collect/unwind/elf_symbol.h"
#include "format/measurement/measurement.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#define KEYS_MAX 1024 /* PTHREAD_KEYS_MAX of glibc; musl has fewer */

static const struct sn_module *program_module(void)
{
	for (uint32_t i = 0; i < sn_module_count(); i++)
		if (sn_module_at(i)->flags & SN_MODULE_MAIN)
			return sn_module_at(i);
	return NULL;
}

/*
 * A program that is not position-independent may have its own copy of a library's object (copy
 * relocation), and then uses that.
 */
static uintptr_t object_symbol(const struct sn_module *module, const char *name, size_t *size_bytes)
{
	const struct sn_module *program = program_module();
	if (program && program != module) {
		uintptr_t address = sn_elf_symbol(program, name, size_bytes);
		if (address)
			return address;
	}
	return sn_elf_symbol(module, name, size_bytes);
}

/* The program, if it is CPython's own main, which only calls Py_BytesMain. */
static const struct sn_module *launcher_of(const struct sn_module *module)
{
	const struct sn_module *program = program_module();
	if (!program || program == module || !program->path)
		return NULL;
	const char *slash = strrchr(program->path, '/');
	return strncmp(slash ? slash + 1 : program->path, "python", 6) == 0 ? program : NULL;
}

/* Before 3.11 no exported object contains the version; the functions that a version
 * added show it. */
static uint32_t version_hex(const struct sn_module *module)
{
	uintptr_t version = object_symbol(module, "Py_Version", NULL);
	if (version)
		return (uint32_t) * (const unsigned long *)version;
	if (sn_elf_symbol(module, "PyModule_AddObjectRef", NULL))
		return 0x030a00f0;
	if (sn_elf_symbol(module, "PyObject_CallNoArgs", NULL))
		return 0x030900f0;
	return 0x030800f0;
}

static bool find_symbols(struct sn_python_target *target)
{
	const struct sn_module *module = target->module;
	struct sn_python_layout *layout = &target->layout;
	size_t eval_bytes = 0;
	uintptr_t eval = sn_elf_symbol(module, "_PyEval_EvalFrameDefault", &eval_bytes);
	target->thread_state =
	    (void *(*)(void))sn_elf_symbol(module, "PyGILState_GetThisThreadState", NULL);
	layout->code_type = object_symbol(module, "PyCode_Type", NULL);
	layout->text_type = object_symbol(module, "PyUnicode_Type", NULL);
	layout->bytes_type = object_symbol(module, "PyBytes_Type", NULL);
	layout->cell_type = object_symbol(module, "PyCell_Type", NULL);
	if (eval) {
		target->ranges[0] = (struct sn_address_range){eval, eval + eval_bytes};
		target->range_count = 1;
	}
	return eval && target->thread_state && layout->code_type && layout->text_type &&
	       layout->bytes_type;
}

/* The state in a Py_tss_t: whether it is created, and its key; read again each time, because
 * finalisation deletes the key. */
static uintptr_t state_by_key(const struct sn_python_target *target)
{
	size_t offset = (size_t)target->layout.runtime_key;
	int32_t created = sn_python_int(target->runtime, offset);
	uint32_t key = (uint32_t)sn_python_int(target->runtime, offset + 4);
	return created == 1 && key < KEYS_MAX ? (uintptr_t)pthread_getspecific(key) : 0;
}

/* The first call of the function, outside of handlers, also binds its symbol. */
void sn_python_check_key(struct sn_python_target *target)
{
	void *state = target->thread_state();
	if (target->layout.runtime_key < 0 ||
	    (size_t)target->layout.runtime_key + 8 > target->runtime_bytes ||
	    (state && state_by_key(target) != (uintptr_t)state))
		atomic_store_explicit(&target->key_is_wrong, true, memory_order_relaxed);
}

uintptr_t sn_python_thread_state(const struct sn_python_target *target)
{
	if (atomic_load_explicit(&target->key_is_wrong, memory_order_relaxed))
		return (uintptr_t)target->thread_state();
	return state_by_key(target);
}

int sn_python_target_find(struct sn_python_target *target, const struct sn_module *module,
			  const char **reason)
{
	memset(target, 0, sizeof(*target));
	target->module = module;
	target->launcher = launcher_of(module);
	target->runtime = object_symbol(module, "_PyRuntime", &target->runtime_bytes);
	if (!sn_elf_symbol(module, "PyEval_EvalFrameEx", NULL))
		return -ENOENT;
	if (!target->runtime) {
		*reason = "CPython is older than 3.9";
		return -ENOTSUP;
	}
	target->hex = version_hex(module);
	int error = sn_python_layout_find(&target->layout, target->hex, target->runtime,
					  target->runtime_bytes, reason);
	if (error)
		return error;
	if (!find_symbols(target)) {
		*reason = "the interpreter does not export the symbols that are needed";
		return -ENOTSUP;
	}
	if (target->layout.version >= 0x030e)
		sn_python_layout_calibrate(&target->layout, target->runtime, target->runtime_bytes);
	sn_python_check_key(target);
	sn_python_eval_parts(module, target->ranges, &target->range_count);
	return 0;
}
