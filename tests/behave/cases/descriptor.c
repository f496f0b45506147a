/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors. Programs count on getting the lowest free number, close what they did not open, put
 * their own files on any number, and go up to their limit.
 */
#include "../behave.h"

#include <dirent.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/timerfd.h>

static void limit_files(rlim_t count)
{
	struct rlimit limit;
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = count;
	if (count > limit.rlim_max)
		limit.rlim_max = count;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		skip("the limit of open files cannot be set");
}

/* Numbers that are open, from the system call's view: as 0-2,5,9. */
static void say_open(const char *when, int end)
{
	char text[1500] = "";
	size_t bytes = 0;
	for (int fd = 0; fd < end && bytes < 1400; fd++) {
		int first = fd;
		while (fd < end && fcntl(fd, F_GETFD) >= 0)
			fd++;
		if (fd > first)
			bytes +=
			    (size_t)snprintf(text + bytes, sizeof(text) - bytes,
					     fd == first + 1 ? " %d" : " %d-%d", first, fd - 1);
	}
	say("%s:%s\n", when, text);
}

static void say_listed(const char *when)
{
	int count = 0, highest = 0;
	DIR *folder = opendir("/proc/self/fd");
	for (struct dirent *entry; folder && (entry = readdir(folder));)
		if (*entry->d_name != '.') {
			int fd = atoi(entry->d_name);
			count += fd != dirfd(folder);
			highest = fd != dirfd(folder) && fd > highest ? fd : highest;
		}
	closedir(folder);
	say("%s: %d listed, up to %d\n", when, count, highest);
}

static void *work_in_thread(void *unused)
{
	work(3);
	return unused;
}

static void some_threads(int count)
{
	pthread_t threads[64];
	for (int index = 0; index < count; index++)
		pthread_create(&threads[index], NULL, work_in_thread, NULL);
	for (int index = 0; index < count; index++)
		pthread_join(threads[index], NULL);
}

static void some_children(int count)
{
	for (int index = 0; index < count; index++) {
		pid_t child = MUST(fork());
		if (!child) {
			work(2);
			_exit(index);
		}
		char expected[20];
		snprintf(expected, sizeof(expected), "exit %d", index);
		if (strcmp(ended(child), expected))
			say("child ended otherwise\n");
	}
}

/* ---- numbers ---- */

CASE(lowest)
{
	int pair[2];
	work(20);
	say("open %d", open("/dev/null", O_RDONLY));
	say(" dup %d", dup(0));
	MUST(pipe(pair));
	say(" pipe %d %d", pair[0], pair[1]);
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	say(" sockets %d %d", pair[0], pair[1]);
	say(" epoll %d eventfd %d timer %d", epoll_create1(0), eventfd(0, 0),
	    timerfd_create(CLOCK_MONOTONIC, 0));
	close(4);
	work(20);
	some_threads(4);
	some_children(3);
	say(" again %d", open("/dev/null", O_RDONLY));
	say(" at least 20: %d", fcntl(0, F_DUPFD, 20));
	say(" at least 500: %d\n", fcntl(0, F_DUPFD_CLOEXEC, 500));
}

CASE(open_numbers)
{
	limit_files(4096);
	say_open("at start", 4096);
	work(50);
	some_threads(8);
	say_open("after threads", 4096);
	some_children(2);
	say_open("after children", 4096);
}

CASE(listed)
{
	say_listed("at start");
	work(50);
	some_threads(8);
	say_listed("after threads");
	some_children(2);
	say_listed("after children");
}

PART(report)
{
	say_open("  open", argc ? atoi(argv[0]) : 1024);
	say_listed("  ");
	work(5);
	int fd = open("/dev/null", O_RDONLY);
	say("  lowest %d\n", fd);
	close(fd);
}

