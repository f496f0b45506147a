/* SPDX-License-Identifier: Apache-2.0 */
/* The database a command reads; see command.h. */
#include "command.h"

#include "sonde/db.h"

#include <string.h>

int sn_command_open(const char *path, struct sonde_db **db)
{
	struct sonde_db_error error = {""};
	if (sonde_db_open(path, db, &error) == 0)
		return 0;
	if (strncmp(error.text, "cannot ", 7) == 0)
		return sn_command_fail("%s", error.text);
	return sn_command_fail("cannot read '%s': %s", path, error.text);
}

int sn_command_close(struct sonde_db *db, int status)
{
	const char *damage = sonde_db_damage(db);
	if (damage && status == SN_EXIT_DONE)
		status = sn_command_fail("%s", damage);
	sonde_db_close(db);
	return status;
}
