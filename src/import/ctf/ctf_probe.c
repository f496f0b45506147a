/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the traces in a folder by their file `metadata`. */
#include "ctf_probe.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX	6
#define FOLDERS_MAX	1024
#define METADATA_LOOKED 16

/* The magic number of metadata in packets; metadata may also be plain text. */
static const unsigned char packet_magic[] = {0x57, 0x1d, 0xd1, 0x75};

static bool is_trace(const char *path)
{
	char name[PATH_MAX], text[METADATA_LOOKED];
	snprintf(name, sizeof(name), "%s/metadata", path);
	FILE *file = fopen(name, "re");
	size_t length = file ? fread(text, 1, sizeof(text), file) : 0;
	if (file)
		fclose(file);
	return length >= 10 && (!memcmp(text, "/* CTF 1.", 9) ||
				!memcmp(text, packet_magic, sizeof(packet_magic)) ||
				!memcmp(text, (unsigned char[]){0x75, 0xd1, 0x1d, 0x57}, 4));
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN);
}

static int search(struct sn_import_files *folders, const char *path, unsigned depth)
{
	if (is_trace(path))
		return sn_import_files_add(folders, "", path);
	struct dirent **entries;
	int count = depth < DEPTH_MAX && folders->count < FOLDERS_MAX
			? scandir(path, &entries, is_visible, alphasort)
			: -1;
	int result = 0;
	for (int i = 0; i < count; i++) {
		char name[PATH_MAX];
		int length = snprintf(name, sizeof(name), "%s/%s", path, entries[i]->d_name);
		if (!result && length < PATH_MAX && i < FOLDERS_MAX)
			result = search(folders, name, depth + 1);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	return result;
}

int sn_ctf_folders_find(struct sn_import_files *folders, const char *path)
{
	*folders = (struct sn_import_files){0};
	return search(folders, path, 0);
}

bool sn_ctf_probe(const struct sn_import_input *input)
{
	struct sn_import_files folders;
	bool found = false;
	if (!input->is_folder)
		return false;
	found = sn_ctf_folders_find(&folders, input->path) == 0 && folders.count;
	sn_import_files_release(&folders);
	return found;
}
