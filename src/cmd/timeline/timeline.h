/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of `sonde timeline`. */
#pragma once

#include "show/timeline/views.h"

/* Devices, one after the other, and iterations. Of lists at most `limit` lines; 0: all. */
void sn_timeline_text(const struct sn_answers *answers, size_t limit);
/* The same as members of an open object, nothing left out. */
void sn_timeline_json(const struct sn_answers *answers, struct sn_json *json);
