/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that the ranks of an MPI job run together, where the program is sonde-mpi. */
#pragma once

/* Runs the command as one of the ranks: rank 0 alone prints. Its exit status. */
int sn_command_by_ranks(int (*run)(int argc, char **argv), int argc, char **argv);

/* Called by all of them, each with the status of what it has done so far: 0 where all have 0, else the status of the lowest rank that
 * failed. What that one has said, rank 0 prints, with its number. */
int sn_command_agree(int status);
