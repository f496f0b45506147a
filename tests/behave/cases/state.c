/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -lm -ldl */
/*
 * What else a process has and a program may count on: limits, times, threads, keys, memory,
 * folders, users, names. And clocks: a measured program waits as long as it asked for, and has not
 * used the time of somebody else.
 */
#include "../behave.h"

#include <linux/capability.h>
#include <dlfcn.h>
#include <grp.h>
#include <locale.h>
#include <malloc.h>
#include <math.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/times.h>

/* ---- limits ---- */

static void child_with(int kind, rlim_t limit, const char *what)
{
	pid_t child = MUST(fork());
	if (!child) {
		struct rlimit old;
		getrlimit(kind, &old);
		old.rlim_cur = limit;
		if (setrlimit(kind, &old))
			_exit(90);
		work(60);
		pid_t grandchild = fork();
		if (!grandchild) {
			work(5);
			_exit(0);
		}
		if (grandchild > 0)
			waitpid(grandchild, NULL, 0);
		_exit(grandchild < 0 ? 91 : 3);
	}
	say("%s: %s\n", what, ended(child));
}

CASE(small_limits)
{
	work(10);
	child_with(RLIMIT_FSIZE, 0, "no file");
	child_with(RLIMIT_FSIZE, 4096, "small files");
	child_with(RLIMIT_NOFILE, 3, "no descriptors");
	child_with(RLIMIT_AS, 300u << 20, "address space");
	child_with(RLIMIT_DATA, 4u << 20, "data");
	child_with(RLIMIT_STACK, 64u << 10, "stack");
	child_with(RLIMIT_SIGPENDING, 0, "pending signals");
	child_with(RLIMIT_MEMLOCK, 0, "locked memory");
	child_with(RLIMIT_CORE, 0, "core");
	child_with(RLIMIT_MSGQUEUE, 0, "queues");
}

PART(limited)
{
	work(30);
	_exit(4);
}

static void exec_with(int kind, rlim_t limit, const char *what)
{
	pid_t child = MUST(fork());
	if (!child) {
		struct rlimit old;
		getrlimit(kind, &old);
		old.rlim_cur = limit;
		setrlimit(kind, &old);
		become("limited", NULL);
	}
	say("%s: %s\n", what, ended(child));
}

CASE(small_limits_over_exec)
{
	work(10);
	exec_with(RLIMIT_FSIZE, 0, "no file");
	exec_with(RLIMIT_FSIZE, 100, "small files");
	exec_with(RLIMIT_AS, 100u << 20, "address space");
	exec_with(RLIMIT_DATA, 2u << 20, "data");
	exec_with(RLIMIT_STACK, 32u << 10, "stack");
	exec_with(RLIMIT_SIGPENDING, 0, "pending signals");
	exec_with(RLIMIT_NOFILE, 4, "descriptors");
}

CASE(cpu_limit)
{
	work(10);
	pid_t child = MUST(fork());
	if (!child) {
		setrlimit(RLIMIT_CPU, &(struct rlimit){1, 1});
		setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
		for (;;)
			work(10);
	}
	say("%s\n", ended(child));
}

/* ---- times ---- */

static long elapsed_of(void (*what)(int), int count, clockid_t clock)
{
	uint64_t start = now_ns(clock);
	for (int round = 0; round < count; round++)
		what(round);
	return (long)((now_ns(clock) - start) / 1000000);
}

static void sleep_1ms(int round)
{
	(void)round;
	usleep(1000);
}
static void sleep_10ms(int round)
{
	(void)round;
	nanosleep(&(struct timespec){0, 10000000}, NULL);
}
static void poll_10ms(int round)
{
	(void)round;
	spin();
	poll(NULL, 0, 10);
}

/* Never shorter than asked, and not much longer on a machine that has other things to do. */
CASE(sleeps_as_long)
{
	long took[3] = {elapsed_of(sleep_1ms, 100, CLOCK_MONOTONIC),
			elapsed_of(sleep_10ms, 20, CLOCK_MONOTONIC),
			elapsed_of(poll_10ms, 20, CLOCK_MONOTONIC)};
	fprintf(stderr, "took %ld, %ld, %ld ms\n", took[0], took[1], took[2]);
	say("%d %d %d\n", took[0] >= 100 && took[0] < 1500, took[1] >= 200 && took[1] < 2000,
	    took[2] >= 200 && took[2] < 2000);
}

