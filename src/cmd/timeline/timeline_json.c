/* SPDX-License-Identifier: Apache-2.0 */
/* Findings, devices and iterations of a trace as JSON; see timeline.h. */
#include "timeline.h"

#include "timeline/path/path_causes.h"

#include <string.h>

static void json_blame(const struct sn_answers *answers, const struct sn_blame *blame,
		       struct sn_json *json)
{
	sn_json_open(json, "blame", '[');
	for (const struct sn_blame_share *one = blame->shares; one < blame->shares + blame->count;
	     one++) {
		char name[SN_LABEL_CHARS];
		sn_label_full(answers->db, SN_GROUP_AUTO,
			      sonde_db_context(answers->db, one->context)->frame, name);
		sn_json_begin(json, '{');
		sn_json_put_number(json, "context", one->context);
		sn_json_put_text(json, "name", name);
		sn_json_put_number(json, "time_ns", one->time_ns);
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
}

static void json_device(const struct sn_answers *answers, size_t number, struct sn_json *json)
{
	static const char *const keys[SN_WORK_KINDS][3] = {
	    {"computation_ns", "exposed_computation_ns", "computation_count"},
	    {"communication_ns", "exposed_communication_ns", "communication_count"},
	    {"copy_ns", "exposed_copy_ns", "copy_count"}};
	const struct sn_device_time *time = answers->times.devices + number;
	sn_json_begin(json, '{');
	sn_json_numbers(json, {"run", time->run}, {"rank", time->rank}, {"device", time->device},
			{"streams", time->stream_count});
	sn_json_put_unsigned(json, "start_ns", time->start_ns);
	sn_json_numbers(json, {"total_ns", (double)(time->end_ns - time->start_ns)},
			{"busy_ns", (double)time->busy_ns}, {"idle_ns", (double)time->idle_ns});
	for (unsigned i = 0; i < SN_WORK_KINDS; i++) {
		sn_json_numbers(json, {keys[i][0], (double)time->work_ns[i]},
				{keys[i][1], (double)time->exposed_ns[i]},
				{keys[i][2], (double)time->operation_counts[i]});
	}
	sn_json_open(json, "idle", '{');
	sn_json_numbers(json, {"gaps", (double)time->gap_count},
			{"not_queued_ns", (double)time->not_queued_ns},
			{"launching_ns", (double)time->launch_ns},
			{"launch_not_recorded_ns", (double)time->unexplained_ns},
			{"nobody_ns", answers->blames[number].unblamed_ns});
	json_blame(answers, answers->blames + number, json);
	sn_json_end(json, '}');
	sn_json_end(json, '}');
}

static void json_iterations(const struct sn_answers *answers, struct sn_json *json)
{
	const struct sn_iterations *all = &answers->iterations;
	sn_json_begin(json, '[');
	for (size_t i = 0; i < all->count; i++) {
		const struct sn_iteration *one = all->items + i;
		const struct sonde_db_frame *frame =
		    sonde_db_frame(answers->db, sonde_db_context(answers->db, one->context)->frame);
		sn_json_begin(json, '{');
		sn_json_put_number(json, "context", one->context);
		sn_json_put_text(json, "name", sonde_db_string(answers->db, frame->name));
		sn_json_put_unsigned(json, "number", one->number);
		sn_json_put_number(json, "profile", one->profile);
		sn_json_put_unsigned(json, "start_ns", one->start_ns);
		sn_json_put_number(json, "duration_ns", (double)(one->end_ns - one->start_ns));
		sn_json_put_bool(json, "unusual", one->is_unusual);
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
}

/* Numbers are numbers of database contexts and profiles where the unit says so. */
static void json_finding(const struct sn_answers *answers, const struct sn_finding *finding,
			 struct sn_json *json)
{
	sn_json_begin(json, '{');
	sn_json_texts(json, {"rule", sn_rule_name(finding->rule)},
		      {"severity", sn_severity_name(finding->severity)});
	sn_json_open(json, "evidence", '[');
	for (size_t i = 0; i < finding->evidence_count; i++) {
		const struct sn_evidence *one = finding->evidence + i;
		sn_json_begin(json, '{');
		sn_json_texts(json, {"name", one->name}, {"unit", one->unit});
		sn_json_put_number(json, "value", one->value);
		if (!strcmp(one->unit, "context")) {
			sn_json_put_text(json, "text",
					 sn_name_context(answers->db, (uint32_t)one->value).text);
		} else if (!strcmp(one->unit, "wait")) {
			sn_json_put_text(json, "text", sn_wait_name((enum sn_wait)one->value));
		} else if (!strcmp(one->unit, "cause")) {
			sn_json_put_text(json, "text",
					 sn_path_cause_name((enum sn_path_cause)one->value));
		}
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
	sn_json_put_text(json, "suggestion", finding->suggestion); /* or null */
	sn_json_end(json, '}');
}

void sn_timeline_json(const struct sn_answers *answers, struct sn_json *json)
{
	sn_json_open(json, "findings", '[');
	for (size_t i = 0; i < answers->findings.count; i++)
		json_finding(answers, answers->findings.items + i, json);
	sn_json_end(json, ']');
	sn_json_put_number(json, "events", (double)sonde_trace_event_count(answers->trace));
	sn_json_open(json, "devices", '[');
	for (size_t i = 0; i < answers->times.count; i++)
		json_device(answers, i, json);
	sn_json_end(json, ']');
	sn_json_key(json, "iterations");
	json_iterations(answers, json);
}
