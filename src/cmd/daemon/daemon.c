/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde daemon`: starts the continuous profiler (src/daemon), and asks it. */
#include "daemon_text.h"

#include "cmd/command.h"
#include "daemon/daemon.h"
#include "push/http.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RATE = 200, RATE_MOST = 10000, WAITS_MOST = 100, FLUSH_SECONDS = 60, DAY_SECONDS = 86400 };
enum action { START, STOP, STATUS, FLUSH, EPOCH, ACTIONS };
static const char *const actions[] = {"start", "stop", "status", "flush", "epoch", NULL};

struct request {
	struct sn_options options;
	struct sn_daemon_options daemon;
	int action, form;
	bool is_foreground, is_quiet;
	double epoch_minutes, keep_days, cost_percent;
	int push_form;
	struct sn_texts push_labels;
};

static const char *const push_forms[] = {"otlp", "pprof", NULL};

static bool read_options(struct request *request)
{
	struct sn_daemon_options *daemon = &request->daemon;
	const struct sn_option table[] = {
	    {"store", .text = &daemon->store, .is_path = true},
	    {"rate", 'F', SN_OPTION_WHOLE(daemon->rate, 1, RATE_MOST)},
	    {"callers", SN_OPTION_WHOLE(daemon->stack_rate, 0, RATE_MOST)},
	    {"off-cpu", SN_OPTION_WHOLE(daemon->wait_rate, 0, WAITS_MOST)},
	    {"flush", SN_OPTION_WHOLE(daemon->flush_seconds, 1, 3600)},
	    {"epoch", .number = &request->epoch_minutes, .least = 1.0 / 60, .most = 1440},
	    {"keep", .number = &request->keep_days, .least = 0, .most = 36500},
	    {"keep-size", .memory = &daemon->policy.keep_bytes, .least = 1 << 20},
	    {"cost", .number = &request->cost_percent, .least = 0.001, .most = 100},
	    {"by-process", .flag = &daemon->by_process},
	    {"group-read", .flag = &daemon->writer.group_reads},
	    {"push", .text = &daemon->push.url},
	    {"push-as", .choice = &request->push_form, .choices = push_forms},
	    {"push-user", .text = &daemon->push.user},
	    {"push-label", .texts = &request->push_labels, .most = 64},
	    {"push-header-file", .text = &daemon->push.header_file, .is_path = true},
	    {"foreground", .flag = &request->is_foreground},
	    {"format", SN_OPTION_CHOICE(request->form, "text", "json")},
	    {"quiet", 'q', .flag = &request->is_quiet},
	    {0}};
	if (!sn_options_read(&request->options, table))
		return false;
	daemon->policy.epoch_ns = (uint64_t)(request->epoch_minutes * 60e9);
	daemon->policy.keep_ns = (uint64_t)(request->keep_days * DAY_SECONDS * 1e9);
	daemon->cost_most = request->cost_percent / 100;
	daemon->writer.group_reads |= daemon->push.user != NULL;
	daemon->push.form = push_forms[request->push_form];
	daemon->push.labels = request->push_labels.items;
	daemon->push.label_count = request->push_labels.count;
	return true;
}

/* What the process that pushes would refuse is refused at the start. 0 or an exit status. */
static int check_push(struct request *request)
{
	struct sn_pusher_options *push = &request->daemon.push;
	struct sn_error error = {""};
	if (!push->url)
		return 0;
	if (sn_http_check(push->url, &error))
		return sn_command_fail("%s", error.text);
	for (size_t i = 0; i < push->label_count; i++) {
		const char *equals = strchr(push->labels[i], '=');
		if (!equals || equals == push->labels[i] || !equals[1])
			return sn_options_refuse(&request->options, "--push-label", push->labels[i],
						 "no KEY=VALUE");
	}
	if (push->header_file) { /* the process has another folder */
		const char *file = realpath(push->header_file, NULL);
		if (!file)
			return sn_command_fail("cannot open '%s': %s", push->header_file,
					       strerror(errno));
		push->header_file = file; /* for as long as the daemon runs */
	}
	if (geteuid() == 0 && !push->user)
		return sn_command_misuse(
		    request->options.command,
		    "say as which user to push, who needs no privilege: --push-user NAME");
	return 0;
}

static int read_action(struct request *request)
{
	const struct sn_options *options = &request->options;
	const char *text =
	    sn_options_operand(options, "action (start, stop, status, flush or epoch)");
	if (!text)
		return SN_EXIT_USAGE;
	while (request->action < ACTIONS && strcmp(text, actions[request->action]) != 0)
		request->action++;
	return request->action == ACTIONS
		   ? sn_options_unknown(options->command, "action '", text, actions)
		   : 0;
}

/* ---- start ---- */

/* systemd's protocol: a datagram to the socket that it names. */
static void notify(const char *text)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *path = getenv("NOTIFY_SOCKET");
	if (!path || strlen(path) >= sizeof(address.sun_path))
		return;
	strcpy(address.sun_path, path);
	if (*path == '@') /* a name in no file system */
		address.sun_path[0] = 0;
	int made = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
	if (made >= 0) {
		sendto(made, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&address, length);
		close(made);
	}
}

static void say_running(const struct request *request, const struct sn_daemon_running *running)
{
	if (!request->is_quiet)
		fprintf(stderr,
			"sonde: sampling all processes on %u processor%s by %s, %u a second; store "
			"%s\n",
			running->processors, running->processors == 1 ? "" : "s", running->event,
			running->rate, request->daemon.store);
}

static void on_ready_in_foreground(void *context, const struct sn_daemon_running *running)
{
	say_running(context, running);
	notify("READY=1");
}

static int run_in_foreground(struct request *request)
{
	struct sn_error error = {""};
	if (sn_daemon_run(&request->daemon, on_ready_in_foreground, request, &error) < 0)
		return sn_command_fail("%s", error.text);
	notify("STOPPING=1");
	return SN_EXIT_DONE;
}

/* What the child says to the process that started it: that it runs, or why not. */
struct news {
	bool is_running;
	struct sn_daemon_running running;
	char event[32];
	struct sn_error error;
};

struct child {
	int out;
	bool is_told;
};

static void tell(struct child *child, const struct news *news)
{
	if (write(child->out, news, sizeof(*news)) != sizeof(*news))
		_exit(SN_EXIT_FAILED);
	close(child->out);
	child->is_told = true;
}

static void on_ready_in_background(void *context, const struct sn_daemon_running *running)
{
	struct news news = {.is_running = true, .running = *running};
	snprintf(news.event, sizeof(news.event), "%s", running->event);
	tell(context, &news);
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; nothing >= 0 && fd <= 2; fd++)
		dup2(nothing, fd);
}

static void run_in_background(struct request *request, int out)
{
	struct child child = {.out = out};
	struct news news = {0};
	setsid();
	if (chdir("/") != 0)
		_exit(SN_EXIT_FAILED);
	int result = sn_daemon_run(&request->daemon, on_ready_in_background, &child, &news.error);
	if (result < 0 && !child.is_told)
		tell(&child, &news);
	_exit(result < 0 ? SN_EXIT_FAILED : SN_EXIT_DONE);
}

/* The path from the root on, whether or not there is such a folder yet; NULL with errno. The caller's to free. */
static char *from_root(const char *path)
{
	char *folder = *path == '/' ? strdup("") : getcwd(NULL, 0), *whole = NULL;
	if (folder && asprintf(&whole, "%s%s%s", folder, *path == '/' ? "" : "/", path) < 0)
		whole = NULL;
	free(folder);
	return whole;
}

static int start(struct request *request)
{
	int ends[2];
	struct news news = {0};
	if (request->is_foreground)
		return run_in_foreground(request);
	if (pipe2(ends, O_CLOEXEC) != 0)
		return sn_command_fail("pipe: %s", strerror(errno));
	char *store = from_root(request->daemon.store); /* the child has another folder */
	if (!store)
		return sn_command_fail("the folder that '%s' is in is not known: %s",
				       request->daemon.store, strerror(errno));
	pid_t child = fork();
	if (child == 0) {
		close(ends[0]);
		request->daemon.store = store;
		run_in_background(request, ends[1]);
	}
	free(store);
	close(ends[1]);
	ssize_t length = child > 0 ? read(ends[0], &news, sizeof(news)) : -1;
	close(ends[0]);
	if (child < 0)
		return sn_command_fail("fork: %s", strerror(errno));
	if (length != sizeof(news) || !news.is_running)
		return sn_command_fail("%s", length == sizeof(news)
						 ? news.error.text
						 : "the daemon ended at its start");
	news.running.event = news.event;
	say_running(request, &news.running);
	return SN_EXIT_DONE;
}

/* ---- the other actions ---- */

static int ask(struct request *request)
{
	struct sn_buffer answer = {0};
	struct sn_error error = {""};
	int status = SN_EXIT_DONE;
	if (sn_daemon_ask(request->daemon.store, actions[request->action], &answer, &error) < 0)
		status = sn_command_fail("%s", error.text);
	sn_buffer_byte(&answer, 0);
	if (!status && answer.failed)
		status = sn_command_fail("out of memory");
	if (!status)
		status = sn_daemon_tell((const char *)answer.bytes, request->daemon.store,
					request->form == 1,
					request->action == STATUS && !request->is_quiet, stdout);
	sn_buffer_release(&answer);
	return status;
}

int sn_command_daemon_run(int argc, char **argv)
{
	struct request request = {
	    .options = {&sn_command_daemon, argc, argv},
	    .daemon = {.store = SN_EPOCH_STORE_DEFAULT,
		       .rate = RATE,
		       .flush_seconds = FLUSH_SECONDS,
		       .policy = SN_EPOCH_POLICY_DEFAULT},
	    .cost_percent = 1,
	};
	request.epoch_minutes = (double)request.daemon.policy.epoch_ns / 60e9;
	request.keep_days = (double)request.daemon.policy.keep_ns / 1e9 / DAY_SECONDS;
	if (!read_options(&request))
		return request.options.status;
	int status = read_action(&request);
	if (!status && request.action == START)
		status = check_push(&request);
	if (status)
		return status;
	return request.action == START ? start(&request) : ask(&request);
}
