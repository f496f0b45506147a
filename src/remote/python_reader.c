/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the Python frames of sampled threads; see python_reader.h. */
#include "python_reader.h"

#include "base/intern.h"
#include "base/table.h"
#include "base/vec.h"
#include "system/inner_number.h"
#include "unwind/python/unicode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TEXT_MOST = 4095,	   /* bytes of a name */
	CHARACTERS_MOST = 1 << 20, /* more are no name */
	LINES_MOST = 1 << 20,	   /* bytes of a table of lines */
	LINES_ALL_MOST = 64 << 20, /* of all tables */
	CODES_MOST = 1 << 16,	   /* that are known; of more, none is shown */
	FAILURES_MOST = 8,	   /* in a row, until the interpreter is looked for anew */
};

struct process {
	struct sn_remote remote;
	struct sn_python_interpreter interpreter;
	bool has_one;
	uint32_t seen, next; /* samples; and at which an interpreter is looked for */
	uint32_t failures;   /* in a row */
	bool is_apart;	     /* its threads have other numbers for itself */
};

/* The key of a code object: a process, and what its code was when it was read. */
struct key {
	uint64_t pid;
	struct sn_remote_code code;
};

struct code {
	enum { UNREAD, SHOWN, HIDDEN } state; /* hidden: the interpreter's own */
	unsigned char *lines;
	size_t line_bytes;
};

struct sn_python_reader {
	struct sn_python_listener listener;
	struct sn_python_files files;
	struct sn_table pids; /* to processes */
	struct process *processes;
	size_t process_capacity;
	struct sn_intern keys; /* to codes */
	struct code *codes;
	size_t code_capacity;
	size_t line_bytes; /* of all codes */
	char gap[160];
	struct sn_remote_frame frames[SN_REMOTE_FRAMES_MOST];
};

struct sn_python_reader *sn_python_reader_new(const struct sn_python_listener *listener)
{
	struct sn_python_reader *reader = calloc(1, sizeof(*reader));
	if (reader)
		reader->listener = *listener;
	return reader;
}

void sn_python_reader_clear(struct sn_python_reader *reader)
{
	struct sn_python_listener listener = reader->listener;
	for (uint32_t number = 0; number < reader->pids.count; number++)
		sn_python_interpreter_release(&reader->processes[number].interpreter);
	for (uint32_t number = 0; number < reader->keys.count; number++)
		free(reader->codes[number].lines);
	free(reader->processes);
	free(reader->codes);
	sn_table_release(&reader->pids);
	sn_intern_release(&reader->keys);
	sn_python_files_release(&reader->files);
	*reader = (struct sn_python_reader){.listener = listener};
}

void sn_python_reader_free(struct sn_python_reader *reader)
{
	if (reader)
		sn_python_reader_clear(reader);
	free(reader);
}

uint32_t sn_python_reader_processes(const struct sn_python_reader *reader)
{
	return reader->pids.count;
}

const char *sn_python_reader_gap(const struct sn_python_reader *reader)
{
	return *reader->gap ? reader->gap : NULL;
}

/* ---- code objects ---- */

/* A str object as UTF-8, cut at TEXT_MOST bytes. False where it is none. */
static bool read_text(struct sn_remote *remote, const struct sn_python_layout *layout,
		      uintptr_t object, char text[TEXT_MOST + 1])
{
	unsigned char head[128], data[4 * TEXT_MOST];
	if (layout->text_ascii_bytes > sizeof(head) ||
	    !sn_remote_read(remote, object, head, layout->text_ascii_bytes))
		return false;
	uintptr_t type, length, at = object + layout->text_ascii_bytes;
	uint32_t state;
	memcpy(&type, head + layout->object_type, sizeof(type));
	memcpy(&length, head + layout->text_length, sizeof(length));
	memcpy(&state, head + layout->text_state, sizeof(state));
	state >>= layout->text_kind_shift;
	unsigned kind = state & 7;
	bool is_compact = state >> 3 & 1, is_ascii = state >> 4 & 1;
	if (type != layout->text_type || length > CHARACTERS_MOST ||
	    (kind != 1 && kind != 2 && kind != 4))
		return false;
	if (!is_compact || !is_ascii)
		at = object + layout->text_compact_bytes;
	if (!is_compact && !sn_remote_word(remote, at, &at))
		return false;
	length = length < TEXT_MOST ? length : TEXT_MOST;
	if (!sn_remote_read(remote, at, data, length * kind))
		return false;
	text[sn_python_encode(data, kind, length, text, TEXT_MOST)] = 0;
	return true;
}

