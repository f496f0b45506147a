/* SPDX-License-Identifier: Apache-2.0 */
/* The control sequences are those of ECMA-48 and xterm's other screen (1049). See screen.h. */
#include "screen.h"

#include "cmd/command.h"

#include "base/buffer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

enum { HEIGHT_USUAL = 24 };

static struct {
	volatile bool is_entered;
	struct termios before;
} screen;

static void put(const char *text, size_t length)
{
	while (length) {
		ssize_t count = write(STDOUT_FILENO, text, length);
		if (count <= 0)
			return; /* the terminal is gone: a signal tells */
		text += count;
		length -= (size_t)count;
	}
}

bool sn_screen_is_there(void)
{
	return isatty(STDIN_FILENO) && sn_terminal_obeys(stdout);
}

void sn_screen_enter(void)
{
	struct termios mode;
	if (screen.is_entered || tcgetattr(STDIN_FILENO, &mode))
		return;
	screen.before = mode;
	screen.is_entered = true;
	mode.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	mode.c_cc[VMIN] = 0;
	mode.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSANOW, &mode);
	/* the other screen, without a cursor, and long lines are cut */
	static const char enter[] = "\033[?1049h\033[?25l\033[?7l";
	put(enter, strlen(enter));
}

void sn_screen_leave(void)
{
	static const char leave[] = "\033[?7h\033[?25h\033[?1049l";
	if (!screen.is_entered)
		return;
	screen.is_entered = false;
	put(leave, strlen(leave));
	tcsetattr(STDIN_FILENO, TCSANOW, &screen.before);
}

unsigned sn_screen_height(void)
{
	struct winsize size;
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row ? HEIGHT_USUAL : size.ws_row;
}

void sn_screen_draw(const char *text)
{
	struct sn_buffer out = {0};
	sn_buffer_text(&out, "\033[H");
	for (unsigned left = sn_screen_height(); left && *text; left--) {
		size_t length = strcspn(text, "\n");
		sn_buffer_put(&out, text, length);
		/* nothing of the picture before; and no new line behind the last, which would scroll */
		sn_buffer_text(&out, left > 1 ? "\033[0m\033[K\r\n" : "\033[0m\033[K");
		text += length + (text[length] == '\n');
	}
	sn_buffer_text(&out, "\033[J");
	if (!out.failed)
		put((const char *)out.bytes, out.count);
	sn_buffer_release(&out);
}

char sn_screen_key(void)
{
	char key = 0;
	return screen.is_entered && read(STDIN_FILENO, &key, 1) == 1 ? key : 0;
}
