/* SPDX-License-Identifier: Apache-2.0 */
/* Preloading the collector into a program and waiting for it; see launch.h. */
#include "cmd/command.h"
#include "frameworks.h"
#include "launch.h"
#include "base/clock.h"
#include "base/text.h"
#include "binary/perf_map.h"
#include "collect/sample/filters.h"
#include "format/measurement/measurement.h"
#include "format/trace_file/trace_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- finding things ---- */

static bool is_runnable(const char *path)
{
	struct stat status;
	if (stat(path, &status))
		return false;
	if (!S_ISREG(status.st_mode) || access(path, X_OK)) {
		errno = S_ISDIR(status.st_mode) ? EISDIR : EACCES;
		return false;
	}
	return true;
}

int sn_launch_find(const char *command, char *path, size_t path_bytes)
{
	if (strchr(command, '/')) {
		snprintf(path, path_bytes, "%s", command);
		return is_runnable(path) ? 0 : -1;
	}
	const char *search = getenv("PATH");
	int worst = ENOENT;
	for (const char *item = search ? search : "/usr/bin:/bin"; item;) {
		int length = (int)strcspn(item, ":");
		snprintf(path, path_bytes, "%.*s/%s", length ? length : 1, length ? item : ".",
			 command);
		if (is_runnable(path))
			return 0;
		if (errno == EACCES)
			worst = EACCES;
		item = item[length] ? item + length + 1 : NULL;
	}
	errno = worst;
	return -1;
}

bool sn_launch_is_joined(void)
{
	static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK",
						"SLURM_PROCID", "TORCHELASTIC_RUN_ID"};
	for (size_t index = 0; index < sizeof(variables) / sizeof(*variables); index++)
		if (getenv(variables[index]))
			return true;
	return false;
}

static bool is_measurement(const char *name)
{
	return sn_text_ends(name, SN_MEASUREMENT_SUFFIX);
}

static bool is_perf_map(const char *name)
{
	size_t prefix = strlen(SN_PERF_MAP_PREFIX);
	size_t digits =
	    sn_text_begins(name, SN_PERF_MAP_PREFIX) ? strspn(name + prefix, "0123456789") : 0;
	return digits && !strcmp(name + prefix + digits, SN_PERF_MAP_SUFFIX);
}

/* What an earlier run left and the next may remove. */
static bool is_ours(const char *name)
{
	return is_measurement(name) || is_perf_map(name) ||
	       sn_text_ends(name, SN_TRACE_FILE_SUFFIX) || sn_text_ends(name, SN_RUN_FILE_SUFFIX) ||
	       sn_text_ends(name, SN_PROGRAMS_FILE_SUFFIX) ||
	       sn_text_ends(name, SN_HLO_FILE_SUFFIX) || sn_text_ends(name, SN_CODE_FILE_SUFFIX) ||
	       sn_text_ends(name, SN_CUBIN_FILE_SUFFIX) ||
	       sn_text_ends(name, SN_CODE_OBJECT_FILE_SUFFIX) ||
	       sn_text_ends(name, SN_START_FILE_SUFFIX) || sn_frameworks_owns(name);
}

/* ---- the folder ---- */

/* What is in the folder; NULL with errno. */
static DIR *open_entries(const struct sn_launch_request *launch)
{
	int fd = openat(launch->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);
	if (!entries && fd >= 0)
		close(fd);
	return entries;
}

