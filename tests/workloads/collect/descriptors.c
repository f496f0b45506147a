/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that use descriptor numbers as they please, for tests/cli/collect/test_descriptors.py.
 * What they print does not depend on who else has descriptors in them:
 *
 *	take		put the read end of a pipe on every number by the bare system call, work, end
 *			threads, fork: is every byte and every number still the program's?
 *	close		the same, then close() each number
 *	fill N		N threads, then open files until there is no descriptor left
 *	count N		the numbers in use before, while and after N threads work, the most and least
 *	limits		lower and raise the limit while threads come and go
 *	swap		a second thread moves files between numbers all the time
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TOP   3000
#define BYTES 4096

static pthread_barrier_t barrier;

/* CPU time and page faults. */
static void work(long ms)
{
	struct timespec start, now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	do {
		char *pages =
		    mmap(NULL, 1 << 18, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		for (int at = 0; at < 1 << 18; at += 4096)
			pages[at] = 1;
		munmap(pages, 1 << 18);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < ms);
}

static void *work_twice(void *ms)
{
	work((long)ms);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	work((long)ms);
	return NULL;
}

static pthread_t *start_threads(int count, long ms)
{
	pthread_t *threads = calloc((size_t)count, sizeof(*threads));
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	pthread_barrier_init(&barrier, NULL, (unsigned)count + 1);
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], &small, work_twice, (void *)ms)) {
			puts("no thread");
			exit(1);
		}
	pthread_barrier_wait(&barrier);
	return threads;
}

static void end_threads(pthread_t *threads, int count)
{
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

static int numbers_in_use(int from, int to)
{
	int count = 0;
	for (int fd = from; fd < to; fd++)
		count += syscall(SYS_fcntl, fd, F_GETFD) >= 0;
	return count;
}

/* A pipe with BYTES bytes whose read end is on every number from 3 on; which number is last. */
static int take_all(int *reader)
{
	static char bytes[BYTES];
	int ends[2], last = 0;
	if (pipe(ends))
		return 0;
	memset(bytes, 'x', sizeof(bytes));
	if (write(ends[1], bytes, sizeof(bytes)) != sizeof(bytes))
		return 0;
	close(ends[1]);
	for (int fd = 3; fd < TOP; fd++)
		if (fd != ends[0] && syscall(SYS_dup3, ends[0], fd, 0) == fd)
			last = fd;
	*reader = ends[0];
	return last;
}

static int bytes_left(int reader)
{
	static char bytes[2 * BYTES];
	int count = 0, got;
	while ((got = (int)read(reader, bytes + count, sizeof(bytes) - (size_t)count)) > 0)
		count += got;
	return count;
}

static void run_take(void)
{
	int reader, status;
	pthread_t *threads = start_threads(8, 20);
	int last = take_all(&reader);
	int before = numbers_in_use(3, last + 1);
	work(1000);
	end_threads(threads, 8);
	pid_t child = fork();
	if (!child)
		_exit(numbers_in_use(3, last + 1) == before ? 7 : 8);
	waitpid(child, &status, 0);
	work(50);
	printf("child %d, lost %d, bytes %d\n", WEXITSTATUS(status),
	       before - numbers_in_use(3, last + 1), bytes_left(reader));
}

/* Numbers that are the file `one`. */
static int numbers_of(const struct stat *one, int to)
{
	struct stat status;
	int count = 0;
	for (int fd = 3; fd < to; fd++)
		count += !fstat(fd, &status) && status.st_dev == one->st_dev &&
			 status.st_ino == one->st_ino;
	return count;
}

static void run_close(void)
{
	int reader, refused = 0;
	struct stat pipe_status;
	pthread_t *threads = start_threads(4, 20);
	int last = take_all(&reader);
	fstat(reader, &pipe_status);
	for (int fd = 3; fd <= last; fd++)
		refused += close(fd) != 0;
	end_threads(threads, 4);
	printf("refused %d, left %d\n", refused, numbers_of(&pipe_status, last + 1));
}

static void run_fill(int count)
{
	int opened = 0;
	pthread_t *threads = start_threads(count, 1);
	while (open("/dev/null", O_RDONLY) >= 0)
		opened++;
	printf("opened %d, %s\n", opened, strerror(errno));
	end_threads(threads, count);
}

static void run_count(int count)
{
	int at_first = numbers_in_use(0, 20000);
	pthread_t *threads = start_threads(count, 20);
	int then = numbers_in_use(0, 20000);
	end_threads(threads, count);
	printf("%d %d %d\n", at_first, then, numbers_in_use(0, 20000));
}

static void run_limits(void)
{
	struct rlimit usual, few;
	getrlimit(RLIMIT_NOFILE, &usual);
	for (int turn = 0; turn < 20; turn++) {
		few = usual;
		few.rlim_cur = turn % 2 ? 16 : usual.rlim_cur;
		setrlimit(RLIMIT_NOFILE, &few);
		pthread_t *threads = start_threads(4, 5);
		int first = open("/dev/null", O_RDONLY), opened = first >= 0, fd = first;
		for (; opened < 12 && fd >= 0; opened += fd >= 0)
			fd = open("/dev/null", O_RDONLY);
		end_threads(threads, 4);
		for (fd = first; fd < first + opened; fd++)
			close(fd);
		printf("%d from %d\n", opened, first);
	}
	setrlimit(RLIMIT_NOFILE, &usual);
	getrlimit(RLIMIT_NOFILE, &few);
	printf("%d\n", few.rlim_cur == usual.rlim_cur && few.rlim_max == usual.rlim_max);
}

static volatile int ends;

/* Puts a file where others may have theirs and takes it away again. */
static void *swap(void *reader)
{
	while (!ends)
		for (int fd = 900; fd < 1100; fd++)
			if (syscall(SYS_dup3, *(int *)reader, fd, 0) == fd)
				syscall(SYS_close, fd);
	return NULL;
}

static void run_swap(void)
{
	static char bytes[BYTES];
	int pair[2];
	pthread_t swapper;
	if (pipe(pair) || write(pair[1], bytes, sizeof(bytes)) != sizeof(bytes))
		return;
	close(pair[1]);
	pthread_create(&swapper, NULL, swap, &pair[0]);
	for (int turn = 0; turn < 20; turn++)
		end_threads(start_threads(4, 5), 4);
	ends = 1;
	pthread_join(swapper, NULL);
	printf("bytes %d\n", bytes_left(pair[0]));
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int count = argc > 2 ? atoi(argv[2]) : 0;
	if (!strcmp(what, "take"))
		run_take();
	else if (!strcmp(what, "close"))
		run_close();
	else if (!strcmp(what, "fill"))
		run_fill(count);
	else if (!strcmp(what, "count"))
		run_count(count);
	else if (!strcmp(what, "limits"))
		run_limits();
	else if (!strcmp(what, "swap"))
		run_swap();
	return 0;
}