CASE(inherited)
{
	limit_files(4096);
	work(30);
	int kept = MUST(open("/dev/null", O_RDONLY)),
	    closed = MUST(open("/dev/null", O_RDONLY | O_CLOEXEC));
	MUST(dup2(kept, 70));
	MUST(dup2(kept, 4095));
	(void)closed;
	pid_t child = MUST(fork());
	if (!child)
		become("report", "4096");
	say("%s\n", ended(child));
	close(4095);
	close(70);
	close(kept);
	close(closed);
	become("report", "4096");
}

/* A program that starts without standard streams: what it opens first becomes one of them. */
PART(standard_report)
{
	int out = argc ? atoi(argv[0]) : 1;
	char text[100];
	int first = open("/dev/null", O_RDONLY), second = open("/dev/null", O_RDONLY);
	work(10);
	int bytes = snprintf(text, sizeof(text), "  first %d, second %d\n", first, second);
	if (write(out, text, (size_t)bytes) != bytes)
		_exit(1);
	_exit(0);
}

CASE(standard_closed)
{
	MUST(dup2(1, 60));
	work(10);
	for (int kind = 0; kind < 8; kind++) {
		pid_t child = MUST(fork());
		if (!child) {
			for (int fd = 0; fd < 3; fd++)
				if (kind & (1 << fd))
					close(fd);
			become("standard_report", "60");
		}
		say("%d: %s\n", kind, ended(child));
	}
	close(60);
}

/* ---- its own files on every number ---- */

static void content_of_pipe(void)
{
	int ends[2];
	char text[4096], back[8192];
	size_t got = 0;
	MUST(pipe(ends));
	for (int fd = ends[1] + 1; fd < 3000; fd++)
		if (dup2(ends[0], fd) != fd)
			say("dup2 %d: %s\n", fd, strerror(errno));
	for (int at = 0; at < 4096; at++)
		text[at] = (char)('a' + at % 26);
	MUST(write(ends[1], text, sizeof(text)));
	close(ends[1]);
	work(100);
	some_threads(6);
	some_children(2);
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	for (ssize_t bytes; (bytes = read(ends[0], back + got, sizeof(back) - got)) > 0;)
		got += (size_t)bytes;
	say("read %zu, same %d\n", got, got == 4096 && !memcmp(text, back, 4096));
	say_open("open", 3100);
	close_range(3, ~0u, 0);
}

CASE(pipe_on_every_number)
{
	limit_files(4096);
	work(50);
	content_of_pipe();
}

CASE(pipe_on_every_number_with_threads)
{
	limit_files(4096);
	some_threads(16);
	content_of_pipe();
	some_threads(16);
	content_of_pipe();
}

static void files_on_all(void)
{
	int file = MUST(open("numbers", O_RDWR | O_CREAT | O_TRUNC, 0600)), count = 0, same = 0;
	struct stat first, now;
	MUST(write(file, "0123456789", 10));
	MUST(lseek(file, 3, SEEK_SET));
	while (count < 2000 && dup(file) >= 0)
		count++;
	work(100);
	some_threads(8);
	some_children(3);
	fstat(file, &first);
	for (int fd = file; fd <= file + count; fd++)
		same += !fstat(fd, &now) && now.st_ino == first.st_ino;
	say("first %d, copies %d, the same %d, offset %ld\n", file, count, same,
	    (long)lseek(file, 0, SEEK_CUR));
	close_range((unsigned)file, ~0u, 0);
	unlink("numbers");
}

CASE(close_range_raw)
{
	limit_files(4096);
	work(50);
	syscall(SYS_close_range, 3, ~0u, 0);
	files_on_all();
}

CASE(close_range_libc)
{
	limit_files(4096);
	work(50);
	close_range(3, ~0u, 0);
	files_on_all();
	work(20);
	closefrom(3);
	files_on_all();
}

CASE(close_one_by_one)
{
	limit_files(4096);
	work(50);
	int closed = 0;
	for (int fd = 3; fd < 4096; fd++)
		closed += !close(fd);
	say("closed %d\n", closed);
	files_on_all();
	for (int fd = 3; fd < 4096; fd++)
		syscall(SYS_close, fd);
	files_on_all();
}

