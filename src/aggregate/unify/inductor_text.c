/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of generated Python; see inductor_text.h. */
#include "inductor_text.h"

#include "base/file_at.h"
#include "base/safe_path.h"
#include "base/text.h"

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

const char *sn_inductor_line(const char *text, uint32_t line)
{
	if (!line)
		return NULL;
	while (--line > 0 && text)
		text = (text = strchr(text, '\n')) ? text + 1 : NULL;
	return text;
}

/* How the file makes a kernel of that name: what follows "NAME = async_compile."; NULL for no kernel. */
static const char *makes_kernel(const char *text, const char *name)
{
	static const char making[] = " = async_compile.";
	size_t length = strlen(name);
	for (const char *at = text; (at = strstr(at, name)) != NULL; at += length)
		if ((at == text || at[-1] == '\n') && sn_text_begins(at + length, making))
			return at + length + sizeof(making) - 1;
	return NULL;
}

/* Copies what has the form of a name, with dots; its length, 0 for none or one that is too long. */
static size_t take_name(const char *at, const char *others, char name[SN_INDUCTOR_NAME])
{
	size_t length = 0;
	while (isalnum((unsigned char)at[length]) || at[length] == '_' ||
	       (at[length] && strchr(others, at[length])))
		length++;
	if (length >= SN_INDUCTOR_NAME)
		length = 0;
	memcpy(name, at, length);
	name[length] = '\0';
	return length;
}

/* "mm" of "extern_kernels.mm(", "mine.op" of "buf1 = torch.ops.mine.op.default(". */
static enum sn_inductor_call operator_called(const char *line, size_t length,
					     char name[SN_INDUCTOR_NAME])
{
	static const char extern_prefix[] = "extern_kernels.", ops_prefix[] = "torch.ops.";
	const char *at = memmem(line, length, extern_prefix, sizeof(extern_prefix) - 1);
	if (at && take_name(at + sizeof(extern_prefix) - 1, "", name))
		return SN_INDUCTOR_OPERATOR;
	at = memmem(line, length, ops_prefix, sizeof(ops_prefix) - 1);
	size_t taken = at ? take_name(at + sizeof(ops_prefix) - 1, ".", name) : 0;
	if (!taken || at[sizeof(ops_prefix) - 1 + taken] != '(')
		return SN_INDUCTOR_NO_CALL;
	char *overload = strchr(name, '.');
	overload = overload ? strchr(overload + 1, '.') : NULL;
	if (overload)
		*overload = '\0';
	return SN_INDUCTOR_OPERATOR;
}

enum sn_inductor_call sn_inductor_call(const char *text, const char *line,
				       char name[SN_INDUCTOR_NAME])
{
	const char *at = line + strspn(line, " \t");
	size_t length = take_name(at, "", name);
	bool is_call = length && (at[length] == '(' || sn_text_begins(at + length, ".run("));
	const char *made = is_call ? makes_kernel(text, name) : NULL;
	if (made)
		return sn_text_begins(made, "cpp") ? SN_INDUCTOR_CPP : SN_INDUCTOR_KERNEL;
	return *at == '#' ? SN_INDUCTOR_NO_CALL : operator_called(at, strcspn(at, "\n"), name);
}
