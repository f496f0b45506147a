/* SPDX-License-Identifier: Apache-2.0 */
/* Hands the path of a line to the process that a server forks for it; see served_start.h. */
#include "served_start.h"

#include "collect/core/adapter.h"
#include "collect/core/line.h"
#include "collect/core/start_path.h"
#include "collect/record/own_file.h"
#include "collect/sample/program_memory.h"
#include "collect/unwind/own_stack.h"
#include "intercept.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* The pipe among the descriptors that this process received last; 0: none. */
static _Atomic uint64_t heard;

/* The inode of the pipe that is the first descriptor in a message; 0 for all other messages. */
static uint64_t pipe_of(const struct msghdr *message)
{
	struct {
		struct cmsghdr header;
		int fd;
	} first;
	struct msghdr copy;
	struct stat status;
	if (!sn_program_read(message, &copy, sizeof(copy)) || !copy.msg_control ||
	    copy.msg_controllen < CMSG_LEN(sizeof(int)) ||
	    !sn_program_read(copy.msg_control, &first, CMSG_LEN(sizeof(int))) ||
	    first.header.cmsg_level != SOL_SOCKET || first.header.cmsg_type != SCM_RIGHTS ||
	    first.header.cmsg_len < CMSG_LEN(sizeof(int)))
		return 0;
	return !fstat(first.fd, &status) && S_ISFIFO(status.st_mode) ? status.st_ino : 0;
}

struct asking {
	struct sn_thread *thread;
	uint32_t node;
	uint64_t pipe;
};

static void name_text(struct sn_line *line, uint64_t pipe)
{
	sn_line_add_number(line, pipe);
	sn_line_add(line, SN_START_FILE_SUFFIX);
}

static void leave_path(void *argument)
{
	const struct asking *it = argument;
	char text[64];
	struct sn_line name = SN_LINE(text);
	size_t bytes = sn_start_path_room(&it->thread->cct, it->node);
	char *room = sn_pages_map(bytes);
	if (!room)
		return;
	const char *path = sn_start_path_write(&it->thread->cct, it->node, room);
	const char *value = path + sizeof(SN_START_PATH) - 1;
	name_text(&name, it->pipe);
	if (*value)
		sn_own_text_leave(text, value, strlen(value));
	sn_pages_unmap(room, bytes);
}

void sn_served_start_ask(const struct msghdr *message)
{
	int saved_errno = errno;
	struct asking it = {.pipe = sn_measuring() && sn_python_may_run() ? pipe_of(message) : 0};
	it.thread = it.pipe ? sn_enter() : NULL;
	if (it.thread) {
		it.node = sn_start_path_now(it.thread);
		if (it.node != SN_NODE_NONE &&
		    sn_start_path_passes(&it.thread->cct, it.node,
					 "/multiprocessing/forkserver.py"))
			sn_on_own_stack(leave_path, &it);
		sn_leave(it.thread);
	}
	errno = saved_errno;
}

void sn_served_start_hear(const struct msghdr *message)
{
	int saved_errno = errno;
	uint64_t pipe = sn_measuring() && sn_python_may_run() ? pipe_of(message) : 0;
	if (pipe)
		atomic_store_explicit(&heard, pipe, memory_order_relaxed);
	errno = saved_errno;
}

void sn_served_start_begin(struct sn_thread *thread)
{
	uint64_t pipe = atomic_exchange_explicit(&heard, 0, memory_order_relaxed);
	char text[SN_START_PATH_BYTES], name_of_text[64];
	struct sn_line name = SN_LINE(name_of_text);
	if (!pipe || !thread)
		return;
	name_text(&name, pipe);
	if (sn_own_text_take(name_of_text, text, sizeof(text)))
		sn_start_path_begin(thread, text);
}
