/* SPDX-License-Identifier: Apache-2.0 */
/* See python_pipe.h. */
#include "python_pipe.h"

#include "record/perf_pipe.h"

#include <stdlib.h>

/* Of what is told again; beyond, all is learnt anew. */
enum { DEFINED_MOST = 16 << 20, PROCESSES_MOST = 1 << 16 };

struct sn_python_pipe {
	struct sn_python_reader *reader;
	struct sn_buffer defined; /* all records of interpreters and codes so far */
	struct sn_numbered_frame frames[SN_REMOTE_FRAMES_MOST];
	struct sn_perf_pipe_frame records[SN_REMOTE_FRAMES_MOST];
};

static void on_interpreter(void *context, pid_t pid, uint64_t eval, uint64_t eval_bytes,
			   uint64_t time_ns)
{
	struct sn_python_pipe *pipe = context;
	sn_perf_pipe_interpreter(&pipe->defined, pid, eval, eval_bytes, time_ns);
}

static void on_code(void *context, uint32_t number, uint32_t first_line, const char *file,
		    const char *name)
{
	struct sn_python_pipe *pipe = context;
	sn_perf_pipe_code(&pipe->defined, number, first_line, file, name);
}

struct sn_python_pipe *sn_python_pipe_new(void)
{
	struct sn_python_pipe *pipe = calloc(1, sizeof(*pipe));
	const struct sn_python_listener listener = {pipe, on_interpreter, on_code};
	if (!pipe)
		return NULL;
	pipe->reader = sn_python_reader_new(&listener);
	if (pipe->reader)
		return pipe;
	free(pipe);
	return NULL;
}

void sn_python_pipe_free(struct sn_python_pipe *pipe)
{
	if (!pipe)
		return;
	sn_python_reader_free(pipe->reader);
	sn_buffer_release(&pipe->defined);
	free(pipe);
}

const struct sn_python_reader *sn_python_pipe_reader(const struct sn_python_pipe *pipe)
{
	return pipe->reader;
}

void sn_python_pipe_forget(struct sn_python_pipe *pipe, pid_t pid)
{
	sn_python_reader_forget(pipe->reader, pid);
}

void sn_python_pipe_again(struct sn_python_pipe *pipe, struct sn_buffer *buffer)
{
	if (pipe->defined.count > DEFINED_MOST ||
	    sn_python_reader_processes(pipe->reader) > PROCESSES_MOST) {
		sn_python_reader_clear(pipe->reader);
		sn_buffer_release(&pipe->defined);
	}
	sn_buffer_put(buffer, pipe->defined.bytes, pipe->defined.count);
}

void sn_python_pipe_see(struct sn_python_pipe *pipe, struct sn_buffer *buffer, pid_t pid, pid_t tid,
			uint64_t time_ns)
{
	const struct sn_buffer *defined = &pipe->defined;
	size_t before = defined->count;
	uint32_t count = sn_python_reader_see(pipe->reader, pid, tid, time_ns, pipe->frames);
	for (uint32_t i = 0; i < count; i++)
		pipe->records[i] = (struct sn_perf_pipe_frame){
		    pipe->frames[i].code, pipe->frames[i].line, pipe->frames[i].is_entry};
	if (defined->count > before)
		sn_buffer_put(buffer, defined->bytes + before, defined->count - before);
	if (count)
		sn_perf_pipe_frames(buffer, pid, tid, time_ns, pipe->records, count);
	buffer->failed |= defined->failed;
}
