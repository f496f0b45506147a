/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `sonde variability`. */
#pragma once

#include "show/json.h"
#include "show/sheet.h"
#include "variability/variability.h"

/* All results as one object, with `target` if there are features; bins as far as `top` of each order. */
void sn_variability_json(const struct sn_variability *result,
			 const struct sn_variability_request *request, enum sn_feature target,
			 const struct sn_page *page, struct sn_json *json);