static bool read_lines(struct sn_python_reader *reader, struct sn_remote *remote,
		       const struct sn_python_layout *layout, uintptr_t object, struct code *code)
{
	uintptr_t length;
	if (!sn_remote_word(remote, object + layout->bytes_length, &length) ||
	    length > LINES_MOST || reader->line_bytes + length > LINES_ALL_MOST)
		return false;
	code->lines = malloc(length + 1);
	code->line_bytes = length;
	return code->lines &&
	       sn_remote_read(remote, object + layout->bytes_data, code->lines, length);
}

/* The interpreter's own glue has a code object without lines. */
static bool is_glue(const struct sn_python_layout *layout, const struct code *code)
{
	return layout->lines == SN_LINETABLE_LOCATION &&
	       (code->line_bytes == 0 ||
		(code->line_bytes == 1 && (code->lines[0] >> 3 & 15) == 15));
}

/* What cannot be read may be another time. */
static void learn_code(struct sn_python_reader *reader, struct process *process,
		       const struct key *key, uint32_t number)
{
	const struct sn_python_layout *layout = &process->interpreter.layout;
	struct sn_remote *remote = &process->remote;
	struct code *code = &reader->codes[number];
	char file[TEXT_MOST + 1], name[TEXT_MOST + 1];
	if (read_lines(reader, remote, layout, key->code.lines, code)) {
		if (is_glue(layout, code))
			code->state = HIDDEN;
		else if (read_text(remote, layout, key->code.file, file) &&
			 read_text(remote, layout, key->code.name, name))
			code->state = SHOWN;
	}
	if (code->state == SHOWN) {
		reader->line_bytes += code->line_bytes;
		reader->listener.code(reader->listener.context, number, key->code.first_line, file,
				      name);
	} else {
		free(code->lines);
		code->lines = NULL;
	}
}

/* The number of a frame's code, which is told when it is first seen; SN_INTERN_NONE: it is not to be shown. */
static uint32_t code_of(struct sn_python_reader *reader, struct process *process,
			const struct sn_remote_frame *frame)
{
	struct key key = {.pid = (uint64_t)process->remote.pid, .code = frame->code};
	uint32_t number = reader->keys.count < CODES_MOST
			      ? sn_intern_item(&reader->keys, &key, sizeof(key), &reader->codes,
					       &reader->code_capacity, {UNREAD, NULL, 0})
			      : sn_intern_find(&reader->keys, &key, sizeof(key));
	if (number == SN_INTERN_NONE)
		return number;
	if (reader->codes[number].state == UNREAD)
		learn_code(reader, process, &key, number);
	return reader->codes[number].state == SHOWN ? number : SN_INTERN_NONE;
}

/* ---- processes ---- */

static struct process *process_of(struct sn_python_reader *reader, pid_t pid)
{
	uint32_t number = sn_table_find(&reader->pids, (uint64_t)pid), count = reader->pids.count;
	if (number != SN_TABLE_NONE)
		return &reader->processes[number];
	if (sn_vec_reserve(&reader->processes, &reader->process_capacity, count + 1ull) < 0 ||
	    sn_table_add(&reader->pids, (uint64_t)pid) == SN_TABLE_NONE)
		return NULL;
	reader->processes[count] = (struct process){.remote = {.pid = pid}};
	return &reader->processes[count];
}

static void note_gap(struct sn_python_reader *reader, pid_t pid, const char *why)
{
	if (!*reader->gap)
		snprintf(reader->gap, sizeof(reader->gap), "no Python frames of process %d: %s",
			 pid, why);
}