CASE(sleeping_costs_nothing)
{
	long process = elapsed_of(sleep_10ms, 30, CLOCK_PROCESS_CPUTIME_ID);
	fprintf(stderr, "used %ld ms\n", process);
	say("used little: %d\n", process < 60);
}

static void *work_20(void *unused)
{
	work(20);
	return unused;
}

/* The process has used what its threads have, and not twice as much. */
CASE(cpu_clocks)
{
	pthread_t threads[4];
	uint64_t start = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (int index = 0; index < 4; index++)
		pthread_create(&threads[index], NULL, work_20, NULL);
	for (int index = 0; index < 4; index++)
		pthread_join(threads[index], NULL);
	work(120);
	uint64_t used = (now_ns(CLOCK_PROCESS_CPUTIME_ID) - start) / 1000000;
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	struct tms times_now;
	times(&times_now);
	long ticks = sysconf(_SC_CLK_TCK);
	fprintf(stderr, "used %llu ms, %ld ticks\n", (unsigned long long)used,
		(long)(times_now.tms_utime + times_now.tms_stime));
	say("used about 200 ms: %d, rusage %d, times %d, clock %d\n", used >= 200 && used < 290,
	    usage.ru_utime.tv_sec * 1000 + usage.ru_utime.tv_usec / 1000 < 400,
	    (times_now.tms_utime + times_now.tms_stime) * 1000 / ticks < 400,
	    clock() / (CLOCKS_PER_SEC / 1000) < 400);
}

CASE(times_of_children)
{
	struct rusage usage;
	for (int index = 0; index < 5; index++) {
		pid_t child = MUST(fork());
		if (!child) {
			work(20);
			_exit(0);
		}
		MUST(wait4(child, NULL, 0, &usage));
	}
	getrusage(RUSAGE_CHILDREN, &usage);
	long ms = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
		  (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
	fprintf(stderr, "children: %ld ms\n", ms);
	say("children about 100 ms: %d\n", ms >= 95 && ms < 220);
}

/* Timers of CPU time go by the program's clock. */
CASE(alarms_on_time)
{
	static volatile sig_atomic_t late;
	for (int round = 0; round < 10; round++) {
		struct itimerval once = {.it_value = {0, 20000}};
		sigset_t set = set_of(SIGALRM, 0);
		int got;
		sigprocmask(SIG_BLOCK, &set, NULL);
		uint64_t start = now_ns(CLOCK_MONOTONIC);
		setitimer(ITIMER_REAL, &once, NULL);
		work(2);
		sigwait(&set, &got);
		uint64_t ms = (now_ns(CLOCK_MONOTONIC) - start) / 1000000;
		late += ms < 19 || ms > 200;
	}
	say("late %d\n", (int)late);
}

/* ---- threads ---- */

static pthread_barrier_t barrier;

static void *sit(void *unused)
{
	work(1);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return unused;
}

static void say_threads(void)
{
	char line[128];
	FILE *file = fopen("/proc/self/status", "re");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, "Threads:", 8))
			say("%s", line);
	if (file)
		fclose(file);
}

CASE(many_threads)
{
	enum { COUNT = 900 };
	static pthread_t threads[COUNT];
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 65536);
	pthread_barrier_init(&barrier, NULL, COUNT + 1);
	say_threads();
	for (int index = 0; index < COUNT; index++)
		if (pthread_create(&threads[index], &attributes, sit, NULL))
			behave_fail("pthread_create");
	pthread_barrier_wait(&barrier);
	say_threads();
	pthread_barrier_wait(&barrier);
	for (int index = 0; index < COUNT; index++)
		pthread_join(threads[index], NULL);
	say_threads();
}

