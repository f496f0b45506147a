/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled programs go into a file of the measurement as the plugin gives them (HLO in protobuf), one behind the other,
 * each after its length. The plugin is asked when a program is first seen, after it took far longer to compile it.
 */
#include "pjrt.h"

#include "collect/core/lock.h"
#include "collect/record/own_file.h"
#include "format/measurement/measurement.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_BYTES (64ul << 20) /* of all programs of a process */

static struct sn_own_file file = {.fd = -1};
static _Atomic uint64_t written; /* with the lock */

static bool write_piece(const void *bytes, size_t length, uint64_t at)
{
	return syscall(SYS_pwrite64, file.fd, bytes, length, at) == (long)length;
}

static void write_program(const char *code, uint64_t length)
{
	uint64_t end = written + sizeof(length) + length;
	bool is_ready = file.inode ? sn_own_file_ready(&file)
				   : !sn_own_file_create(&file, sn_now_ns(), SN_HLO_FILE_SUFFIX);
	/* its length last: a reader sees a program that is whole, or none */
	if (is_ready && sn_own_file_is_allowed(end) &&
	    write_piece(code, length, written + sizeof(length)) &&
	    write_piece(&length, sizeof(length), written))
		written = end;
	sn_own_file_close(&file);
}

static void add(const char *code, uint64_t length)
{
	if (!sn_lock_wait(SN_LOCK_PJRT_PROGRAMS))
		return;
	if (written + sizeof(length) + length <= MOST_BYTES)
		write_program(code, length);
	sn_lock_release(SN_LOCK_PJRT_PROGRAMS);
}

static bool is_hlo(const struct sn_pjrt_program *program)
{
	static const char *const formats[] = {"hlo", "hlo_with_config"};
	for (size_t i = 0; program->format && i < sizeof(formats) / sizeof(*formats); i++)
		if (program->format_bytes == strlen(formats[i]) &&
		    !memcmp(program->format, formats[i], program->format_bytes))
			return true;
	return false;
}

static void keep(const struct sn_pjrt_made *plugin, void *executable)
{
	struct sn_pjrt_program program = SN_PJRT_NEW(sn_pjrt_program, .format = "hlo");
	struct sn_pjrt_about asked =
	    SN_PJRT_NEW(sn_pjrt_about, .object = executable, .result.object = &program);
	program.format_bytes = strlen(program.format);
	/* the first time it says how long it is */
	if (!sn_pjrt_ask(plugin, SN_PJRT_AT_PROGRAM, &asked) || !program.code_bytes ||
	    program.code_bytes + written > MOST_BYTES)
		return;
	size_t room = program.code_bytes;
	char *code = program.code = sn_pages_map(room);
	if (!code)
		return;
	bool is_given = sn_pjrt_ask(plugin, SN_PJRT_AT_PROGRAM, &asked) &&
			program.code_bytes <= room && is_hlo(&program);
	struct sn_thread *thread = is_given ? sn_enter() : NULL;
	if (thread) {
		add(code, program.code_bytes);
		sn_leave(thread);
	}
	sn_pages_unmap(code, room);
}

void sn_pjrt_program_keep(const struct sn_pjrt_made *plugin, void *loaded)
{
	struct sn_pjrt_about of = SN_PJRT_NEW(sn_pjrt_about, .object = loaded);
	if (!sn_pjrt_ask(plugin, SN_PJRT_AT_EXECUTABLE, &of))
		return;
	keep(plugin, of.result.object);
	struct sn_pjrt_object done = SN_PJRT_NEW(sn_pjrt_object, .object = of.result.object);
	sn_pjrt_ask(plugin, SN_PJRT_AT_EXECUTABLE_DESTROY, &done);
}

void sn_pjrt_programs_after_fork(void)
{
	file = (struct sn_own_file){.fd = -1};
	written = 0;
}
