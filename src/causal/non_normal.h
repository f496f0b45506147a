/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directions that a score cannot tell, by DirectLiNGAM (lingam/lingam.h): where effects are linear and what is not explained of each variable is not
 * normal, and independent of the rest, it is independent of the causes, and of nothing else. All of that is tested on all rows; where one test
 * speaks against it, nothing is directed.
 */
#pragma once

#include "pdag.h"
#include "prepare.h"

/* More would take too long in each of many samples. */
#define SN_NON_NORMAL_VARIABLES 30u
#define SN_NON_NORMAL_ROWS	10000u

struct sn_non_normal {
	bool is_tested; /* there are only numbers, few enough, and more rows than columns */
	bool holds;
	uint32_t not_normal, dependent_pairs; /* residuals, and pairs of them, by the tests */
	const struct sn_prepared *prepared;
	double *values; /* as the table has them, one variable after the other */
};

/* 0 or SN_ERR_MEMORY; release it in either case. The prepared table must live as long. */
int sn_non_normal_init(struct sn_non_normal *non_normal, const struct sn_prepared *prepared,
		       const struct sn_causal_table *table, const struct sn_knowledge *knowledge,
		       unsigned threads);
void sn_non_normal_release(struct sn_non_normal *non_normal);

/* Directs what has no direction in the class of a sample of the rows (`times`: how often each counts; NULL: once), where it holds. 0 or
 * SN_ERR_MEMORY. MT: yes. */
int sn_non_normal_direct(const struct sn_non_normal *non_normal, const uint32_t *times,
			 const struct sn_knowledge *knowledge, struct sn_pdag *graph);
