/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that send, receive, or wait for either, each by itself: events of threads that name a peer,
 * as those of gloo, MPI and sonde_message_* do. By process, peer and the function that calls: how
 * many messages, how many bytes, and how long the process was in them; also where the trace has
 * one end of the messages alone.
 */
#ifndef SN_TIMELINE_MESSAGE_CALLS_H
#define SN_TIMELINE_MESSAGE_CALLS_H

#include "timeline/answers.h"

/* The sheet "message_calls", where there are any. 0 or a negative enum sn_err. */
int sn_message_calls(const struct sn_answers *answers, struct sn_page *page,
		     struct sn_error *error);

#endif
