/* SPDX-License-Identifier: Apache-2.0 */
/* Failures that are planned: FAKE_FAIL names them, with commas between (run.sh --fail). */
#include "device.h"

#include <stdlib.h>
#include <string.h>

bool fake_fails_at_all;
static const char *planned;

__attribute__((constructor)) static void read_plan(void)
{
	planned = getenv("FAKE_FAIL");
	fake_fails_at_all = planned && *planned;
}

bool fake_is_planned(const char *scenario)
{
	const char *list = planned;
	size_t length = strlen(scenario);
	for (; *list; list += strcspn(list, ","), list += *list == ',')
		if (strcspn(list, ",") == length && !strncmp(list, scenario, length))
			return true;
	return false;
}

bool fake_is_planned_now(const char *scenario, unsigned nth)
{
	static _Atomic unsigned events;
	return fake_is_planned(scenario) && ++events % nth == 0;
}

/* After the first 50 operations, as after a fault of the hardware: what was begun is not finished either. */
bool fake_device_is_lost(void)
{
	static _Atomic unsigned operations;
	return fake_fails("lost-device") && ++operations > 50;
}
