/* SPDX-License-Identifier: Apache-2.0 */
/* How devices spent their time, how much they differ in idle time, and the node with
 * the most work. */
#include "finding.h"

#include "timeline/answers.h"
#include "timeline/node_sums.h"

static double length_of(const struct sn_device_time *device)
{
	return (double)(device->end_ns - device->start_ns);
}

/* Adds the number of iterations of one process, if the times of all devices are those
 * of iterations. */
static void put_iterations(const struct sn_answers *answers, struct sn_finding *finding)
{
	size_t first, end;
	for (size_t i = 0; i < answers->times.count; i++)
		if (!answers->times.devices[i].is_of_iterations)
			return;
	sn_iterations_most(&answers->iterations, &first, &end);
	size_t next = sn_iterations_end_of_thread(&answers->iterations, first);
	sn_finding_put(finding, "iterations", "count", (double)(next - first));
	sn_finding_put(finding, "iterations_of", "context",
		       answers->iterations.items[first].context);
}

static void put_parts(const struct sn_answers *answers, struct sn_finding *finding)
{
	size_t count = answers->times.count;
	double time = 0, computing = 0, communicating = 0, copying = 0, idle = 0, alone[2] = {0};
	for (size_t i = 0; i < count; i++) {
		const struct sn_device_time *one = answers->times.devices + i;
		time += length_of(one);
		computing += (double)one->work_ns[SN_WORK_COMPUTE];
		communicating += (double)one->work_ns[SN_WORK_COMMUNICATION];
		copying += (double)one->work_ns[SN_WORK_COPY];
		alone[0] += (double)one->exposed_ns[SN_WORK_COMMUNICATION];
		alone[1] += (double)one->exposed_ns[SN_WORK_COPY];
		idle += (double)one->idle_ns;
	}
	finding->severity = sn_severity_of(sn_share(idle, time));
	sn_finding_put(finding, "time", "ns", time / (double)count);
	put_iterations(answers, finding);
	sn_finding_put(finding, "devices", "count", (double)count);
	if (count == 1)
		sn_finding_put(finding, "device", "profile", answers->times.devices->profile);
	sn_finding_put(finding, "computing", "ratio", sn_share(computing, time));
	sn_finding_put(finding, "communicating", "ratio", sn_share(communicating, time));
	sn_finding_put(finding, "alone", "ratio", sn_share(alone[0], time));
	sn_finding_put(finding, "copying", "ratio", sn_share(copying, time));
	sn_finding_put(finding, "copying_alone", "ratio", sn_share(alone[1], time));
	sn_finding_put(finding, "idle", "ratio", sn_share(idle, time));
}

/* Adds the most and the least idle device if they differ by more than a twentieth. */
static void put_spread(const struct sn_answers *answers, struct sn_finding *finding)
{
	const struct sn_device_time *devices = answers->times.devices, *least = devices,
				    *most = devices;
	double shares[2] = {2, -1};
	for (const struct sn_device_time *one = devices; one < devices + answers->times.count;
	     one++) {
		double share = (double)one->idle_ns / length_of(one);
		if (share < shares[0])
			shares[0] = share, least = one;
		if (share > shares[1])
			shares[1] = share, most = one;
	}
	if (answers->times.count < 2 || shares[1] - shares[0] < 0.05)
		return;
	sn_finding_put(finding, "least_idle", "ratio", shares[0]);
	sn_finding_put(finding, "least_idle_device", "profile", least->profile);
	sn_finding_put(finding, "most_idle", "ratio", shares[1]);
	sn_finding_put(finding, "most_idle_device", "profile", most->profile);
}

int sn_rule_device_time(const struct sn_rule_input *input, struct sn_findings *findings,
			struct sn_error *error)
{
	const struct sn_answers *answers = input->answers;
	size_t count;
	double all = 0;
	if (!answers->times.count)
		return 0;
	struct sn_node_sum *nodes =
	    sn_node_sums_of_contexts(&answers->nodes, answers->times.context_ns, &count);
	if (!nodes)
		return sn_fail_memory(error);
	struct sn_finding *finding = sn_findings_add(findings, SN_RULE_device_time, 0);
	put_parts(answers, finding);
	put_spread(answers, finding);
	for (size_t i = 0; i < count; i++)
		all += nodes[i].value;
	if (count) {
		sn_finding_put(finding, "node", "context",
			       sn_node_map_context(&answers->nodes, nodes[0].node));
		sn_finding_put(finding, "node_share", "ratio", sn_share(nodes[0].value, all));
	}
	free(nodes);
	return 0;
}
