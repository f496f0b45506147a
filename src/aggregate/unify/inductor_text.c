/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of generated Python; see inductor_text.h. */
#include "inductor_text.h"

#include "base/file_at.h"
#include "base/intern.h"
#include "base/safe_path.h"
#include "base/text.h"
#include "base/vec.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_FILE_BYTES = 64 << 20 };

char *sn_inductor_read(const char *name, size_t *length)
{
	struct sn_path path;
	struct stat status;
	char *text = NULL;
	if (sn_path_open(&path, name) != 0)
		return NULL;
	int fd = openat(path.folder, path.name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	sn_path_close(&path);
	if (fd < 0)
		return NULL;
	bool is_fit = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
		      sn_path_is_own(&status) && status.st_size < MOST_FILE_BYTES;
	*length = is_fit ? (size_t)status.st_size : 0;
	if (*length > 0 && (text = malloc(*length + 1)) != NULL) {
		text[*length] = '\0';
		if (sn_read_at(fd, text, *length, 0) != 0) {
			free(text);
			text = NULL;
		}
	}
	close(fd);
	return text;
}

static const char *next_line(const char *text)
{
	const char *end = strchr(text, '\n');
	return end ? end + 1 : NULL;
}

const char *sn_inductor_line(const char *text, uint32_t line)
{
	if (!line)
		return NULL;
	while (--line > 0 && text)
		text = next_line(text);
	return text;
}

/* The length of what has the form of a name, `others` being allowed in it too. */
static size_t name_length(const char *at, const char *others)
{
	size_t length = 0;
	while (isalnum((unsigned char)at[length]) || at[length] == '_' ||
	       (at[length] && strchr(others, at[length])))
		length++;
	return length;
}

/* "mm" of "extern_kernels.mm(", "mine.op" of "buf1 = torch.ops.mine.op.default(". */
static struct sn_inductor_line operator_called(const char *line, size_t length)
{
	static const char extern_prefix[] = "extern_kernels.", ops_prefix[] = "torch.ops.";
	struct sn_inductor_line called = {NULL};
	const char *at = memmem(line, length, extern_prefix, sizeof(extern_prefix) - 1);
	if (at) {
		called.name = at + sizeof(extern_prefix) - 1;
		called.length = (uint32_t)name_length(called.name, "");
		called.call = called.length ? SN_INDUCTOR_OPERATOR : SN_INDUCTOR_NO_CALL;
		return called;
	}
	at = memmem(line, length, ops_prefix, sizeof(ops_prefix) - 1);
	if (!at)
		return called;
	called.name = at + sizeof(ops_prefix) - 1;
	size_t whole = name_length(called.name, ".");
	const char *dot = memchr(called.name, '.', whole);
	const char *overload =
	    dot ? memchr(dot + 1, '.', whole - (size_t)(dot + 1 - called.name)) : NULL;
	called.length = (uint32_t)(overload ? (size_t)(overload - called.name) : whole);
	if (dot && called.name[whole] == '(')
		called.call = SN_INDUCTOR_OPERATOR;
	return called;
}

/* Kernels that the file makes, by name; what kind each is. */
struct kernels {
	struct sn_intern names;
	enum sn_inductor_call *calls;
	size_t capacity;
};

/* "NAME = async_compile.cpp_pybinding(": false without memory. */
static bool note_kernel(struct kernels *kernels, const char *line)
{
	static const char making[] = " = async_compile.";
	size_t length = name_length(line, "");
	if (!length || !sn_text_begins(line + length, making))
		return true;
	bool is_cpp = sn_text_begins(line + length + sizeof(making) - 1, "cpp");
	uint32_t number = sn_intern_add(&kernels->names, line, length);
	if (number == SN_INTERN_NONE ||
	    sn_vec_reserve(&kernels->calls, &kernels->capacity, number + 1ull) < 0)
		return false;
	kernels->calls[number] = is_cpp ? SN_INDUCTOR_CPP : SN_INDUCTOR_KERNEL;
	return true;
}

static struct sn_inductor_line call_on(const struct kernels *kernels, const char *line)
{
	const char *at = line + strspn(line, " \t");
	size_t length = name_length(at, "");
	struct sn_inductor_line called = {NULL};
	if (length && (at[length] == '(' || sn_text_begins(at + length, ".run("))) {
		uint32_t number = sn_intern_find(&kernels->names, at, length);
		if (number != SN_INTERN_NONE)
			return (struct sn_inductor_line){at, (uint32_t)length,
							 kernels->calls[number]};
	}
	return *at == '#' ? called : operator_called(at, strcspn(at, "\n"));
}

void sn_inductor_text_read(struct sn_inductor_text *text, const char *file)
{
	struct kernels kernels = {0};
	size_t length, capacity = 0;
	*text = (struct sn_inductor_text){sn_inductor_read(file, &length)};
	bool is_whole = text->text != NULL;
	for (const char *at = text->text; at && is_whole; at = next_line(at)) {
		is_whole = note_kernel(&kernels, at);
		text->line_count++;
	}
	is_whole =
	    is_whole && sn_vec_reserve(&text->lines, &capacity, text->line_count + 1ull) == 0;
	uint32_t line = 1;
	for (const char *at = text->text; at && is_whole; at = next_line(at))
		text->lines[line++] = call_on(&kernels, at);
	if (!is_whole)
		sn_inductor_text_release(text);
	sn_intern_release(&kernels.names);
	free(kernels.calls);
}

void sn_inductor_text_release(struct sn_inductor_text *text)
{
	free(text->text);
	free(text->lines);
	*text = (struct sn_inductor_text){NULL};
}

struct sn_inductor_line sn_inductor_text_line(const struct sn_inductor_text *text, uint32_t line)
{
	return line && line <= text->line_count ? text->lines[line]
						: (struct sn_inductor_line){NULL};
}
