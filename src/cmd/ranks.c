/* SPDX-License-Identifier: Apache-2.0 */
/* One voice for many ranks; see ranks.h. */
#include "ranks.h"

#include "command.h"

#include "aggregate/comm.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Only the first of many ranks has something to say; what others say on stderr is kept, for sn_command_agree. */
static void be_silent(void)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int kept = memfd_create("said", MFD_CLOEXEC);
	if (null >= 0) {
		dup2(null, STDOUT_FILENO);
		dup2(kept >= 0 ? kept : null, STDERR_FILENO);
		close(null);
	}
	if (kept >= 0)
		close(kept);
}

/* The last line that was said, without who says it. */
static void read_said(struct sn_error *error)
{
	char text[2048];
	fflush(stderr);
	off_t end = lseek(STDERR_FILENO, 0, SEEK_END);
	off_t begin = end > (off_t)sizeof(text) - 1 ? end - ((off_t)sizeof(text) - 1) : 0;
	ssize_t length = end > 0 ? pread(STDERR_FILENO, text, (size_t)(end - begin), begin) : 0;
	text[length > 0 ? length : 0] = '\0';
	if (length > 0 && text[length - 1] == '\n')
		text[length - 1] = '\0';
	const char *line = strrchr(text, '\n') ? strrchr(text, '\n') + 1 : text;
	line += strncmp(line, "sonde: ", 7) ? 0 : 7;
	sn_fail(error, SN_ERR_IO, "%.500s", line);
}

int sn_command_agree(int status)
{
	struct sn_error error = {""};
	if (status && sn_comm_rank())
		read_said(&error);
	int all = sn_peers_agree(sn_comm(), status, &error);
	if (all && !status && !sn_comm_rank())
		sn_command_warn("%s", error.text);
	return all;
}

int sn_command_by_ranks(int (*run)(int argc, char **argv), int argc, char **argv)
{
	sn_comm_begin();
	if (sn_comm_is_split()) {
		sn_comm_end();
		return sn_command_fail("this mpirun is of another MPI than the one that sonde-mpi "
				       "was built with: each process would do all the work");
	}
	if (sn_comm_rank())
		be_silent();
	int status = run(argc, argv);
	sn_comm_end();
	return status;
}
