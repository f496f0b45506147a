/* SPDX-License-Identifier: Apache-2.0 */
/* Finding CPython in another process, and its thread states; see interpreter.h. */
#include "interpreter.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "base/vec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	RUNTIME_MOST = 1 << 20,	      /* bytes of it that are copied */
	HEAD_BYTES = 512,	      /* of the runtime, in which it says where interpreters are */
	INTERPRETER_BYTES = 16 << 10, /* of an interpreter, in which it says where threads are */
	PAGE = 4096,
	THREADS_MOST = 1 << 13,
	INTERPRETERS_MOST = 256,
	FRAME_MOST = 512, /* bytes of a frame without locals, and of a code object */
	TEXT_MOST = 128,  /* of a string's head */
	PAUSE_NS = 10000000,
	PAUSE_MOST_NS = 1000000000,
	THREAD_NUMBER = 720, /* of the kernel, in glibc's struct pthread */
};

/* ---- symbols ---- */

struct searching {
	struct sn_remote *remote;
	struct sn_python_files *files;
	struct sn_python_symbols symbols;
};

bool sn_python_is_named(const char *path)
{
	const char *name = sn_text_base_name(path);
	return sn_text_begins(name, "python") || sn_text_begins(name, "libpython");
}

/* Of a mapping of code: whether it is of a CPython. */
static int see_mapping(void *context, const struct sn_mapping *mapping)
{
	struct searching *searching = context;
	return sn_python_is_named(mapping->path) &&
	       sn_python_files_find(searching->files, searching->remote->pid, mapping,
				    &searching->symbols);
}

/* PY_VERSION_HEX, or its upper half before 3.11. */
static uint32_t version_of(struct sn_remote *remote, const struct sn_python_symbols *symbols)
{
	unsigned long version;
	if (symbols->at[SN_PYTHON_VERSION])
		return sn_remote_read(remote, symbols->at[SN_PYTHON_VERSION], &version,
				      sizeof(version))
			   ? (uint32_t)version
			   : 0;
	return symbols->at[SN_PYTHON_ADDED_3_10]  ? 0x030a00f0
	       : symbols->at[SN_PYTHON_ADDED_3_9] ? 0x030900f0
						  : 0x030800f0;
}

/* ---- threads ---- */

/* The words that a thread state begins with in all versions. */
struct thread_head {
	uintptr_t previous, next, interpreter;
};

/* Whether the first thread state of an interpreter is there. */
static bool is_first_thread(struct sn_remote *remote, uintptr_t address, uintptr_t interpreter)
{
	struct thread_head head;
	return address && !(address & 7) && sn_remote_read(remote, address, &head, sizeof(head)) &&
	       !head.previous && head.interpreter == interpreter;
}

/* Where an interpreter says where its threads are, by their shape; 0 if it is none. */
static uintptr_t find_threads(struct sn_remote *remote, uintptr_t interpreter)
{
	uintptr_t words[PAGE / sizeof(uintptr_t)];
	for (uintptr_t page = 0; page < INTERPRETER_BYTES; page += PAGE) {
		if (!sn_remote_read(remote, interpreter + page, words, sizeof(words)))
			return 0;
		for (size_t word = 0; word < PAGE / sizeof(*words); word++)
			if (words[word] != interpreter &&
			    is_first_thread(remote, words[word], interpreter))
				return interpreter + page + word * sizeof(*words);
	}
	return 0;
}

/* Before 3.13: where the newest interpreter says where its threads are; 0: the process has begun none yet. */
static uintptr_t threads_of(struct sn_remote *remote, const unsigned char *runtime, size_t bytes)
{
	uintptr_t interpreter, threads = 0;
	for (size_t at = 0; !threads && at + sizeof(interpreter) <= bytes && at < HEAD_BYTES;
	     at += sizeof(interpreter)) {
		memcpy(&interpreter, runtime + at, sizeof(interpreter));
		if (interpreter && !(interpreter & 7))
			threads = find_threads(remote, interpreter);
	}
	return threads;
}

