/* SPDX-License-Identifier: Apache-2.0 */
/* A field of the adapter's declarations lies where NVIDIA's header has it, and is as long. */
#pragma once

#include <stddef.h>

#define SAME(ours, our_field, theirs, their_field)                                                 \
	_Static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field) &&               \
			   sizeof(((ours *)0)->our_field) == sizeof(((theirs *)0)->their_field),   \
		       #our_field)
