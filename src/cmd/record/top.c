/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde top`: what runs now, again and again. Each picture is of a recording of its own, as `sonde record` makes one. */
#include "painter.h"
#include "sampling.h"
#include "screen.h"

#include "base/clock.h"
#include "base/spill.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { TURN_MS = 50, SECONDS_MOST = 3600 };

struct top {
	struct sn_sampling_choice sampling;
	double seconds; /* of a picture */
	uint64_t times; /* pictures; 0: any */
	int view;
	bool is_screen, is_held, is_over;
	bool has_last; /* no further picture follows */
	/* files that are waited for, and what waits for all of them */
	int signals, painted, waiting;
	struct sn_sampler *sampler;
	struct sn_painter *painter;
	struct sn_spill spill;	   /* of the recording under way */
	uint64_t start_ns, own_ns; /* when it began, and what this process had used by then */
	struct sn_top drawn;	   /* the newest picture's */
	uint64_t drawn_times;
	struct sn_error error;
	char what[160];
};

/* ---- the terminal ---- */

static struct sn_terminal page(void)
{
	return (struct sn_terminal){.width = sn_terminal_width(),
				    .has_color = sn_terminal_has_color(stdout),
				    .is_unicode = sn_terminal_is_unicode()};
}

/* Draws the last recording again, if there is one and the painter is free. */
static void paint_again(struct top *top)
{
	if (!top->drawn_times || sn_painter_is_busy(top->painter))
		return;
	const struct sn_terminal terminal = page();
	top->drawn.view = (enum sn_top_view)top->view;
	top->drawn.is_held = top->is_held;
	top->drawn.height = top->is_screen ? sn_screen_height() : 0;
	sn_painter_begin(top->painter, -1, &top->drawn, &terminal);
}

static void read_keys(struct top *top)
{
	static const char views[] = "flmpt"; /* as enum sn_top_view */
	for (char key; (key = sn_screen_key());) {
		const char *view = strchr(views, key);
		if (view)
			top->view = (int)(view - views);
		else if (key == ' ')
			top->is_held = !top->is_held;
		else if (key == 'q' || key == 'Q' || key == 4 /* end of input */)
			top->is_over = true;
		paint_again(top);
	}
}

/* The shell has the terminal meanwhile. */
static void stop(void)
{
	sn_screen_leave();
	raise(SIGSTOP);
	sn_screen_enter();
}

static void read_signals(struct top *top)
{
	struct signalfd_siginfo signal;
	while (read(top->signals, &signal, sizeof(signal)) == sizeof(signal)) {
		if (signal.ssi_signo == SIGTSTP)
			stop();
		else if (signal.ssi_signo != SIGWINCH)
			top->is_over = true;
		paint_again(top);
	}
}

static void print(struct top *top, const char *picture)
{
	if (top->is_screen) {
		sn_screen_draw(picture);
		return;
	}
	if (top->drawn_times > 1)
		putchar('\n');
	if (sn_terminal_is_unicode())
		fputs(picture, stdout);
	else
		sn_terminal_write_ascii(picture, stdout);
	fflush(stdout);
	top->is_over |= ferror(stdout) != 0;
}

static int show_picture(struct top *top)
{
	eventfd_t ignored;
	if (eventfd_read(top->painted, &ignored))
		return 0;
	const char *picture = sn_painter_picture(top->painter, &top->error);
	if (picture)
		print(top, picture);
	/* what processes that have ended did last stays on the screen */
	bool is_awaited = top->is_screen && !(top->times && top->drawn_times == top->times);
	top->is_over |= picture && top->has_last && !is_awaited;
	/* a key was pressed meanwhile */
	if (top->view != (int)top->drawn.view || top->is_held != top->drawn.is_held)
		paint_again(top);
	return *top->error.text ? SN_ERR_IO : 0;
}

/* ---- recordings ---- */

static int take(void *context, const void *bytes, size_t count)
{
	struct top *top = context;
	sn_spill_write(&top->spill, bytes, count);
	return top->spill.failed ? SN_ERR_IO : 0;
}

static void begin_recording(struct top *top)
{
	top->spill = (struct sn_spill){.folder = sn_spill_folder(NULL), .fd = -1};
	top->start_ns = sn_clock_now_ns(CLOCK_MONOTONIC);
	top->own_ns = sn_clock_now_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static unsigned processors(void)
{
	long count = sysconf(_SC_NPROCESSORS_ONLN);
	return count > 0 ? (unsigned)count : 1;
}

/* Ends the recording, which goes to the painter, and begins the next one. */
static int end_recording(struct top *top)
{
	int result = sn_sampler_turn(top->sampler, take, top);
	int finished = sn_spill_finish(&top->spill, &top->error);
	if (finished || result)
		return finished ? finished : sn_fail_code(&top->error, result);
	uint64_t end_ns = sn_clock_now_ns(CLOCK_MONOTONIC);
	uint64_t own_ns = sn_clock_now_ns(CLOCK_PROCESS_CPUTIME_ID) - top->own_ns;
	const struct sn_terminal terminal = page();
	int recording = dup(top->spill.fd);
	if (recording < 0)
		return sn_fail(&top->error, SN_ERR_IO, "cannot sample: %s", strerror(errno));
	if (sn_sampler_is_over(top->sampler))
		strncat(top->what, ": ended", sizeof(top->what) - strlen(top->what) - 1);
	top->drawn = (struct sn_top){.view = (enum sn_top_view)top->view,
				     .what = top->what,
				     .event = sn_sampler_event(top->sampler),
				     .rate = sn_sampler_rate(top->sampler),
				     .processors = top->sampling.process_count ? 0 : processors(),
				     .seconds = (double)(end_ns - top->start_ns) / 1e9,
				     .own_seconds = (double)own_ns / 1e9,
				     .has_keys = top->is_screen,
				     .height = top->is_screen ? sn_screen_height() : 0};
	top->drawn_times++;
	top->has_last = top->drawn_times == top->times || sn_sampler_is_over(top->sampler);
	sn_painter_begin(top->painter, recording, &top->drawn, &terminal);
	sn_spill_close(&top->spill);
	begin_recording(top);
	return 0;
}

/* What is sampled while the picture is held, or after the last one, is of no use. */
static int drop_recording(struct top *top)
{
	int result = sn_sampler_turn(top->sampler, take, top);
	sn_spill_close(&top->spill);
	begin_recording(top);
	return result;
}

static bool is_time(const struct top *top)
{
	uint64_t until_ns = top->start_ns + (uint64_t)(top->seconds * 1e9);
	return sn_clock_now_ns(CLOCK_MONOTONIC) >= until_ns ||
	       (sn_sampler_is_over(top->sampler) && !top->has_last);
}

static int turn(struct top *top)
{
	sn_sampler_wait(top->sampler, top->waiting, TURN_MS);
	int result = sn_sampler_take(top->sampler, take, top);
	read_signals(top);
	read_keys(top);
	result = result ? result : show_picture(top);
	if (result || top->is_over || !is_time(top) || sn_painter_is_busy(top->painter))
		return result;
	return top->is_held || top->has_last ? drop_recording(top) : end_recording(top);
}

static int watch(struct top *top)
{
	int result = 0;
	if (top->is_screen) {
		sn_screen_enter();
		sn_screen_draw("sonde top: the first picture is on its way");
	}
	begin_recording(top);
	while (!result && !top->is_over)
		result = turn(top);
	sn_screen_leave();
	if (result && top->spill.failed && !*top->error.text)
		sn_fail(&top->error, SN_ERR_IO, "cannot keep samples in '%s': %s",
			top->spill.folder, strerror(top->spill.failed));
	return result ? sn_fail_code(&top->error, result) : 0;
}

/* ---- beginning ---- */

static int wait_for(struct top *top, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};
	return fd < 0 ? -1 : epoll_ctl(top->waiting, EPOLL_CTL_ADD, fd, &event);
}

static int open_files(struct top *top)
{
	sigset_t handled = sn_sampling_ending_signals();
	if (top->is_screen) {
		sigaddset(&handled, SIGWINCH);
		sigaddset(&handled, SIGTSTP);
	}
	sigprocmask(SIG_BLOCK, &handled, NULL);
	top->signals = signalfd(-1, &handled, SFD_NONBLOCK | SFD_CLOEXEC);
	top->painted = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	top->waiting = epoll_create1(EPOLL_CLOEXEC);
	return top->waiting < 0 || wait_for(top, top->signals) || wait_for(top, top->painted) ||
		       (top->is_screen && wait_for(top, STDIN_FILENO))
		   ? sn_fail(&top->error, SN_ERR_IO, "cannot wait for events: %s", strerror(errno))
		   : 0;
}

static int run(struct top *top)
{
	struct sn_python_result python = {0};
	sn_sampling_what(&top->sampling, top->what, sizeof(top->what));
	int result = open_files(top);
	result = result ? result : sn_sampling_start(&top->sampling, &top->sampler, &top->error);
	if (result)
		return sn_command_fail("%s", top->error.text);
	top->painter = sn_painter_start(top->painted);
	result = top->painter ? watch(top) : sn_fail_memory(&top->error);
	sn_sampler_stop(top->sampler, &python);
	if (result)
		return sn_command_fail("%s", top->error.text);
	if (*python.gap)
		sn_command_warn("%s", python.gap);
	return SN_EXIT_DONE;
}

static bool read_options(struct top *top, struct sn_options *options)
{
	const struct sn_option table[] = {
	    SN_SAMPLING_OPTIONS(top->sampling),
	    {"delay", 'd', .number = &top->seconds, .least = 0.1, .most = SECONDS_MOST},
	    {"times", 'n', SN_OPTION_WHOLE(top->times, 1, 1e9)},
	    {"by", SN_OPTION_CHOICE(top->view, "function", "line", "module", "process", "thread")},
	    {0}};
	if (!sn_options_read(options, table))
		return false;
	if (optind < options->argc)
		options->status = sn_command_misuse(options->command, "no operand is taken: '%s'",
						    options->argv[optind]);
	return !options->status;
}

int sn_command_top_run(int argc, char **argv)
{
	struct sn_options options = {&sn_command_top, argc, argv};
	struct top *top = calloc(1, sizeof(*top));
	if (!top)
		return sn_command_fail("out of memory");
	sn_sampling_init(&top->sampling);
	top->sampling.options.in_turns = true;
	top->seconds = 2;
	top->spill.fd = -1;
	top->is_screen = sn_screen_is_there();
	int status = read_options(top, &options) ? run(top) : options.status;
	sn_painter_free(top->painter);
	sn_sampler_free(top->sampler);
	sn_spill_close(&top->spill);
	sn_sampling_release(&top->sampling);
	free(top);
	return status;
}
