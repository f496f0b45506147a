/* SPDX-License-Identifier: Apache-2.0 */
/* See mca.h. Its answer is read for the few members that are wanted, by their names, in the order in which LLVM 14 to 19 write them. */
#include "mca.h"

#include "base/buffer.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { REPEATS = 6, TRIES = 6, ANSWER_MOST = 1 << 28, ERRORS_MOST = 1 << 16 };

static const char no_program[] =
    "no llvm-mca: cycles are those of a simple model (apt install llvm)";
static const char too_slow[] = "llvm-mca took too long: cycles are those of a simple model";

/* ---- the process ---- */

struct asking {
	struct sn_mca_block *blocks;
	size_t count;
	const char *program;
	bool may_skip; /* it can leave out itself what it does not know */
	const char *cpu;
	int64_t end_ms;
	struct sn_buffer question, answer, errors;
	bool *is_left_out; /* by line of the question */
	size_t lines;
};

static int64_t now_ms(void)
{
	return (int64_t)(sn_clock_now_ns(CLOCK_MONOTONIC) / 1000000);
}

/* The newest one, for old ones know fewer processors. */
static const char *find_program(void)
{
	static const char *const names[] = {"llvm-mca-21", "llvm-mca-20", "llvm-mca-19",
					    "llvm-mca-18", "llvm-mca-17", "llvm-mca-16",
					    "llvm-mca",	   "llvm-mca-15", "llvm-mca-14"};
	const char *path = getenv("PATH");
	for (size_t i = 0; path && i < sizeof(names) / sizeof(names[0]); i++)
		for (const char *at = path; *at;) {
			char file[4096];
			int length = (int)strcspn(at, ":");
			snprintf(file, sizeof(file), "%.*s/%s", length, at, names[i]);
			if (length && !access(file, X_OK))
				return names[i];
			at += length + (at[length] == ':');
		}
	return NULL;
}

/* A file in memory with the question, from its begin; -1. */
static int question_file(const struct asking *asking)
{
	int file = memfd_create("sonde-blocks", MFD_CLOEXEC);
	size_t done = 0;
	while (file >= 0 && done < asking->question.count) {
		ssize_t wrote =
		    write(file, asking->question.bytes + done, asking->question.count - done);
		if (wrote <= 0) {
			close(file);
			return -1;
		}
		done += (size_t)wrote;
	}
	if (file >= 0)
		lseek(file, 0, SEEK_SET);
	return file;
}

static pid_t start(const struct asking *asking, int question, int answer, int errors)
{
	char cpu[128];
	const char *arguments[] = {asking->program,
				   "-json",
				   "-timeline",
				   "-iterations=6",
				   "-timeline-max-iterations=6",
				   "-timeline-max-cycles=0",
				   cpu,
				   asking->may_skip ? "-skip-unsupported-instructions=any" : NULL,
				   NULL};
	posix_spawn_file_actions_t files;
	pid_t child = -1;
	snprintf(cpu, sizeof(cpu), "-mcpu=%s", asking->cpu);
	if (posix_spawn_file_actions_init(&files))
		return -1;
	if (posix_spawn_file_actions_adddup2(&files, question, 0) ||
	    posix_spawn_file_actions_adddup2(&files, answer, 1) ||
	    posix_spawn_file_actions_adddup2(&files, errors, 2) ||
	    posix_spawnp(&child, asking->program, &files, NULL, (char **)(void *)arguments,
			 environ))
		child = -1;
	posix_spawn_file_actions_destroy(&files);
	return child;
}

/* Takes what there is. False at the end. */
static bool take(int file, struct sn_buffer *buffer, size_t most)
{
	static unsigned char piece[65536];
	ssize_t count = read(file, piece, sizeof(piece));
	if (count > 0 && buffer->count < most)
		sn_buffer_put(buffer, piece, (size_t)count);
	return count > 0 || (count < 0 && errno == EINTR);
}

/* Until both ends are closed. False where time ran out. */
static bool listen_to(struct asking *asking, int answer, int errors)
{
	struct pollfd files[] = {{answer, POLLIN, 0}, {errors, POLLIN, 0}};
	while (files[0].fd >= 0 || files[1].fd >= 0) {
		int64_t left = asking->end_ms - now_ms();
		if (left <= 0 || (poll(files, 2, (int)left) < 0 && errno != EINTR))
			return false;
		if (files[0].revents && !take(files[0].fd, &asking->answer, ANSWER_MOST))
			files[0].fd = -1;
		if (files[1].revents && !take(files[1].fd, &asking->errors, ERRORS_MOST))
			files[1].fd = -1;
	}
	return true;
}

