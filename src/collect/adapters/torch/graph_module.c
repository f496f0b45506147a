/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which nn.Module an operator runs in.
 *
 * A module is called through Module._call_impl, whose first argument it is; so the Python frames of
 * an operator lead to the module object. Its name is determined when it is called for the first
 * time: _call_impl asks PyTorch whether it is tracing, through a function that this library
 * replaces, and at that point the thread holds the interpreter's lock. The name is that under which
 * the calling module has it; a module that is not called by another one is named after its class.
 */
#include "collect/core/callpath.h"
#include "graph.h"

#include "collect/core/hash.h"
#include "collect/core/word_table.h"

#include "collect/core/adapter.h"
#include "collect/intercept/real_symbol.h"

#include <dlfcn.h>
#include <string.h>

enum { TABLE_BITS = 12, FRAMES_MAX = 256, PATH_BYTES = 512, SEARCH_DEPTH = 3, TYPE_NAME = 24 };

/* Functions of the interpreter; objects are opaque. */
static struct {
	int (*holds_lock)(void);
	void *(*error)(void);
	void (*clear)(void);
	void *(*attribute)(void *object, const char *name);
	int (*next)(void *dict, intptr_t *at, void **key, void **value);
	const char *(*text)(void *object);
	void (*release)(void *object);
} python;
static bool has_python;

struct known {
	uintptr_t type;
	uint64_t hash;
	char path[];
};
static struct sn_word_table modules = {.bits = TABLE_BITS}; /* struct known, by object */
static struct sn_bump memory;

static void *symbol(const char *name)
{
	void *found = dlsym(RTLD_DEFAULT, name);
	return found ? found : sn_real_symbol(name);
}

void sn_torch_module_init(void)
{
	python.holds_lock = (int (*)(void))symbol("PyGILState_Check");
	python.error = (void *(*)(void))symbol("PyErr_Occurred");
	python.clear = (void (*)(void))symbol("PyErr_Clear");
	python.attribute = (void *(*)(void *, const char *))symbol("PyObject_GetAttrString");
	python.next = (int (*)(void *, intptr_t *, void **, void **))symbol("PyDict_Next");
	python.text = (const char *(*)(void *))symbol("PyUnicode_AsUTF8");
	python.release = (void (*)(void *))symbol("Py_DecRef");
	has_python = sn_word_prepare(&modules) && python.holds_lock && python.error &&
		     python.clear && python.attribute && python.next && python.text &&
		     python.release;
}

/* ---- the table ---- */

static uintptr_t type_of(uintptr_t object)
{
	return ((const uintptr_t *)object)[1];
}

/* Adds a module. The interpreter's lock is held, so one thread at a time. */
static void add(uintptr_t module, const char *path)
{
	size_t length = strlen(path);
	/* a place comes first, because a module without one is added again at each call */
	if (!sn_word_find(&modules, module) && !sn_word_add(&modules, module, 0))
		return;
	struct known *known = sn_bump_alloc(&memory, sizeof(*known) + length + 1);
	if (!known)
		return;
	known->type = type_of(module);
	known->hash = sn_hash_text(path, length);
	memcpy(known->path, path, length + 1);
	sn_word_set(&modules, module, (uintptr_t)known);
}

static const struct known *lookup(uintptr_t module)
{
	const struct known *known = (const struct known *)sn_word_get(&modules, module);
	/* the address may belong to another object now */
	return known && known->type == type_of(module) ? known : NULL;
}

/* ---- frames ---- */

static bool is_module_call(const struct sn_cct *cct, uint32_t code)
{
	const struct sn_cct_code *entry = sn_array_at(&cct->codes, code);
	const struct sn_cct_string *name = sn_array_at(&cct->strings, entry->record.name);
	static const char call[] = "_call_impl";
	size_t length = sizeof(call) - 1;
	return name->length >= length &&
	       !memcmp(name->text + name->length - length, call, length) &&
	       !memchr(name->text, '<', name->length);
}

static bool is_torch_file(const struct sn_cct *cct, uint32_t code,
			  const struct sn_cct_string **file)
{
	const struct sn_cct_code *entry = sn_array_at(&cct->codes, code);
	*file = sn_array_at(&cct->strings, entry->record.file);
	const struct sn_cct_string *text = *file;
	return memmem(text->text, text->length, "/torch/", 7) ||
	       (text->length && text->text[0] == '<');
}

