# SPDX-License-Identifier: Apache-2.0
"""A heavy day of SQLite, as its speedtest1: inserts, indices, updates, sorts, deletes, two connections, journals of both kinds."""
import sqlite3
import sys
import threading


def digest(connection: sqlite3.Connection) -> tuple:
    return connection.execute("select count(*), sum(a), sum(length(b)) from t").fetchone()


def fill(connection: sqlite3.Connection, rows: int) -> None:
    with connection:
        connection.execute("create table t(a integer, b text, c blob)")
        connection.executemany("insert into t values (?, ?, zeroblob(?))",
                               ((index * 7919 % 10007, f"row {index} " * (index % 9), index % 50) for index in range(rows)))


def change(connection: sqlite3.Connection) -> None:
    with connection:
        connection.execute("create index ta on t(a)")
        connection.execute("create index tb on t(b, a desc)")
    for low in range(0, 10000, 100):
        with connection:
            connection.execute("update t set b = b || 'x', a = a + 1 where a between ? and ?", (low, low + 30))
    with connection:
        connection.execute("delete from t where a % 13 = 5")
    try:
        with connection:
            connection.execute("delete from t")
            raise ValueError
    except ValueError:
        pass
    connection.execute("vacuum")


def main(folder: str) -> None:
    for journal in ["delete", "wal"]:
        connection = sqlite3.connect(f"{folder}/{journal}.db", isolation_level="deferred")
        print(journal, connection.execute(f"pragma journal_mode={journal}").fetchone())
        fill(connection, 30000)
        change(connection)
        print(digest(connection), connection.execute("pragma integrity_check").fetchone())
        print(connection.execute("with recursive n(x) as (select 1 union all select x + 1 from n where x < 200000) "
                                 "select count(*), sum(x * x % 1009) from n").fetchone())
        print(connection.execute("select a, count(*) from t group by a order by 2 desc, 1 limit 5").fetchall())
        threads = [threading.Thread(target=write, args=(f"{folder}/{journal}.db",)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(digest(connection))
        connection.close()


def write(path: str) -> None:
    connection = sqlite3.connect(path, timeout=60)
    for index in range(30):
        with connection:
            connection.execute("insert into t values (?, 'thread', null)", (index,))
    connection.close()


main(sys.argv[1])
