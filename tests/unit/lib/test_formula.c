/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formulas on the database of db_fixture.h, whose numbers are known: cpu-time 500 ms in 100 samples
 * (profiles 300, 100, 100 ms), gpu-time 300 ms in 3 kernels of 50, 100 and 150 ms.
 */
#include "../db_fixture.h"

#include "lib/db/formula.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct sonde_db *db;
static struct sn_formulas known;

static int setup(void **state)
{
	char path[] = "/tmp/sonde-formula-XXXXXX";
	struct sn_error error;
	struct sonde_db_error db_error;
	close(mkstemp(path));
	struct sn_db_builder *builder = db_fixture_small();
	assert_int_equal(sn_db_builder_write(builder, path, &error), 0);
	sn_db_builder_free(builder);
	assert_int_equal(sonde_db_open(path, &db, &db_error), 0);
	unlink(path);
	return sn_formulas_init(&known, db);
}

static int teardown(void **state)
{
	sn_formulas_release(&known);
	sonde_db_close(db);
	return 0;
}

static struct sn_formula *parse(const char *text)
{
	struct sn_formula *formula = NULL;
	struct sn_error error = {""};
	if (sn_formula_parse(db, &known, "f", text, &formula, NULL, &error))
		fail_msg("%s: %s", text, error.text);
	return formula;
}

static double at(const char *text, uint32_t context, bool is_exclusive)
{
	struct sn_formula *formula = parse(text);
	double value = sn_formula_at_context(formula, db, context, is_exclusive);
	sn_formula_free(formula);
	return value;
}

static uint32_t context_of(const char *name)
{
	for (uint32_t i = 0; i < sonde_db_context_count(db); i++) {
		uint32_t frame = sonde_db_context(db, i)->frame;
		if (!strcmp(sonde_db_string(db, sonde_db_frame(db, frame)->name), name))
			return i;
	}
	fail_msg("no context %s", name);
	return 0;
}

static void arithmetic_is_as_in_school(void **state)
{
	static const struct {
		const char *text;
		double value;
	} cases[] = {
	    {"1+2*3", 7},
	    {"(1+2)*3", 9},
	    {"2^3^2", 512},
	    {"-2^2", -4},
	    {"(-2)^2", 4},
	    {"2^-1", 0.5},
	    {"10-3-2", 5},
	    {"16/4/2", 2},
	    {"--3", 3},
	    {"+3", 3},
	    {"1.5e3", 1500},
	    {".5", 0.5},
	    {"2k+3M", 3002000},
	    {"1KiB", 1024},
	    {"2ms", 2e6},
	    {"1min", 60e9},
	    {"50%", 0.5},
	    {"3<4", 1},
	    {"3>=4", 0},
	    {"3=3", 1},
	    {"3==4", 0},
	    {"3<>4", 1},
	    {"3!=3", 0},
	    {"1+1<=2", 1},
	    {"min(3,1,2)", 1},
	    {"MAX(3, 1 ,2)", 3},
	    {"sqrt(16)", 4},
	    {"abs(-3)", 3},
	    {"exp(0)", 1},
	    {"log(exp(2))", 2},
	    {"log(8,2)", 3},
	    {"if(2>1, 10, 20)", 10},
	    {"if(0, 10, 20)", 20},
	    {"if(1, 5, 1/0)", 5},
	    {"ifempty(1/0, 7)", 7},
	    {"ifempty(3, 7)", 3},
	    {"profiles()", 3},
	    {"devices()", 1},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		double value = at(cases[i].text, 0, false);
		if (!(fabs(value - cases[i].value) < 1e-9 * (1 + fabs(cases[i].value))))
			fail_msg("%s is %g, not %g", cases[i].text, value, cases[i].value);
	}
}

