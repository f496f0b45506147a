/* SPDX-License-Identifier: Apache-2.0 */
/* Maps the category names of torch.profiler and of `sonde export` to categories of activities. */
#pragma once

#include "track_sink.h"

/* SN_ACTIVITY_OTHER where the text is no known category, or NULL. */
enum sn_activity_category sn_activity_category(const char *text, size_t length);
/* What an event of Meta's accelerators is ("mtia_ccp_events"): a transfer ("dma_request"), waiting
 * for another stream ("event_wait"), or the name of what was computed. */
enum sn_activity_category sn_activity_of_mtia(const char *name, size_t length);
