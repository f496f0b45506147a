/* SPDX-License-Identifier: Apache-2.0 */
/* Where the calling thread is, in text. */
#ifndef FAKE_PLACE_H
#define FAKE_PLACE_H

#include "device.h"

/* "FILE:LINE" of the innermost Python frame; of threads without one, "MODULE+0xADDRESS" of up to four native callers
 * outside the fakes, with spaces between them. */
FAKE_LOCAL void fake_place_here(char *text, size_t size);

#endif
