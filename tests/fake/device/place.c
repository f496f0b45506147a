/* SPDX-License-Identifier: Apache-2.0 */
#include "place.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdio.h>
#include <string.h>

#define MOST_FRAMES 48
#define MOST_NATIVE 4

/* ---- Python, if there is one in this process ---- */

static struct {
	void *(*thread_state)(void);
	int (*ensure)(void);
	void (*release)(int);
	void *(*frame)(void);
	int (*line)(void *frame);
	void *(*code)(void *frame);
	void *(*attribute)(void *object, const char *name);
	const char *(*utf8)(void *object);
	void (*drop)(void *object);
	bool is_looked_up, is_there;
} python;

static void look_up(void)
{
	python.is_looked_up = true;
	python.thread_state = (void *(*)(void))dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
	python.ensure = (int (*)(void))dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
	python.release = (void (*)(int))dlsym(RTLD_DEFAULT, "PyGILState_Release");
	python.frame = (void *(*)(void))dlsym(RTLD_DEFAULT, "PyEval_GetFrame");
	python.line = (int (*)(void *))dlsym(RTLD_DEFAULT, "PyFrame_GetLineNumber");
	python.code = (void *(*)(void *))dlsym(RTLD_DEFAULT, "PyFrame_GetCode");
	python.attribute =
	    (void *(*)(void *, const char *))dlsym(RTLD_DEFAULT, "PyObject_GetAttrString");
	python.utf8 = (const char *(*)(void *))dlsym(RTLD_DEFAULT, "PyUnicode_AsUTF8");
	python.drop = (void (*)(void *))dlsym(RTLD_DEFAULT, "Py_DecRef");
	python.is_there = python.thread_state && python.ensure && python.release && python.frame &&
			  python.line && python.code && python.attribute && python.utf8 &&
			  python.drop;
}

/* With Python's lock. */
static bool frame_here(char *text, size_t size)
{
	void *frame = python.frame();
	if (!frame)
		return false;
	void *code = python.code(frame);
	void *name = code ? python.attribute(code, "co_filename") : NULL;
	const char *file = name ? python.utf8(name) : NULL;
	if (file)
		snprintf(text, size, "%s:%d", file, python.line(frame));
	if (name)
		python.drop(name);
	if (code)
		python.drop(code);
	return file != NULL;
}

static bool python_here(char *text, size_t size)
{
	if (!python.is_looked_up)
		look_up();
	if (!python.is_there || !python.thread_state())
		return false;
	int state = python.ensure();
	bool found = frame_here(text, size);
	python.release(state);
	return found;
}

/* ---- native callers ---- */

/* The libraries of the fakes lie in one folder. */
static bool is_ours(const Dl_info *module)
{
	static char folder[4096];
	Dl_info own;
	if (!folder[0] && dladdr((void *)is_ours, &own) && own.dli_fname) {
		snprintf(folder, sizeof(folder), "%s", own.dli_fname);
		char *end = strrchr(folder, '/');
		if (end)
			end[1] = '\0';
	}
	return !strncmp(module->dli_fname, folder, strlen(folder));
}

static void native_here(char *text, size_t size)
{
	void *frames[MOST_FRAMES];
	int count = backtrace(frames, MOST_FRAMES), written = 0;
	size_t length = 0;
	text[0] = '\0';
	for (int index = 1; index < count && written < MOST_NATIVE; index++) {
		Dl_info module;
		if (!dladdr((char *)frames[index] - 1, &module) || !module.dli_fname ||
		    is_ours(&module))
			continue;
		int added =
		    snprintf(text + length, size - length, "%s%s+0x%lx", written ? " " : "",
			     module.dli_fname,
			     (unsigned long)((char *)frames[index] - 1 - (char *)module.dli_fbase));
		if (added < 0 || (size_t)added >= size - length)
			return;
		length += (size_t)added;
		written++;
	}
}

void fake_place_here(char *text, size_t size)
{
	if (!python_here(text, size))
		native_here(text, size);
}
