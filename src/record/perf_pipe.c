/* SPDX-License-Identifier: Apache-2.0 */
/* Records that perf would write into a pipe; see perf_pipe.h. */
#include "perf_pipe.h"

#include "base/clock.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Begins a record; *at is where it begins. */
static void begin(struct sn_buffer *buffer, uint32_t type, uint16_t misc, size_t *at)
{
	const struct perf_event_header header = {.type = type, .misc = misc};
	*at = buffer->count;
	sn_buffer_put(buffer, &header, sizeof(header));
}

static void end(struct sn_buffer *buffer, size_t at)
{
	sn_buffer_align(buffer, 8);
	size_t length = buffer->count - at;
	if (length > UINT16_MAX)
		sn_buffer_cut(buffer, at); /* a record has no room for it */
	else if (!buffer->failed)
		sn_buffer_patch(buffer, at + offsetof(struct perf_event_header, size), length, 2);
}

/* With its NUL, up to a multiple of 8. */
static void put_text(struct sn_buffer *buffer, const char *text)
{
	sn_buffer_put(buffer, text, strlen(text) + 1);
	sn_buffer_align(buffer, 8);
}

/* Behind its length. */
static void put_string(struct sn_buffer *buffer, const char *text)
{
	size_t padded = (strlen(text) + 8) & ~(size_t)7;
	sn_buffer_number(buffer, padded, 4);
	size_t left = padded - strlen(text);
	sn_buffer_text(buffer, text);
	unsigned char *room = sn_buffer_room(buffer, left);
	if (room)
		memset(room, 0, left);
}

static void begin_feature(struct sn_buffer *buffer, enum sn_perf_feature feature, size_t *at)
{
	begin(buffer, SN_PERF_HEADER_FEATURE, 0, at);
	sn_buffer_number(buffer, feature, 8);
}

static void put_feature(struct sn_buffer *buffer, enum sn_perf_feature feature, const char *text)
{
	size_t at;
	begin_feature(buffer, feature, &at);
	put_string(buffer, text);
	end(buffer, at);
}

static void put_clock(struct sn_buffer *buffer, clockid_t clock)
{
	size_t at;
	begin_feature(buffer, SN_PERF_FEATURE_CLOCK_DATA, &at);
	sn_buffer_number(buffer, 1, 4); /* the version of this record */
	sn_buffer_number(buffer, (uint64_t)clock, 4);
	sn_buffer_number(buffer, sn_clock_now_ns(CLOCK_REALTIME), 8);
	sn_buffer_number(buffer, sn_clock_now_ns(clock), 8);
	end(buffer, at);
}

/* The build id among the notes of a file; NULL if there is none. */
static const unsigned char *find_build_id(const unsigned char *notes, size_t bytes)
{
	struct sn_span left = {notes, bytes};
	Elf64_Nhdr note;
	while (sn_span_get(&left, &note, sizeof(note))) {
		const unsigned char *name = sn_span_next(&left, (note.n_namesz + 3ull) & ~3ull);
		const unsigned char *id = sn_span_next(&left, (note.n_descsz + 3ull) & ~3ull);
		if (!name || !id)
			return NULL;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp(name, "GNU", 4) && note.n_descsz == SN_PERF_BUILD_ID_BYTES)
			return id;
	}
	return NULL;
}

/* Which kernel it is, so that its list of symbols is believed. */
static void put_kernel(struct sn_buffer *buffer)
{
	unsigned char notes[4096];
	FILE *file = fopen("/sys/kernel/notes", "re");
	size_t bytes = file ? fread(notes, 1, sizeof(notes), file) : 0;
	if (file)
		fclose(file);
	const unsigned char *id = find_build_id(notes, bytes);
	size_t at;
	if (!id)
		return;
	begin(buffer, SN_PERF_HEADER_BUILD_ID, PERF_RECORD_MISC_KERNEL | SN_PERF_MISC_BUILD_ID_SIZE,
	      &at);
	sn_buffer_number(buffer, UINT32_MAX, 4); /* of no process */
	sn_buffer_put(buffer, id, SN_PERF_BUILD_ID_BYTES);
	sn_buffer_number(buffer, SN_PERF_BUILD_ID_BYTES, 4);
	put_text(buffer, SN_PERF_KERNEL_NAME);
	end(buffer, at);
}

void sn_perf_pipe_begin(struct sn_buffer *buffer, const struct perf_event_attr *attr,
			clockid_t clock)
{
	struct utsname machine;
	size_t at;
	sn_buffer_text(buffer, SN_PERF_MAGIC);
	sn_buffer_number(buffer, SN_PERF_PIPE_HEADER, 8);
	begin(buffer, SN_PERF_HEADER_ATTR, 0, &at);
	sn_buffer_put(buffer, attr, attr->size);
	end(buffer, at);
	put_clock(buffer, clock);
	if (!uname(&machine)) {
		put_feature(buffer, SN_PERF_FEATURE_HOSTNAME, machine.nodename);
		put_feature(buffer, SN_PERF_FEATURE_OSRELEASE, machine.release);
	}
	put_kernel(buffer);
}

void sn_perf_pipe_command(struct sn_buffer *buffer, const char *const *words, size_t count)
{
	size_t at;
	if (!count)
		return;
	begin_feature(buffer, SN_PERF_FEATURE_CMDLINE, &at);
	sn_buffer_number(buffer, count, 4);
	for (size_t word = 0; word < count; word++)
		put_string(buffer, words[word]);
	end(buffer, at);
}