/* Looks for an interpreter at the first sample, the second, the fourth, and so on, as it may be loaded later. */
static bool look(struct sn_python_reader *reader, struct process *process, uint64_t time_ns)
{
	const char *reason = NULL;
	if (process->has_one)
		return true;
	if (process->seen++ < process->next)
		return false;
	process->next = 2 * process->next + 1;
	sn_python_interpreter_release(&process->interpreter);
	int result = sn_python_interpreter_find(&process->interpreter, &process->remote,
						&reader->files, &reason);
	if (process->remote.is_refused)
		note_gap(reader, process->remote.pid,
			 "its memory may not be read (root or CAP_SYS_PTRACE may, or "
			 "kernel.yama.ptrace_scope=0)");
	else if (reason)
		note_gap(reader, process->remote.pid, reason);
	process->has_one = !result;
	process->failures = 0;
	process->is_apart = sn_inner_is_apart(process->remote.pid);
	if (process->has_one && reader->listener.interpreter)
		reader->listener.interpreter(reader->listener.context, process->remote.pid,
					     process->interpreter.eval,
					     process->interpreter.eval_bytes, time_ns);
	return process->has_one;
}

/* Those that are to be shown. Their number. */
static uint32_t put_frames(struct sn_python_reader *reader, struct process *process, int count,
			   struct sn_numbered_frame *frames)
{
	const struct sn_python_layout *layout = &process->interpreter.layout;
	uint32_t kept = 0;
	for (int number = 0; number < count; number++) {
		const struct sn_remote_frame *frame = &reader->frames[number];
		uint32_t code = code_of(reader, process, frame);
		if (code == SN_INTERN_NONE) {
			/* the group goes on without it */
			if (frame->is_entry && kept)
				frames[kept - 1].is_entry = true;
			continue;
		}
		const struct code *known = &reader->codes[code];
		frames[kept++] = (struct sn_numbered_frame){
		    code,
		    sn_linetable_line(layout->lines, known->lines, known->line_bytes,
				      frame->code.first_line, frame->offset),
		    frame->is_entry};
	}
	return kept;
}

/* Another program is executed: nothing that is known of it holds. */
static void forget(struct process *process)
{
	sn_python_interpreter_release(&process->interpreter);
	*process = (struct process){.remote = {.pid = process->remote.pid}};
}

void sn_python_reader_forget(struct sn_python_reader *reader, pid_t pid)
{
	uint32_t number = sn_table_find(&reader->pids, (uint64_t)pid);
	if (number != SN_TABLE_NONE)
		forget(&reader->processes[number]);
}

bool sn_python_reader_has(const struct sn_python_reader *reader, pid_t pid)
{
	uint32_t number = sn_table_find(&reader->pids, (uint64_t)pid);
	return number != SN_TABLE_NONE && reader->processes[number].has_one;
}

bool sn_python_reader_eval(const struct sn_python_reader *reader, pid_t pid, uint64_t *eval,
			   uint64_t *bytes)
{
	uint32_t number = sn_table_find(&reader->pids, (uint64_t)pid);
	if (number == SN_TABLE_NONE || !reader->processes[number].has_one)
		return false;
	*eval = reader->processes[number].interpreter.eval;
	*bytes = reader->processes[number].interpreter.eval_bytes;
	return true;
}

uint32_t sn_python_reader_see(struct sn_python_reader *reader, pid_t pid, pid_t tid,
			      uint64_t time_ns, struct sn_numbered_frame *frames)
{
	struct process *process = pid > 0 ? process_of(reader, pid) : NULL;
	if (!process || !look(reader, process, time_ns))
		return 0;
	struct sn_remote *remote = &process->remote;
	uintptr_t state = 0;
	pid_t own = process->is_apart ? sn_inner_number(pid, tid) : tid;
	int count = -1;
	if (sn_python_interpreter_state(&process->interpreter, remote, own, &state))
		count = state ? sn_remote_frames(remote, &process->interpreter.layout, state,
						 reader->frames)
			      : 0;
	uint32_t kept = count > 0 ? put_frames(reader, process, count, frames) : 0;
	process->failures = count < 0 ? process->failures + 1 : 0;
	if (process->failures == FAILURES_MOST)
		forget(process);
	return kept;
}
