/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a text is a list or an object of JSON in ASCII, so that it can be written as it is:
 * shapes of tensors come as "[[2, 3], []]", and readers of such files expect lists.
 */
#pragma once

#include <stdbool.h>

bool sn_chrome_is_list(const char *text);