/* The next name, or NULL: there is no more, and the folder is closed. */
static const char *next_name(DIR *entries)
{
	struct dirent *entry = NULL;
	while (entries && (entry = readdir(entries)) &&
	       (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")))
		;
	if (entries && !entry)
		closedir(entries);
	return entry ? entry->d_name : NULL;
}

static int empty_folder(const struct sn_launch_request *launch, const char *folder,
			struct sn_error *error)
{
	DIR *entries = open_entries(launch);
	if (!entries)
		return sn_fail(error, SN_ERR_IO, "cannot open '%s': %s", folder, strerror(errno));
	int status = 0;
	for (const char *name; (name = next_name(entries));)
		if (!status && !is_ours(name))
			status = sn_fail(
			    error, SN_ERR_ARGUMENT,
			    "'%s' holds '%s', which is not of a measurement: choose another -o",
			    folder, name);
	entries = status ? NULL : open_entries(launch);
	if (!status && !entries)
		status = sn_fail(error, SN_ERR_IO, "cannot open '%s': %s", folder, strerror(errno));
	for (const char *name; (name = next_name(entries));)
		if (sn_frameworks_owns(name))
			sn_path_remove_tree(launch->directory, name);
		else if (is_ours(name))
			unlinkat(launch->directory, name, 0);
	return status;
}

/*
 * Until this process ends, by whatever means, nobody else may take the folder; the ranks of one run
 * share it. File systems that cannot lock a folder (some network ones) go without.
 */
static int lock_folder(const struct sn_launch_request *launch, const char *folder, bool is_shared,
		       struct sn_error *error)
{
	if (flock(launch->directory, (is_shared ? LOCK_SH : LOCK_EX) | LOCK_NB) &&
	    errno == EWOULDBLOCK)
		return sn_fail(error, SN_ERR_ARGUMENT,
			       "'%s' is being measured into by another run: choose another -o",
			       folder);
	return 0; /* never closed: the lock is to last as long as this process */
}

int sn_launch_folder(struct sn_launch_request *launch, const char *folder, struct sn_error *error)
{
	bool is_joined = sn_launch_is_joined(), is_new;
	int status = sn_launch_open_folder(launch, folder, &is_new, error);
	if (!status)
		status = lock_folder(launch, folder, is_joined, error);
	if (!status && !is_new && !is_joined)
		status = empty_folder(launch, folder, error);
	if (!status && faccessat(launch->directory, ".", W_OK | X_OK, AT_EACCESS))
		status =
		    sn_fail(error, SN_ERR_IO, "cannot write to '%s': %s", folder, strerror(errno));
	return status;
}

bool sn_launch_is_empty(const struct sn_launch_request *launch)
{
	DIR *entries = open_entries(launch);
	bool has_any = false;
	for (const char *name; (name = next_name(entries));)
		has_any |= is_measurement(name) || sn_text_ends(name, SN_TRACE_FILE_SUFFIX);
	return !has_any;
}

/* ---- processes that outlive the program ---- */

#define SETTLE_STEP_MS 20
#define SETTLE_STEPS   50

static bool has_last_snapshot(int directory, const char *name)
{
	struct sn_commit_slot slots[2] = {0};
	int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return true;
	for (int index = 0; index < 2; index++)
		if (pread(fd, &slots[index], sizeof(*slots), SN_COMMIT_SLOT_OFFSET(index)) !=
		    sizeof(*slots))
			slots[index].sequence = 0;
	close(fd);
	return slots[slots[1].sequence > slots[0].sequence].is_final;
}

/* A file of the collector is named HOST-PID-START and a suffix, and a host's name may have dashes: what
 * follows the last dash but `others`. */
static const char *part_of(const char *name, int others)
{
	const char *dot = strrchr(name, '.');
	const char *place = dot ? dot : name + strlen(name);
	for (int dashes = 0; place > name; place--)
		if (place[-1] == '-' && ++dashes > others)
			break;
	return place;
}

static int process_of(const char *name)
{
	return atoi(part_of(name, 1));
}

static bool is_running(int directory, const char *name)
{
	int pid = is_measurement(name) ? process_of(name) : 0;
	return pid > 0 && (!kill(pid, 0) || errno == EPERM) && !has_last_snapshot(directory, name);
}

static unsigned count_running(const struct sn_launch_request *launch)
{
	unsigned running = 0;
	DIR *entries = open_entries(launch);
	for (const char *name; (name = next_name(entries));)
		running += is_running(launch->directory, name);
	return running;
}

unsigned sn_launch_settle(const struct sn_launch_request *launch)
{
	unsigned running = count_running(launch);
	for (int step = 0; running && step < SETTLE_STEPS; step++) {
		nanosleep(&(struct timespec){0, SETTLE_STEP_MS * 1000000}, NULL);
		running = count_running(launch);
	}
	return running;
}

/* ---- code made at run time ---- */

/* When the measurement began, in seconds since the Unix epoch; its name tells. */
static time_t start_of(const char *name)
{
	struct timespec running, today;
	clock_gettime(CLOCK_MONOTONIC, &running);
	clock_gettime(CLOCK_REALTIME, &today);
	uint64_t seconds = strtoull(part_of(name, 0), NULL, 16) / 1000000000u;
	return today.tv_sec - (running.tv_sec - (time_t)seconds);
}

/* The process's map, not an earlier one's of that number, and not by somebody else's hand: then
 * *is_foreign. */
static int open_perf_map(const char *measurement, bool *is_foreign)
{
	char path[64];
	struct stat status;
	*is_foreign = false;
	snprintf(path, sizeof(path), "/tmp/" SN_PERF_MAP_PREFIX "%d" SN_PERF_MAP_SUFFIX,
		 process_of(measurement));
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
	if (fd < 0)
		return -1;
	if (!fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_nlink == 1 &&
	    status.st_mtime + 1 >= start_of(measurement)) {
		if (status.st_uid == geteuid())
			return fd;
		*is_foreign = true;
	}
	close(fd);
	return -1;
}

/* The file of the map in the folder. */
static int open_kept(int directory, int pid, int flags, mode_t mode, char *name, size_t size)
{
	snprintf(name, size, SN_PERF_MAP_PREFIX "%d" SN_PERF_MAP_SUFFIX, pid);
	if (flags & O_EXCL)
		unlinkat(directory, name, 0);
	return openat(directory, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | flags, mode);
}

/* Not more than a reader takes, and one byte by which it knows that there was more. */
static void keep_perf_map(int directory, int from, int pid, mode_t mode)
{
	char name[64];
	int to = open_kept(directory, pid, O_EXCL, mode, name, sizeof(name));
	uint64_t left = SN_PERF_MAP_BYTES_MAX + 1;
	ssize_t copied = -1;
	while (to >= 0 && left && (copied = sendfile(to, from, NULL, left)) > 0)
		left -= (uint64_t)copied;
	if (to >= 0)
		close(to);
	/* names of a part of the code would pass for those of all */
	if (copied < 0)
		unlinkat(directory, name, 0);
}

/* False where another rank's launcher will take the file, or its process goes on writing it. */
static bool is_ours_to_add(const char *name)
{
	struct utsname host;
	if (!sn_text_ends(name, SN_CODE_FILE_SUFFIX))
		return false;
	if (!sn_launch_is_joined())
		return true;
	return !uname(&host) && sn_text_begins(name, host.nodename) &&
	       name[strlen(host.nodename)] == '-' && kill(process_of(name), 0) && errno == ESRCH;
}

/* Names that the collector has written itself, behind those of the process's own map. */
static void add_code_names(const struct sn_launch_request *launch)
{
	DIR *entries = open_entries(launch);
	for (const char *name; (name = next_name(entries));) {
		char kept[64], bytes[65536];
		int from = is_ours_to_add(name)
			       ? openat(launch->directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
			       : -1;
		if (from < 0)
			continue;
		int to = open_kept(launch->directory, process_of(name), O_APPEND,
				   launch->is_shared ? 0666 : 0600, kept, sizeof(kept));
		for (ssize_t got; to >= 0 && (got = read(from, bytes, sizeof(bytes))) > 0;)
			if (write(to, bytes, (size_t)got) != got)
				break;
		if (to >= 0)
			close(to);
		close(from);
		unlinkat(launch->directory, name, 0);
	}
}

int sn_launch_keep_perf_maps(const struct sn_launch_request *launch)
{
	DIR *entries = open_entries(launch);
	int foreign = 0;
	for (const char *name; (name = next_name(entries));) {
		bool is_foreign = false;
		int from = is_measurement(name) ? open_perf_map(name, &is_foreign) : -1;
		if (is_foreign)
			foreign = process_of(name);
		if (from < 0)
			continue;
		keep_perf_map(launch->directory, from, process_of(name),
			      launch->is_shared ? 0666 : 0600);
		close(from);
	}
	add_code_names(launch);
	return foreign;
}

/* ---- the library ---- */

int sn_launch_library(struct sn_launch_request *launch, struct sn_error *error)
{
	static const char *const places[] = {"../collect/libsonde.so",
					     "../" SN_LIBDIR "/libsonde.so", "../lib/libsonde.so",
					     "libsonde.so"};
	char self[PATH_MAX], candidate[PATH_MAX + 64];
	const char *told = getenv("SONDE_LIBRARY");
	if (told && *told)
		return realpath(told, launch->library)
			   ? 0
			   : sn_fail(error, SN_ERR_MISSING, "cannot find SONDE_LIBRARY '%s': %s",
				     told, strerror(errno));
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (length < 0)
		return sn_fail(error, SN_ERR_IO, "cannot read /proc/self/exe: %s", strerror(errno));
	self[length] = 0;
	*strrchr(self, '/') = 0;
	for (size_t index = 0; index < sizeof(places) / sizeof(*places); index++) {
		snprintf(candidate, sizeof(candidate), "%s/%s", self, places[index]);
		if (realpath(candidate, launch->library))
			return 0;
	}
	return sn_fail(error, SN_ERR_MISSING,
		       "cannot find libsonde.so beside '%s': is Sonde installed whole?", self);
}

/* ---- the program ---- */

/* Puts the library in front of what a variable lists, separated by colons. */
static int put_first(const char *variable, const char *library)
{
	const char *others = getenv(variable);
	char *list = NULL;
	if (asprintf(&list, "%s%s%s", library, others && *others ? ":" : "", others ? others : "") <
	    0)
		return -1;
	int status = setenv(variable, list, 1);
	free(list);
	return status;
}

static void set_optional(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
}

static void set_number(const char *name, unsigned long number)
{
	char text[24];
	snprintf(text, sizeof(text), "%lu", number);
	set_optional(name, number ? text : NULL);
}

/* Of files that others may read: what the umask leaves, which the program may change. */
static void set_sharing(const struct sn_launch_request *launch)
{
	char text[8];
	mode_t mask = umask(0);
	umask(mask);
	snprintf(text, sizeof(text), "%04o", 0666 & ~(unsigned)mask);
	if (launch->is_shared)
		setenv("SONDE_SHARE", text, 1);
	else
		unsetenv("SONDE_SHARE");
}

/* Sets a switch that the user has not set, and writes down that it is ours: programs that are not measured see none. */
static void set_switch(const char *name, const char *value)
{
	const char *before = getenv("SONDE_SWITCHES");
	char ours[256];
	if (getenv(name))
		return;
	setenv(name, value, 1);
	snprintf(ours, sizeof(ours), "%s%s%s", before ? before : "", before && *before ? ":" : "",
		 name);
	setenv("SONDE_SWITCHES", ours, 1);
}

/*
 * SYCL's runtime tells tools of submissions, at the cost of some microseconds each: only if operators are to be exact. A tool that
 * the user named has it for itself.
 */
static void name_sycl_tool(const char *library, const char *operators)
{
	if (!operators || strcmp(operators, "exact") != 0 || getenv("XPTI_TRACE_ENABLE") ||
	    getenv("XPTI_SUBSCRIBERS") || getenv("XPTI_FRAMEWORK_DISPATCHER"))
		return;
	setenv("XPTI_SUBSCRIBERS", library, 1);
	set_switch("XPTI_TRACE_ENABLE", "1");
	set_switch("XPTI_FRAMEWORK_DISPATCHER", "libxptifw.so");
}

static void set_environment(const struct sn_launch_request *launch)
{
	char number[16];
	if (!launch->not_preloaded)
		put_first("LD_PRELOAD", launch->library);
	setenv("SONDE_OUTPUT", launch->folder, 1);
	setenv("SONDE_FOLDER", launch->identity, 1);
	set_sharing(launch);
	set_optional("SONDE_COMMAND", launch->no_command ? "0" : NULL);
	set_optional("SONDE_EVENTS", launch->events);
	set_optional("SONDE_CALL_PATH", launch->call_path);
	set_optional("SONDE_OPERATORS", launch->operators);
	set_number("SONDE_MEMORY", launch->tensor_memory);
	set_optional("SONDE_GRAPH", launch->graph);
	set_optional("SONDE_GPU_GRAPHS", launch->gpu_graphs);
	set_optional("SONDE_GPU_API", launch->gpu_api);
	set_optional("SONDE_GPU_SAMPLES", launch->gpu_samples);
	set_optional("SONDE_GPU_SAMPLES_IN", launch->gpu_samples_in);
	set_number("SONDE_GPU_MIGRATIONS", launch->gpu_migrations);
	set_number("SONDE_GPU_HARDWARE_TIMES", launch->gpu_hardware_times);
	set_optional("SONDE_GPU_COUNTERS", launch->gpu_counters);
	set_optional("SONDE_GPU_METRICS", launch->gpu_metrics);
	set_number("SONDE_SHADOW", launch->shadow);
	set_number("SONDE_CHECKPOINT_MS", launch->checkpoint_ms);
	set_number("SONDE_MEMORY_LIMIT_MB", launch->memory_limit_mb);
	put_first("OPENCL_LAYERS", launch->library);
	/* GCC's address sanitizer refuses to start behind a preloaded library unless it is told to
	 */
	put_first("ASAN_OPTIONS", "verify_asan_link_order=0");
	/* a program that starts under more of them was confined by somebody in between */
	int filters = sn_filters_in_force();
	snprintf(number, sizeof(number), "%d", filters);
	set_optional("SONDE_FILTERS", filters < 0 ? NULL : number);
	/* the line that starts `sonde run` is no part of what is measured here */
	setenv("SONDE_START_PATH", "", 1);
	/* runtimes that load one tool by name: one that the user asked for stays */
	setenv("NVTX_INJECTION64_PATH", launch->library, 0);
	setenv("INTEL_LIBITTNOTIFY64", launch->library, 0);
	setenv("CUDA_INJECTION64_PATH", launch->library, 0);
	set_switch("ZE_ENABLE_TRACING_LAYER", "1");
	name_sycl_tool(launch->library, launch->operators);
}

static pid_t program_pid;

/* What the program sends to its group it has got itself, and so it has what a terminal sends. */
static void pass_on(int signal, siginfo_t *info, void *unused)
{
	bool is_from_terminal = signal == SIGTSTP && info->si_code == SI_KERNEL;
	if (info->si_pid != program_pid && !is_from_terminal)
		kill(program_pid, signal);
}

/* What a signal means while the program runs is for the program to decide: it is passed on, but for
 * those that a terminal sends to it as well. */
static void guard_signals(struct sigaction old[NSIG])
{
	static const int guarded[] = {SIGINT,  SIGQUIT, SIGTERM,   SIGHUP,  SIGUSR1,
				      SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGSTKFLT,
				      SIGIO,   SIGPWR,	SIGTSTP};
	sigset_t all;
	sigemptyset(&all);
	for (size_t i = 0; i < sizeof(guarded) / sizeof(*guarded); i++)
		sigaddset(&all, guarded[i]);
	for (int signal = SIGRTMIN; signal <= SIGRTMAX; signal++)
		sigaddset(&all, signal);
	for (int signal = 1; signal < NSIG; signal++) {
		struct sigaction action = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO};
		if (signal == SIGINT || signal == SIGQUIT)
			action = (struct sigaction){.sa_handler = SIG_IGN};
		old[signal] = (struct sigaction){.sa_flags = -1}; /* none */
		if (sigismember(&all, signal))
			sigaction(signal, &action, &old[signal]);
	}
}

static void unguard_signals(const struct sigaction old[NSIG])
{
	for (int signal = 1; signal < NSIG; signal++)
		if (old[signal].sa_flags != -1)
			sigaction(signal, &old[signal], NULL);
}

static int ended_by; /* a signal; 0: it exited */

int sn_launch_signal(void)
{
	return ended_by;
}

static uint64_t time_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_usec * 1000u;
}

/*
 * What the kernel says the program used, with all processes that were waited for: what of it no
 * measurement accounts for was lost. Where it cannot be written the analysis does without.
 */
static void write_run(const struct sn_launch_request *launch, uint64_t start_ns,
		      const struct rusage *used)
{
	char name[512];
	struct utsname host;
	if (uname(&host))
		return;
	snprintf(name, sizeof(name), "%s-%d-%" PRIx64 SN_RUN_FILE_SUFFIX, host.nodename,
		 program_pid, start_ns);
	int fd =
	    openat(launch->directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		   launch->is_shared ? 0666 : 0600);
	if (fd < 0)
		return;
	int bytes = dprintf(fd,
			    "host=%s\npid=%d\nstart_monotonic_ns=%" PRIu64
			    "\nend_monotonic_ns=%" PRIu64 "\ncpu_ns=%" PRIu64 "\n",
			    host.nodename, program_pid, start_ns, sn_clock_now_ns(CLOCK_MONOTONIC),
			    time_ns(&used->ru_utime) + time_ns(&used->ru_stime));
	close(fd);
	if (bytes < 0)
		unlinkat(launch->directory, name, 0);
}

/*
 * The program has stopped. A shell with job control waits for this process: it sees the stop if
 * this process stops too. Nobody else would continue it.
 */
static void stop_with_program(void)
{
	siginfo_t continued = {0};
	int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
	if (terminal < 0)
		return;
	close(terminal);
	if (getsid(getppid()) != getsid(0) || getpgid(getppid()) == getpgrp())
		return;
	raise(SIGSTOP);
	waitid(P_PID, (id_t)program_pid, &continued, WCONTINUED | WNOHANG | WNOWAIT);
	if (!continued.si_pid) /* whoever continued this process did not mean the group */
		kill(program_pid, SIGCONT);
}

static int wait_for_program(int *status, struct rusage *used)
{
	int ended;
	for (;;) {
		pid_t seen = wait4(program_pid, &ended, WUNTRACED, used);
		if (seen < 0 && errno != EINTR)
			return -1;
		if (seen == program_pid && !WIFSTOPPED(ended))
			break;
		if (seen == program_pid)
			stop_with_program();
	}
	ended_by = WIFSIGNALED(ended) ? WTERMSIG(ended) : 0;
	*status = WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
	return 0;
}

/* In the child; reports through the pipe only if the program could not be started. Begins when the
 * other end of `hold` is closed. */
static void become_program(const struct sn_launch_request *launch, char *const *command, int report,
			   const int hold[2])
{
	char nothing;
	close(hold[1]);
	while (read(hold[0], &nothing, 1) < 0 && errno == EINTR)
		;
	set_environment(launch);
	sn_command_signals_restore();
	execvp(command[0], command);
	int reason = errno;
	if (write(report, &reason, sizeof(reason)) < 0)
		_exit(127);
	_exit(127);
}

int sn_launch_program(const struct sn_launch_request *launch, char *const *command, int *status,
		      struct sn_error *error)
{
	int report[2], hold[2], reason = 0;
	struct sigaction old[NSIG];
	struct rusage used;
	uint64_t start_ns = sn_clock_now_ns(CLOCK_MONOTONIC);
	if (strpbrk(launch->library, ": "))
		return sn_fail(error, SN_ERR_ARGUMENT,
			       "cannot preload '%s': its path has a space or a colon",
			       launch->library);
	if (pipe2(report, O_CLOEXEC) || pipe2(hold, O_CLOEXEC))
		return sn_fail(error, SN_ERR_IO, "cannot make a pipe: %s", strerror(errno));
	program_pid = fork();
	if (program_pid < 0)
		return sn_fail(error, SN_ERR_IO, "cannot fork: %s", strerror(errno));
	if (!program_pid)
		become_program(launch, command, report[1], hold);
	guard_signals(old);
	close(report[1]);
	close(hold[0]);
	if (launch->on_start)
		launch->on_start(launch->start_context, program_pid);
	close(hold[1]);
	bool failed = read(report[0], &reason, sizeof(reason)) == sizeof(reason);
	close(report[0]);
	if (wait_for_program(status, &used))
		return sn_fail(error, SN_ERR_IO, "cannot wait for '%s': %s", command[0],
			       strerror(errno));
	unguard_signals(old);
	if (failed)
		return sn_fail(error, SN_ERR_IO, "cannot run '%s': %s", command[0],
			       strerror(reason));
	if (!sn_launch_is_empty(launch))
		write_run(launch, start_ns, &used);
	return 0;
}