/* Its status, -1 where it could not be run, -2 where time ran out. */
static int run(struct asking *asking)
{
	int answer[2] = {-1, -1}, errors[2] = {-1, -1}, status = -1;
	int question = question_file(asking);
	sn_buffer_cut(&asking->answer, 0);
	sn_buffer_cut(&asking->errors, 0);
	bool is_ready = question >= 0 && !pipe2(answer, O_CLOEXEC) && !pipe2(errors, O_CLOEXEC);
	pid_t child = is_ready ? start(asking, question, answer[1], errors[1]) : -1;
	close(answer[1]);
	close(errors[1]);
	close(question);
	if (child > 0) {
		bool is_done = listen_to(asking, answer[0], errors[0]);
		if (!is_done)
			kill(child, SIGKILL);
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
		status = !is_done ? -2 : WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	}
	close(answer[0]);
	close(errors[0]);
	return status;
}

/* ---- the question ---- */

static void write_question(struct asking *asking)
{
	size_t line = 0;
	sn_buffer_cut(&asking->question, 0);
	for (size_t block = 0; block < asking->count; block++) {
		const struct sn_mca_block *own = &asking->blocks[block];
		sn_buffer_print(&asking->question, "# LLVM-MCA-BEGIN %zu\n", block);
		line++;
		for (uint32_t i = 0; i < own->count; i++) {
			const char *text = own->instructions[i].text;
			if (!text)
				continue;
			bool is_out = line < asking->lines && asking->is_left_out[line];
			sn_buffer_print(&asking->question, "%s\n", is_out ? "" : text);
			line++;
		}
		sn_buffer_print(&asking->question, "# LLVM-MCA-END %zu\n", block);
		line++;
	}
	if (!asking->is_left_out)
		asking->is_left_out = calloc(line + 1, sizeof(bool));
	asking->lines = asking->is_left_out ? line : 0;
}

static size_t name_length(const char *text)
{
	return strcspn(text, " \t\n");
}

/* Leaves out all that have this instruction's name. */
static bool leave_out_name(struct asking *asking, const char *text)
{
	const char *at = sn_buffer_string(&asking->question);
	size_t length = name_length(text), line = 0;
	bool has_changed = false;
	for (; *at && line < asking->lines; line++) {
		if (!asking->is_left_out[line] && name_length(at) == length &&
		    !strncmp(at, text, length)) {
			asking->is_left_out[line] = true;
			has_changed = true;
		}
		at += strcspn(at, "\n");
		at += *at == '\n';
	}
	return has_changed;
}

/* Marks the lines that the errors are about: "<stdin>:LINE:COLUMN: error:". Whether there are any new ones. */
static bool leave_out_lines(struct asking *asking)
{
	bool has_changed = false;
	for (const char *at = sn_buffer_string(&asking->errors); (at = strstr(at, "<stdin>:"));
	     at++) {
		unsigned long line = strtoul(at + 8, NULL, 10);
		if (line && line <= asking->lines && !asking->is_left_out[line - 1])
			has_changed = asking->is_left_out[line - 1] = true;
	}
	return has_changed;
}

/* The same of "note: instruction: TEXT", which has no line. */
static bool leave_out_names(struct asking *asking)
{
	bool has_changed = false;
	for (const char *at = sn_buffer_string(&asking->errors);
	     (at = strstr(at, "instruction:"));) {
		at += strlen("instruction:");
		at += strspn(at, " \t");
		has_changed |= leave_out_name(asking, at);
	}
	return has_changed;
}

/* ---- the answer ---- */

/* The value behind the next key with this name, before `end`. False where there is none. */
static bool next_number(const char **at, const char *end, const char *key, float *value)
{
	size_t length = strlen(key);
	const char *found = *at;
	while ((found = memmem(found, (size_t)(end - found), key, length))) {
		if (found[-1] == '"' && found[length] == '"') {
			*value = strtof(found + length + 2, NULL);
			*at = found + length;
			return true;
		}
		found += length;
	}
	return false;
}

/* Those of a block that were asked about. */
static uint32_t asked_of(const struct asking *asking, const struct sn_mca_block *block, size_t line,
			 uint32_t *places)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < block->count; i++) {
		if (!block->instructions[i].text)
			continue;
		if (line >= asking->lines || !asking->is_left_out[line])
			places[count++] = i;
		line++;
	}
	return count;
}

static const char *part_of(const char *at, const char *end, const char *key)
{
	return memmem(at, (size_t)(end - at), key, strlen(key));
}

/* The times of each instruction in each repetition. */
static void read_times(struct sn_mca_block *block, const char *at, const char *end,
		       const uint32_t *places, uint32_t count)
{
	float dispatched, executed, issued, ready, retired, before = 0, first = 0, last = 0;
	for (uint32_t repeat = 0; repeat < REPEATS; repeat++)
		for (uint32_t i = 0; i < count; i++) {
			struct sn_mca_instruction *one = &block->instructions[places[i]];
			if (!next_number(&at, end, "CycleDispatched", &dispatched) ||
			    !next_number(&at, end, "CycleExecuted", &executed) ||
			    !next_number(&at, end, "CycleIssued", &issued) ||
			    !next_number(&at, end, "CycleReady", &ready) ||
			    !next_number(&at, end, "CycleRetired", &retired))
				return;
			one->head = retired > before ? retired - before : 0;
			one->wait = ready > dispatched ? ready - dispatched : 0;
			one->queue = issued > ready ? issued - ready : 0;
			before = retired;
			first = repeat == 1 && i + 1 == count ? retired : first;
			last = retired;
		}
	block->cycles = (last - first) / (REPEATS - 2);
	block->is_known = true;
}

