/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arbitrary text as a formula about a database of known contents. One that is accepted is evaluated
 * everywhere, and what would be stored of it must be accepted as well, and mean the same. See
 * fuzz_formula.sh.
 */
#include "db_fixture.h"

#include "lib/db/formula.h"
#include "sonde/formula.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct sonde_db *db;
static struct sn_formulas known;

static void open_database(void)
{
	char path[64];
	struct sn_error error;
	struct sn_db_builder *builder = db_fixture_small();
	snprintf(path, sizeof(path), "/tmp/fuzz-formula-%d.sdb", (int)getpid());
	if (sn_db_builder_write(builder, path, &error) || sonde_db_open(path, &db, NULL) ||
	    sn_formulas_init(&known, db))
		abort();
	unlink(path);
	sn_db_builder_free(builder);
}

static bool is_same(double a, double b)
{
	return a == b || (a != a && b != b);
}

static void compare(const struct sn_formula *a, const struct sn_formula *b)
{
	if (strcmp(a->unit, b->unit) || strcmp(a->text, b->text))
		abort();
	for (uint32_t i = 0; i < sonde_db_context_count(db); i++)
		for (int is_exclusive = 0; is_exclusive < 2; is_exclusive++)
			if (!is_same(sn_formula_at_context(a, db, i, is_exclusive),
				     sn_formula_at_context(b, db, i, is_exclusive)))
				abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sn_formula *formula = NULL, *again = NULL;
	struct sn_formula_problem problem = {0};
	struct sn_error error = {""};
	char text[2048];
	if (!db)
		open_database();
	snprintf(text, sizeof(text), "%.*s", (int)(size < 2000 ? size : 2000), (const char *)data);
	if (sn_formula_parse(db, &known, "f", text, &formula, &problem, &error)) {
		if (problem.position > strlen(text) || !error.text[0])
			abort();
		return 0;
	}
	if (sn_formula_parse(db, &known, "f", formula->text, &again, &problem, &error) == 0) {
		compare(formula, again);
	} else if (!strstr(error.text, "longer than")) { /* quotes make it longer */
		fprintf(stderr, "%s: %s\n", formula->text, error.text);
		abort();
	}
	sn_formula_free(formula);
	sn_formula_free(again);
	return 0;
}
