"""Whole runs of real kubelets beside the checkout, told to `numafit simulate` as a person would tell them.

folder            the options and the event file of a run
test_histories    runs of our own that are kept here (`histories.jsonl.gz`)
"""
