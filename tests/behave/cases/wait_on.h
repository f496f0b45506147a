/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs of calls that wait (wait.c, cut.c) have to wait on. */
#pragma once

#include "../behave.h"

#include <mqueue.h>
#include <netinet/in.h>
#include <semaphore.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/timerfd.h>

#pragma GCC diagnostic ignored "-Wunused-function"

static struct timespec from_now(clockid_t clock, long ns)
{
	struct timespec time;
	clock_gettime(clock, &time);
	time.tv_nsec += ns;
	if (time.tv_nsec >= 1000000000)
		time = (struct timespec){time.tv_sec + 1, time.tv_nsec - 1000000000};
	return time;
}

static struct {
	int pair[2], listener, set, pipe[2], event, inotify, timer, full[2], semaphores, queue;
	mqd_t messages;
	sem_t semaphore;
	int word;
	pthread_mutex_t mutex;
	pthread_cond_t condition;
} on;

static void listen_anywhere(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	on.listener = MUST(socket(AF_INET, SOCK_STREAM, 0));
	MUST(bind(on.listener, (struct sockaddr *)&address, sizeof(address)));
	MUST(listen(on.listener, 1));
}

static void limit_waits(int fd)
{
	struct timeval limit = {0, 1000};
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

static void set_up(void)
{
	char name[40];
	snprintf(name, sizeof(name), "/behave-%d", getpid());
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, on.pair));
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, on.full));
	listen_anywhere();
	limit_waits(on.pair[0]);
	limit_waits(on.listener);
	limit_waits(on.full[0]);
	fcntl(on.full[0], F_SETFL, O_NONBLOCK);
	while (write(on.full[0], name, 1) > 0)
		;
	fcntl(on.full[0], F_SETFL, 0);
	on.set = MUST(epoll_create1(0));
	MUST(pipe(on.pipe));
	on.event = MUST(eventfd(0, 0));
	on.inotify = MUST(inotify_init());
	on.timer = MUST(timerfd_create(CLOCK_MONOTONIC, 0));
	on.semaphores = MUST(semget(IPC_PRIVATE, 1, 0600));
	on.queue = MUST(msgget(IPC_PRIVATE, 0600));
	struct mq_attr attributes = {.mq_maxmsg = 2, .mq_msgsize = 16};
	on.messages = mq_open(name, O_RDWR | O_CREAT, 0600, &attributes);
	mq_unlink(name);
	sem_init(&on.semaphore, 0, 0);
	pthread_mutex_init(&on.mutex, NULL);
	pthread_cond_init(&on.condition, NULL);
}

static void tear_down(void)
{
	semctl(on.semaphores, 0, IPC_RMID);
	msgctl(on.queue, IPC_RMID, NULL);
}

/* 0 or an error number */
#define OR_ERRNO(expression) ((expression) < 0 ? errno : 0)

/* ---- calls that wait until another thread ends them ---- */

static int wake_read(void)
{
	char byte;
	return OR_ERRNO(read(on.pipe[0], &byte, 1));
}
static int wake_event(void)
{
	uint64_t count;
	return OR_ERRNO(read(on.event, &count, sizeof(count)));
}
static int wake_sem_wait(void)
{
	return OR_ERRNO(sem_wait(&on.semaphore));
}
static int wake_semop(void)
{
	struct sembuf operation = {0, -1, 0};
	return OR_ERRNO(semop(on.semaphores, &operation, 1));
}
static int wake_msgrcv(void)
{
	struct {
		long type;
		char text[8];
	} message;
	return OR_ERRNO(msgrcv(on.queue, &message, 8, 0, 0));
}
static int wake_mq_receive(void)
{
	char text[16];
	return OR_ERRNO(mq_receive(on.messages, text, sizeof(text), NULL));
}
static int wake_inotify(void)
{
	char text[4096];
	return OR_ERRNO(read(on.inotify, text, sizeof(text)));
}
