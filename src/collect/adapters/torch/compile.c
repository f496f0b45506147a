/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compilations of torch.compile: a region for each, and an event for tools that listen.
 *
 * The compiler is written in Python and calls no C function that would mark its start and its end.
 * But each attempt to compile a function saves the state of the random number generator before, and
 * restores it afterwards, in a `finally` block and so also after a failure. hooks.c wraps both
 * calls. Other code makes them too; the Python frames of the caller show whether a compilation did.
 * The function that is compiled is the first argument of `_compile`, which is further out.
 */
#include "collect/core/callpath.h"
#include "torch.h"

#include "collect/interface/monitor.h"
#include "collect/interface/region.h"

#include <string.h>

#define COMPILER    "/torch/_dynamo/convert_frame.py"
#define RANDOM	    "/torch/random.py"
#define REGION	    "torch.compile "
#define NAME_BYTES  256u
#define PYTHON_MAX  256u
/* `_compile` is searched among this many innermost frames. */
#define FRAMES_MOST 32

static bool ends_with(const struct sn_cct_string *string, const char *tail)
{
	size_t length = strlen(tail);
	return string->length >= length &&
	       !memcmp(string->text + string->length - length, tail, length);
}

/* True if the frame is of this function, at whatever depth of nested scopes it is defined. */
static bool runs(const struct sn_thread *thread, const struct sn_python_frame *frame,
		 const char *file, const char *function)
{
	if (frame->code == SN_ID_NONE)
		return false;
	const struct sn_cct_code *code = sn_array_at(&thread->cct.codes, frame->code);
	const struct sn_cct_string *name = sn_array_at(&thread->cct.strings, code->record.name);
	size_t length = strlen(function);
	bool is_whole = name->length == length ||
			(name->length > length && name->text[name->length - length - 1] == '.');
	return is_whole && ends_with(name, function) &&
	       ends_with(sn_array_at(&thread->cct.strings, code->record.file), file);
}

/* Stores the name of the compiled function and returns its length; 0 if no compilation calls. */
static size_t compiled(struct sn_thread *thread, const char *random_function, char *name)
{
	struct sn_python_frame *frames = sn_callpath_python_frames(thread);
	int count = frames ? sn_python_walk(thread, frames, PYTHON_MAX) : 0;
	if (count < 3 || !runs(thread, &frames[0], RANDOM, random_function) ||
	    !runs(thread, &frames[1], COMPILER, "_fn"))
		return 0;
	for (int index = 2; index < count && index < FRAMES_MOST; index++) {
		if (!runs(thread, &frames[index], COMPILER, "_compile"))
			continue;
		ssize_t length = sn_python_code_argument(thread, &frames[index], name, NAME_BYTES);
		if (length > 0)
			return (size_t)length;
		memcpy(name, "?", 1);
		return 1;
	}
	return 0;
}

static size_t compiled_by_caller(const char *random_function, char *name)
{
	if (sn_torch_undecided() || !strcmp(sn_config.operators, "off"))
		return 0;
	struct sn_thread *thread = sn_enter();
	if (!thread)
		return 0;
	size_t length = compiled(thread, random_function, name);
	sn_leave(thread);
	return length;
}

static void report(enum sonde_event_kind kind, const char *name, size_t length)
{
	if (sn_monitor_wants(SONDE_FRAMEWORK))
		SN_MONITOR_EMIT(.domain = SONDE_FRAMEWORK, .kind = kind, .name = name,
				.name_length = (uint32_t)length);
}

void sn_torch_compile_begins(uintptr_t stack)
{
	char text[sizeof(REGION) - 1 + NAME_BYTES], *name = text + sizeof(REGION) - 1;
	size_t length = compiled_by_caller("get_rng_state", name);
	if (!length)
		return;
	memcpy(text, REGION, sizeof(REGION) - 1);
	SN_REGION_BEGIN(.name = text, .length = sizeof(REGION) - 1 + length, .stack = stack,
			.origin = SN_REGION_PYTHON, .user = SN_REGION_COMPILE);
	report(SONDE_COMPILE_BEGIN, name, length);
}

void sn_torch_compile_ends(void)
{
	char name[NAME_BYTES];
	size_t length = compiled_by_caller("set_rng_state", name);
	if (!length)
		return;
	report(SONDE_COMPILE_END, name, length);
	sn_region_end(SN_REGION_COMPILE, 0);
}