static void what_has_no_value_is_empty(void **state)
{
	static const char *const cases[] = {
	    "1/0",     "0/0",	  "sqrt(-1)", "log(0)",	       "log(-1)",	"exp(10000)",
	    "10^400",  "1/0+1",	  "-(1/0)",   "min(1, 1/0)",   "max(1/0, 1)",	"1/0 < 1",
	    "1^(1/0)", "(1/0)^0", "abs(1/0)", "if(1/0, 1, 2)", "if(1, 1/0, 2)", "mean(gpu-time)/0",
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (!isnan(at(cases[i], 0, false)))
			fail_msg("%s is %g, not empty", cases[i], at(cases[i], 0, false));
	/* a place where none of its metrics was measured, though 0 - 0 could be computed */
	uint32_t read = context_of("read");
	assert_true(isnan(at("gpu-time - 0", read, false)));
	assert_true(isnan(at("mean(gpu-time)", read, false)));
	/* where one of them was, the others are zero */
	assert_float_equal(at("cpu-time - gpu-time", read, false), 30 * FIXTURE_MS, 1e-3);
}

static void metrics_are_what_was_aggregated(void **state)
{
	uint32_t linear = context_of("aten::linear");
	assert_float_equal(at("cpu-time", 0, false), 500 * FIXTURE_MS, 1e-3);
	assert_float_equal(at("sum(cpu-time)", linear, false), 235 * FIXTURE_MS, 1e-3);
	assert_float_equal(at("cpu-time", linear, true), 5 * FIXTURE_MS, 1e-3);
	assert_float_equal(at("inclusive(cpu-time)", linear, true), 235 * FIXTURE_MS, 1e-3);
	assert_float_equal(at("exclusive(cpu-time)", linear, false), 5 * FIXTURE_MS, 1e-3);
	assert_float_equal(at("exclusive(count(cpu-time))", linear, false), 1, 1e-9);
	assert_float_equal(at("count(exclusive(cpu-time))", linear, false), 1, 1e-9);
	assert_float_equal(at("count(gpu-time)", linear, false), 3, 1e-9);
	assert_float_equal(at("min(gpu-time)", linear, false), 50 * FIXTURE_MS, 1e-3);
	assert_float_equal(at("max(gpu-time)", linear, false), 150 * FIXTURE_MS, 1e-3);
	assert_float_equal(at("mean(gpu-time)", linear, false), 100 * FIXTURE_MS, 1e-3);
	assert_float_equal(at("dev(gpu-time)/1ms", linear, false), sqrt(5000.0 / 3), 1e-6);
	assert_float_equal(at("cpu-time/total(cpu-time)", linear, false), 0.47, 1e-9);
	assert_float_equal(at("count(total(cpu-time))", linear, false), 100, 1e-9);
	assert_float_equal(at("total(count(cpu-time))", linear, true), 100, 1e-9);
}

static void ratios_are_not_added_up(void **state)
{
	/* 3 kernels of 300 ms at one place: what is above has their mean, not a sum of means */
	assert_float_equal(at("gpu-time/count(gpu-time)", 0, false), 100 * FIXTURE_MS, 1e-3);
	assert_float_equal(at("gpu-time/cpu-time", 0, false), 0.6, 1e-9);
	assert_float_equal(at("gpu-time/cpu-time", context_of("aten::linear"), false), 300.0 / 235,
			   1e-9);
}

static void profiles_can_be_compared(void **state)
{
	assert_float_equal(at("across(max(cpu-time))", 0, false), 300 * FIXTURE_MS, 1e-3);
	assert_float_equal(at("mean(across(cpu-time))", 0, false), 500 / 3.0 * FIXTURE_MS, 1e-3);
	assert_float_equal(at("imbalance(cpu-time)", 0, false), 0.8, 1e-9);
	assert_float_equal(at("cv(cpu-time)", 0, false), sqrt(80000.0 / 9) / (500 / 3.0), 1e-9);
	assert_float_equal(at("profiles(cpu-time)", 0, false), 3, 1e-9);
	assert_float_equal(at("profiles(cpu-time)", context_of("read"), false), 1, 1e-9);
}

static void dashes_belong_to_names_where_they_can(void **state)
{
	static const char *const same[] = {"cpu-time-gpu-time", "cpu-time - gpu-time",
					   "cpu_time-gpu_time", "\"cpu-time\"-'gpu-time'",
					   "CPU_Time-gpu-time", "(cpu-time)-(gpu-time)"};
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
		struct sn_formula *formula = parse(same[i]);
		assert_float_equal(sn_formula_at_context(formula, db, 0, false), 200 * FIXTURE_MS,
				   1e-3);
		/* what is stored means the same when there are more metrics */
		struct sn_formula *again = parse(formula->text);
		assert_non_null(strstr(formula->text, "\"cpu-time\""));
		assert_string_equal(formula->text, again->text);
		sn_formula_free(again);
		sn_formula_free(formula);
	}
	assert_float_equal(at("cpu-time-5ms", 0, false), 495 * FIXTURE_MS, 1e-3);
	assert_float_equal(at("count(gpu-time)-count(cpu-time)", 0, false), -97, 1e-9);
}

