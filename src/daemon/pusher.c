/* SPDX-License-Identifier: Apache-2.0 */
/* See pusher.h. */
#include "pusher.h"

#include "base/text.h"
#include "push/next.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FOLDER "push"
enum {
	ARGUMENTS = 160, /* of the process; labels are 64 at most */
	SOON = 60,	 /* seconds: a process that ends earlier is not started at once */
	WAIT_MOST = 300,
	END_TENTHS = 30, /* of a second until a process that was told to end is killed */
	MEMORY_MOST = 1 << 30,
	NICE = 10,
};

/* ---- whose it is ---- */

static int find_user(struct sn_pusher *pusher, const char *name, struct sn_error *error)
{
	errno = 0;
	const struct passwd *entry = getpwnam(name);
	if (!entry)
		return sn_fail(error, SN_ERR_ARGUMENT, "there is no user '%s'%s%s", name,
			       errno ? ": " : "", errno ? strerror(errno) : "");
	pusher->user = entry->pw_uid;
	pusher->group = entry->pw_gid;
	pusher->changes_user = pusher->user != geteuid();
	return 0;
}

/* What there is already gets the group; what will be has it from the folder. */
static int give_files(int folder, gid_t group)
{
	DIR *all = fdopendir(dup(folder));
	int result = all ? 0 : -1;
	for (struct dirent *entry; result == 0 && (entry = readdir(all));) {
		struct stat status;
		if (fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
		    !S_ISREG(status.st_mode))
			continue;
		result = fchownat(folder, entry->d_name, (uid_t)-1, group, AT_SYMLINK_NOFOLLOW);
		if (result == 0)
			result = fchmodat(folder, entry->d_name, 0640, 0);
	}
	if (all)
		closedir(all);
	return result;
}

static int make_folder(int store, const struct sn_pusher *pusher)
{
	if (mkdirat(store, FOLDER, 0700) != 0 && errno != EEXIST)
		return -1;
	return pusher->changes_user
		   ? fchownat(store, FOLDER, pusher->user, pusher->group, AT_SYMLINK_NOFOLLOW)
		   : 0;
}

/* The user reads the store as its group, and writes to a folder of his own in it. */
static int let_in(const struct sn_pusher *pusher, struct sn_error *error)
{
	int store = open(pusher->store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int result = store < 0 ? -1 : 0;
	if (result == 0 && pusher->changes_user)
		result = fchown(store, (uid_t)-1, pusher->group) == 0 && fchmod(store, 02750) == 0
			     ? give_files(store, pusher->group)
			     : -1;
	if (result == 0)
		result = make_folder(store, pusher);
	int why = errno;
	if (store >= 0)
		close(store);
	return result == 0 ? 0
			   : sn_fail(error, SN_ERR_IO, "cannot let '%s' read '%s': %s",
				     pusher->options->user ? pusher->options->user : "you",
				     pusher->store, strerror(why));
}

int sn_pusher_open(struct sn_pusher *pusher, const struct sn_pusher_options *options,
		   const char *store, struct sn_error *error)
{
	*pusher = (struct sn_pusher){.options = options, .store = store};
	if (!options->url)
		return 0;
	int result = options->user ? find_user(pusher, options->user, error) : 0;
	return result ? result : let_in(pusher, error);
}

/* ---- the process ---- */

static void list_arguments(const struct sn_pusher *pusher, const char *arguments[ARGUMENTS])
{
	const struct sn_pusher_options *options = pusher->options;
	size_t count = 0;
	const char *first[] = {"sonde", "push",	      "--quiet", "--follow",
			       "--to",	options->url, "--as",	 options->form};
	for (size_t i = 0; i < sizeof(first) / sizeof(*first); i++)
		arguments[count++] = first[i];
	for (size_t i = 0; i < options->label_count; i++) {
		arguments[count++] = "--label";
		arguments[count++] = options->labels[i];
	}
	if (options->header_file) {
		arguments[count++] = "--header-file";
		arguments[count++] = options->header_file;
	}
	arguments[count++] = "--";
	arguments[count++] = pusher->store;
	arguments[count] = NULL;
}

/* In the child, which has one thread: whatever can be given up. 0 or -1. */
static int give_up_privileges(const struct sn_pusher *pusher)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}};
	if (pusher->changes_user && (setgroups(0, NULL) != 0 ||
				     setresgid(pusher->group, pusher->group, pusher->group) != 0 ||
				     setresuid(pusher->user, pusher->user, pusher->user) != 0))
		return -1;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &header, none) == 0 &&
		       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
		   ? 0
		   : -1;
}

/* A name of its own where the user may follow the path, else the one that is always there. */
static void execute(const char *const *arguments)
{
	char path[4096] = "";
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (length > 0)
		execv(path, (char *const *)arguments);
	execv("/proc/self/exe", (char *const *)arguments);
}

static void run_child(const struct sn_pusher *pusher, const char *const *arguments, pid_t parent)
{
	const struct rlimit memory = {MEMORY_MOST, MEMORY_MOST};
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (give_up_privileges(pusher) != 0 || nothing < 0)
		_exit(126);
	/* a change of the user forgets it */
	prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
	if (getppid() != parent)
		_exit(126);
	dup2(nothing, 0);
	dup2(nothing, 1);
	syscall(SYS_close_range, 3, ~0U, 0);
	setrlimit(RLIMIT_DATA, &memory);
	setpriority(PRIO_PROCESS, 0, NICE);
	execute(arguments);
	_exit(127);
}

