/* SPDX-License-Identifier: Apache-2.0 */
/* Threads and mappings of processes, by /proc; see already.h. */
#include "already.h"

#include "binary/elf/elf_file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int sn_already_each(pid_t pid, int (*see)(void *context, pid_t id), void *context)
{
	char path[64] = "/proc";
	if (pid > 0)
		snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *folder = opendir(path);
	int result = folder ? 0 : errno;
	for (struct dirent *entry; !result && folder && (entry = readdir(folder));) {
		char *rest;
		long id = strtol(entry->d_name, &rest, 10);
		if (id > 0 && !*rest)
			result = see(context, (pid_t)id);
	}
	if (folder)
		closedir(folder);
	return result;
}

bool sn_already_name(pid_t pid, pid_t tid, char name[64])
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	FILE *file = fopen(path, "re");
	bool is_there = file && fgets(name, 64, file);
	if (file)
		fclose(file);
	if (is_there)
		name[strcspn(name, "\n")] = 0;
	return is_there;
}

struct putting {
	struct sn_already_files *files;
	struct sn_buffer *buffer;
	const struct perf_event_attr *attr;
	pid_t pid;
};

static int put_name(void *context, pid_t tid)
{
	const struct putting *putting = context;
	char name[64];
	if (sn_already_name(putting->pid, tid, name))
		sn_perf_pipe_name(putting->buffer, putting->attr, putting->pid, tid, name);
	return 0;
}

struct sn_elf_file *sn_already_open(pid_t pid, const struct sn_mapping *mapping)
{
	char path[64];
	struct sn_elf_file *elf = NULL;
	int file = sn_mapping_open(pid, mapping);
	if (file < 0)
		return NULL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	if (sn_elf_file_open(path, &elf, NULL))
		elf = NULL;
	close(file);
	return elf;
}

struct sn_already_id {
	bool is_known;
	unsigned char bytes[SN_PERF_BUILD_ID_BYTES];
};

void sn_already_files_release(struct sn_already_files *files)
{
	sn_intern_release(&files->keys);
	free(files->ids);
	*files = (struct sn_already_files){0};
}

static void read_id(struct sn_already_id *id, pid_t pid, const struct sn_mapping *mapping)
{
	struct sn_elf_file *file = sn_already_open(pid, mapping);
	if (file && file->build_id_bytes == sizeof(id->bytes)) {
		memcpy(id->bytes, file->build_id, sizeof(id->bytes));
		id->is_known = true;
	}
	sn_elf_file_free(file);
}

/* NULL where it has none, or lies in no file. */
static const unsigned char *id_of(struct sn_already_files *files, pid_t pid,
				  const struct sn_mapping *mapping)
{
	const uint64_t key[] = {mapping->major, mapping->minor, mapping->inode};
	uint32_t before = files->keys.count;
	if (!mapping->inode || *mapping->path != '/')
		return NULL;
	uint32_t number = sn_intern_item(&files->keys, key, sizeof(key), &files->ids,
					 &files->capacity, {false, {0}});
	if (number == SN_INTERN_NONE)
		return NULL;
	if (number == before)
		read_id(&files->ids[number], pid, mapping);
	return files->ids[number].is_known ? files->ids[number].bytes : NULL;
}

static int put_mapping(void *context, const struct sn_mapping *mapping)
{
	const struct putting *putting = context;
	sn_perf_pipe_mapping(putting->buffer, putting->attr, putting->pid, mapping,
			     id_of(putting->files, putting->pid, mapping));
	return 0;
}

void sn_already_put(struct sn_already_files *files, struct sn_buffer *buffer,
		    const struct perf_event_attr *attr, pid_t pid)
{
	struct putting putting = {files, buffer, attr, pid};
	sn_already_each(pid, put_name, &putting);
	sn_mappings_each(pid, put_mapping, &putting);
}