/* As many as fit into what address space is left. */
CASE(threads_in_little_space)
{
	enum { COUNT = 100 };
	static pthread_t threads[COUNT];
	struct rlimit limit = {400u << 20, 400u << 20};
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 1 << 20);
	work(10);
	setrlimit(RLIMIT_AS, &limit);
	pthread_barrier_init(&barrier, NULL, COUNT + 1);
	int made = 0;
	setenv("MALLOC_ARENA_MAX", "1", 1);
	mallopt(M_ARENA_MAX, 1);
	while (made < COUNT && !pthread_create(&threads[made], &attributes, sit, NULL))
		made++;
	say("made %d\n", made);
	if (made < COUNT)
		_exit(1);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	for (int index = 0; index < made; index++)
		pthread_join(threads[index], NULL);
}

static void *nothing(void *unused)
{
	return unused;
}

CASE(short_threads)
{
	int failed = 0;
	for (int round = 0; round < 1500; round++) {
		pthread_t thread;
		void *result = NULL;
		failed += pthread_create(&thread, NULL, nothing, (void *)7) != 0 ||
			  pthread_join(thread, &result) || result != (void *)7;
	}
	say("failed %d\n", failed);
}

static volatile int destroyed;

static void destroy(void *value)
{
	(void)value;
	__atomic_fetch_add(&destroyed, 1, __ATOMIC_SEQ_CST);
}

static pthread_key_t keys[PTHREAD_KEYS_MAX];
static int key_count;

static void *set_keys(void *unused)
{
	for (int index = 0; index < key_count; index++)
		pthread_setspecific(keys[index], (void *)8);
	work(2);
	return unused;
}

CASE(keys_of_threads)
{
	pthread_t thread;
	work(10);
	while (!pthread_key_create(&keys[key_count], destroy))
		if (++key_count == PTHREAD_KEYS_MAX)
			break;
	say("keys %d\n", key_count);
	for (int round = 0; round < 4; round++) {
		pthread_create(&thread, NULL, set_keys, NULL);
		pthread_join(thread, NULL);
	}
	say("destroyed %d\n", destroyed);
}

CASE(name_and_stack_of_thread)
{
	char name[16];
	pthread_attr_t attributes;
	void *start;
	size_t bytes, guard;
	work(10);
	pthread_getname_np(pthread_self(), name, sizeof(name));
	say("%s\n", name);
	pthread_setname_np(pthread_self(), "own name");
	pthread_getname_np(pthread_self(), name, sizeof(name));
	say("%s\n", name);
	pthread_getattr_np(pthread_self(), &attributes);
	pthread_attr_getstack(&attributes, &start, &bytes);
	pthread_attr_getguardsize(&attributes, &guard);
	say("stack %d guard %zu\n", bytes > 4 << 20, guard);
	pthread_attr_init(&attributes);
	pthread_attr_getstacksize(&attributes, &bytes);
	say("default %zu\n", bytes);
	cpu_set_t set;
	sched_getaffinity(0, sizeof(set), &set);
	say("processors %d, policy %d, nice %d\n", CPU_COUNT(&set), sched_getscheduler(0),
	    getpriority(PRIO_PROCESS, 0));
}

/* ---- namespaces, folders, users ---- */

/* The first process of a namespace does not get signals that it has no handler for. */
static void be_the_first(void)
{
	struct timespec time = {0, 400000000}, left;
	work(20);
	pid_t sender = fork();
	if (!sender) {
		until_asleep(getppid(), getppid());
		EACH_SIGNAL(number)
		kill(1, number);
		for (int number = 1; number < SIGURG; number++)
			if (number != SIGKILL && number != SIGSTOP && number != SIGCHLD &&
			    number != SIGTSTP && number != SIGTTIN && number != SIGTTOU)
				kill(1, number);
		_exit(0);
	}
	SAY_RESULT(clock_nanosleep(CLOCK_MONOTONIC, 0, &time, &left));
	SAY_RESULT(raise(SIGTERM));
	work(20);
	say("%s\n", ended(sender));
}

CASE(first_of_a_namespace)
{
	if (unshare(CLONE_NEWPID))
		skip("no namespace for processes here");
	pid_t child = fork();
	if (!child) {
		be_the_first();
		_exit(5);
	}
	say("%s\n", ended(child));
}

