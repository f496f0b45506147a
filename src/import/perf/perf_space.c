/* SPDX-License-Identifier: Apache-2.0 */
/* Address spaces of processes over time, and the objects mapped in them. */
#include "perf_space.h"

#include "base/search.h"
#include "base/sort_by.h"
#include "base/vec.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NO_JIT	   (SONDE_NONE - 1)
#define KERNEL_MAP "[kernel.kallsyms]"

void sn_perf_space_init(struct sn_perf_space *space, struct sn_merge *merge,
			const struct sn_perf_file *file)
{
	*space = (struct sn_perf_space){.merge = merge, .file = file};
}

void sn_perf_space_release(struct sn_perf_space *space)
{
	for (uint32_t i = 0; i < space->pids.count; i++) {
		free(space->processes[i]->changes);
		free(space->processes[i]);
	}
	for (uint32_t i = 0; i < space->paths.count; i++)
		sn_perf_object_release(space->objects + i);
	free(space->processes);
	free(space->objects);
	sn_table_release(&space->pids);
	sn_intern_release(&space->paths);
}

/* The number of a process, new if it is unknown; SN_TABLE_NONE without memory. */
static uint32_t process_of(struct sn_perf_space *space, uint32_t pid)
{
	uint32_t number = sn_table_find(&space->pids, pid), count = space->pids.count;
	if (number != SN_TABLE_NONE)
		return number;
	struct sn_perf_process *process = calloc(1, sizeof(*process));
	if (!process ||
	    sn_vec_reserve(&space->processes, &space->process_capacity, count + 1ull) < 0 ||
	    sn_table_add(&space->pids, pid) == SN_TABLE_NONE) {
		free(process);
		return SN_TABLE_NONE;
	}
	process->pid = pid;
	process->jit = SONDE_NONE;
	space->processes[count] = process;
	return count;
}

/* ---- files ---- */

static int add_module(struct sn_perf_space *space, struct sn_perf_object *object, const char *path,
		      const uint8_t *id, uint32_t length)
{
	struct sn_merge *merge = space->merge;
	struct sn_merged_module module = {.path = sn_db_builder_string(merge->builder, path),
					  .build_id_bytes = length};
	memcpy(module.build_id, id, length);
	object->module = sn_intern_add(&merge->modules, &module, sizeof(module));
	if (object->module == SN_INTERN_NONE ||
	    sn_vec_reserve(&merge->module_flags, &merge->module_flag_capacity,
			   object->module + 1ull) < 0)
		return SN_ERR_MEMORY;
	merge->module_flags[object->module] = object->flags;
	return 0;
}

static bool is_real_file(const char *path)
{
	return path[0] == '/' && strncmp(path, "//", 2) && strncmp(path, "/dev/zero", 9) &&
	       strncmp(path, "/memfd:", 7) && strncmp(path, "/SYSV", 5) &&
	       strncmp(path, "/anon_hugepage", 14);
}

static uint32_t flags_of(const char *path)
{
	if (!strcmp(path, "[vdso]"))
		return SN_MODULE_VDSO;
	return is_real_file(path) ? 0 : SN_MODULE_ANONYMOUS;
}

/* The number of an object; SN_INTERN_NONE without memory. */
static uint32_t object_of(struct sn_perf_space *space, const char *path, const uint8_t *id,
			  uint32_t length, uint32_t flags)
{
	char key[PATH_MAX + SN_PERF_BUILD_ID_MAX];
	size_t used = (size_t)snprintf(key, PATH_MAX, "%s", path);
	used = used < PATH_MAX ? used + 1 : PATH_MAX;
	memcpy(key + used, id, length);
	uint32_t before = space->paths.count;
	if (sn_vec_reserve(&space->objects, &space->object_capacity, before + 1ull) < 0)
		return SN_INTERN_NONE;
	struct sn_perf_object *object = space->objects + before;
	*object = (struct sn_perf_object){.flags = flags};
	uint32_t number = sn_intern_add(&space->paths, key, used + length);
	if (number != before)
		return number;
	if (sn_perf_object_open(object, id, length, path) ||
	    add_module(space, object, object->path, id, length))
		return SN_INTERN_NONE;
	return number;
}

/* ---- records ---- */

