/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the machine itself: sampling, preloading, debug files, disk and the daemon; see doctor.h. */
#include "doctor.h"
#include "cmd/run/launch.h"

#include "daemon/kernel/kernel.h"
#include "push/http.h"
#include "show/number.h"
#include "system/perf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The first line of a file; false where it cannot be read. */
static bool read_line(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "re");
	text[0] = '\0';
	if (!file)
		return false;
	bool has_line = fgets(text, (int)size, file) != NULL;
	fclose(file);
	text[strcspn(text, "\n")] = '\0';
	return has_line;
}

static void check_timers(struct sn_diagnosis *diagnosis)
{
	timer_t timer;
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	bool has_timers = !timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer);
	diagnosis->is_essential = true;
	sn_diagnose(diagnosis, "CPU and real time", has_timers ? SN_VERDICT_OK : SN_VERDICT_NO,
		    NULL, has_timers ? "a timer for each thread" : "no timers for threads: %s",
		    strerror(errno));
	diagnosis->is_essential = false;
	if (has_timers)
		timer_delete(timer);
}

int sn_perf_event_error(uint32_t type, uint64_t config)
{
	struct perf_event_attr attribute = {
	    .type = type,
	    .size = sizeof(attribute),
	    .config = config,
	    .disabled = 1,
	    .exclude_kernel = 1,
	    .exclude_hv = 1,
	};
	int descriptor =
	    (int)syscall(SYS_perf_event_open, &attribute, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (descriptor < 0)
		return errno;
	close(descriptor);
	return 0;
}

static void explain_event(struct sn_diagnosis *diagnosis, const char *name, int why)
{
	char paranoid[32];
	bool is_forbidden = why == EACCES || why == EPERM;
	if (why == ENOENT || why == EOPNOTSUPP || why == ENODEV)
		sn_diagnose(
		    diagnosis, name, SN_VERDICT_NO, NULL,
		    "no such counters: a virtual machine without them, or an unknown processor");
	else if (is_forbidden &&
		 read_line("/proc/sys/kernel/perf_event_paranoid", paranoid, sizeof(paranoid)) &&
		 atoi(paranoid) > 2)
		sn_diagnose(diagnosis, name, SN_VERDICT_NO,
			    "sudo sysctl kernel.perf_event_paranoid=1",
			    "kernel.perf_event_paranoid is %s and forbids it", paranoid);
	else if (is_forbidden)
		sn_diagnose(diagnosis, name, SN_VERDICT_NO,
			    "docker run --cap-add PERFMON --security-opt seccomp=unconfined ...",
			    "%s: a container's seccomp profile forbids perf_event_open",
			    strerror(why));
	else
		sn_diagnose(diagnosis, name, SN_VERDICT_NO, NULL, "perf_event_open: %s",
			    strerror(why));
}

static void check_events(struct sn_diagnosis *diagnosis)
{
	int software = sn_perf_event_error(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
	if (software == 0)
		sn_diagnose(diagnosis, "software events", SN_VERDICT_OK, NULL,
			    "page faults, context switches and others of the kernel");
	else
		explain_event(diagnosis, "software events", software);
	static const struct {
		const char *name;
		uint64_t config;
	} events[] = {{"cycles", PERF_COUNT_HW_CPU_CYCLES},
		      {"instructions", PERF_COUNT_HW_INSTRUCTIONS},
		      {"cache-misses", PERF_COUNT_HW_CACHE_MISSES},
		      {"branch-misses", PERF_COUNT_HW_BRANCH_MISSES}};
	char have[128] = "";
	int first = 0;
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++) {
		int why = sn_perf_event_error(PERF_TYPE_HARDWARE, events[i].config);
		size_t used = strlen(have);
		if (why == 0)
			snprintf(have + used, sizeof(have) - used, "%s%s", used ? ", " : "",
				 events[i].name);
		else if (first == 0)
			first = why;
	}
	if (*have)
		sn_diagnose(diagnosis, "hardware events", sn_verdict_of(!first), NULL, "%s", have);
	else
		explain_event(diagnosis, "hardware events", first);
}

/* Whether any process may be sampled, with the kernel's functions. */
static bool may_sample_all(void)
{
	struct perf_event_attr attribute = {.type = PERF_TYPE_SOFTWARE,
					    .size = sizeof(attribute),
					    .config = PERF_COUNT_SW_CPU_CLOCK,
					    .disabled = 1};
	int descriptor =
	    (int)syscall(SYS_perf_event_open, &attribute, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (descriptor >= 0)
		close(descriptor);
	return descriptor >= 0;
}

/* Whether another process's memory may be read, where it is of the same user. */
static bool may_read_own(void)
{
	char scope[32];
	return !geteuid() ||
	       !read_line("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope)) ||
	       !strcmp(scope, "0");
}

/* What sonde record needs. */
static void check_running(struct sn_diagnosis *diagnosis)
{
	static const char name[] = "running processes";
	const char *whose = geteuid() ? "your own" : "any";
	int why = sn_perf_event_error(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	bool sees_all = !why && may_sample_all(), reads = may_read_own();
	if (why)
		explain_event(diagnosis, name, why);
	else if (sees_all && reads)
		sn_diagnose(diagnosis, name, SN_VERDICT_OK, NULL,
			    "%s, and the whole machine, with the kernel's part", whose);
	else
		sn_diagnose(diagnosis, name, SN_VERDICT_LIMITED,
			    sees_all ? "sudo sysctl kernel.yama.ptrace_scope=0"
			    : reads  ? "run as root, or: sudo sysctl kernel.perf_event_paranoid=-1"
				     : "run as root, or: sudo sysctl kernel.perf_event_paranoid=-1 "
				       "kernel.yama.ptrace_scope=0",
			    "%s%s%s", whose,
			    sees_all ? ", and the whole machine" : ", without the kernel's part",
			    reads ? "" : "; no frames of Python");
}

static void check_clock(struct sn_diagnosis *diagnosis)
{
	char source[64];
	if (!read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", source,
		       sizeof(source)))
		return;
	bool is_fast = strcmp(source, "tsc") == 0 || strstr(source, "kvm") ||
		       strstr(source, "hyperv") || strstr(source, "arch_sys");
	sn_diagnose(diagnosis, "clock", sn_verdict_of(is_fast), NULL,
		    is_fast ? "%s" : "%s: reading the time needs a system call, which costs more",
		    source);
}

void sn_diagnose_sampling(struct sn_diagnosis *diagnosis)
{
	diagnosis->group = "Sampling";
	struct utsname system;
	if (uname(&system) == 0)
		sn_diagnose(diagnosis, "kernel", SN_VERDICT_OK, NULL, "%s %s %s, %ld CPUs",
			    system.sysname, system.release, system.machine,
			    sysconf(_SC_NPROCESSORS_ONLN));
	check_timers(diagnosis);
	check_events(diagnosis);
	check_running(diagnosis);
	check_clock(diagnosis);
}

/* Has the loader preload the library into a program that looks at its own mappings. */
static bool preload_works(const char *library)
{
	pid_t child = fork();
	if (child == 0) {
		int null = open("/dev/null", O_RDWR);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		setenv("LD_PRELOAD", library, 1);
		execlp("grep", "grep", "-q", "libsonde", "/proc/self/maps", (char *)NULL);
		_exit(127);
	}
	int status = 0;
	return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

void sn_diagnose_collector(struct sn_diagnosis *diagnosis)
{
	struct sn_launch_request *launch = calloc(1, sizeof(*launch));
	struct sn_error error = {"out of memory"};
	bool is_found = launch && !sn_launch_library(launch, &error);
	diagnosis->group = "Collector";
	diagnosis->is_essential = true;
	sn_diagnose(diagnosis, "libsonde.so", is_found ? SN_VERDICT_OK : SN_VERDICT_NO,
		    is_found ? NULL : "make install", "%s",
		    is_found ? launch->library : error.text);
	if (is_found) {
		bool works = preload_works(launch->library);
		sn_diagnose(diagnosis, "preloading", works ? SN_VERDICT_OK : SN_VERDICT_NO, NULL,
			    "%s",
			    works ? "the dynamic loader takes LD_PRELOAD"
				  : "LD_PRELOAD had no effect: a static or foreign C library, or a "
				    "security policy");
	}
	diagnosis->is_essential = false;
	free(launch);
}

static void check_debug_files(struct sn_diagnosis *diagnosis)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	if (access("/usr/lib/debug/.build-id", R_OK) == 0)
		sn_diagnose(diagnosis, "debug files", SN_VERDICT_OK, NULL,
			    "/usr/lib/debug has separate debug files");
	else
		sn_diagnose(diagnosis, "debug files", SN_VERDICT_LIMITED,
			    "sudo apt install libc6-dbg",
			    "none in /usr/lib/debug: system libraries show functions, not lines%s",
			    urls && *urls ? " (debuginfod is configured, but not asked)" : "");
}

static void check_disk(struct sn_diagnosis *diagnosis)
{
	struct statvfs disk;
	if (statvfs(".", &disk) != 0)
		return;
	double free_bytes = (double)disk.f_bavail * (double)disk.f_frsize;
	bool is_writable = access(".", W_OK) == 0;
	enum sn_verdict verdict =
	    !is_writable || free_bytes < 64e6 ? SN_VERDICT_LIMITED : SN_VERDICT_OK;
	sn_diagnose(diagnosis, "disk space", verdict, NULL, "%s free in this directory%s",
		    sn_number_text(free_bytes, "bytes").text,
		    is_writable ? "" : ", which is not writable: use sonde run -o");
}

/* By the program that it would load, which is run by no more than a sample or two. */
static void check_daemon(struct sn_diagnosis *diagnosis)
{
	const struct sn_kernel_options rarely = {.rate = 1};
	struct sn_error error = {""};
	struct sn_kernel *kernel = NULL;
	if (sn_kernel_open(&rarely, &kernel, &error) < 0) {
		sn_diagnose(diagnosis, "sonde daemon", SN_VERDICT_NO, NULL, "%s", error.text);
		return;
	}
	sn_diagnose(diagnosis, "sonde daemon", SN_VERDICT_OK, NULL,
		    "the kernel takes its program; samples are by %s", sn_kernel_event(kernel));
	sn_kernel_close(kernel);
}

static void check_push(struct sn_diagnosis *diagnosis)
{
	struct sn_error error = {""};
	if (sn_http_is_available(&error))
		sn_diagnose(diagnosis, "sonde push", SN_VERDICT_NO, NULL, "%s", error.text);
	else
		sn_diagnose(diagnosis, "sonde push", SN_VERDICT_OK, NULL, "libcurl is there");
}

void sn_diagnose_system(struct sn_diagnosis *diagnosis)
{
	diagnosis->group = "System";
	check_debug_files(diagnosis);
	check_disk(diagnosis);
	check_daemon(diagnosis);
	check_push(diagnosis);
}

void sn_diagnose_os(struct sn_diagnosis *diagnosis)
{
	diagnosis->group = "Operating system";
	struct sn_os_options options = {.sources = SN_OS_SOURCES_ALL, .ring_bytes = 65536};
	struct sn_os_coverage coverage;
	struct sn_os_perf *perf = NULL;
	struct sn_error error = {""};
	/* opened for ourselves, and never enabled: we do not execute anything */
	if (sn_os_perf_open(&options, 0, &perf, &coverage, &error)) {
		sn_diagnose(diagnosis, "sonde run --os", SN_VERDICT_NO, NULL, "%s", error.text);
		return;
	}
	sn_os_perf_close(perf);
	for (int source = 0; source < SN_OS_SOURCES; source++) {
		const struct sn_os_gap *gap = coverage.gaps + source;
		const char *name = sn_os_source_name((enum sn_os_source)source);
		const char *what = sn_os_source_text((enum sn_os_source)source);
		if (!gap->is_missing) {
			sn_diagnose(diagnosis, name, SN_VERDICT_OK, NULL, "%s", what);
			continue;
		}
		bool is_limited = source == SN_OS_SOURCE_SCHEDULER && coverage.has_switches;
		sn_diagnose(diagnosis, name, is_limited ? SN_VERDICT_LIMITED : SN_VERDICT_NO,
			    gap->fix, "%s%s",
			    is_limited ? "only a program's own context switches: " : "", gap->why);
	}
}
