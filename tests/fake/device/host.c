/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the host that a stream calls: one thread calls each when its time has come, those of one stream in order. */
#include "inside.h"

#include <pthread.h>
#include <stdlib.h>

struct host {
	struct fake_stream *stream;
	void (*function)(void *);
	void *data;
	uint64_t start_ns;
	struct host *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t came = PTHREAD_COND_INITIALIZER, returned = PTHREAD_COND_INITIALIZER;
static struct host *waiting; /* by start */
static pthread_t thread;
static bool is_running;

/* Takes the first away. */
static struct host *first(void)
{
	pthread_mutex_lock(&lock);
	while (!waiting)
		pthread_cond_wait(&came, &lock);
	struct host *host = waiting;
	waiting = host->next;
	pthread_mutex_unlock(&lock);
	return host;
}

static void *call_all(void *unused)
{
	(void)unused;
	for (;;) {
		struct host *host = first();
		fake_sleep_until(host->start_ns);
		host->function(host->data);
		fake_lock();
		host->stream->hosts--;
		fake_unlock();
		pthread_mutex_lock(&lock);
		pthread_cond_broadcast(&returned);
		pthread_mutex_unlock(&lock);
		free(host);
	}
	return NULL;
}

void fake_host_add(struct fake_stream *stream, const struct fake_operation *operation,
		   uint64_t start_ns)
{
	struct host *host = malloc(sizeof(*host));
	*host = (struct host){stream, operation->host, operation->data, start_ns, NULL};
	stream->hosts++;
	pthread_mutex_lock(&lock);
	struct host **at = &waiting;
	while (*at && (*at)->start_ns <= start_ns)
		at = &(*at)->next;
	host->next = *at;
	*at = host;
	if (!is_running)
		is_running = !pthread_create(&thread, NULL, call_all, NULL);
	pthread_cond_signal(&came);
	pthread_mutex_unlock(&lock);
}

void fake_host_returned_wait(void)
{
	pthread_mutex_lock(&lock);
	fake_unlock();
	pthread_cond_wait(&returned, &lock);
	pthread_mutex_unlock(&lock);
	fake_lock();
}
