/* SPDX-License-Identifier: Apache-2.0 */
/* What a causal analysis found: as sentences and tables, and as JSON. */
#pragma once

#include "causal/causal.h"
#include "causal/effect/do.h"
#include "show/sheet.h"

/* A page's sentences and sheets. Without memory the page says that it has failed. */
void sn_causal_show(const struct sn_causal *causal, struct sn_page *page);
/* Members of an open object; docs/format/causal.md describes them. */
void sn_causal_json(const struct sn_causal *causal, struct sn_json *json);

/* What would be expected, as a sentence. */
void sn_causal_say_do(const struct sn_causal *causal, const struct sn_do *asked,
		      struct sn_page *page);
/* The member "do" of an open object: all that was asked. */
void sn_causal_do_json(const struct sn_causal *causal, const struct sn_do *asked, size_t count,
		       struct sn_json *json);
/* Its "status". */
const char *sn_causal_do_status(enum sn_do_status status);

/* All of it as one object, with what was asked and the page's sentences. */
void sn_causal_json_object(const struct sn_causal *causal, const struct sn_do *asked, size_t count,
			   const struct sn_page *page, struct sn_json *json);
