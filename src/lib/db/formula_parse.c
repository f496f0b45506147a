/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formulas from text to steps, by recursive descent; see formula.h.
 *
 * A formula in a formula is parsed where it stands. Names are read by formula_name.c.
 */
#include "formula_code.h"
#include "formula_unit.h"
#include "ranks.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DEPTH_MAX = 100 };

static bool accept(struct sn_formula_parser *parser, const char *symbol)
{
	sn_formula_skip_blanks(parser);
	if (strncmp(parser->at, symbol, strlen(symbol)) != 0)
		return false;
	parser->at += strlen(symbol);
	return true;
}

static void emit(struct sn_formula_parser *parser, struct sn_formula_step step)
{
	struct sn_formula *formula = parser->formula;
	if (formula->step_count == SN_FORMULA_STEPS_MAX) {
		sn_formula_fail_at(parser, parser->at, "too long a formula");
		return;
	}
	formula->steps[formula->step_count++] = step;
}

static void emit_operation(struct sn_formula_parser *parser, enum sn_formula_operation operation)
{
	emit(parser, (struct sn_formula_step){.operation = operation});
}

static void emit_number(struct sn_formula_parser *parser, double number)
{
	emit(parser, (struct sn_formula_step){.operation = SN_DO_NUMBER, .number = number});
}

static struct sn_dimension parse_comparison(struct sn_formula_parser *parser);

/* ---- metrics ---- */

static uint32_t input_for(struct sn_formula_parser *parser, const struct sn_formula_name *name)
{
	struct sn_formula *formula = parser->formula;
	for (uint32_t i = 0; i < formula->input_count; i++)
		if (formula->inputs[i] == name->metric)
			return i;
	if (formula->input_count == SN_FORMULA_INPUTS_MAX) {
		sn_formula_fail_at(parser, name->start, "more than %d metrics",
				   SN_FORMULA_INPUTS_MAX);
		return 0;
	}
	formula->inputs[formula->input_count] = name->metric;
	return formula->input_count++;
}

/* A metric of the whole program, in the scope that holds. */
static struct sonde_db_stat total_of(const struct sn_formula_parser *parser, uint32_t metric)
{
	struct sonde_db_summary summary;
	struct sn_db_ranks ranks;
	struct sonde_db_stat across = {0};
	sonde_db_summary(parser->db, 0, metric, &summary); /* else all zeroes */
	switch (parser->scope) {
	case SN_SCOPE_EXCLUSIVE:
		return summary.exclusive;
	case SN_SCOPE_ACROSS:
		return summary.across;
	case SN_SCOPE_RANKS:
		if (!sn_db_ranks_init(&ranks, parser->db, NULL))
			across = sn_db_ranks_at(&ranks, parser->db, metric, 0);
		sn_db_ranks_release(&ranks);
		return across;
	default:
		return summary.inclusive;
	}
}

static struct sn_dimension emit_metric(struct sn_formula_parser *parser,
				       const struct sn_formula_name *name,
				       enum sn_formula_part part)
{
	sn_formula_copy_name(parser, name);
	const struct sonde_db_metric *metric = sonde_db_metric(parser->db, name->metric);
	struct sn_dimension dimension = sn_dimension_of(
	    part == SN_PART_COUNT ? "1" : sonde_db_string(parser->db, metric->unit));
	if (metric->kind == 4 && part != SN_PART_COUNT) /* a ratio of the measurement format */
		dimension.is_ratio = dimension.count == 0;
	if (parser->is_total) {
		struct sonde_db_stat stat = total_of(parser, name->metric);
		emit_number(parser, sn_formula_part_of(&stat, part));
		return dimension;
	}
	parser->formula->needs_ranks |= parser->scope == SN_SCOPE_RANKS;
	parser->formula->needs_across |=
	    parser->scope == SN_SCOPE_ACROSS || parser->scope == SN_SCOPE_RANKS;
	emit(parser, (struct sn_formula_step){.operation = SN_DO_METRIC,
					      .scope = parser->scope,
					      .part = part,
					      .input = input_for(parser, name)});
	return dimension;
}

