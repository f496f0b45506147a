/* SPDX-License-Identifier: Apache-2.0 */
/* See control.h. */
#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define NAME "control"
enum { CLIENT_SECONDS = 2, ANSWER_SECONDS = 600, REQUEST_MOST = 64 };

/* Through the folder's descriptor, since a socket's path has 107 bytes at most. The descriptor, to be closed when the address has been used; or -1. */
static int address_of(const char *store, struct sockaddr_un *address)
{
	int folder = open(store, O_PATH | O_DIRECTORY | O_CLOEXEC);
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d/" NAME, folder);
	return folder;
}

static int bind_and_listen(int socket, const struct sockaddr_un *address)
{
	unlink(address->sun_path);
	mode_t before = umask(0177);
	int result = bind(socket, (const struct sockaddr *)address, sizeof(*address));
	umask(before);
	return result == 0 ? listen(socket, 8) : result;
}

int sn_control_listen(const char *store, struct sn_error *error)
{
	struct sockaddr_un address;
	int folder = address_of(store, &address);
	int made =
	    folder >= 0 ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;
	int result = made >= 0 && bind_and_listen(made, &address) == 0
			 ? made
			 : sn_fail(error, SN_ERR_IO, "%s/" NAME ": %s", store, strerror(errno));
	if (result < 0 && made >= 0)
		close(made);
	if (folder >= 0)
		close(folder);
	return result;
}

void sn_control_end(const char *store, int socket)
{
	struct sockaddr_un address;
	int folder = address_of(store, &address);
	if (folder >= 0) {
		unlink(address.sun_path);
		close(folder);
	}
	close(socket);
}

static void limit_time(int socket, int seconds)
{
	struct timeval time = {.tv_sec = seconds};
	setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
	setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time));
}

static void send_all(int socket, const unsigned char *bytes, size_t count)
{
	while (count > 0) {
		ssize_t sent = send(socket, bytes, count, MSG_NOSIGNAL);
		if (sent <= 0)
			return;
		bytes += sent;
		count -= (size_t)sent;
	}
}

/* A line without its end; false if none came. */
static bool read_line(int socket, char line[REQUEST_MOST])
{
	size_t length = 0;
	while (length < REQUEST_MOST - 1 && recv(socket, line + length, 1, 0) == 1 &&
	       line[length] != '\n')
		length++;
	bool is_whole = line[length] == '\n';
	line[length] = 0;
	return is_whole;
}

void sn_control_serve(int socket,
		      void (*answer)(void *context, const char *request, struct sn_buffer *buffer),
		      void *context)
{
	char line[REQUEST_MOST] = "";
	struct sn_buffer buffer = {0};
	int client = accept4(socket, NULL, NULL, SOCK_CLOEXEC);
	if (client < 0)
		return;
	limit_time(client, CLIENT_SECONDS);
	if (read_line(client, line)) {
		answer(context, line, &buffer);
		if (!buffer.failed)
			send_all(client, buffer.bytes, buffer.count);
	}
	sn_buffer_release(&buffer);
	close(client);
}

/* A daemon that says nothing has ended meanwhile: ECONNRESET. */
static int receive_all(int socket, struct sn_buffer *answer)
{
	char bytes[4096];
	ssize_t count;
	size_t before = answer->count;
	while ((count = recv(socket, bytes, sizeof(bytes), 0)) > 0)
		sn_buffer_put(answer, bytes, (size_t)count);
	if (answer->failed)
		errno = ENOMEM;
	else if (count == 0 && answer->count == before)
		errno = ECONNRESET;
	else if (count == 0)
		return 0;
	return -1;
}

static int converse(int socket, const struct sockaddr_un *address, const char *request,
		    struct sn_buffer *answer)
{
	char line[REQUEST_MOST];
	int length = snprintf(line, sizeof(line), "%s\n", request);
	if (connect(socket, (const struct sockaddr *)address, sizeof(*address)) != 0)
		return -1;
	limit_time(socket, ANSWER_SECONDS);
	send_all(socket, (unsigned char *)line, (size_t)length);
	return receive_all(socket, answer);
}

int sn_control_ask(const char *store, const char *request, struct sn_buffer *answer,
		   struct sn_error *error)
{
	struct sockaddr_un address;
	int folder = address_of(store, &address);
	int made = folder >= 0 ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
	int result = made >= 0 && converse(made, &address, request, answer) == 0 ? 0 : -errno;
	if (made >= 0)
		close(made);
	if (folder >= 0)
		close(folder);
	if (result == -ENOENT || result == -ECONNREFUSED || result == -ECONNRESET ||
	    result == -ENOTDIR)
		return sn_fail(error, SN_ERR_MISSING, "no daemon runs for %s", store);
	return result == 0 ? 0
			   : sn_fail(error, SN_ERR_IO, "asking the daemon of %s: %s", store,
				     strerror(-result));
}
