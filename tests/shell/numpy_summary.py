"""Are the figures in documents of `tilevm bench --json` those that NumPy has for the same samples?

    numpy_summary.py FILE...
"""
import json
import sys

import numpy


def check(subject):
    samples = numpy.array(subject["samples_us"])
    want = {"samples": len(samples), "median_us": numpy.median(samples), "min_us": samples.min(), "max_us": samples.max(),
            "mean_us": samples.mean(), "deviation_us": samples.std(ddof=1)}
    for percent in (5, 25, 75, 95):
        want["p%d_us" % percent] = numpy.percentile(samples, percent)
    for name, value in want.items():
        assert abs(subject[name] - value) <= 1e-9 * abs(value) + 1e-12, (name, subject[name], value)
    low, high = subject["interval_us"]
    assert low <= want["median_us"] <= high and low in samples and high in samples


for path in sys.argv[1:]:
    with open(path) as f:
        for subject in json.load(f)["subjects"]:
            check(subject)