/* A formula where it stands: its text is parsed by the same parser. */
static struct sn_dimension parse_formula(struct sn_formula_parser *parser,
					 const struct sn_formula_name *name)
{
	const struct sn_formula *inner = parser->known->items[name->formula];
	struct sn_formula_parser saved = *parser;
	if (!parser->nested)
		parser->position = (size_t)(name->start - parser->text);
	parser->nested++;
	parser->depth++;
	parser->known_count = name->formula;
	parser->plain = NULL;
	parser->text = parser->at = inner->text;
	struct sn_dimension dimension = {.is_unknown = true};
	if (parser->depth > DEPTH_MAX)
		sn_formula_fail_at(parser, parser->at, "formulas within formulas: too deep");
	else
		dimension = parse_comparison(parser);
	saved.code = parser->code;
	saved.position = parser->position;
	*parser = saved;
	return dimension;
}

/* ---- functions ---- */

/* A metric, maybe within scopes: count(total(cpu-time)). */
static struct sn_dimension parse_part(struct sn_formula_parser *parser, enum sn_formula_part part);

struct function;
typedef struct sn_dimension (*parse_arguments)(struct sn_formula_parser *parser,
					       const struct function *function, const char *start);
struct function {
	const char *name;
	parse_arguments parse;
	int code;
};

static void expect(struct sn_formula_parser *parser, const char *symbol, const char *function)
{
	sn_formula_skip_blanks(parser);
	if (!parser->code && !accept(parser, symbol))
		sn_formula_fail_at(parser, parser->at, "%s: '%s' is missing here", function,
				   symbol);
}

static struct sn_dimension parse_accessor(struct sn_formula_parser *parser,
					  const struct function *function, const char *start)
{
	struct sn_dimension dimension = parse_part(parser, (enum sn_formula_part)function->code);
	expect(parser, ")", function->name);
	return dimension;
}

/* min(m) is of a metric's values, min(a, b, ...) of numbers. */
static struct sn_dimension parse_extreme(struct sn_formula_parser *parser,
					 const struct function *function, const char *start)
{
	bool is_min = function->code == SN_DO_MIN;
	struct sn_formula_parser before = *parser;
	uint32_t steps = parser->formula->step_count, inputs = parser->formula->input_count;
	size_t plain = parser->plain ? strlen(parser->plain) : 0;
	struct sn_dimension dimension = parse_comparison(parser);
	int count = 1;
	for (; !parser->code && accept(parser, ","); count++) {
		dimension = sn_dimension_sum(dimension, parse_comparison(parser));
		emit_operation(parser, (enum sn_formula_operation)function->code);
	}
	if (!parser->code && count == 1) {
		/* once more, as what it is */
		parser->at = before.at;
		parser->copied = before.copied;
		parser->formula->step_count = steps;
		parser->formula->input_count = inputs;
		if (parser->plain)
			parser->plain[plain] = '\0';
		dimension = parse_part(parser, is_min ? SN_PART_MIN : SN_PART_MAX);
	}
	expect(parser, ")", function->name);
	return dimension;
}

static struct sn_dimension parse_math(struct sn_formula_parser *parser,
				      const struct function *function, const char *start)
{
	struct sn_dimension dimension = parse_comparison(parser);
	emit_operation(parser, (enum sn_formula_operation)function->code);
	if (function->code == SN_DO_LOG && accept(parser, ",")) {
		parse_comparison(parser);
		emit_operation(parser, SN_DO_LOG);
		emit_operation(parser, SN_DO_DIVIDE);
	}
	expect(parser, ")", function->name);
	if (function->code == SN_DO_SQRT)
		return sn_dimension_power(dimension, 0.5);
	return function->code == SN_DO_ABS ? dimension : sn_dimension_of("1");
}

static struct sn_dimension parse_if(struct sn_formula_parser *parser,
				    const struct function *function, const char *start)
{
	bool has_condition = function->code == SN_DO_IF;
	if (has_condition) {
		parse_comparison(parser);
		expect(parser, ",", function->name);
	}
	struct sn_dimension dimension = parse_comparison(parser);
	expect(parser, ",", function->name);
	dimension = sn_dimension_sum(dimension, parse_comparison(parser));
	emit_operation(parser, (enum sn_formula_operation)function->code);
	expect(parser, ")", function->name);
	return dimension;
}

static struct sn_dimension parse_percent(struct sn_formula_parser *parser,
					 const struct function *function, const char *start)
{
	struct sn_dimension dimension = parse_comparison(parser);
	expect(parser, ")", function->name);
	dimension.is_ratio = dimension.count == 0;
	dimension.is_literal = false;
	return dimension;
}