static void units_follow_the_dimensions(void **state)
{
	static const char *const cases[][2] = {
	    {"cpu-time", "ns"},
	    {"cpu-time+gpu-time", "ns"},
	    {"cpu-time/gpu-time", "ratio"},
	    {"1-gpu-time/cpu-time", "ratio"},
	    {"100*gpu-time/cpu-time", "ratio"},
	    {"100*(gpu-time/cpu-time)", "1"},
	    {"count(cpu-time)", "1"},
	    {"gpu-time/count(gpu-time)", "ns"},
	    {"count(gpu-time)/gpu-time", "1/s"},
	    {"cpu-time*gpu-time", "ns^2"},
	    {"sqrt(cpu-time*gpu-time)", "ns"},
	    {"cpu-time^2/gpu-time", "ns"},
	    {"cpu-time-3", "ns"},
	    {"cpu-time-3ms", "ns"},
	    {"cpu-time+count(cpu-time)", ""},
	    {"1GiB/cpu-time", "bytes/s"},
	    {"if(1, cpu-time, 0)", "ns"},
	    {"max(cpu-time, gpu-time)", "ns"},
	    {"cpu-time>gpu-time", "1"},
	    {"cv(cpu-time)", "ratio"},
	    {"percent(count(gpu-time)/count(cpu-time))", "ratio"},
	    {"duration()", "ns"},
	    {"cpu-time^0.5", ""},
	    {"2", "1"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sn_formula *formula = parse(cases[i][0]);
		if (strcmp(formula->unit, cases[i][1]))
			fail_msg("%s is in '%s', not '%s'", cases[i][0], formula->unit,
				 cases[i][1]);
		sn_formula_free(formula);
	}
	/* 3 kernels in 0.3 s */
	assert_float_equal(at("count(gpu-time)/gpu-time", 0, false), 10, 1e-9);
}

static void mistakes_point_at_the_character(void **state)
{
	static const struct {
		const char *text;
		size_t position;
		const char *why;
	} cases[] = {
	    {"", 0, "ends where"},
	    {"1+", 2, "ends where"},
	    {"1+*2", 2, "missing here"},
	    {"foo", 0, "'foo' is no metric"},
	    {"1 + foo-bar*2", 4, "'foo-bar' is no metric"},
	    {"cpu-time-foo", 9, "'foo' is no metric"},
	    {"count(1)", 6, "name is missing"},
	    {"count(nope)", 6, "'nope' is no metric"},
	    {"min(5)", 4, "name is missing"},
	    {"nosuch(1)", 0, "no function 'nosuch'"},
	    {"(1+2", 0, "not closed"},
	    {"1+2)", 3, "never opened"},
	    {"sqrt(4", 6, "')' is missing"},
	    {"if(1,2)", 6, "',' is missing"},
	    {"1 2", 2, "an operator is missing"},
	    {"cpu-time gpu-time", 9, "an operator is missing"},
	    {"5foo", 1, "'foo' is no unit"},
	    {"\"cpu-time", 0, "a quote"},
	    {"1<2<3", 3, "an operator"},
	    {"2 $ 3", 2, "an operator"},
	    {"dev(double)", 4, "is a formula"},
	};
	struct sn_error error = {""};
	assert_int_equal(sn_formulas_add(&known, "double", "cpu-time*2", NULL, &error), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sn_formula *formula = NULL;
		struct sn_formula_problem problem = {999};
		int code =
		    sn_formula_parse(db, &known, "f", cases[i].text, &formula, &problem, &error);
		if (code != SN_ERR_ARGUMENT || problem.position != cases[i].position ||
		    !strstr(error.text, cases[i].why))
			fail_msg("'%s': %d at %zu '%s'", cases[i].text, code, problem.position,
				 error.text);
		assert_null(formula);
	}
}

static void endless_texts_are_refused(void **state)
{
	static const char *const units[] = {"(", "-", "1+", "sqrt(", "2^", "-(", "min(1,"};
	char text[4000];
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		for (size_t count = 10; count * strlen(units[i]) + 2 < sizeof(text); count *= 2) {
			struct sn_formula *formula = NULL;
			struct sn_error error = {""};
			text[0] = '\0';
			for (size_t j = 0; j < count; j++)
				memcpy(text + j * strlen(units[i]), units[i], strlen(units[i]) + 1);
			strcat(text, "1");
			if (!sn_formula_parse(db, NULL, "f", text, &formula, NULL, &error))
				sn_formula_free(formula);
		}
}

static void formulas_use_formulas(void **state)
{
	struct sn_error error = {""};
	assert_int_equal(sn_formulas_add(&known, "rest", "cpu-time-gpu-time", NULL, &error), 0);
	assert_int_equal(sn_formulas_add(&known, "part", "rest/cpu-time", NULL, &error), 0);
	assert_float_equal(at("part", 0, false), 0.4, 1e-9);
	assert_float_equal(at("total(part)", context_of("read"), false), 0.4, 1e-9);
	assert_float_equal(at("1-part", 0, false), 0.6, 1e-9);
	/* a later one replaces an earlier one, and may use it */
	assert_int_equal(sn_formulas_add(&known, "rest", "rest*2", NULL, &error), 0);
	assert_float_equal(at("rest", 0, false), 400 * FIXTURE_MS, 1e-3);
	assert_float_equal(at("part", 0, false), 0.4, 1e-9);
	/* those that come with Sonde are there where their metrics are */
	assert_non_null(sn_formulas_find(&known, "cpu-time-cv"));
	assert_null(sn_formulas_find(&known, "copy_bandwidth"));
}

static void definitions_are_recognised(void **state)
{
	size_t length;
	assert_true(sn_formula_is_definition("a=1", &length) && length == 1);
	assert_true(sn_formula_is_definition("my-name = b", &length) && length == 7);
	assert_false(sn_formula_is_definition("cpu-time", &length));
	assert_false(sn_formula_is_definition("a==b", &length));
	assert_false(sn_formula_is_definition("1=2", &length));
	assert_false(sn_formula_is_definition("", &length));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(arithmetic_is_as_in_school),
	    cmocka_unit_test(what_has_no_value_is_empty),
	    cmocka_unit_test(metrics_are_what_was_aggregated),
	    cmocka_unit_test(ratios_are_not_added_up),
	    cmocka_unit_test(profiles_can_be_compared),
	    cmocka_unit_test(dashes_belong_to_names_where_they_can),
	    cmocka_unit_test(units_follow_the_dimensions),
	    cmocka_unit_test(mistakes_point_at_the_character),
	    cmocka_unit_test(endless_texts_are_refused),
	    cmocka_unit_test(formulas_use_formulas),
	    cmocka_unit_test(definitions_are_recognised),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
