/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORDER_H
#define RECORDER_H

/* facts.c: of the machine, the driver and its devices. After cuInit. */
void record_facts(void);

#endif