enum { SCOPE_TOTAL = 100 };

static void enter_scope(struct sn_formula_parser *parser, int code)
{
	if (code == SCOPE_TOTAL)
		parser->is_total = true;
	else
		parser->scope = (enum sn_formula_scope)code;
}

static struct sn_dimension parse_scope(struct sn_formula_parser *parser,
				       const struct function *function, const char *start)
{
	enum sn_formula_scope scope = parser->scope;
	bool is_total = parser->is_total;
	enter_scope(parser, function->code);
	struct sn_dimension dimension = parse_comparison(parser);
	expect(parser, ")", function->name);
	parser->scope = scope;
	parser->is_total = is_total;
	return dimension;
}

static double device_count(const struct sonde_db *db)
{
	double count = 0;
	for (uint32_t i = 0; i < sonde_db_profile_count(db); i++) {
		const struct sonde_db_profile *profile = sonde_db_profile(db, i);
		bool is_new = profile->kind == SONDE_PROFILE_STREAM;
		/* streams of a device lie together, but for those of other processes */
		for (uint32_t j = i; is_new && j-- > 0 && i - j < 4096;) {
			const struct sonde_db_profile *other = sonde_db_profile(db, j);
			is_new = other->kind != SONDE_PROFILE_STREAM ||
				 other->host != profile->host || other->device != profile->device;
		}
		count += is_new;
	}
	return count > 0 ? count : 1;
}

static struct sn_dimension parse_fact(struct sn_formula_parser *parser,
				      const struct function *function, const char *start)
{
	const char *duration = sonde_db_property(parser->db, "duration_ns");
	sn_formula_skip_blanks(parser);
	if (function->code == 'p' && *parser->at != ')') {
		/* profiles(m): those that have a value */
		enum sn_formula_scope scope = parser->scope;
		parser->scope = SN_SCOPE_ACROSS;
		struct sn_dimension dimension = parse_part(parser, SN_PART_COUNT);
		parser->scope = scope;
		expect(parser, ")", function->name);
		return dimension;
	}
	double number = function->code == 'p'	? sonde_db_profile_count(parser->db)
			: function->code == 'd' ? device_count(parser->db)
			: duration		? strtod(duration, NULL)
						: NAN;
	emit_number(parser, number);
	expect(parser, ")", function->name);
	return sn_dimension_of(function->code == 't' ? "ns" : "1");
}

/* cv(m) and imbalance(m) are of the ranks' sums. */
static struct sn_dimension parse_spread(struct sn_formula_parser *parser,
					const struct function *function, const char *start)
{
	enum sn_formula_scope scope = parser->scope;
	bool is_cv = function->code == 'c';
	const char *again = parser->at;
	parser->scope = SN_SCOPE_RANKS;
	parse_part(parser, is_cv ? SN_PART_DEV : SN_PART_MAX);
	const char *end = parser->at;
	char *plain = parser->plain;
	parser->plain = NULL;
	parser->at = again;
	parse_part(parser, SN_PART_MEAN);
	parser->plain = plain;
	parser->at = end;
	parser->scope = scope;
	emit_operation(parser, SN_DO_DIVIDE);
	if (!is_cv) {
		emit_number(parser, 1);
		emit_operation(parser, SN_DO_SUBTRACT);
	}
	expect(parser, ")", function->name);
	struct sn_dimension dimension = {.is_ratio = true};
	return dimension;
}

