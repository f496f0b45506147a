/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between processes that a program tells of (sonde.h), into the trace file.
 *
 * Each has a number among those of its direction, peer and tag, counted also while nothing is
 * recorded: so the send and the receive of one message are found in two files of which each may
 * have only a part.
 */
#ifndef SN_COLLECT_MESSAGE_H
#define SN_COLLECT_MESSAGE_H

#define SONDE_TYPES_ONLY
#include "sonde/sonde.h"

extern const struct sonde_message_hooks sn_message_hooks;

#endif
