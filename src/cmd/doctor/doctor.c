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
	bool has_color = sn_terminal_has_color(stdout);
	int width = sn_terminal_width() > INDENT + 20 ? sn_terminal_width() : INDENT + 20;
	const char *group = "", *bold = has_color ? "\033[1m" : "";
	const char *plain = has_color ? "\033[0m" : "", *dim = has_color ? "\033[2m" : "";
	for (size_t i = 0; i < diagnosis->count; i++) {
		const struct sn_check *check = &diagnosis->checks[i];
		if (strcmp(group, check->group) != 0)
			printf("%s%s%s%s\n", *group ? "\n" : "", bold, check->group, plain);
		group = check->group;
		printf("  %s%-8s%s%-19s ", has_color ? colors[check->verdict] : "",
		       verdicts[check->verdict], plain, check->name);
		if (strlen(check->name) > 19)
			printf("\n%*s", INDENT, "");
		sn_text_table_wrap(stdout, check->text, INDENT, INDENT, width);
		if (*check->fix)
			printf("%*s%senable: %s%s\n", INDENT, "", dim, check->fix, plain);
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
		sn_json_put_text(&json, "group", check->group);
		sn_json_put_text(&json, "name", check->name);
		sn_json_put_text(&json, "verdict", verdicts[check->verdict]);
		sn_json_put_bool(&json, "essential", check->is_essential);
		sn_json_put_text(&json, "text", check->text);
		sn_json_put_text(&json, "fix", *check->fix ? check->fix : NULL);
		sn_json_end(&json, '}');
	}
	sn_json_end(&json, ']');
	sn_json_end(&json, '}');
	putchar('\n');
}

static int run(int argc, char **argv)
{
	static const char *const forms[] = {"text", "json", NULL};
	struct sn_options options = {&sn_command_doctor, argc, argv};
	int form = 0;
	const struct sn_option table[] = {{"format", .choice = &form, .choices = forms}, {0}};
	if (!sn_options_read(&options, table))
		return options.status;
	if (optind < argc)
		return sn_command_misuse(options.command, "'%s' is too much", argv[optind]);
	struct sn_diagnosis *diagnosis = calloc(1, sizeof(*diagnosis));
	if (!diagnosis)
		return sn_command_fail("out of memory");
	sn_diagnose_collector(diagnosis);
	sn_diagnose_sampling(diagnosis);
	sn_diagnose_os(diagnosis);
	sn_diagnose_python(diagnosis);
	sn_diagnose_devices(diagnosis);
	sn_diagnose_ranks(diagnosis);
	sn_diagnose_system(diagnosis);
	if (form == 1)
		print_json(diagnosis);
	else
		print_text(diagnosis);
	int status = is_fatal(diagnosis) ? SN_EXIT_FINDING : SN_EXIT_DONE;
	free(diagnosis);
	return status;
}

const struct sn_command sn_command_doctor = {
    "doctor", "tell what can be measured here, and how to enable the rest", sn_usage_doctor, run};