static const struct function functions[] = {
    {"sum", parse_accessor, SN_PART_SUM},
    {"count", parse_accessor, SN_PART_COUNT},
    {"mean", parse_accessor, SN_PART_MEAN},
    {"avg", parse_accessor, SN_PART_MEAN},
    {"dev", parse_accessor, SN_PART_DEV},
    {"stddev", parse_accessor, SN_PART_DEV},
    {"min", parse_extreme, SN_DO_MIN},
    {"max", parse_extreme, SN_DO_MAX},
    {"sqrt", parse_math, SN_DO_SQRT},
    {"abs", parse_math, SN_DO_ABS},
    {"log", parse_math, SN_DO_LOG},
    {"exp", parse_math, SN_DO_EXP},
    {"if", parse_if, SN_DO_IF},
    {"ifempty", parse_if, SN_DO_IFEMPTY},
    {"percent", parse_percent, 0},
    {"total", parse_scope, SCOPE_TOTAL},
    {"inclusive", parse_scope, SN_SCOPE_INCLUSIVE},
    {"exclusive", parse_scope, SN_SCOPE_EXCLUSIVE},
    {"across", parse_scope, SN_SCOPE_ACROSS},
    {"ranks", parse_scope, SN_SCOPE_RANKS},
    {"cv", parse_spread, 'c'},
    {"imbalance", parse_spread, 'i'},
    {"profiles", parse_fact, 'p'},
    {"devices", parse_fact, 'd'},
    {"duration", parse_fact, 't'},
};

static const struct function *find_function(const char *name)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (strcasecmp(functions[i].name, name) == 0)
			return functions + i;
	return NULL;
}

bool sn_formula_is_function(const char *name)
{
	return find_function(name) != NULL;
}

static struct sn_dimension parse_part(struct sn_formula_parser *parser, enum sn_formula_part part)
{
	struct sn_formula_name name;
	enum sn_formula_scope scope = parser->scope;
	bool is_total = parser->is_total;
	int open = 0;
	sn_formula_read_name(parser, &name);
	for (const struct function *function = find_function(name.text);
	     !name.is_quoted && function && function->parse == parse_scope && accept(parser, "(");
	     function = find_function(name.text), open++) {
		enter_scope(parser, function->code);
		sn_formula_read_name(parser, &name);
	}
	struct sn_dimension dimension = {.is_unknown = true};
	if (name.formula != SONDE_NONE)
		sn_formula_fail_at(
		    parser, name.start,
		    "'%.80s' is a formula: it has a value, but neither count nor spread",
		    name.text);
	else if (name.metric == SONDE_NONE)
		sn_formula_fail_unknown(parser, &name);
	else
		dimension = emit_metric(parser, &name, part);
	while (open-- > 0)
		expect(parser, ")", "a scope");
	parser->scope = scope;
	parser->is_total = is_total;
	return dimension;
}

/* ---- expressions ---- */

/* What may follow a number: a size, a time, or a part of a hundred. */
static const struct {
	const char *text, *unit;
	double factor;
} suffixes[] = {
    {"KiB", "bytes", 1024},   {"MiB", "bytes", 1048576}, {"GiB", "bytes", 1073741824},
    {"TiB", "bytes", 0x1p40}, {"kB", "bytes", 1e3},	 {"MB", "bytes", 1e6},
    {"GB", "bytes", 1e9},     {"TB", "bytes", 1e12},	 {"B", "bytes", 1},
    {"ns", "ns", 1},	      {"us", "ns", 1e3},	 {"ms", "ns", 1e6},
    {"min", "ns", 60e9},      {"s", "ns", 1e9},		 {"h", "ns", 3600e9},
    {"Ki", NULL, 1024},	      {"Mi", NULL, 1048576},	 {"Gi", NULL, 1073741824},
    {"k", NULL, 1e3},	      {"M", NULL, 1e6},		 {"G", NULL, 1e9},
    {"T", NULL, 1e12},	      {"%", NULL, 0.01},
};

static struct sn_dimension parse_number(struct sn_formula_parser *parser)
{
	const char *start = parser->at;
	char *end;
	double number = strtod(start, &end);
	struct sn_dimension dimension = {.is_literal = true};
	parser->at = end;
	size_t letters = *end == '%' ? 1 : 0;
	while (letters == 0 ? isalpha((unsigned char)*end)
			    : sn_formula_is_name_part(end[letters]) && *end != '%')
		letters++;
	for (size_t i = 0; letters && i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		if (strlen(suffixes[i].text) != letters ||
		    strncmp(suffixes[i].text, end, letters) != 0)
			continue;
		number *= suffixes[i].factor;
		if (suffixes[i].unit)
			dimension = sn_dimension_of(suffixes[i].unit);
		parser->at = end + letters;
		letters = 0;
	}
	if (letters)
		sn_formula_fail_at(
		    parser, end,
		    "'%.*s' is no unit of a number; there are k M G T, ns us ms s min h, B kB KiB "
		    "MB MiB ..., %%",
		    (int)(letters < 40 ? letters : 40), end);
	emit_number(parser, number);
	return dimension;
}