CASE(unshare)
{
	work(20);
	static const int flags[] = {CLONE_NEWUSER, CLONE_NEWNS,	 CLONE_FILES, CLONE_FS,
				    CLONE_NEWPID,  CLONE_NEWNET, CLONE_NEWUTS};
	for (int index = 0; index < 7; index++) {
		pid_t child = MUST(fork());
		if (!child) {
			work(4);
			int error = unshare(flags[index]) ? errno : 0;
			work(4);
			pid_t grandchild = fork();
			if (!grandchild)
				_exit((work(4), 0));
			waitpid(grandchild, NULL, 0);
			_exit(error);
		}
		say("%x: %s\n", (unsigned)flags[index], ended(child));
	}
}

CASE(folders)
{
	MUST(mkdir("gone", 0700));
	MUST(chdir("gone"));
	MUST(rmdir("../gone"));
	work(20);
	pid_t child = MUST(fork());
	if (!child) {
		work(5);
		become("limited", NULL);
	}
	say("%s\n", ended(child));
	char here[PATH_MAX];
	say("%s\n", getcwd(here, sizeof(here)) ? "somewhere" : strerror(errno));
}

CASE(masks_of_files)
{
	umask(0777);
	work(20);
	pid_t child = MUST(fork());
	if (!child)
		become("limited", NULL);
	say("%s\n", ended(child));
	close(MUST(open("strict", O_CREAT | O_RDWR, 0666)));
	umask(0);
	work(20);
	close(MUST(open("open", O_CREAT | O_RDWR, 0666)));
	say("umask %o\n", umask(022));
}

CASE(other_user)
{
	if (geteuid())
		skip("only root can become another user");
	work(20);
	for (int kind = 0; kind < 3; kind++) {
		pid_t child = MUST(fork());
		if (!child) {
			MUST(setgroups(0, NULL));
			MUST(setresgid(65534, 65534, 65534));
			MUST(setresuid(65534, 65534, 65534));
			work(20);
			pid_t grandchild = fork();
			if (!grandchild)
				kind ? _exit((work(5), 0)) : become("limited", NULL);
			waitpid(grandchild, NULL, 0);
			if (kind == 2)
				execl("/bin/sh", "sh", "-c", "exit 11", (char *)NULL);
			_exit(10);
		}
		say("%d: %s\n", kind, ended(child));
	}
}

CASE(root_folder)
{
	if (geteuid())
		skip("only root can change its root");
	work(20);
	MUST(mkdir("root", 0755));
	pid_t child = MUST(fork());
	if (!child) {
		MUST(chroot("root"));
		MUST(chdir("/"));
		work(20);
		pid_t grandchild = fork();
		if (!grandchild)
			_exit((work(5), 0));
		waitpid(grandchild, NULL, 0);
		_exit(access("/etc", F_OK) ? 5 : 6);
	}
	say("%s\n", ended(child));
}

/* ---- memory ---- */

/* Root may lock as much as there is; others mostly 8 MB. */
static void lock_as_a_user(void)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct rights[2];
	struct rlimit limit;
	MUST((int)syscall(SYS_capget, &header, rights));
	rights[0].effective &= ~(1u << CAP_IPC_LOCK);
	MUST((int)syscall(SYS_capset, &header, rights));
	MUST(getrlimit(RLIMIT_MEMLOCK, &limit));
	limit.rlim_cur = limit.rlim_max < 8u << 20 ? limit.rlim_max : 8u << 20;
	MUST(setrlimit(RLIMIT_MEMLOCK, &limit));
}

CASE(locked_memory)
{
	lock_as_a_user();
	work(10);
	int error = mlockall(MCL_CURRENT | MCL_FUTURE) ? errno : 0;
	work(30);
	pthread_t thread;
	say("%s, thread %d\n", strerror(error), pthread_create(&thread, NULL, work_20, NULL));
	pthread_join(thread, NULL);
	munlockall();
}