/* The kernel's number of the thread with this state: from 3.11 beside its pthread_t, else in what that points to. */
static bool number_of(struct sn_remote *remote, const struct sn_python_layout *layout,
		      uintptr_t state, pid_t *tid)
{
	uintptr_t ids[2];
	if (!sn_remote_read(remote, state + layout->thread_id, ids, sizeof(ids)))
		return false;
	if (layout->version >= 0x030b) {
		*tid = (pid_t)ids[1];
		return true;
	}
	return sn_remote_read(remote, ids[0] + THREAD_NUMBER, tid, sizeof(*tid));
}

/* Those behind the first one, whose address is at a place. */
static bool list_from(struct sn_python_interpreter *interpreter, struct sn_remote *remote,
		      uintptr_t place)
{
	uintptr_t state;
	struct thread_head head;
	if (!sn_remote_word(remote, place, &state))
		return false;
	while (state && interpreter->known_count < THREADS_MOST) {
		struct sn_remote_thread thread = {.state = state};
		if (!sn_remote_read(remote, state, &head, sizeof(head)) ||
		    !number_of(remote, &interpreter->layout, state, &thread.tid) ||
		    sn_vec_push(&interpreter->known, &interpreter->known_capacity,
				&interpreter->known_count, thread))
			break; /* it has ended meanwhile */
		state = head.next;
	}
	return true;
}

/* Of all interpreters; before 3.13 of the newest. */
static bool list_threads(struct sn_python_interpreter *interpreter, struct sn_remote *remote)
{
	const struct sn_python_layout *layout = &interpreter->layout;
	uintptr_t one;
	interpreter->known_count = 0;
	if (!layout->threads_head)
		return list_from(interpreter, remote, interpreter->threads);
	if (!sn_remote_word(remote, interpreter->runtime + layout->interpreters_head, &one))
		return false;
	for (int count = 0; one && count < INTERPRETERS_MOST; count++)
		if (!list_from(interpreter, remote, one + layout->threads_head) ||
		    !sn_remote_word(remote, one + layout->interpreter_next, &one))
			return count > 0;
	return true;
}

static uintptr_t state_of(const struct sn_python_interpreter *interpreter, pid_t tid)
{
	for (size_t number = 0; number < interpreter->known_count; number++)
		if (interpreter->known[number].tid == tid)
			return interpreter->known[number].state;
	return 0;
}

/* A state that has been given back may be another thread's. */
static bool is_still(const struct sn_python_interpreter *interpreter, struct sn_remote *remote,
		     pid_t tid, uintptr_t state)
{
	pid_t now;
	return state && number_of(remote, &interpreter->layout, state, &now) && now == tid;
}

bool sn_python_interpreter_state(struct sn_python_interpreter *interpreter,
				 struct sn_remote *remote, pid_t tid, uintptr_t *state)
{
	uint64_t now_ns = sn_clock_now_ns(CLOCK_MONOTONIC);
	*state = state_of(interpreter, tid);
	if (is_still(interpreter, remote, tid, *state))
		return true;
	*state = 0;
	if (now_ns < interpreter->next_list_ns)
		return true;
	if (!list_threads(interpreter, remote))
		return false;
	*state = state_of(interpreter, tid);
	/* threads that run no Python are asked for again and again */
	interpreter->pause_ns = *state ? PAUSE_NS : 2 * interpreter->pause_ns;
	if (interpreter->pause_ns > PAUSE_MOST_NS)
		interpreter->pause_ns = PAUSE_MOST_NS;
	interpreter->next_list_ns = now_ns + interpreter->pause_ns;
	return true;
}