static struct sn_dimension parse_named(struct sn_formula_parser *parser)
{
	struct sn_formula_name name;
	sn_formula_read_name(parser, &name);
	const struct function *function = name.is_quoted ? NULL : find_function(name.text);
	if (function && accept(parser, "("))
		return function->parse(parser, function, name.start);
	if (name.metric != SONDE_NONE)
		return emit_metric(parser, &name, SN_PART_SUM);
	if (name.formula != SONDE_NONE)
		return parse_formula(parser, &name);
	sn_formula_skip_blanks(parser);
	if (*parser->at == '(')
		sn_formula_fail_at(parser, name.start, "there is no function '%.80s'", name.text);
	else
		sn_formula_fail_unknown(parser, &name);
	return (struct sn_dimension){.is_unknown = true};
}

static struct sn_dimension parse_atom(struct sn_formula_parser *parser)
{
	struct sn_dimension dimension = {.is_unknown = true};
	sn_formula_skip_blanks(parser);
	const char *at = parser->at;
	if (parser->code)
		return dimension;
	if (++parser->depth > DEPTH_MAX)
		sn_formula_fail_at(parser, at, "too many brackets");
	else if (isdigit((unsigned char)*at) || (*at == '.' && isdigit((unsigned char)at[1])))
		dimension = parse_number(parser);
	else if (sn_formula_is_name_start(*at) || *at == '"' || *at == '\'')
		dimension = parse_named(parser);
	else if (accept(parser, "(")) {
		dimension = parse_comparison(parser);
		if (!parser->code && !accept(parser, ")"))
			sn_formula_fail_at(parser, at, "this bracket is not closed");
	} else if (*at)
		sn_formula_fail_at(parser, at, "a number or a name is missing here");
	else
		sn_formula_fail_at(parser, at,
				   "the formula ends where a number or a name is missing");
	parser->depth--;
	return dimension;
}

static struct sn_dimension parse_sign(struct sn_formula_parser *parser);

/* The number that the last step is, NaN where it is none. */
static double last_number(const struct sn_formula_parser *parser, uint32_t first)
{
	const struct sn_formula *formula = parser->formula;
	bool is_number =
	    formula->step_count == first + 1 && formula->steps[first].operation == SN_DO_NUMBER;
	bool is_negative = formula->step_count == first + 2 &&
			   formula->steps[first].operation == SN_DO_NUMBER &&
			   formula->steps[first + 1].operation == SN_DO_NEGATE;
	return is_number     ? formula->steps[first].number
	       : is_negative ? -formula->steps[first].number
			     : NAN;
}

static struct sn_dimension parse_power(struct sn_formula_parser *parser)
{
	struct sn_dimension dimension = parse_atom(parser);
	if (!parser->code && accept(parser, "^")) {
		uint32_t first = parser->formula->step_count;
		parse_sign(parser);
		dimension = sn_dimension_power(dimension, last_number(parser, first));
		emit_operation(parser, SN_DO_POWER);
	}
	return dimension;
}

/* -2^2 is -4, as in mathematics. */
static struct sn_dimension parse_sign(struct sn_formula_parser *parser)
{
	struct sn_dimension dimension = {.is_unknown = true};
	sn_formula_skip_blanks(parser);
	if (++parser->depth > DEPTH_MAX) {
		sn_formula_fail_at(parser, parser->at, "too many signs");
	} else if (accept(parser, "-")) {
		dimension = parse_sign(parser);
		emit_operation(parser, SN_DO_NEGATE);
	} else if (accept(parser, "+")) {
		dimension = parse_sign(parser);
	} else {
		dimension = parse_power(parser);
	}
	parser->depth--;
	return dimension;
}

static struct sn_dimension parse_product(struct sn_formula_parser *parser)
{
	struct sn_dimension dimension = parse_sign(parser);
	while (!parser->code) {
		bool is_product = accept(parser, "*");
		if (!is_product && !accept(parser, "/"))
			break;
		struct sn_dimension right = parse_sign(parser);
		dimension = sn_dimension_product(dimension, right, is_product ? 1 : -1);
		emit_operation(parser, is_product ? SN_DO_MULTIPLY : SN_DO_DIVIDE);
	}
	return dimension;
}

