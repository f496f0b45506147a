/* SPDX-License-Identifier: Apache-2.0 */
/* See daemon_text.h. */
#include "daemon_text.h"

#include "cmd/command.h"
#include "show/json.h"
#include "show/number.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A line of the answer: a name, its group before the point, and a value. */
struct line {
	char group[96], name[96], value[600];
};

/* Reads a line and returns where the next one begins; NULL at the end. */
static const char *read_line(const char *text, struct line *line)
{
	char name[96];
	*line = (struct line){""};
	if (sscanf(text, "%95s %599[^\n]", name, line->value) < 1)
		return NULL;
	const char *point = strchr(name, '.');
	snprintf(line->group, sizeof(line->group), "%.*s", point ? (int)(point - name) : 0, name);
	snprintf(line->name, sizeof(line->name), "%s", point ? point + 1 : name);
	return text + strcspn(text, "\n") + (strchr(text, '\n') ? 1 : 0);
}

static bool find(const char *answer, const char *group, const char *name, struct line *line)
{
	while ((answer = read_line(answer, line)))
		if (strcmp(line->group, group) == 0 && strcmp(line->name, name) == 0)
			return true;
	*line = (struct line){""};
	return false;
}

static double number(const char *answer, const char *group, const char *name)
{
	struct line line;
	find(answer, group, name, &line);
	return strtod(line.value, NULL);
}

/* ---- JSON ---- */

static bool is_number(const char *text)
{
	char *end;
	strtod(text, &end);
	return isdigit((unsigned char)*text) && !*end;
}

static void put_json(const char *answer, const char *store, FILE *out)
{
	struct sn_json json = {.out = out};
	struct line line;
	char group[sizeof(line.group)] = "";
	sn_json_begin(&json, '{');
	sn_json_put_text(&json, "store", store);
	while ((answer = read_line(answer, &line))) {
		if (*group && strcmp(group, line.group) != 0)
			sn_json_end(&json, '}');
		if (*line.group && strcmp(group, line.group) != 0)
			sn_json_open(&json, line.group, '{');
		strcpy(group, line.group);
		if (is_number(line.value))
			sn_json_put_number(&json, line.name, strtod(line.value, NULL));
		else
			sn_json_put_text(&json, line.name, line.value);
	}
	if (*group)
		sn_json_end(&json, '}');
	sn_json_end(&json, '}');
	putc('\n', out);
}

/* ---- text ---- */

static double sum_lost(const char *answer)
{
	struct line line;
	double lost = 0;
	while ((answer = read_line(answer, &line)))
		if (strcmp(line.group, "lost") == 0)
			lost += strtod(line.value, NULL);
	return lost;
}

static void put_lost(const char *answer, FILE *out)
{
	struct line line;
	while ((answer = read_line(answer, &line)))
		if (strcmp(line.group, "lost") == 0 && strtod(line.value, NULL) > 0)
			fprintf(out, "              %s %s\n",
				sn_number_counted(strtod(line.value, NULL)).text, line.name);
}

static void put_callers(const char *answer, FILE *out)
{
	struct line line;
	double found = number(answer, "callers", "samples"), cut = number(answer, "callers", "cut"),
	       unknown = number(answer, "callers", "unknown");
	if (!find(answer, "callers", "samples", &line) || found + unknown == 0)
		return;
	fprintf(out, "  callers   %s samples with their callers\n", sn_number_counted(found).text);
	if (cut > 0)
		fprintf(out, "              %s of them without the outermost\n",
			sn_number_counted(cut).text);
	if (unknown > 0)
		fprintf(out,
			"            %s without, as their process had ended or may not be read\n",
			sn_number_counted(unknown).text);
}

static void put_waits(const char *answer, FILE *out)
{
	struct line line;
	double rate = number(answer, "waits", "rate"), found = number(answer, "waits", "found"),
	       lost = number(answer, "waits", "lost");
	if (!find(answer, "waits", "rate", &line))
		return;
	fprintf(out, "  off-cpu   threads waited for %s in all, looked at %.0f times a second\n",
		sn_number_time(found / rate * 1e9).text, rate);
	if (lost > 0)
		fprintf(out, "              %s lost\n", sn_number_time(lost / rate * 1e9).text);
}

/* What became of samples at the store of many machines, if there is one. */
static void put_pushed(const char *answer, FILE *out)
{
	static const char *const fates[] = {"unsure", "rejected", "given_up"};
	static const char *const words[] = {"may have arrived", "were rejected", "were given up"};
	struct line line;
	if (!find(answer, "push", "pushed", &line))
		return;
	fprintf(out, "  pushed    %s samples, by %s requests; %s wait\n",
		sn_number_counted(number(answer, "push", "pushed")).text,
		sn_number_counted(number(answer, "push", "requests")).text,
		sn_number_counted(number(answer, "push", "waiting")).text);
	for (size_t i = 0; i < sizeof(fates) / sizeof(*fates); i++)
		if (number(answer, "push", fates[i]) > 0)
			fprintf(out, "              %s %s\n",
				sn_number_counted(number(answer, "push", fates[i])).text, words[i]);
	if (find(answer, "push", "failure", &line))
		fprintf(out, "              %s\n", line.value);
}

static void put_text(const char *answer, const char *store, FILE *out)
{
	struct line event, failure;
	double taken = number(answer, "samples", "taken"), lost = sum_lost(answer);
	find(answer, "", "event", &event);
	fprintf(out, "The daemon of %s, process %.0f, runs for %s.\n", store,
		number(answer, "", "pid"),
		sn_number_time(number(answer, "own", "watched_ns")).text);
	fprintf(out, "  rate      %s a second on %.0f processors, by %s",
		sn_number_counted(number(answer, "", "rate")).text,
		number(answer, "", "processors"), event.value);
	if (number(answer, "", "rate") < number(answer, "", "asked_rate"))
		fprintf(out, "; %.0f were asked for, which cost too much",
			number(answer, "", "asked_rate"));
	fprintf(out, "\n  samples   %s taken\n", sn_number_counted(taken).text);
	fprintf(out, "              %s stored, by %s flushes\n",
		sn_number_counted(number(answer, "samples", "stored")).text,
		sn_number_counted(number(answer, "", "flushes")).text);
	fprintf(out, "              %s wait for the next flush\n",
		sn_number_counted(number(answer, "samples", "waiting")).text);
	fprintf(out, "              %s lost (%s)\n", sn_number_counted(lost).text,
		sn_number_part(lost, taken).text);
	put_lost(answer, out);
	put_callers(answer, out);
	put_waits(answer, out);
	fprintf(
	    out,
	    "  cost      %.3g%% of the machine: %s in the daemon, %.0f ns a sample in the kernel\n",
	    100 * number(answer, "own", "share"),
	    sn_number_time(number(answer, "own", "cpu_ns")).text,
	    number(answer, "own", "ns_per_sample"));
	fprintf(out, "            %s of memory\n",
		sn_number_text(number(answer, "own", "resident_bytes"), "bytes").text);
	put_pushed(answer, out);
	if (find(answer, "", "failure", &failure))
		fprintf(out, "  failure   %s; tried again at the next flush\n", failure.value);
}

int sn_daemon_tell(const char *answer, const char *store, bool is_json, bool is_wanted, FILE *out)
{
	struct line failure;
	if (is_json)
		put_json(answer, store, out);
	else if (is_wanted)
		put_text(answer, store, out);
	if (!is_wanted && find(answer, "", "failure", &failure))
		return sn_command_fail("%s", failure.value);
	return SN_EXIT_DONE;
}