/* What the kernel puts behind each record (perf_event_open(2), sample_id_all): nothing is known. */
static void put_id(struct sn_buffer *buffer, const struct perf_event_attr *attr)
{
	uint64_t fields =
	    attr->sample_type & (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
				 PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER);
	for (int count = __builtin_popcountll(fields); count > 0; count--)
		sn_buffer_number(buffer, 0, 8);
}

void sn_perf_pipe_name(struct sn_buffer *buffer, const struct perf_event_attr *attr, pid_t pid,
		       pid_t tid, const char *name)
{
	size_t at;
	begin(buffer, PERF_RECORD_COMM, 0, &at);
	sn_buffer_number(buffer, (uint32_t)pid, 4);
	sn_buffer_number(buffer, (uint32_t)tid, 4);
	put_text(buffer, name);
	put_id(buffer, attr);
	end(buffer, at);
}

/* Of the code that the kernel maps into every process, which lies in no file; NULL if it has none. */
static const unsigned char *vdso_build_id(void)
{
	const unsigned char *vdso = (const unsigned char *)getauxval(AT_SYSINFO_EHDR);
	Elf64_Ehdr head;
	const unsigned char *id = NULL;
	if (!vdso)
		return NULL;
	memcpy(&head, vdso, sizeof(head));
	for (unsigned number = 0; !id && number < head.e_phnum; number++) {
		Elf64_Phdr segment;
		memcpy(&segment, vdso + head.e_phoff + number * sizeof(segment), sizeof(segment));
		if (segment.p_type == PT_NOTE)
			id = find_build_id(vdso + segment.p_offset, segment.p_filesz);
	}
	return id;
}

/* Which file it is: by its inode, or by the build id of what is no file. */
static void put_identity(struct sn_buffer *buffer, const struct sn_mapping *mapping,
			 const unsigned char *id)
{
	if (id) {
		sn_buffer_number(buffer, SN_PERF_BUILD_ID_BYTES, 4);
		sn_buffer_put(buffer, id, SN_PERF_BUILD_ID_BYTES);
		return;
	}
	sn_buffer_number(buffer, mapping->major, 4);
	sn_buffer_number(buffer, mapping->minor, 4);
	sn_buffer_number(buffer, mapping->inode, 8);
	sn_buffer_number(buffer, 0, 8); /* the inode's generation */
}

void sn_perf_pipe_mapping(struct sn_buffer *buffer, const struct perf_event_attr *attr, pid_t pid,
			  const struct sn_mapping *mapping, const unsigned char *build_id)
{
	const unsigned char *id = strcmp(mapping->path, "[vdso]") ? build_id : vdso_build_id();
	uint16_t misc = PERF_RECORD_MISC_USER | (id ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0);
	size_t at;
	begin(buffer, PERF_RECORD_MMAP2, misc, &at);
	sn_buffer_number(buffer, (uint32_t)pid, 4);
	sn_buffer_number(buffer, (uint32_t)pid, 4);
	sn_buffer_number(buffer, mapping->start, 8);
	sn_buffer_number(buffer, mapping->end - mapping->start, 8);
	sn_buffer_number(buffer, mapping->offset, 8);
	put_identity(buffer, mapping, id);
	sn_buffer_number(buffer, PROT_READ | PROT_EXEC, 4);
	sn_buffer_number(buffer, MAP_PRIVATE, 4);
	put_text(buffer, mapping->path);
	put_id(buffer, attr);
	end(buffer, at);
}

void sn_perf_pipe_machine(struct sn_buffer *buffer)
{
	size_t at;
	begin(buffer, SN_PERF_SONDE_MACHINE, 0, &at);
	end(buffer, at);
}

void sn_perf_pipe_interpreter(struct sn_buffer *buffer, pid_t pid, uint64_t eval,
			      uint64_t eval_bytes, uint64_t since_ns)
{
	size_t at;
	begin(buffer, SN_PERF_SONDE_INTERPRETER, 0, &at);
	sn_buffer_number(buffer, (uint32_t)pid, 8);
	sn_buffer_number(buffer, eval, 8);
	sn_buffer_number(buffer, eval_bytes, 8);
	sn_buffer_number(buffer, since_ns, 8);
	end(buffer, at);
}

void sn_perf_pipe_code(struct sn_buffer *buffer, uint32_t number, uint32_t first_line,
		       const char *file, const char *name)
{
	size_t at;
	begin(buffer, SN_PERF_SONDE_CODE, 0, &at);
	sn_buffer_number(buffer, number, 4);
	sn_buffer_number(buffer, first_line, 4);
	sn_buffer_number(buffer, strlen(file), 4);
	sn_buffer_number(buffer, strlen(name), 4);
	sn_buffer_text(buffer, file);
	sn_buffer_text(buffer, name);
	end(buffer, at);
}

void sn_perf_pipe_frames(struct sn_buffer *buffer, pid_t pid, pid_t tid, uint64_t time_ns,
			 const struct sn_perf_pipe_frame *frames, uint32_t count)
{
	size_t at;
	begin(buffer, SN_PERF_SONDE_FRAMES, 0, &at);
	sn_buffer_number(buffer, (uint32_t)pid, 4);
	sn_buffer_number(buffer, (uint32_t)tid, 4);
	sn_buffer_number(buffer, time_ns, 8);
	sn_buffer_number(buffer, count, 8);
	sn_buffer_put(buffer, frames, count * sizeof(*frames));
	end(buffer, at);
}
