/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ITT tasks as regions. The static part of ittnotify that a program or PyTorch carries loads the
 * library named by INTEL_LIBITTNOTIFY64 and binds each function it finds there by its name; those
 * it does not find keep their built-in form, so string handles and domains are made without our
 * help.
 *
 * Only tasks are taken: frames, counters and synchronisation of ITT are left alone.
 */
#include "intercept.h"
#include "region.h"
#include "thread.h"

#include <string.h>

/* Layouts of ittnotify, fixed since its version 3. */
struct itt_id {
	unsigned long long part[3];
};
struct itt_string_handle {
	const char *narrow;
	const wchar_t *wide;
};
struct itt_domain;

SN_EXPORT const char *__itt_api_version(void);
SN_EXPORT void __itt_task_begin(const struct itt_domain *domain, struct itt_id task,
				struct itt_id parent, const struct itt_string_handle *name);
SN_EXPORT void __itt_task_end(const struct itt_domain *domain);

/* Its presence says that functions are to be bound one by one. */
const char *__itt_api_version(void)
{
	return "sonde " SN_VERSION;
}

void __itt_task_begin(const struct itt_domain *domain, struct itt_id task, struct itt_id parent,
		      const struct itt_string_handle *name)
{
	const char *text = name && name->narrow ? name->narrow : "task";
	sn_region_begin(&(struct sn_region_start){.name = text,
						  .length = strlen(text),
						  .stack = SN_CALLER_STACK,
						  .origin = SN_REGION_EITHER,
						  .user = SN_REGION_ITT});
}

void __itt_task_end(const struct itt_domain *domain)
{
	sn_region_end(SN_REGION_ITT, 0);
}
