/* SPDX-License-Identifier: Apache-2.0 */
/* NVTX ranges of every form, for tests/cli/collect/test_region.py. Wants NVTX's headers. */
#include <nvtx3/nvToolsExt.h>

#include <stdio.h>
#include <wchar.h>

int main(void)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("library");
	nvtxStringHandle_t name = nvtxDomainRegisterStringA(domain, "registered");
	nvtxEventAttributes_t event = {.version = NVTX_VERSION,
				       .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
				       .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
				       .message.registered = name};
	int pushed = 0, popped = 0;
	for (int i = 0; i < 3; i++) {
		pushed += nvtxRangePushA("outer");
		pushed += nvtxRangePushW(L"wide \u00e4");
		pushed += nvtxDomainRangePushEx(domain, &event);
		/* each domain has a stack of its own: this ends "wide" */
		popped += nvtxRangePop();
		popped += nvtxDomainRangePop(domain);
		popped += nvtxRangePop();
	}
	nvtxRangeId_t first = nvtxRangeStartA("overlaps 1"), second = nvtxRangeStartA("overlaps 2");
	nvtxRangeEnd(first);
	nvtxRangeEnd(second);
	nvtxRangeEnd(second); /* once too often */
	for (int i = 0; i < 5; i++)
		nvtxMarkA("mark");
	nvtxRangePop(); /* nothing is open */
	printf("%d %d\n", pushed, popped);
	return 0;
}
