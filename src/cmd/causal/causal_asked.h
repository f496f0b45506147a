/* SPDX-License-Identifier: Apache-2.0 */
/* What a user says and asks of causes, in every command that looks for them: options, what-if, pictures of the graph. */
#pragma once

#include "causal/effect/do.h"
#include "cmd/command.h"
#include "show/causal/causal_picture.h"

struct sn_causal_asked {
	struct sn_texts tiers, forbidden, required, settings;
	const char *svg, *dot; /* files; NULL: none */
	struct sn_discovery_options options;
};

/* clang-format off */
/* Entries of a table of options. */
#define SN_CAUSAL_ASKED(asked) \
	{"tier", .texts = &(asked).tiers, .most = 64}, \
	{"forbid", .texts = &(asked).forbidden, .most = 64}, \
	{"require", .texts = &(asked).required, .most = 64}, \
	{"do", .texts = &(asked).settings, .most = 64}, \
	{"samples", SN_OPTION_WHOLE((asked).options.samples, SN_CAUSAL_SAMPLES_LEAST, SN_CAUSAL_SAMPLES_MOST)}, \
	{"seed", SN_OPTION_WHOLE((asked).options.seed, 0, 1e15)}, \
	{"svg", .text = &(asked).svg, .is_path = true}, \
	{"dot", .text = &(asked).dot, .is_path = true}

/* What holds where no option says otherwise. */
#define SN_CAUSAL_ASKED_USUAL {.options = {.samples = SN_CAUSAL_SAMPLES, .seed = SN_CAUSAL_SEED}}
/* clang-format on */

/* Answers, one for each --do. */
struct sn_causal_settings {
	struct sn_do *items;
	size_t count;
};

/* Finds the answers, each of which the page says in a sentence. 0 or a negative enum sn_err; release them in either case. */
int sn_causal_ask(const struct sn_causal_asked *asked, const struct sn_causal *causal,
		  const struct sn_prior *prior, struct sn_causal_settings *answers,
		  struct sn_page *page, struct sn_error *error);
void sn_causal_settings_release(struct sn_causal_settings *answers);

/* Writes the pictures that are wanted. 0 or a negative enum sn_err. */
int sn_causal_asked_draw(const struct sn_causal_asked *asked,
			 const struct sn_causal_drawing *drawing, struct sn_error *error);