CASE(own_allocator)
{
	size_t wrong = 0;
	unsigned char *blocks[2000];
	for (int round = 0; round < 10; round++) {
		for (int index = 0; index < 2000; index++)
			memset(blocks[index] = malloc((size_t)(index % 700) + 1), 1,
			       (size_t)(index % 700) + 1);
		spin();
		for (int index = 0; index < 2000; index++) {
			wrong += *blocks[index] != 1;
			free(blocks[index]);
		}
	}
	say("wrong %zu\n", wrong);
	void *before = sbrk(0);
	work(30);
	say("the heap's end moved %d\n", sbrk(0) != before);
}

/* A file that is mapped and then cut, as a trace's may be. */
CASE(cut_file)
{
	int file = MUST(open("cut", O_CREAT | O_RDWR, 0600));
	MUST(ftruncate(file, 65536));
	char *memory = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	memory[40000] = 1;
	pid_t child = MUST(fork());
	if (!child) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
		MUST(ftruncate(file, 100));
		work(10);
		memory[40000] = 2;
		_exit(0);
	}
	say("%s\n", ended(child));
	close(file);
}

/* ---- the library's own state ---- */

CASE(locale)
{
	work(10);
	say("%s\n", setlocale(LC_ALL, NULL));
	printf("%s %.3f\n", setlocale(LC_ALL, "") ? "set" : "not set", 1234.5);
	fflush(stdout);
	work(10);
	say("%s\n", setlocale(LC_NUMERIC, NULL));
}

CASE(randomness)
{
	srand(1);
	srandom(2);
	srand48(3);
	work(30);
	long sum = 0;
	for (int round = 0; round < 1000; round++)
		sum = sum * 7 + rand() + random() + lrand48();
	say("%ld\n", sum);
	char text[] = "a,b,c";
	char *first = strtok(text, ",");
	work(20);
	say("%s %s\n", first, strtok(NULL, ","));
	time_t zero = 0;
	struct tm *utc = gmtime(&zero);
	work(20);
	say("%d\n", utc->tm_year);
}

/* Errors that the loader keeps for the program that asked. */
CASE(loader)
{
	work(10);
	dlopen("/nonexistent.so", RTLD_NOW);
	work(30);
	const char *text = dlerror();
	say("%s\n", text ? text : "no text");
	say("%s\n", dlerror() ? "again" : "nothing");
	void *all = dlopen(NULL, RTLD_NOW), *libm = dlopen("libm.so.6", RTLD_NOW);
	double (*cosine)(double) = (double (*)(double))dlsym(libm, "cos");
	say("%f %d\n", cosine(0), dlsym(all, "no_such_name_anywhere") == NULL);
	dlclose(libm);
	ssize_t (*next)(int, void *, size_t) =
	    (ssize_t(*)(int, void *, size_t))dlsym(RTLD_DEFAULT, "read");
	char byte;
	say("read %zd\n", next(0, &byte, 1));
	Dl_info info;
	say("address %d\n", dladdr((void *)work, &info) && strstr(info.dli_fname, "state") != NULL);
}

/* Errors of calls that are wrapped are those of the calls. */
CASE(errors)
{
	char byte;
	void *volatile wrong = (void *)8;
	volatile int negative = -1;
	errno = 0;
	SAY_RESULT(read(-1, &byte, 1));
	SAY_RESULT(write(-1, &byte, 1));
	SAY_RESULT(close(-1));
	SAY_RESULT(dup2(-1, 5));
	SAY_RESULT(poll(wrong, 1, 0));
	SAY_RESULT(epoll_wait(-1, NULL, 0, 0));
	SAY_RESULT(epoll_wait(0, wrong, negative, 0));
	SAY_RESULT(nanosleep(&(struct timespec){0, 2000000000}, NULL));
	SAY_RESULT(clock_nanosleep(99, 0, &(struct timespec){0, 1}, NULL));
	SAY_RESULT(waitpid(getpid(), NULL, 0));
	SAY_RESULT(accept(0, NULL, NULL));
	SAY_RESULT(recv(0, &byte, 1, 0));
	SAY_RESULT(sigprocmask(77, &(sigset_t){0}, NULL));
	SAY_RESULT(pthread_sigmask(77, &(sigset_t){0}, NULL));
	SAY_RESULT(kill(getpid(), 99));
	SAY_RESULT(setrlimit(99, &(struct rlimit){0}));
	SAY_RESULT(ppoll(NULL, 0, &(struct timespec){-1, 0}, NULL));
	SAY_RESULT(select(-1, NULL, NULL, NULL, NULL));
	SAY_RESULT(select(0, NULL, NULL, NULL, &(struct timeval){-1, 0}));
	SAY_RESULT(signalfd(-1, &(sigset_t){0}, 77));
	SAY_RESULT(flock(-1, LOCK_EX));
	SAY_RESULT(usleep(0));
	errno = 0;
	work(5);
	say("%d\n", errno);
}