static int add_change(struct sn_perf_space *space, uint32_t pid,
		      const struct sn_perf_change *change)
{
	uint32_t number = process_of(space, pid);
	if (number == SN_INTERN_NONE)
		return SN_ERR_MEMORY;
	struct sn_perf_process *process = space->processes[number];
	return sn_vec_push(&process->changes, &process->capacity, &process->count, *change);
}

static void note_kernel(struct sn_perf_space *space, const char *path, uint64_t offset)
{
	size_t length = sizeof(KERNEL_MAP) - 1;
	if (strncmp(path, KERNEL_MAP, length) || !path[length])
		return;
	space->kernel_start = offset;
	snprintf(space->kernel_symbol, sizeof(space->kernel_symbol), "%.63s", path + length);
}

/* MMAP and MMAP2: u32 pid, tid; u64 address, length, offset; in MMAP2 then 24 bytes of device and
 * inode, or build id, u32 prot, flags; the path. */
static int add_mapping(struct sn_perf_space *space, const struct sn_perf_raw *record,
		       struct sn_perf_moment when)
{
	struct sn_cursor cursor = sn_perf_cursor(record, 0);
	uint32_t pid = sn_cursor_u32(&cursor), length = 0;
	const uint8_t *id = NULL;
	sn_cursor_skip(&cursor, 4);
	struct sn_perf_change change = {.when = when, .kind = SN_PERF_MAPPED};
	change.start = sn_cursor_u64(&cursor);
	uint64_t bytes = sn_cursor_u64(&cursor);
	change.offset = sn_cursor_u64(&cursor);
	if (record->header.type == PERF_RECORD_MMAP2) {
		struct sn_cursor identity = sn_cursor_slice(&cursor, 24);
		uint32_t protection = sn_cursor_u32(&cursor);
		sn_cursor_skip(&cursor, 4);
		if (!identity.failed && record->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
			id = identity.at + 4;
			length = identity.at[0] <= SN_PERF_BUILD_ID_MAX ? identity.at[0] : 0;
		}
		if (!(protection & 4)) /* PROT_EXEC */
			return 0;
	} else if (record->header.misc & PERF_RECORD_MISC_MMAP_DATA) {
		return 0;
	}
	if (cursor.failed || !sn_cursor_left(&cursor) || !bytes ||
	    bytes > UINT64_MAX - change.start)
		return 0;
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%.*s", (int)sn_cursor_left(&cursor), (const char *)cursor.at);
	if ((record->header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL) {
		note_kernel(space, path, change.offset);
		return 0;
	}
	const struct sn_perf_build_id *known =
	    length ? NULL : sn_perf_file_build_id(space->file, path);
	if (known) {
		id = known->bytes;
		length = known->length;
	}
	change.end = change.start + bytes;
	change.object =
	    object_of(space, path, id ? id : (const uint8_t *)"", length, flags_of(path));
	return change.object == SN_INTERN_NONE ? SN_ERR_MEMORY : add_change(space, pid, &change);
}

/* u32 pid, ppid, tid, ptid; u64 time. Forks that perf synthesised from /proc (time 0) are left out,
 * because the mappings of those processes are recorded as well. */
static int add_fork(struct sn_perf_space *space, const struct sn_perf_raw *record,
		    struct sn_perf_moment when)
{
	struct sn_cursor cursor = sn_perf_cursor(record, 0);
	uint32_t pid = sn_cursor_u32(&cursor), parent = sn_cursor_u32(&cursor);
	if (cursor.failed || pid == parent || !when.time_ns)
		return 0;
	struct sn_perf_change change = {
	    .when = when, .parent = process_of(space, parent), .kind = SN_PERF_FORKED};
	return change.parent == SN_INTERN_NONE ? SN_ERR_MEMORY : add_change(space, pid, &change);
}

int sn_perf_space_add(struct sn_perf_space *space, const struct sn_perf_raw *record,
		      struct sn_perf_moment when)
{
	uint32_t pid = 0;
	switch (record->header.type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return add_mapping(space, record, when);
	case PERF_RECORD_FORK:
		return add_fork(space, record, when);
	case PERF_RECORD_COMM:
		if (!(record->header.misc & PERF_RECORD_MISC_COMM_EXEC) || record->length < 4)
			return 0;
		memcpy(&pid, record->bytes, 4);
		return add_change(space, pid,
				  &(struct sn_perf_change){.when = when, .kind = SN_PERF_EXECED});
	default:
		return 0;
	}
}

static bool is_before(struct sn_perf_moment a, struct sn_perf_moment b)
{
	return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.order < b.order;
}

SN_SORT_BY(sort_changes, struct sn_perf_change, const void *,
	   SN_ORDER_BY(a, b, when.time_ns, when.order));

void sn_perf_space_sort(struct sn_perf_space *space)
{
	for (uint32_t i = 0; i < space->pids.count; i++)
		if (space->processes[i]->count)
			sort_changes(space->processes[i]->changes, space->processes[i]->count,
				     NULL);
}

/* ---- looking up ---- */

/* The number of changes before a moment. */
static size_t count_before(const struct sn_perf_process *process, struct sn_perf_moment when)
{
	return sn_search(i, process->count, is_before(process->changes[i].when, when));
}

/* Finds the mapping of an address. Ends, because each fork leads to an earlier moment. */
static const struct sn_perf_change *walk(const struct sn_perf_space *space,
					 const struct sn_perf_process *process, size_t count,
					 uint64_t address)
{
	while (count) {
		const struct sn_perf_change *change = process->changes + --count;
		if (change->kind == SN_PERF_EXECED)
			return NULL;
		if (change->kind == SN_PERF_FORKED) {
			process = space->processes[change->parent];
			count = count_before(process, change->when);
		} else if (address >= change->start && address < change->end) {
			return change;
		}
	}
	return NULL;
}

static const struct sn_perf_change *find(struct sn_perf_space *space,
					 struct sn_perf_process *process,
					 struct sn_perf_moment when, uint64_t address)
{
	size_t count = count_before(process, when);
	struct sn_perf_answer *answer = process->answers + (address >> 12) % SN_PERF_SPACE_CACHE;
	/* mappings are of whole pages, so the answer holds for the page; a count of 0 marks
	 * an empty entry */
	if (!count || answer->page != address >> 12 || answer->change_count != count)
		*answer = (struct sn_perf_answer){address >> 12, count,
						  walk(space, process, count, address)};
	return answer->change;
}

const struct sn_perf_change *sn_perf_space_mapping(struct sn_perf_space *space, uint32_t pid,
						   struct sn_perf_moment when, uint64_t address)
{
	uint32_t number = process_of(space, pid);
	return number == SN_INTERN_NONE ? NULL
					: find(space, space->processes[number], when, address);
}

/* The object of the process's perf map, the symbols that a JIT compiler writes. */
static uint32_t jit_of(struct sn_perf_space *space, struct sn_perf_process *process)
{
	char path[64];
	if (process->jit != SONDE_NONE)
		return process->jit;
	process->jit = NO_JIT;
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", process->pid);
	if (access(path, R_OK) == 0)
		process->jit = object_of(space, path, (const uint8_t *)"", 0, SN_MODULE_PERF_MAP);
	return process->jit;
}

int sn_perf_space_find(struct sn_perf_space *space, uint32_t pid, struct sn_perf_moment when,
		       uint64_t address, struct sn_frame *frame)
{
	uint32_t number = process_of(space, pid);
	if (number == SN_INTERN_NONE)
		return SN_ERR_MEMORY;
	struct sn_perf_process *process = space->processes[number];
	const struct sn_perf_change *change = find(space, process, when, address);
	*frame = (struct sn_frame){.kind = SN_FRAME_NATIVE, .id = SN_ID_NONE};
	if (change && !(space->objects[change->object].flags & SN_MODULE_ANONYMOUS)) {
		const struct sn_perf_object *object = space->objects + change->object;
		frame->id = object->module;
		frame->value =
		    sn_elf_code_address(&object->code, address - change->start + change->offset);
		return 0;
	}
	uint32_t jit = jit_of(space, process);
	if (jit == SN_INTERN_NONE)
		return SN_ERR_MEMORY;
	if (jit != NO_JIT) {
		frame->id = space->objects[jit].module;
		frame->value = address;
	}
	return 0;
}
