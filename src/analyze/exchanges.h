/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What processes send each other: events of threads that name a peer, as gloo's and those of
 * sonde_message_* do. By process, peer and node: how many, how many bytes, and how long the
 * process waited in them.
 */
#ifndef SN_ANALYZE_EXCHANGES_H
#define SN_ANALYZE_EXCHANGES_H

#include "answers.h"

/* The sheet "exchanges", where there are any. 0 or a negative enum sn_err. */
int sn_exchanges(const struct sn_answers *answers, struct sn_page *page, struct sn_error *error);

#endif