static struct sn_dimension parse_sum(struct sn_formula_parser *parser)
{
	struct sn_dimension dimension = parse_product(parser);
	while (!parser->code) {
		bool is_sum = accept(parser, "+");
		if (!is_sum && !accept(parser, "-"))
			break;
		dimension = sn_dimension_sum(dimension, parse_product(parser));
		emit_operation(parser, is_sum ? SN_DO_ADD : SN_DO_SUBTRACT);
	}
	return dimension;
}

static struct sn_dimension parse_comparison(struct sn_formula_parser *parser)
{
	static const struct {
		const char *symbol;
		enum sn_formula_operation operation;
	} symbols[] = {{"<=", SN_DO_LESS_EQUAL}, {">=", SN_DO_GREATER_EQUAL},
		       {"<>", SN_DO_DIFFERENT},	 {"!=", SN_DO_DIFFERENT},
		       {"==", SN_DO_EQUAL},	 {"=", SN_DO_EQUAL},
		       {"<", SN_DO_LESS},	 {">", SN_DO_GREATER}};
	struct sn_dimension dimension = parse_sum(parser);
	for (size_t i = 0; !parser->code && i < sizeof(symbols) / sizeof(*symbols); i++) {
		if (!accept(parser, symbols[i].symbol))
			continue;
		parse_sum(parser);
		emit_operation(parser, symbols[i].operation);
		return sn_dimension_of("1");
	}
	return dimension;
}

static void parse_all(struct sn_formula_parser *parser)
{
	struct sn_formula *formula = parser->formula;
	size_t length = strlen(parser->text);
	if (length >= SN_FORMULA_TEXT_MAX / 4) {
		sn_formula_fail_at(parser, parser->text, "longer than %d bytes",
				   SN_FORMULA_TEXT_MAX / 4);
		return;
	}
	struct sn_dimension dimension = parse_comparison(parser);
	sn_formula_skip_blanks(parser);
	if (!parser->code && *parser->at == ')')
		sn_formula_fail_at(parser, parser->at, "this bracket was never opened");
	else if (!parser->code && *parser->at)
		sn_formula_fail_at(parser, parser->at, "an operator is missing here");
	size_t used = strlen(parser->plain);
	snprintf(parser->plain + used, SN_FORMULA_TEXT_MAX - used, "%s", parser->copied);
	formula->scale = sn_dimension_unit(&dimension, formula->unit, sizeof(formula->unit));
}

int sn_formula_parse(const struct sonde_db *db, const struct sn_formulas *known, const char *name,
		     const char *text, struct sn_formula **formula,
		     struct sn_formula_problem *problem, struct sn_error *error)
{
	struct sn_formula *parsed = calloc(1, sizeof(*parsed));
	if (parsed) {
		parsed->name = strdup(name ? name : "");
		parsed->text = calloc(1, SN_FORMULA_TEXT_MAX);
		parsed->steps = malloc(SN_FORMULA_STEPS_MAX * sizeof(*parsed->steps));
	}
	if (!parsed || !parsed->name || !parsed->text || !parsed->steps) {
		sn_formula_free(parsed);
		return sn_fail_memory(error);
	}
	struct sn_formula_parser parser = {.db = db,
					   .known = known,
					   .known_count = known ? known->count : 0,
					   .text = text,
					   .at = text,
					   .copied = text,
					   .plain = parsed->text,
					   .formula = parsed,
					   .error = error};
	parse_all(&parser);
	if (parser.code) {
		if (problem)
			problem->position = parser.position;
		sn_formula_free(parsed);
		return parser.code;
	}
	*formula = parsed;
	return 0;
}

bool sn_formula_is_name(const char *text, size_t length)
{
	bool is_name = length && sn_formula_is_name_start(*text);
	for (size_t i = 1; i < length && is_name; i++)
		is_name = sn_formula_is_name_part(text[i]) || text[i] == '-';
	return is_name;
}

bool sn_formula_is_definition(const char *text, size_t *name_length)
{
	size_t length = sn_formula_is_name_start(*text) ? 1 : 0;
	while (length && (sn_formula_is_name_part(text[length]) || text[length] == '-'))
		length++;
	*name_length = length;
	length += strspn(text + length, " \t");
	return *name_length && text[length] == '=' && text[length + 1] != '=';
}