/* ---- naming ---- */

static const char *class_of(uintptr_t module)
{
	const char *name = *(const char *const *)(type_of(module) + TYPE_NAME);
	const char *dot = name ? strrchr(name, '.') : NULL;
	return dot ? dot + 1 : name ? name : "module";
}

static size_t append(char *path, size_t length, const char *text)
{
	while (*text && length + 1 < PATH_BYTES)
		path[length++] = *text++;
	path[length] = 0;
	return length;
}

/* Searches the children of `owner` for `module`, and the children of those that are containers;
 * stores the names that lead to it in `path`. */
static bool search(void *owner, uintptr_t module, char *path, size_t length, int depth)
{
	void *parts = python.attribute(owner, "_modules"), *key, *value;
	intptr_t at = 0;
	bool found = false;
	if (!parts) {
		python.clear();
		return false;
	}
	while (!found && python.next(parts, &at, &key, &value)) {
		const char *name = python.text(key);
		if (!name) {
			python.clear();
			continue;
		}
		size_t end = append(path, append(path, length, "."), name);
		found = (uintptr_t)value == module ||
			(depth > 1 && search(value, module, path, end, depth - 1));
	}
	python.release(parts);
	return found;
}

static void name_module(uintptr_t module, uintptr_t owner)
{
	char path[PATH_BYTES];
	const struct known *above = owner ? lookup(owner) : NULL;
	if (!above) {
		append(path, 0, class_of(module));
	} else {
		size_t length = append(path, 0, above->path);
		if (!search((void *)owner, module, path, length, SEARCH_DEPTH))
			append(path, append(path, length, "."), class_of(module));
	}
	add(module, path);
}

/* Finds the module that is called and the module that calls it; 0 if there is none. */
static void find_calls(struct sn_thread *thread, uintptr_t *module, uintptr_t *owner)
{
	struct sn_python_frame *frames = sn_callpath_python_frames(thread);
	int count = frames ? sn_python_walk(thread, frames, FRAMES_MAX) : 0;
	*module = *owner = 0;
	for (int i = 0; i < count && !*owner; i++) {
		if (frames[i].code == SN_ID_NONE || !is_module_call(&thread->cct, frames[i].code))
			continue;
		uintptr_t self = sn_python_first_argument(thread, frames + i);
		if (!*module)
			*module = self;
		else if (self && self != *module)
			*owner = self;
		if (!*module)
			return;
	}
}

void sn_torch_module_called(void)
{
	if (!has_python || !python.holds_lock() || python.error())
		return;
	struct sn_thread *thread = sn_enter();
	uintptr_t module = 0, owner = 0;
	if (!thread)
		return;
	find_calls(thread, &module, &owner);
	bool is_new = module && !lookup(module);
	sn_leave(thread);
	/* after sn_leave, because the interpreter may be sampled meanwhile */
	if (is_new)
		name_module(module, owner);
}

/* The properties of a code object, which stay valid as long as the thread's tree. */
static const struct sn_torch_code *code_of(struct sn_torch_thread *self, uint32_t code)
{
	struct sn_torch_code *known = &self->graph_codes[code % SN_TORCH_CODES];
	const struct sn_cct *cct = &self->thread->cct;
	const struct sn_cct_string *file;
	if (known->code_and_one == code + 1)
		return known;
	known->is_module_call = is_module_call(cct, code);
	known->is_torch_file = is_torch_file(cct, code, &file);
	known->file_hash = sn_hash_text(file->text, file->length);
	known->code_and_one = code + 1;
	return known;
}

static void set_line(const struct sn_cct *cct, const struct sn_python_frame *frame,
		     uint64_t file_hash, struct sn_torch_where *where)
{
	const struct sn_cct_code *code = sn_array_at(&cct->codes, frame->code);
	const struct sn_cct_string *file = sn_array_at(&cct->strings, code->record.file);
	where->file = file->text;
	where->file_length = file->length;
	where->line = frame->line;
	where->line_hash = file_hash + frame->line;
}

