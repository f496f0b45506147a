/* SPDX-License-Identifier: Apache-2.0 */
/* The socket by which the daemon of a store is asked: in the store's folder, for its owner alone. A request is one line, the answer what follows up to the end of the stream. */
#pragma once

#include "base/buffer.h"
#include "base/error.h"

/* Listens; a socket that an earlier daemon left is replaced, as the store's lock says that there is no other one. A descriptor, or a negative enum sn_err. */
int sn_control_listen(const char *store, struct sn_error *error);
/* Removes the socket's name. */
void sn_control_end(const char *store, int socket);

/* Takes one request, if there is one: calls `answer` with its line, and sends what that appends. Clients that say nothing are given up after a moment. */
void sn_control_serve(int socket,
		      void (*answer)(void *context, const char *request, struct sn_buffer *buffer),
		      void *context);

/* 0, SN_ERR_MISSING if nobody listens, or another negative enum sn_err. */
int sn_control_ask(const char *store, const char *request, struct sn_buffer *answer,
		   struct sn_error *error);
