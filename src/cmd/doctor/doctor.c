/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sonde doctor`: what can be measured on this machine, what cannot, why, and how to enable it. The
 * checks are in doctor_*.c; here they are printed.
 */
#include "doctor.h"
#include "cmd/command.h"
#include "show/table.h"

#include "base/error.h"
#include "show/json.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char *const verdicts[] = {"ok", "limited", "no"};

void sn_diagnose(struct sn_diagnosis *diagnosis, const char *name, enum sn_verdict verdict,
		 const char *fix, const char *format, ...)
{
	if (diagnosis->count == SN_MAX_CHECKS)
		return;
	struct sn_check *check = &diagnosis->checks[diagnosis->count++];
	*check = (struct sn_check){
	    .group = diagnosis->group, .verdict = verdict, .is_essential = diagnosis->is_essential};
	snprintf(check->name, sizeof(check->name), "%s", name);
	snprintf(check->fix, sizeof(check->fix), "%s", fix ? fix : "");
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(check->text, sizeof(check->text), format, arguments);
	va_end(arguments);
	/* Versions and paths are what other programs and folders say. */
	sn_one_line(check->name);
	sn_one_line(check->text);
}

static bool is_fatal(const struct sn_diagnosis *diagnosis)
{
	for (size_t i = 0; i < diagnosis->count; i++)
		if (diagnosis->checks[i].is_essential &&
		    diagnosis->checks[i].verdict == SN_VERDICT_NO)
			return true;
	return false;
}

static void print_text(const struct sn_diagnosis *diagnosis)
{
	static const char *const colors[] = {"\033[32m", "\033[33m", "\033[31m"};
	enum { INDENT = 30 };
	struct sn_style style = sn_terminal_style(stdout);
	int width = sn_terminal_width() > INDENT + 20 ? sn_terminal_width() : INDENT + 20;
	const char *group = "";
	for (size_t i = 0; i < diagnosis->count; i++) {
		const struct sn_check *check = &diagnosis->checks[i];
		if (strcmp(group, check->group) != 0)
			printf("%s%s%s%s\n", *group ? "\n" : "", style.bold, check->group,
			       style.plain);
		group = check->group;
		printf("  %s%-8s%s%-19s ", *style.bold ? colors[check->verdict] : "",
		       verdicts[check->verdict], style.plain, check->name);
		if (strlen(check->name) > 19)
			printf("\n%*s", INDENT, "");
		sn_text_table_wrap(stdout, check->text, INDENT, INDENT, width);
		if (*check->fix)
			printf("%*s%senable: %s%s\n", INDENT, "", style.dim, check->fix,
			       style.plain);
	}
	printf("\n%s\n",
	       is_fatal(diagnosis)
		   ? "Sonde cannot measure here: see the lines marked \"no\" under Collector "
		     "and Sampling."
		   : "Sonde can measure here. Next: sonde run -- python3 train.py");
}

static void print_json(const struct sn_diagnosis *diagnosis)
{
	struct sn_json json = {.out = stdout};
	sn_json_begin(&json, '{');
	sn_json_put_text(&json, "version", SN_VERSION);
	sn_json_put_bool(&json, "can_measure", !is_fatal(diagnosis));
	sn_json_open(&json, "checks", '[');
	for (size_t i = 0; i < diagnosis->count; i++) {
		const struct sn_check *check = &diagnosis->checks[i];
		sn_json_begin(&json, '{');
		sn_json_texts(&json, {"group", check->group}, {"name", check->name},
			      {"verdict", verdicts[check->verdict]});
		sn_json_put_bool(&json, "essential", check->is_essential);
		sn_json_texts(&json, {"text", check->text},
			      {"fix", *check->fix ? check->fix : NULL});
		sn_json_end(&json, '}');
	}
	sn_json_end(&json, ']');
	sn_json_end(&json, '}');
	putchar('\n');
}

int sn_command_doctor_run(int argc, char **argv)
{
	static void (*const groups[])(struct sn_diagnosis *) = {
	    sn_diagnose_collector, sn_diagnose_sampling, sn_diagnose_os,    sn_diagnose_python,
	    sn_diagnose_devices,   sn_diagnose_ranks,	 sn_diagnose_system};
	struct sn_options options = {&sn_command_doctor, argc, argv};
	int form = 0;
	const struct sn_option table[] = {{"format", SN_OPTION_CHOICE(form, "text", "json")}, {0}};
	if (!sn_options_read(&options, table))
		return options.status;
	if (optind < argc)
		return sn_command_misuse(options.command, "'%s' is too much", argv[optind]);
	struct sn_diagnosis *diagnosis = calloc(1, sizeof(*diagnosis));
	if (!diagnosis)
		return sn_command_fail("out of memory");
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++)
		groups[i](diagnosis);
	(form ? print_json : print_text)(diagnosis);
	int status = is_fatal(diagnosis) ? SN_EXIT_FINDING : SN_EXIT_DONE;
	free(diagnosis);
	return status;
}
