/* SPDX-License-Identifier: Apache-2.0 */
/* What the terminal is like; see command.h. */
#include "command.h"

#include "show/tree/view.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int sn_terminal_width(void)
{
	const char *columns = getenv("COLUMNS");
	int width = columns ? atoi(columns) : 0;
	struct winsize size;
	if (width <= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		width = size.ws_col;
	if (width <= 0)
		return 100;
	return width < 40 ? 40 : width > 1000 ? 1000 : width;
}

/* Open MPI's mpirun gives a rank a terminal of its own, and writes what it says to wherever its own output goes. */
static bool is_of_mpirun(void)
{
	return getenv("OMPI_COMM_WORLD_RANK");
}

bool sn_terminal_obeys(FILE *stream)
{
	const char *terminal = getenv("TERM");
	return !(terminal && strcmp(terminal, "dumb") == 0) && isatty(fileno(stream)) == 1 &&
	       !is_of_mpirun();
}

bool sn_terminal_has_color(FILE *stream)
{
	const char *no_color = getenv("NO_COLOR"), *force = getenv("CLICOLOR_FORCE");
	if (no_color && *no_color)
		return false;
	return (force && *force && strcmp(force, "0") != 0) || sn_terminal_obeys(stream);
}

struct sn_style sn_terminal_style(FILE *stream)
{
	return sn_terminal_has_color(stream) ? (struct sn_style){"\033[1m", "\033[2m", "\033[0m"}
					     : (struct sn_style){"", "", ""};
}

bool sn_terminal_is_unicode(void)
{
	static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		const char *value = getenv(variables[i]);
		if (!value || !*value)
			continue;
		/* "C" says nothing about the terminal, and terminals are UTF-8 by now. */
		return strcmp(value, "C") == 0 || strcmp(value, "POSIX") == 0 ||
		       strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return true;
}

void sn_terminal_write_ascii(const char *text, FILE *out)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		if (c < 0x80)
			putc(c, out);
		else if (c >= 0xc0)
			putc(c == 0xe2 ? '~' : '?', out);
	}
}

int sn_terminal_print(int (*print)(void *context, const struct sn_terminal *page), void *context)
{
	struct sn_terminal page = {stdout, sn_terminal_width(), sn_terminal_has_color(stdout),
				   sn_terminal_is_unicode()};
	char *text = NULL;
	size_t length = 0;
	if (page.is_unicode)
		return print(context, &page);
	page.out = open_memstream(&text, &length);
	if (!page.out)
		return SN_ERR_MEMORY;
	int result = print(context, &page);
	if (fclose(page.out))
		result = SN_ERR_MEMORY;
	if (!result)
		sn_terminal_write_ascii(text, stdout);
	free(text);
	return result;
}
