/* SPDX-License-Identifier: Apache-2.0 */
/* What the daemon answers, for people and as JSON. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* `answer`: lines "name value" (daemon/daemon.h). Without `is_wanted` only a failure is told. The exit status. */
int sn_daemon_tell(const char *answer, const char *store, bool is_json, bool is_wanted, FILE *out);