static void start(struct sn_pusher *pusher)
{
	const char *arguments[ARGUMENTS];
	pid_t parent = getpid();
	list_arguments(pusher, arguments);
	pid_t process = fork();
	if (process == 0)
		run_child(pusher, arguments, parent);
	pusher->process = process > 0 ? process : 0;
	pusher->seconds = process > 0 ? 0 : SOON;
	if (process < 0)
		snprintf(pusher->failure, sizeof(pusher->failure), "cannot start it: %s",
			 strerror(errno));
}

/* It goes on for ever unless something is wrong. */
static void note_end(struct sn_pusher *pusher, int status)
{
	bool was_soon = pusher->seconds < SOON;
	pusher->starts = was_soon ? pusher->starts + 1 : 0;
	unsigned wait = pusher->starts < 9 ? 1u << pusher->starts : WAIT_MOST;
	pusher->process = 0;
	pusher->seconds = wait < WAIT_MOST ? wait : WAIT_MOST;
	if (WIFSIGNALED(status))
		snprintf(pusher->failure, sizeof(pusher->failure),
			 "the process was ended by signal %d; the next one follows in %u s",
			 WTERMSIG(status), pusher->seconds);
	else
		snprintf(pusher->failure, sizeof(pusher->failure),
			 "the process ended with status %d; the next one follows in %u s",
			 WEXITSTATUS(status), pusher->seconds);
}

void sn_pusher_tend(struct sn_pusher *pusher)
{
	int status;
	if (!pusher->options->url)
		return;
	if (pusher->process) {
		pusher->seconds++;
		if (waitpid(pusher->process, &status, WNOHANG) == pusher->process)
			note_end(pusher, status);
		else if (pusher->seconds >= SOON)
			pusher->failure[0] = '\0';
	} else if (pusher->seconds > 0) {
		pusher->seconds--;
	} else {
		start(pusher);
	}
}

void sn_pusher_close(struct sn_pusher *pusher)
{
	const struct timespec tenth = {0, 100000000};
	if (!pusher->process)
		return;
	kill(pusher->process, SIGTERM);
	for (int i = 0; i < END_TENTHS; i++) {
		if (waitpid(pusher->process, NULL, WNOHANG) != 0) {
			pusher->process = 0;
			return;
		}
		nanosleep(&tenth, NULL);
	}
	kill(pusher->process, SIGKILL);
	waitpid(pusher->process, NULL, 0);
	pusher->process = 0;
}

/* ---- cursors ---- */

static bool is_cursor(const char *name)
{
	return *name != '.' && !sn_text_ends(name, ".lock") && !sn_text_ends(name, ".new");
}

/* The first epoch that one of the cursors in the folder still needs; false if there is no cursor that can be read. */
static bool find_first(const char *store, uint64_t *first)
{
	char path[4200];
	struct sn_push_cursor cursor;
	struct stat status;
	bool is_found = false;
	snprintf(path, sizeof(path), "%s/" FOLDER, store);
	DIR *folder = opendir(path);
	*first = UINT64_MAX;
	for (struct dirent *entry; folder && (entry = readdir(folder));) {
		snprintf(path, sizeof(path), "%s/" FOLDER "/%s", store, entry->d_name);
		if (!is_cursor(entry->d_name) || lstat(path, &status) != 0 ||
		    sn_push_cursor_read(&cursor, path, NULL) != 0)
			continue;
		is_found = true;
		*first = cursor.epoch < *first ? cursor.epoch : *first;
	}
	if (folder)
		closedir(folder);
	return is_found;
}

void sn_pusher_hold(const struct sn_pusher *pusher, struct sn_epoch_policy *policy)
{
	uint64_t first;
	bool is_found = find_first(pusher->store, &first);
	if (!is_found && !pusher->options->url)
		return;
	policy->unmerged_from = is_found ? first : 0;
	policy->unmerged_ns = SN_PUSH_MERGE_NS;
}

/* The one in its usual place. False if nobody pushes; why it cannot be read is its failure. */
static bool read_cursor(const struct sn_pusher *pusher, struct sn_push_cursor *cursor)
{
	char path[4200];
	struct stat status;
	*cursor = (struct sn_push_cursor){0};
	snprintf(path, sizeof(path), "%s/" SN_PUSH_CURSOR_DEFAULT, pusher->store);
	bool is_there = lstat(path, &status) == 0;
	if (is_there)
		(void)!sn_push_cursor_read(cursor, path, &cursor->failure);
	return is_there || pusher->options->url;
}

void sn_pusher_tell(const struct sn_pusher *pusher, struct sn_buffer *answer)
{
	struct sn_push_cursor cursor;
	if (!read_cursor(pusher, &cursor))
		return;
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {
	    {"pid", (uint64_t)pusher->process}, {"pushed", cursor.pushed},
	    {"waiting", cursor.waiting},	{"unsure", cursor.unsure},
	    {"rejected", cursor.rejected},	{"given_up", cursor.given_up},
	    {"requests", cursor.requests},	{"pushed_ns", cursor.pushed_ns},
	};
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		sn_buffer_print(answer, "push.%s %" PRIu64 "\n", numbers[i].name, numbers[i].value);
	const char *failure = *pusher->failure ? pusher->failure : cursor.failure.text;
	if (*failure)
		sn_buffer_print(answer, "push.failure %s\n", failure);
}
