"""Privacy check: the default audit of every mechanism, piece by piece in worker processes as the dashboard does it.

Target: all of them within 30 s together, from the first request to the last verdict, on the workers that a server of
two cores has (one). The time to the first picture is shown beside it.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import FIRST_COMPLETED, Future, wait

from obmc.checks import PRESETS, Found, advance
from obmc.experiments import LocalExecutor
from obmc.privacy.guarantee import number

WORKERS = 1
PIECE_SECONDS = 1.0
TARGET = 30.0


def main() -> int:
    with LocalExecutor(WORKERS) as executor:
        wait(executor.warm_up())
        before = executor.submit(time.process_time).result()
        started = time.perf_counter()
        futures: dict[Future[Found], str] = {
            executor.submit(advance, preset.check, None, PIECE_SECONDS): key for key, preset in PRESETS.items()
        }
        first = 0.0
        print(f"{'audit':18} {'runs':>8} {'asked':>9} {'at least':>9} {'done after, s':>14}")
        while futures:
            ended, _ = wait(futures, return_when=FIRST_COMPLETED)
            for future in ended:
                key, found = futures.pop(future), future.result()
                first = first or time.perf_counter() - started
                if not found.is_done:
                    futures[executor.submit(advance, PRESETS[key].check, found, PIECE_SECONDS)] = key
                    continue
                audit = found.audit
                assert audit is not None
                after = time.perf_counter() - started
                asked, shown = number(audit.claimed), number(audit.lower_bound)
                print(f"{key:18} {audit.runs:8,} {asked:>9} {shown:>9} {after:14.1f}", flush=True)
        seconds = time.perf_counter() - started
        cpu = executor.submit(time.process_time).result() - before
    print(f"first picture, s: {first:.2f}; CPU seconds of the worker: {cpu:.1f}")
    print(f"all default audits, s: {seconds:.1f} (at most {TARGET:g}){'' if seconds <= TARGET else '  MISSED'}")
    return int(seconds > TARGET)


if __name__ == "__main__":
    sys.exit(main())
