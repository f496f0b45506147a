/* SPDX-License-Identifier: Apache-2.0 */
/* Answers to what-if; see causal_asked.h. */
#include "causal_asked.h"

#include "show/causal/causal_answer.h"

#include <stdlib.h>

int sn_causal_ask(const struct sn_causal_asked *asked, const struct sn_causal *causal,
		  const struct sn_prior *prior, struct sn_causal_settings *answers,
		  struct sn_page *page, struct sn_error *error)
{
	int result = 0;
	*answers =
	    (struct sn_causal_settings){calloc(asked->settings.count + 1, sizeof(struct sn_do)), 0};
	if (!answers->items)
		return sn_fail_memory(error);
	for (size_t number = 0; !result && number < asked->settings.count; number++) {
		struct sn_do *one = &answers->items[answers->count++];
		result = sn_causal_do(one, causal, prior, asked->settings.items[number], error);
		if (!result)
			sn_causal_say_do(causal, one, page);
	}
	return result;
}

void sn_causal_settings_release(struct sn_causal_settings *answers)
{
	for (size_t number = 0; number < answers->count; number++)
		sn_do_release(&answers->items[number]);
	free(answers->items);
	*answers = (struct sn_causal_settings){0};
}