/* Sets the module whose call `frame` is; false if it is not known. */
static bool set_module(struct sn_thread *thread, uintptr_t frame, struct sn_torch_where *where)
{
	struct sn_python_frame call = {.frame = frame};
	uintptr_t module = sn_python_first_argument(thread, &call);
	const struct known *known = module ? lookup(module) : NULL;
	where->module = known ? known->path : NULL;
	where->module_hash = known ? known->hash : 0;
	return known;
}

/* Finds the place by a walk. *module_frame is the frame of the innermost module's call, 0 if
 * there is none. */
static void find_where(struct sn_torch_thread *self, struct sn_torch_where *where,
		       uintptr_t *module_frame)
{
	struct sn_thread *thread = self->thread;
	struct sn_python_frame *frames = sn_callpath_python_frames(thread);
	int count = self->graph_codes && frames ? sn_python_walk(thread, frames, FRAMES_MAX) : 0;
	*where = (struct sn_torch_where){0};
	*module_frame = 0;
	for (int i = 0; i < count && (!where->module || !where->file); i++) {
		if (frames[i].code == SN_ID_NONE)
			continue;
		const struct sn_torch_code *code = code_of(self, frames[i].code);
		if (!where->file && !code->is_torch_file)
			set_line(&thread->cct, frames + i, code->file_hash, where);
		if (where->module || !code->is_module_call)
			continue;
		set_module(thread, frames[i].frame, where);
		if (!*module_frame)
			*module_frame = frames[i].frame;
	}
}

static uintptr_t outer_frame(struct sn_thread *thread, uintptr_t frame, uint32_t steps)
{
	while (frame && steps--)
		frame = sn_python_caller(thread, frame);
	return frame;
}

/* Sets the place from a known path, for which only the module object must be read. */
static bool use_place(struct sn_thread *thread, const struct sn_torch_place *place,
		      uintptr_t innermost, struct sn_torch_where *where)
{
	*where = (struct sn_torch_where){.file = place->file,
					 .file_length = place->file_length,
					 .line = place->line,
					 .line_hash = place->line_hash};
	if (place->module_steps == UINT32_MAX)
		return true;
	uintptr_t frame = outer_frame(thread, innermost, place->module_steps);
	return frame && set_module(thread, frame, where);
}

/* Stores the place of a path, unless the innermost module had no name yet, so that the place has an
 * outer module's. */
static void remember_place(struct sn_thread *thread, struct sn_torch_place *place,
			   uint64_t fingerprint, uintptr_t innermost, uintptr_t module_frame,
			   const struct sn_torch_where *where)
{
	struct sn_torch_where again;
	uint32_t steps = 0;
	uintptr_t frame = innermost;
	for (; module_frame && frame && frame != module_frame && steps < FRAMES_MAX; steps++)
		frame = sn_python_caller(thread, frame);
	if (module_frame && (frame != module_frame || !set_module(thread, frame, &again)))
		return;
	*place = (struct sn_torch_place){.fingerprint = fingerprint,
					 .line_hash = where->line_hash,
					 .file = where->file,
					 .file_length = where->file_length,
					 .line = where->line,
					 .module_steps = module_frame ? steps : UINT32_MAX};
}

void sn_torch_where(struct sn_torch_thread *self, struct sn_torch_where *where)
{
	struct sn_thread *thread = self->thread;
	if (!self->graph_codes)
		self->graph_codes = sn_pages_map(SN_TORCH_CODES * sizeof(*self->graph_codes));
	if (!self->graph_places)
		self->graph_places = sn_pages_map(SN_TORCH_PLACES * sizeof(*self->graph_places));
	uintptr_t innermost = sn_python_innermost(thread), module_frame;
	uint64_t fingerprint = innermost == SN_PYTHON_UNKNOWN || !self->graph_places
				   ? 0
				   : sn_python_fingerprint(thread, innermost);
	struct sn_torch_place *place =
	    fingerprint ? &self->graph_places[(fingerprint >> 32) % SN_TORCH_PLACES] : NULL;
	if (place && place->fingerprint == fingerprint &&
	    use_place(thread, place, innermost, where))
		return;
	find_where(self, where, &module_frame);
	if (place && where->file)
		remember_place(thread, place, fingerprint, innermost, module_frame, where);
}