/* Signals that wait are counted for all processes of a user: who fills that harms the others. */
static long signals_queued(void)
{
	char line[128];
	long queued = -1;
	FILE *file = fopen("/proc/self/status", "re");
	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "SigQ: %ld", &queued);
	if (file)
		fclose(file);
	return queued;
}

static long queued_in_handler;

static void work_in_handler(int signal)
{
	(void)signal;
	long before = signals_queued();
	work(800);
	queued_in_handler = signals_queued() - before;
}

/* A handler that stands long on a stack that is too small for another frame. */
CASE(signal_queue)
{
	static char stack[16384];
	MUST(sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof(stack)}, NULL));
	MUST(sigaction(SIGUSR1,
		       &(struct sigaction){.sa_handler = work_in_handler, .sa_flags = SA_ONSTACK},
		       NULL));
	/* another process of the user may queue as many in one of these times */
	int times = 5;
	do
		raise(SIGUSR1);
	while (queued_in_handler >= 250 && --times);
	say("few wait: %d\n", queued_in_handler < 250);
	long before, stay;
	times = 5;
	do {
		before = signals_queued();
		work(100);
		stay = signals_queued() - before;
	} while (stay >= 100 && --times);
	say("none stays: %d\n", stay < 100);
}

static void *waits(void *unused)
{
	pause();
	return unused;
}

/* The limit leaves room for 40 signals more; plain, threads take none of it. */
CASE(signals_beside_threads)
{
	struct rlimit limit;
	pthread_t thread;
	int sent = 0;
	sigset_t only = set_of(SIGRTMIN + 3, 0);
	pthread_sigmask(SIG_BLOCK, &only, NULL);
	getrlimit(RLIMIT_SIGPENDING, &limit);
	limit.rlim_cur = (rlim_t)signals_queued() + 40;
	MUST(setrlimit(RLIMIT_SIGPENDING, &limit));
	for (int i = 0; i < 30; i++)
		pthread_create(&thread, NULL, waits, NULL);
	work(50);
	while (sent < 30 && !sigqueue(getpid(), SIGRTMIN + 3, (union sigval){0}))
		sent++;
	say("%d\n", sent);
}

/* What one thread has unmapped stays free until it maps it again. */
#define HOLES		 64
#define HOLE_BYTES(hole) ((size_t)4096 << ((hole) % 8))

static int holes_taken(void)
{
	void *holes[HOLES];
	int taken = 0;
	for (int hole = 0; hole < HOLES; hole++)
		holes[hole] = MUST(
		    mmap(NULL, HOLE_BYTES(hole), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	for (int hole = 0; hole < HOLES; hole++)
		munmap(holes[hole], HOLE_BYTES(hole));
	for (int round = 0; round < 100; round++)
		spin();
	for (int hole = 0; hole < HOLES; hole++)
		taken +=
		    mmap(holes[hole], HOLE_BYTES(hole), PROT_READ,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED;
	for (int hole = 0; hole < HOLES; hole++)
		munmap(holes[hole], HOLE_BYTES(hole));
	return taken;
}

CASE(unmapped_stays_free)
{
	int taken = 0;
	for (int round = 0; round < 150; round++)
		taken += holes_taken();
	say("%d taken\n", taken);
}
