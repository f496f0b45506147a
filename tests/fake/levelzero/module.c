/* SPDX-License-Identifier: Apache-2.0 */
/* Modules and kernels. A module without code has every kernel, which computes nothing. */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ze_result_t module_create(ze_context_handle_t context, ze_device_handle_t device,
				 const ze_module_desc_t *desc, ze_module_handle_t *handle,
				 ze_module_build_log_handle_t *log)
{
	char why[128] = "";
	size_t bytes = desc->inputSize - (fake_fails("cut-module") ? 3 * sizeof(uint32_t) : 0);
	(void)context, (void)device;
	struct module *module = calloc(1, sizeof(*module));
	if (desc->pInputModule)
		module->code = code_new(desc->pInputModule, bytes, why, sizeof(why));
	if (log)
		*log = (ze_module_build_log_handle_t)strdup(why);
	if (desc->pInputModule && !module->code) {
		free(module);
		return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
	}
	*handle = (ze_module_handle_t)module;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t module_destroy(ze_module_handle_t handle)
{
	struct module *module = (struct module *)handle;
	if (module->kernels)
		misused("a module is destroyed before its kernels");
	code_free(module->code);
	free(module);
	return ZE_RESULT_SUCCESS;
}

/* A log is its text. */
static ze_result_t log_text(ze_module_build_log_handle_t log, size_t *size, char *text)
{
	if (text)
		snprintf(text, *size, "%s", (const char *)log);
	*size = strlen((const char *)log) + 1;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t log_destroy(ze_module_build_log_handle_t log)
{
	free(log);
	return ZE_RESULT_SUCCESS;
}

void fill_log_table(ze_module_build_log_dditable_t *table)
{
	table->pfnGetString = log_text;
	table->pfnDestroy = log_destroy;
}

/* The table of what ran keeps its name. */
static ze_result_t kernel_create(ze_module_handle_t handle, const ze_kernel_desc_t *desc,
				 ze_kernel_handle_t *made)
{
	struct module *module = (struct module *)handle;
	uint32_t function = module->code ? code_function(module->code, desc->pKernelName) : 0;
	if (module->code && !function)
		return ZE_RESULT_ERROR_INVALID_KERNEL_NAME;
	struct kernel *kernel = calloc(1, sizeof(*kernel));
	module->kernels++;
	*kernel = (struct kernel){.module = module,
				  .name = strdup(desc->pKernelName),
				  .size = 1,
				  .work = {.code = module->code, .function = function}};
	*made = (ze_kernel_handle_t)kernel;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel_destroy(ze_kernel_handle_t kernel)
{
	((struct kernel *)kernel)->module->kernels--;
	free(kernel);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel_name(ze_kernel_handle_t kernel, size_t *size, char *text)
{
	const char *name = ((const struct kernel *)kernel)->name;
	if (text)
		snprintf(text, *size, "%s", name);
	*size = strlen(name) + 1;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel_group(ze_kernel_handle_t kernel, uint32_t x, uint32_t y, uint32_t z)
{
	((struct kernel *)kernel)->size = x;
	(void)y, (void)z;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t kernel_argument(ze_kernel_handle_t handle, uint32_t index, size_t bytes,
				   const void *value)
{
	struct kernel *kernel = (struct kernel *)handle;
	if (index >= MOST_ARGUMENTS)
		return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX;
	if (bytes > sizeof(*kernel->work.arguments))
		return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE;
	kernel->work.arguments[index] = 0;
	if (value)
		memcpy(&kernel->work.arguments[index], value, bytes);
	return ZE_RESULT_SUCCESS;
}

struct work kernel_work(const struct kernel *kernel, const ze_group_count_t *groups)
{
	struct work work = kernel->work;
	work.items = (uint64_t)kernel->size * (groups ? groups->groupCountX : 0);
	return work;
}

void fill_module_tables(ze_module_dditable_t *modules, ze_kernel_dditable_t *kernels)
{
	if (modules) {
		modules->pfnCreate = module_create;
		modules->pfnDestroy = module_destroy;
	}
	if (kernels) {
		kernels->pfnCreate = kernel_create;
		kernels->pfnDestroy = kernel_destroy;
		kernels->pfnGetName = kernel_name;
		kernels->pfnSetGroupSize = kernel_group;
		kernels->pfnSetArgumentValue = kernel_argument;
	}
}