/* One object of CodeRegions. The instructions that it tells of are those of the block, unless some were left out without a word. */
static void read_region(struct asking *asking, struct sn_mca_block *block, size_t line,
			const char *at, const char *end)
{
	uint32_t *places = malloc((block->count + 1) * sizeof(*places));
	uint32_t count = places ? asked_of(asking, block, line, places) : 0, told = 0;
	const char *texts = part_of(at, end, "\"Instructions\": ["), *list = at,
		   *times = part_of(at, end, "\"TimelineInfo\""),
		   *summary = part_of(at, end, "\"SummaryView\"");
	float number;
	for (const char *scan = at; texts && next_number(&scan, texts, "Latency", &number);)
		told++;
	if (texts && times && summary && count && told == count) {
		next_number(&summary, end, "BlockRThroughput", &block->resource);
		for (uint32_t i = 0; i < count; i++) {
			struct sn_mca_instruction *one = &block->instructions[places[i]];
			one->is_known = next_number(&list, texts, "Latency", &one->latency) &&
					next_number(&list, texts, "NumMicroOpcodes", &one->parts);
		}
		read_times(block, times, end, places, count);
	}
	free(places);
}

static size_t lines_of(const struct sn_mca_block *block)
{
	size_t lines = 2;
	for (uint32_t i = 0; i < block->count; i++)
		lines += block->instructions[i].text != NULL;
	return lines;
}

/* Regions come in order; those without instructions may be missing. */
static void read_answer(struct asking *asking)
{
	const char *at = sn_buffer_string(&asking->answer), *end = at + asking->answer.count;
	size_t block = 0, line = 0;
	while ((at = part_of(at, end, "\"InstructionInfoView\""))) {
		const char *next = part_of(at + 1, end, "\"InstructionInfoView\"");
		const char *stop = next ? next : end;
		const char *name = part_of(at, stop, "\"Name\": \"");
		size_t number = name ? strtoul(name + 9, NULL, 10) : SIZE_MAX;
		for (; block < number && block < asking->count; block++)
			line += lines_of(&asking->blocks[block]);
		if (block == number && block < asking->count)
			read_region(asking, &asking->blocks[block], line + 1, at, stop);
		if (!next)
			break;
		at = next;
	}
}

static const char *first_line(struct asking *asking, struct sn_arena *texts)
{
	const char *text = sn_buffer_string(&asking->errors);
	int length = (int)strcspn(text, "\n");
	const char *line =
	    sn_arena_print(texts, "llvm-mca failed (%.*s): cycles are those of a simple model",
			   length > 200 ? 200 : length, text);
	return line ? line : "out of memory";
}

static const char *ask(struct asking *asking, struct sn_arena *texts)
{
	for (int try = 0; try < TRIES; try++) {
		write_question(asking);
		if (asking->question.failed || !asking->is_left_out)
			return "out of memory";
		int status = run(asking);
		if (status == -2)
			return too_slow;
		if (status == -1)
			return no_program;
		bool has_lines = leave_out_lines(asking), has_names = leave_out_names(asking);
		/* what it left out by itself has a line, or is left out next time */
		if (status == 0 && asking->answer.count && !asking->answer.failed && !has_names) {
			read_answer(asking);
			return NULL;
		}
		if (has_lines || has_names)
			continue;
		const char *errors = sn_buffer_string(&asking->errors);
		if (asking->may_skip && strstr(errors, "skip-unsupported-instructions"))
			asking->may_skip = false;
		else if (strcmp(asking->cpu, "skylake") != 0)
			asking->cpu = "skylake"; /* this one is unknown to it */
		else
			break;
	}
	return first_line(asking, texts);
}

const char *sn_mca_ask(struct sn_mca_block *blocks, size_t count, const char *cpu, int limit_ms,
		       struct sn_arena *texts)
{
	struct asking asking = {.blocks = blocks,
				.count = count,
				.program = find_program(),
				.may_skip = true,
				.cpu = cpu ? cpu : "native",
				.end_ms = now_ms() + limit_ms};
	if (!asking.program)
		return no_program;
	const char *why = count ? ask(&asking, texts) : NULL;
	sn_buffer_release(&asking.question);
	sn_buffer_release(&asking.answer);
	sn_buffer_release(&asking.errors);
	free(asking.is_left_out);
	return why;
}