/* As Python's subprocess and OpenSSH do: what /proc lists. */
CASE(close_listed)
{
	int closed = 0;
	limit_files(4096);
	work(50);
	DIR *folder = opendir("/proc/self/fd");
	for (struct dirent *entry; (entry = readdir(folder));) {
		int fd = atoi(entry->d_name);
		if (fd > 2 && fd != dirfd(folder))
			closed += !close(fd);
	}
	closedir(folder);
	say("closed %d\n", closed);
	files_on_all();
}

static void *close_in_thread(void *unused)
{
	work(5);
	close_range(3, ~0u, CLOSE_RANGE_UNSHARE);
	work(5);
	return unused;
}

CASE(close_unshared)
{
	pthread_t thread;
	int file = MUST(open("/dev/null", O_RDONLY));
	work(20);
	pthread_create(&thread, NULL, close_in_thread, NULL);
	pthread_join(thread, NULL);
	say("still open: %d\n", fcntl(file, F_GETFD) >= 0);
	MUST(close_range(3, ~0u, CLOSE_RANGE_CLOEXEC));
	say("mark: %d\n", fcntl(file, F_GETFD));
	work(20);
	close(file);
	become("report", NULL);
}

/* Servers that fork and let the child close everything before it works. */
CASE(fork_and_close)
{
	work(20);
	for (int round = 0; round < 30; round++) {
		pid_t child = MUST(fork());
		if (!child) {
			for (int fd = round % 2 ? 0 : 3; fd < 1024; fd++)
				close(fd);
			int first = open("/dev/null", O_RDWR);
			work(2);
			int second = open("/dev/null", O_RDWR);
			_exit(first * 10 + second);
		}
		say("%s%c", ended(child), round % 10 == 9 ? '\n' : ' ');
	}
}

/* ---- the limit ---- */

static int fill_up(void)
{
	int count = 0;
	while (open("/dev/null", O_RDONLY) >= 0)
		count++;
	say("opened %d, then %s\n", count, strerror(errno));
	return count;
}

static void up_to_the_limit(rlim_t limit)
{
	limit_files(limit);
	work(20);
	int count = fill_up();
	work(20);
	some_children(2);
	some_threads(4);
	say("one more: %d\n", open("/dev/null", O_RDONLY));
	close_range(3, ~0u, 0);
	work(10);
	say("again %d\n", fill_up() == count);
	close_range(3, ~0u, 0);
}

CASE(limit_20)
{
	up_to_the_limit(20);
}
CASE(limit_64)
{
	up_to_the_limit(64);
}
CASE(limit_256)
{
	up_to_the_limit(256);
}
CASE(limit_1024)
{
	up_to_the_limit(1024);
}
CASE(limit_lowered)
{
	work(20);
	up_to_the_limit(1024);
	up_to_the_limit(100);
	up_to_the_limit(10);
	up_to_the_limit(3);
}

static pthread_barrier_t barrier;

static void *sit(void *unused)
{
	work(1);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return unused;
}

static void limit_with_threads(int count)
{
	pthread_t *threads = calloc((size_t)count, sizeof(*threads));
	pthread_attr_t attributes;
	limit_files(1024);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 65536);
	pthread_barrier_init(&barrier, NULL, (unsigned)count + 1);
	for (int index = 0; index < count; index++)
		if (pthread_create(&threads[index], &attributes, sit, NULL))
			behave_fail("pthread_create");
	pthread_barrier_wait(&barrier);
	fill_up();
	pthread_barrier_wait(&barrier);
	for (int index = 0; index < count; index++)
		pthread_join(threads[index], NULL);
	fill_up();
	close_range(3, ~0u, 0);
	fill_up();
	close_range(3, ~0u, 0);
}

CASE(limit_with_100_threads)
{
	limit_with_threads(100);
}
CASE(limit_with_900_threads)
{
	limit_with_threads(900);
}

