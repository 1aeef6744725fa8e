"""The trade-off in ten lines: error against epsilon for three mechanisms and InP+, on eight draws of small data."""

import pandas as pd

from obmc.experiments import Sweep, run

sweep = Sweep(
    mechanisms=["Clear", "InP", "ObjP", "InP+"],
    epsilons=[0.5, 1.0, 2.0, 4.0],
    shape=(50, 50),
    ratio=0.8,
    repetitions=8,
    metrics=["are"],
)

if __name__ == "__main__":  # worker processes import this file
    rows = pd.DataFrame(run(sweep))
    table = rows.pivot_table(index="mechanism", columns="epsilon", values="value", aggfunc="mean")
    print(table.to_string(float_format="{:.3f}".format, na_rep=""))
