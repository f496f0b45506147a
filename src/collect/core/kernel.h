/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock that reads the processor's counter. The other functions of kernel.c have the C
 * library's names.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: yes.
 */
#pragma once

/* Finds the kernel's clock function; until then clocks are read by system calls.
 * AS-safe: no. MT: once. */
void sn_clock_init(void);
/* The program disables that counter for its threads (prctl(2), PR_SET_TSC): from now on clocks are
 * read by system calls. */
void sn_clock_spare_counter(void);