CASE(limit_is_told)
{
	struct rlimit limit;
	for (int kind = 0; kind < RLIM_NLIMITS; kind++) {
		getrlimit(kind, &limit);
		say("%d: %llx %llx\n", kind, (unsigned long long)limit.rlim_cur,
		    (unsigned long long)limit.rlim_max);
	}
	limit_files(333);
	getrlimit(RLIMIT_NOFILE, &limit);
	work(10);
	say("%ld %ld %d\n", (long)limit.rlim_cur, sysconf(_SC_OPEN_MAX), getdtablesize());
	prlimit(0, RLIMIT_NOFILE, NULL, &limit);
	say("%ld\n", (long)limit.rlim_cur);
	syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit);
	say("%ld\n", (long)limit.rlim_cur);
	SAY_RESULT(dup2(0, 333));
	SAY_RESULT(dup2(0, 332));
	close(332);
}

/* ---- others ---- */

CASE(poll_every_number)
{
	struct pollfd all[1024];
	int invalid = 0;
	work(30);
	for (int fd = 0; fd < 1024; fd++)
		all[fd] = (struct pollfd){fd, 0, 0};
	poll(all, 1024, 0);
	for (int fd = 0; fd < 1024; fd++)
		invalid += (all[fd].revents & POLLNVAL) != 0;
	say("not open: %d\n", invalid);
}

/* As nearly every login has it: what starts with a limit below what it could have itself. */
PART(up_to_1024)
{
	up_to_the_limit(1024);
}

CASE(limit_of_a_login)
{
	limit_files(1024);
	become("up_to_1024", NULL);
}

static volatile int foreign;

static void *open_and_look(void *unused)
{
	for (int round = 0; round < 300; round++) {
		struct stat before, after;
		int fd = MUST(memfd_create("own", MFD_CLOEXEC));
		fstat(fd, &before);
		if (round % 32 == 0)
			spin();
		if (fstat(fd, &after) || before.st_ino != after.st_ino || close(fd))
			__atomic_fetch_add(&foreign, 1, __ATOMIC_SEQ_CST);
	}
	return unused;
}

CASE(numbers_come_again)
{
	for (int round = 0; round < 6; round++) {
		pthread_t threads[8];
		for (int index = 0; index < 8; index++)
			pthread_create(&threads[index], NULL, open_and_look, NULL);
		some_children(2);
		for (int index = 0; index < 8; index++)
			pthread_join(threads[index], NULL);
	}
	say("foreign %d\n", foreign);
}

CASE(passed_over_socket)
{
	int pair[2], sent[100], received[100];
	union {
		char bytes[CMSG_SPACE(sizeof(sent))];
		struct cmsghdr align;
	} control = {0};
	char byte = 'x';
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	for (int index = 0; index < 100; index++)
		sent[index] = MUST(memfd_create("passed", 0));
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	*header = (struct cmsghdr){
	    .cmsg_len = CMSG_LEN(sizeof(sent)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
	memcpy(CMSG_DATA(header), sent, sizeof(sent));
	work(10);
	MUST(sendmsg(pair[0], &message, 0));
	work(10);
	message.msg_controllen = sizeof(control.bytes);
	MUST(recvmsg(pair[1], &message, 0));
	memcpy(received, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(received));
	int same = 0;
	for (int index = 0; index < 100; index++) {
		struct stat first, second;
		fstat(sent[index], &first);
		fstat(received[index], &second);
		same += first.st_ino == second.st_ino;
	}
	say("received %d to %d, the same %d\n", received[0], received[99], same);
	close_range(3, ~0u, 0);
}

CASE(highest_numbers)
{
	limit_files(1024);
	work(20);
	for (int fd = 1023; fd > 960; fd--)
		if (dup2(0, fd) != fd || fcntl(fd, F_SETFD, FD_CLOEXEC))
			say("%d: %s\n", fd, strerror(errno));
	work(20);
	some_threads(4);
	say_open("open", 1024);
	for (int fd = 1023; fd > 960; fd--)
		if (close(fd))
			say("close %d: %s\n", fd, strerror(errno));
	work(20);
	say_open("closed", 1024);
}
