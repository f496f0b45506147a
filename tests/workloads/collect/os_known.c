/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the operating system does for this program is known: os_known MODE [COUNT [FILE]]. For
 * tests/cli/system/test_os.py.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long count;

static double thread_seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void burn(double seconds)
{
	double end = thread_seconds() + seconds;
	while (thread_seconds() < end)
		for (volatile int i = 0; i < 10000; i++)
			;
}

static void nap(long milliseconds)
{
	nanosleep(&(struct timespec){0, milliseconds * 1000000}, NULL);
}

static int sleeps(void)
{
	for (long i = 0; i < count; i++)
		nap(100);
	return 0;
}

/* ---- two threads that wake each other ---- */

static int pipes[2][2];

static void *answer(void *unused)
{
	char byte;
	prctl(PR_SET_NAME, "answerer");
	while (read(pipes[0][0], &byte, 1) == 1 && byte != 'q')
		if (nap(2), write(pipes[1][1], &byte, 1) != 1) /* the other one waits by then */
			break;
	return unused;
}

static int ping_pong(void)
{
	pthread_t thread;
	char byte = 'x';
	if (pipe(pipes[0]) || pipe(pipes[1]))
		return 1;
	pthread_create(&thread, NULL, answer, NULL);
	for (long i = 0; i < count; i++) {
		nap(2);
		if (write(pipes[0][1], &byte, 1) != 1 || read(pipes[1][0], &byte, 1) != 1)
			return 1;
	}
	if (write(pipes[0][1], "q", 1) != 1)
		return 1;
	return pthread_join(thread, NULL);
}

/* ---- system calls, memory, disk, sockets ---- */

static int calls(void)
{
	for (long i = 0; i < count; i++) {
		sched_yield();
		close(-1);
	}
	return 0;
}

static int pages(void)
{
	size_t bytes = (size_t)count * 4096;
	char *place = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (place == MAP_FAILED || madvise(place, bytes, MADV_NOHUGEPAGE))
		return 1;
	printf("%ju %zu\n", (uintmax_t)(uintptr_t)place, bytes);
	fflush(stdout);
	for (size_t i = 0; i < bytes; i += 4096)
		place[i] = 1;
	return 0;
}

/* Exit status 77: not on this file system. */
static int direct(const char *path)
{
	enum { PIECE = 1 << 20 };
	void *buffer;
	int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_DIRECT, 0600);
	if (file < 0 || posix_memalign(&buffer, 4096, PIECE))
		return 77;
	memset(buffer, 7, PIECE);
	for (long i = 0; i < count; i++)
		if (pwrite(file, buffer, PIECE, i * PIECE) != PIECE)
			return 77;
	fsync(file);
	for (long i = 0; i < count; i++)
		if (pread(file, buffer, PIECE, i * PIECE) != PIECE)
			return 77;
	unlink(path);
	return 0;
}

static int sockets(void)
{
	static char bytes[1000];
	struct sockaddr_in place = {.sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(place);
	int listener = socket(AF_INET, SOCK_STREAM, 0), to = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&place, length) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&place, &length) ||
	    connect(to, (struct sockaddr *)&place, length))
		return 1;
	int from = accept(listener, NULL, NULL);
	for (long i = 0; i < count; i++)
		if (send(to, bytes, sizeof(bytes), 0) != sizeof(bytes) ||
		    recv(from, bytes, sizeof(bytes), MSG_WAITALL) != sizeof(bytes))
			return 1;
	return 0;
}

/* ---- two threads on one processor ---- */

static pthread_barrier_t barrier;

static void *share(void *unused)
{
	prctl(PR_SET_NAME, "sharer");
	pthread_barrier_wait(&barrier);
	burn(0.4);
	return unused;
}

static int pinned(void)
{
	pthread_t threads[2];
	cpu_set_t all, one;
	sched_getaffinity(0, sizeof(all), &all);
	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
	pthread_barrier_init(&barrier, NULL, 2);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, share, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static int children(void)
{
	for (long i = 0; i < count; i++) {
		pid_t child = fork();
		if (!child) {
			execl("/bin/sleep", "sleep", "0.05", (char *)NULL);
			_exit(1);
		}
		if (waitpid(child, NULL, 0) != child)
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	count = argc > 2 ? atol(argv[2]) : 1;
	if (!strcmp(mode, "sleep"))
		return sleeps();
	if (!strcmp(mode, "pipe"))
		return ping_pong();
	if (!strcmp(mode, "calls"))
		return calls();
	if (!strcmp(mode, "pages"))
		return pages();
	if (!strcmp(mode, "direct"))
		return direct(argv[3]);
	if (!strcmp(mode, "sockets"))
		return sockets();
	if (!strcmp(mode, "pinned"))
		return pinned();
	if (!strcmp(mode, "children"))
		return children();
	return 2;
}
