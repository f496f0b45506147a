/* SPDX-License-Identifier: Apache-2.0 */
/* See cgroup.h. A number is the file handle of a folder (kernfs), so one call finds it. */
#include "cgroup.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Where systemd and others mount the tree that all controllers share: first where the older ones are beside it. */
static const char *const trees[] = {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"};
enum { KERNFS_HANDLE = 0xfe }; /* FILEID_KERNFS in Linux */

static int open_folder(int tree, uint64_t number)
{
	union {
		struct file_handle handle;
		unsigned char bytes[sizeof(struct file_handle) + sizeof(number)];
	} named = {.handle = {.handle_bytes = sizeof(number), .handle_type = KERNFS_HANDLE}};
	memcpy(named.handle.f_handle, &number, sizeof(number));
	return open_by_handle_at(tree, &named.handle, O_PATH | O_CLOEXEC);
}

/* The length of the path, or 0. */
static size_t find_in(const char *root, uint64_t number, char *path, size_t size)
{
	char link[64];
	int tree = open(root, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	int folder = tree >= 0 ? open_folder(tree, number) : -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", folder);
	ssize_t length = folder >= 0 ? readlink(link, path, size - 1) : -1;
	if (folder >= 0)
		close(folder);
	if (tree >= 0)
		close(tree);
	path[length > 0 ? length : 0] = 0;
	return length > 0 ? (size_t)length : 0;
}

void sn_cgroup_path(uint64_t number, char *path, size_t size)
{
	for (size_t i = 0; i < sizeof(trees) / sizeof(*trees); i++) {
		size_t length = find_in(trees[i], number, path, size), root = strlen(trees[i]);
		if (length < root || strncmp(path, trees[i], root) != 0)
			continue;
		if (length == root)
			snprintf(path, size, "/");
		else
			memmove(path, path + root, length - root + 1);
		return;
	}
	snprintf(path, size, "cgroup %" PRIu64, number);
}
