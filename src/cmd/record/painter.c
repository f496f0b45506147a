/* SPDX-License-Identifier: Apache-2.0 */
/* See painter.h. */
#include "painter.h"

#include "sampling.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct sn_painter {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t begun;
	int fd;
	/* under the mutex: */
	bool is_busy, is_ending;
	/* the painter's own while it is busy, else the caller's: */
	int recording;
	struct sn_top top;
	struct sn_terminal page;
	struct sonde_db *db;
	char *picture;
	struct sn_error error;
};

static int import(void *context, const char *output, struct sn_error *error)
{
	const struct sn_painter *painter = context;
	struct sn_import_notes notes = {0};
	struct sn_import_counts counts;
	struct sn_import_request request = {.notes = &notes, .jobs = 1};
	return sn_sampling_import(&request, painter->recording, output, &counts, error);
}

/* The database of the new recording in place of the last one. */
static int renew(struct sn_painter *painter)
{
	struct sonde_db *db = NULL;
	int result = sn_command_open_hidden(import, painter, &db, &painter->error);
	close(painter->recording);
	painter->recording = -1;
	if (!result) {
		sonde_db_close(painter->db);
		painter->db = db;
	}
	return result;
}

static int draw(struct sn_painter *painter, FILE *out)
{
	struct sn_terminal page = painter->page;
	page.out = out;
	painter->top.db = painter->db;
	return sn_top_draw(&painter->top, &page, &painter->error);
}

static void paint(struct sn_painter *painter)
{
	size_t length;
	free(painter->picture);
	painter->picture = NULL;
	if (painter->recording >= 0 && renew(painter))
		return;
	FILE *out = open_memstream(&painter->picture, &length);
	int result = out ? draw(painter, out) : sn_fail_memory(&painter->error);
	if (out && fclose(out) && !result)
		result = sn_fail_memory(&painter->error);
	if (result) {
		free(painter->picture);
		painter->picture = NULL;
	}
}

static void *paint_all(void *context)
{
	struct sn_painter *painter = context;
	pthread_mutex_lock(&painter->mutex);
	for (;;) {
		while (!painter->is_busy && !painter->is_ending)
			pthread_cond_wait(&painter->begun, &painter->mutex);
		if (!painter->is_busy)
			break;
		pthread_mutex_unlock(&painter->mutex);
		paint(painter);
		pthread_mutex_lock(&painter->mutex);
		painter->is_busy = false;
		eventfd_write(painter->fd, 1);
	}
	pthread_mutex_unlock(&painter->mutex);
	return NULL;
}

static void release(struct sn_painter *painter)
{
	if (painter->recording >= 0)
		close(painter->recording);
	sonde_db_close(painter->db);
	free(painter->picture);
	pthread_cond_destroy(&painter->begun);
	pthread_mutex_destroy(&painter->mutex);
	free(painter);
}

struct sn_painter *sn_painter_start(int fd)
{
	struct sn_painter *painter = calloc(1, sizeof(*painter));
	sigset_t all, old;
	if (!painter)
		return NULL;
	painter->fd = fd;
	painter->recording = -1;
	pthread_mutex_init(&painter->mutex, NULL);
	pthread_cond_init(&painter->begun, NULL);
	sigfillset(&all);
	sigdelset(&all, SIGBUS); /* of a file that becomes shorter: sn_bus_error_init */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int status = pthread_create(&painter->thread, NULL, paint_all, painter);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!status)
		return painter;
	release(painter);
	return NULL;
}

void sn_painter_free(struct sn_painter *painter)
{
	if (!painter)
		return;
	pthread_mutex_lock(&painter->mutex);
	painter->is_ending = true;
	pthread_cond_signal(&painter->begun);
	pthread_mutex_unlock(&painter->mutex);
	pthread_join(painter->thread, NULL);
	release(painter);
}

bool sn_painter_is_busy(struct sn_painter *painter)
{
	pthread_mutex_lock(&painter->mutex);
	bool is_busy = painter->is_busy;
	pthread_mutex_unlock(&painter->mutex);
	return is_busy;
}

void sn_painter_begin(struct sn_painter *painter, int recording, const struct sn_top *top,
		      const struct sn_terminal *page)
{
	pthread_mutex_lock(&painter->mutex);
	painter->recording = recording;
	painter->top = *top;
	painter->page = *page;
	painter->is_busy = true;
	pthread_cond_signal(&painter->begun);
	pthread_mutex_unlock(&painter->mutex);
}

const char *sn_painter_picture(struct sn_painter *painter, struct sn_error *error)
{
	pthread_mutex_lock(&painter->mutex);
	const char *picture = painter->is_busy ? NULL : painter->picture;
	if (!painter->is_busy)
		*error = painter->error;
	pthread_mutex_unlock(&painter->mutex);
	return picture;
}
