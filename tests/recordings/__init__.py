"""Recordings of real kubelets that are kept in the repository, and the rule by which they were chosen (`choose`)."""
