#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_timeline.sh [SECONDS]: made-up traces as `sonde timeline` analyses them; parts must add up to their whole; see
# fuzz.sh.
. "$(dirname "$0")/fuzz.sh"
# two ranks that launch, compute, meet in a collective and synchronise, in two steps
python3 - <<'END'
import base64

def event(rank, place, what, start, length, link=0, number=0, more=0):
    return bytes([rank + 3 * place, what, start % 256, start // 256, length, link, number, more])

for name, flags in (("ranks", 1), ("processes", 0), ("launched", 3)):
    events = []
    for rank in (0, 1):
        for step in (0, 1):
            at, link = 400 * step + 5 * rank, 1 + 100 * rank + 10 * step
            events += [event(rank, 0, 7, at, 127), event(rank, 0, 1, at + 1, 60), event(rank, 0, 2, at + 2, 5, link),
                       event(rank, 0, 2, at + 10, 5, link + 1), event(rank, 0, 3, at + 70, 5, link + 2),
                       event(rank, 0, 6, at + 80, 40), event(rank, 1, 9, at + 90, 20), event(rank, 1, 5, at + 60, 20),
                       event(rank, 3, 0, at + 20, 30, link), event(rank, 4, 1, at + 55, 30 - 5 * rank, link + 1, 0, 0x80 + step),
                       event(rank, 5, 2, at + 75, 20, link + 2, 64), event(rank, 6, 1, at + 3, 0, 0, 16, 1),
                       event(rank, 6, 1, at + 100, 0, 0, 240, 1), event(rank, 7, 0, at, 50), event(rank, 7, 3, at + 50, 60, 0, 9, 1)]
    with open(f"corpus/{name}", "wb") as file:
        file.write(bytes([flags]) + b"".join(events))
# calls, and samples between them
with open("corpus/samples", "wb") as file:
    file.write(bytes([0]) + event(0, 0, 7, 0, 127) + event(0, 0, 1, 10, 5) + event(0, 0, 4, 90, 5) +
               b"".join(event(0, 7, what, at, 0, 0, 0, 2) for what, at in ((0, 5), (0, 40), (1, 50), (0, 60), (4, 92))))
# a copy that by its own clock ends after the call that waited for it
with open("corpus/late", "wb") as file:
    file.write(bytes([0]) + event(0, 0, 7, 0, 127) + event(0, 0, 3, 70, 5, 3, 97, 2) + event(0, 5, 2, 75, 20, 3, 0, 2))
# a meeting of ranks, later than what it waited for
with open("corpus/meeting", "wb") as file:
    file.write(base64.b64decode(
        "AAAHAAB/AAAAAAEBADwAAAAAAgIABQEAAAACCgAFAgAAAANGhQUDAAAABlAAKAAAAAMJWgAUAAAAAwU8ABQAAAAJABQAHgEAAAwBNwAe"
        "AgCADwJLABQDQAASAQMAAAAQARIBZAAAAPABFQAAADIAAAAVAzIAPAAJAQAHkAF/AAAAAAGRATwAAAAAApIBBQsAAAACmgEFDAAAAAPW"
        "AQUNAAAABuABKAAAAAMJ6gEUAAAAAwXMAQAAYxABxIo0HgsAAAwBxwEeDACBDwLbARQNQAASAZMBAAAQARIB9AEAAPABFQCQATMAAAAV"
        "A8IBPAAJAQEHBQB/AAAAAQUBAAAAAgoABQIAAAADRoUFAwAAAAZQACgAAAADCVoAFAAAAAMFPAAUAAAACQAUAB4BAAAMATcAHgIAgA8C"
        "SwAUA0AAEgEDAAAAEAESQAATAQgAAAAQARMBaQAAAPABFgAFADIAAAAWAzcAPAAJAQEHlQF/AAAAAQGWATwAAAABApcBBW8AAAECnwEF"
        "cAAAAQPbAQVxAAABBuUBKAAAAAQJ7wEUAAAABAXRARQAAAAKAKkBHm8AAA0BzAEZcACBEALgARRxQAATAZgBAAAQARMB+QEAANABFgCV"
        "ATIAAAAWA8cBPAAJAQ=="))
END
fuzz 3201
