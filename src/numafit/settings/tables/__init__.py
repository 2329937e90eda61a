"""Facts by release, without any rule: short texts that are read when they are asked for.

- `fields`: the fields of a KubeletConfiguration with their Go types and the minors that have them (`read.decoder`).
- `flags`: the flags of the command line and the minors that have them (`read.flags`).
- `gates`: the feature gates with their stages, defaults, locks and dependencies (`gates`).

A row names the minor in which something begins or ends, so a new release adds to the rows that change. What a release
*does* differently stands in `versions.Behaviour`, and the stages of the policy options in `options`.
"""