/* From 3.13 on offsets are what the process says they are. */
static bool is_sane(const struct sn_python_layout *layout)
{
	const uint16_t frame[] = {layout->frame_previous, layout->frame_code,
				  layout->frame_instruction},
		       code[] = {layout->code_file,    layout->code_name,
				 layout->code_lines,   layout->code_first_line,
				 layout->bytes_length, layout->object_type};
	bool is_good = layout->frame_bytes <= FRAME_MOST && layout->code_bytes <= FRAME_MOST &&
		       layout->frame_owner < layout->frame_bytes &&
		       layout->frame_is_entry < layout->frame_bytes &&
		       layout->code_version + 4 <= layout->code_bytes &&
		       layout->text_ascii_bytes <= TEXT_MOST &&
		       layout->text_state + 4 <= layout->text_ascii_bytes &&
		       layout->text_length + 8 <= layout->text_ascii_bytes &&
		       layout->object_type + 8 <= layout->text_ascii_bytes;
	for (size_t field = 0; field < sizeof(frame) / sizeof(*frame); field++)
		is_good = is_good && frame[field] + 8 <= layout->frame_bytes;
	for (size_t field = 0; field < sizeof(code) / sizeof(*code); field++)
		is_good = is_good && code[field] + 8 <= layout->code_bytes;
	return is_good;
}

/* ---- the interpreter ---- */

static int fill(struct sn_python_interpreter *interpreter, struct sn_remote *remote,
		const struct sn_python_symbols *symbols, const unsigned char *runtime, size_t bytes,
		const char **reason)
{
	struct sn_python_layout *layout = &interpreter->layout;
	if (sn_python_layout_find(layout, version_of(remote, symbols), (uintptr_t)runtime, bytes,
				  reason))
		return SN_ERR_UNSUPPORTED;
	layout->code_type = symbols->at[SN_PYTHON_CODE_TYPE];
	layout->text_type = symbols->at[SN_PYTHON_TEXT_TYPE];
	layout->bytes_type = symbols->at[SN_PYTHON_BYTES_TYPE];
	if (!is_sane(layout)) {
		*reason = "the interpreter's debug offsets have an unknown shape";
		return SN_ERR_UNSUPPORTED;
	}
	if (layout->version >= 0x030e)
		sn_python_layout_calibrate(layout, (uintptr_t)runtime, bytes);
	interpreter->eval = symbols->at[SN_PYTHON_EVAL];
	interpreter->eval_bytes = symbols->bytes[SN_PYTHON_EVAL];
	interpreter->runtime = symbols->at[SN_PYTHON_RUNTIME];
	interpreter->pause_ns = PAUSE_NS;
	if (!layout->threads_head)
		interpreter->threads = threads_of(remote, runtime, bytes);
	return layout->threads_head || interpreter->threads ? 0 : SN_ERR_MISSING;
}

int sn_python_interpreter_find(struct sn_python_interpreter *interpreter, struct sn_remote *remote,
			       struct sn_python_files *files, const char **reason)
{
	struct searching searching = {.remote = remote, .files = files};
	*interpreter = (struct sn_python_interpreter){0};
	int found = sn_mappings_each(remote->pid, see_mapping, &searching);
	remote->is_refused |= found < 0 && (errno == EACCES || errno == EPERM);
	if (found <= 0)
		return SN_ERR_MISSING;
	if (!searching.symbols.at[SN_PYTHON_RUNTIME]) {
		*reason = "CPython is older than 3.9";
		return SN_ERR_UNSUPPORTED;
	}
	size_t bytes = searching.symbols.bytes[SN_PYTHON_RUNTIME];
	bytes = bytes < RUNTIME_MOST ? bytes : RUNTIME_MOST;
	unsigned char *runtime = malloc(bytes + 1);
	if (!runtime)
		return SN_ERR_MEMORY;
	int result = sn_remote_read(remote, searching.symbols.at[SN_PYTHON_RUNTIME], runtime, bytes)
			 ? fill(interpreter, remote, &searching.symbols, runtime, bytes, reason)
			 : SN_ERR_MISSING;
	free(runtime);
	return result;
}

void sn_python_interpreter_release(struct sn_python_interpreter *interpreter)
{
	free(interpreter->known);
	*interpreter = (struct sn_python_interpreter){0};
}
